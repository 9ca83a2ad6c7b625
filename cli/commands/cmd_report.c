/* cmd_report.c - a run folder as one HTML page. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "frame/commands.h"

typedef struct report_opts {
    const char *out;
} report_opts;

#define OPTS report_opts

static const opt_row rows[] = {
    TEXT(out, "out", "FILE", "the page to write", .letter = 'o', .transient = true,
         .unset = "RUN/report.html"),
    {0},
};

/* A page may be made again; any other file is somebody's. */
static wm_status spare_others(const char *path, wm_error *err)
{
    static const char begins[] = "<!DOCTYPE html>";
    char head[sizeof begins] = "";
    struct stat info;
    FILE *f;

    if (stat(path, &info) || !S_ISREG(info.st_mode) || !info.st_size || !(f = fopen(path, "rb")))
        return WM_OK;
    if (!fgets(head, sizeof head, f))
        head[0] = '\0';
    fclose(f);
    return strcmp(head, begins) == 0
               ? WM_OK
               : WM_FAIL(err, WM_EINVAL, "%.180s: is there already, and is no page", path);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const char *folder = call->args[0], *out = ((const report_opts *)call->opts)->out;
    char own[CLI_PATH_SIZE];
    wm_report_info info;
    wm_status st;

    if (!*folder)
        return cli_usage(call, err, "the name of the run folder is empty");
    if ((st = cli_path(own, folder, "report", ".html", call, err)))
        return st;
    if (!out)
        out = own;
    if ((st = wm_run_folder_settle(folder, err)) || (st = spare_others(out, err)) ||
        (st = wm_report_write(&info, folder, out, call->sink, err)))
        return st;
    WM_PUT(call->summary, WM_TEXT("page", out), WM_INTEGER("bytes", info.bytes),
           WM_INTEGER("figures", info.figures), WM_INTEGER("problems", info.problems));
    call->doubt = info.problems > 0;
    if (cli_shows_tables(call))
        printf("%s: %" PRId64 " kB, %" PRId64 " figure%s\n", out, (info.bytes + 999) / 1000,
               info.figures, info.figures == 1 ? "" : "s");
    return WM_OK;
}

const cli_command cmd_report = {
    .name = "report",
    .about = "one HTML page of a run: verdict, checks, figures with their numbers, settings",
    .arguments = "RUN",
    .details =
        "RUN is a folder that another command made with -o. The page needs no other file and no "
        "network, follows the reader's light or dark theme, fits a phone, and prints. Figures that "
        "cannot be shown are named in it, and count as a failed check for --strict.",
    .examples = "waymark report run\nwaymark report run -o page.html",
    .common = CLI_STRICT,
    CLI_OPTIONS(rows, report_opts, NULL),
    .run = run,
};
