/* replay.c - runs a fuzz target over files, and over those in folders, without libFuzzer: for the
 * ordinary tests, and to look at a finding in a debugger. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int files;

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    uint8_t *data = NULL;

    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        data = malloc(n ? (size_t)n : 1);
    if (!f || !data || fread(data, 1, (size_t)n, f) != (size_t)n) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(2);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)n);
    free(data);
    files++;
}

static void run(const char *path)
{
    const struct dirent *entry;
    struct stat info;
    DIR *dir;

    if (stat(path, &info)) {
        fprintf(stderr, "replay: no %s\n", path);
        exit(2);
    }
    if (!S_ISDIR(info.st_mode)) {
        run_file(path);
        return;
    }
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        char inner[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        run(inner);
    }
    if (dir)
        closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    printf("%d files\n", files);
    return files > 0 ? 0 : 2;
}
