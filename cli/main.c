/* main.c - the table of commands, in the order of the help. */
#include "commands.h"

static const cli_command *const table[] = {
    &cmd_demo,
    &cmd_ratio,
    &cmd_apply,
    &cmd_mi,
    &cmd_data,
    &cmd_reproduce_peaked,
    &cmd_reproduce_gaussian,
    &cmd_report,
    &cmd_version,
    NULL,
};

int main(int argc, char **argv)
{
    return cli_main(table, argc, argv);
}
