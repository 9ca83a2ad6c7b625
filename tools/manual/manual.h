/* manual.h - what is written about the commands beside --help, from the same tables. */
#ifndef WM_CLI_MANUAL_H
#define WM_CLI_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

#include "frame/command.h"

/* The page of one command, waymark-NAME(1); or of all, waymark(1). False if there is no memory. */
bool man_write_command(FILE *f, const cli_command *c);
void man_write_all(FILE *f, const cli_command *const *table);

/* Scripts for the two shells. */
bool completion_write_bash(FILE *f, const cli_command *const *table);
bool completion_write_zsh(FILE *f, const cli_command *const *table);

/* A command's name with the spaces as `between`. */
const char *manual_name(char out[64], const cli_command *c, char between);

#endif
