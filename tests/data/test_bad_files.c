/* test_bad_files.c - every file under bad/ is refused in the words of its folder's EXPECTED list,
 * leaves nothing behind, and is listed. */
#include "asserts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "waymark/read.h"

enum { MAX_FILES = 300 };

/* Says every difference, not only the first. */
static int wrong;
#define differ(...)                                                                                \
    do {                                                                                           \
        print_error(__VA_ARGS__);                                                                  \
        wrong++;                                                                                   \
    } while (0)

typedef struct list {
    char names[MAX_FILES][64]; /* without :NAME */
    int n;
} list;

static void expect(const char *path, const char *words, bool streamed)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0};
    wm_data *d = NULL;
    wm_schema *s;
    wm_status st;

    assert_ok(wm_schema_new(&s, &err), err);
    if (!streamed) {
        st = wm_data_read(&d, path, s, NULL, &err);
    } else {
        double row[4096];
        int64_t got = 1;
        wm_reader *r;

        st = wm_reader_open(&r, path, NULL, NULL, &err);
        while (!st && got && wm_reader_dim(r) <= 4096)
            st = wm_reader_next(r, 1, row, &got, NULL, &err);
        wm_reader_close(r);
    }
    /* A stream does not know its kinds, and may be empty: it need not find what a table does. */
    if (!streamed && !st)
        differ("%s: was read; expected '%s'\n", path, words);
    if (!streamed && st &&
        (d || !strstr(err.text, words) || err.code != st || !strstr(err.text, ": ")))
        differ("%s: said '%s', expected '%s'\n", path, err.text, words);
    if (st == WM_ENOMEM)
        differ("%s: asked for too much memory: '%s'\n", path, err.text);
    wm_schema_free(s);
    if (wmi_alloc_live() != live)
        differ("%s: leaks\n", path);
}

static void check_line(const char *folder, char *line, list *seen)
{
    char *tab = strchr(line, '\t'), path[1200];

    line[strcspn(line, "\n")] = '\0';
    if (*line == '#' || !*line)
        return;
    if (!tab)
        fail_msg("bad/%s/EXPECTED: no tab in '%s'", folder, line);
    *tab = '\0';
    snprintf(path, sizeof path, "bad/%s/%s", folder, line);
    expect(path, tab + 1, false);
    expect(path, tab + 1, true);
    line[strcspn(line, ":")] = '\0';
    assert_true(seen->n < MAX_FILES);
    snprintf(seen->names[seen->n++], sizeof seen->names[0], "%.60s", line);
}

static void check_listed(const char *folder, const char *name, const list *seen)
{
    if (*name == '.' || strcmp(name, "EXPECTED") == 0)
        return;
    for (int i = 0; i < seen->n; i++)
        if (strcmp(seen->names[i], name) == 0)
            return;
    differ("bad/%s/%s is not in EXPECTED\n", folder, name);
}

static void check_folder(const char *folder)
{
    static list seen;
    char path[512], line[1024];
    const struct dirent *entry;
    FILE *f;
    DIR *dir;

    seen.n = 0;
    snprintf(path, sizeof path, "bad/%s/EXPECTED", folder);
    f = fopen(path, "r");
    if (!f)
        fail_msg("%s is not there", path);
    while (f && fgets(line, sizeof line, f))
        check_line(folder, line, &seen);
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "bad/%s", folder);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        check_listed(folder, entry->d_name, &seen);
    closedir(dir);
    assert_true(seen.n > 0);
}

static void bad_files_are_refused_in_the_right_words(void **state)
{
    DIR *dir = opendir("bad");
    const struct dirent *entry;
    int folders = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            check_folder(entry->d_name);
            folders++;
        }
    closedir(dir);
    assert_true(folders >= 6);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_files_are_refused_in_the_right_words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
