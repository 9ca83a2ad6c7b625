/* commands.h - every command of the program, one cmd_NAME.c each. */
#ifndef WM_CLI_COMMANDS_H
#define WM_CLI_COMMANDS_H

#include "frame/command.h"

#define COMMAND(NAME) extern const cli_command cmd_##NAME;
#include "frame/commands.def"
#undef COMMAND

#endif
