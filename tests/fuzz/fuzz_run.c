/* fuzz_run.c - any bytes as the files of a run folder: config.json, summary.json, metrics.jsonl and
 * .manifest.json, with the byte 30 between them. The page must be made or refused with a message,
 * the run gone on with or refused, and nothing but the run's own files be touched. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"
#include "report/run/run_folder.h"
#include "waymark/report.h"

enum { FILES = 4, SEPARATOR = 30, PATH = 600 };

static char folder[256];

static void remove_folder(void)
{
    static const char *const names[] = {"config.json",    "summary.json", "metrics.jsonl",
                                        ".manifest.json", "report.html",  "mine.txt"};
    char path[PATH];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void write_file(const char *name, const uint8_t *data, size_t n)
{
    char path[PATH];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f))
        abort();
}

static void make_folder(const uint8_t *data, size_t size)
{
    static const char *const names[FILES] = {"config.json", "summary.json", "metrics.jsonl",
                                             ".manifest.json"};
    const char *top = getenv("TMPDIR");

    if (!*folder) {
        snprintf(folder, sizeof folder, "%.200s/fuzz-run-%ld", top ? top : "/tmp", (long)getpid());
        atexit(remove_folder);
    }
    remove_folder();
    if (mkdir(folder, 0700))
        abort();
    write_file("mine.txt", (const uint8_t *)"mine", 4);
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = size ? memchr(data, SEPARATOR, size) : NULL;
        const size_t n = end ? (size_t)(end - data) : size;

        write_file(names[i], data, n);
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t live = wmi_alloc_live();
    wm_run_folder *r = NULL;
    wm_error err = {0};
    char path[PATH];

    make_folder(data, size);
    snprintf(path, sizeof path, "%s/report.html", folder);
    must(!wm_report_write(NULL, folder, path, NULL, &err) || *err.text, "a page without words",
         &err);
    must(!wm_run_folder_open(&r, folder, "ratio", WM_RUN_RESUME, &err) || *err.text,
         "refused without words", &err);
    must(wmi_run_lines_rewind(r, NULL, 10, &err) == WM_OK, "lines that cannot be cut", &err);
    wm_run_folder_close(r);
    snprintf(path, sizeof path, "%s/mine.txt", folder);
    must(access(path, F_OK) == 0, "a file of another is gone", &err);
    must(wmi_alloc_live() == live, "blocks were not freed", &err);
    return 0;
}
