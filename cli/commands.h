/* commands.h - every command of the program, one cmd_NAME.c each. */
#ifndef WM_CLI_COMMANDS_H
#define WM_CLI_COMMANDS_H

#include "command.h"

extern const cli_command cmd_apply;
extern const cli_command cmd_data;
extern const cli_command cmd_data_glyphs;
extern const cli_command cmd_data_mnist;
extern const cli_command cmd_data_omniglot;
extern const cli_command cmd_demo;
extern const cli_command cmd_ebm;
extern const cli_command cmd_embed;
extern const cli_command cmd_embed_fit;
extern const cli_command cmd_loglik;
extern const cli_command cmd_mi;
extern const cli_command cmd_probe;
extern const cli_command cmd_ratio;
extern const cli_command cmd_report;
extern const cli_command cmd_reproduce_gaussian;
extern const cli_command cmd_reproduce_mnist;
extern const cli_command cmd_reproduce_omniglot;
extern const cli_command cmd_reproduce_peaked;
extern const cli_command cmd_sample;
extern const cli_command cmd_version;

#endif
