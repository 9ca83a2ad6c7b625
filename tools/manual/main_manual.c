/* main_manual.c - `waymark_manual DIR`: DIR/man1/waymark*.1, DIR/waymark.bash and DIR/_waymark
 * (zsh), for installing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frame/commands.h"
#include "manual.h"

static const cli_command *const table[] = {
#define COMMAND(NAME) &cmd_##NAME,
#include "frame/commands.def"
#undef COMMAND
    NULL,
};

const char *manual_name(char out[64], const cli_command *c, char between)
{
    snprintf(out, 64, "%s", c->name);
    for (char *p = out; *p; p++)
        if (*p == ' ')
            *p = between;
    return out;
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!(f = fopen(path, "w")))
        fprintf(stderr, "waymark_manual: %s: %s\n", path, strerror(errno));
    return f;
}

static bool finish(FILE *f, bool written)
{
    const bool whole = f && !ferror(f);

    return f && fclose(f) == 0 && whole && written;
}

static bool write_pages(const char *folder)
{
    char name[64], file[96];
    FILE *f = create(folder, "man1/waymark.1");

    if (f)
        man_write_all(f, table);
    if (!finish(f, true))
        return false;
    for (int i = 0; table[i]; i++) {
        snprintf(file, sizeof file, "man1/waymark-%s.1", manual_name(name, table[i], '-'));
        f = create(folder, file);
        if (!finish(f, f && man_write_command(f, table[i])))
            return false;
    }
    return true;
}

static bool write_completions(const char *folder)
{
    FILE *f = create(folder, "_waymark");

    if (!finish(f, f && completion_write_zsh(f, table)))
        return false;
    f = create(folder, "waymark.bash");
    return finish(f, f && completion_write_bash(f, table));
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

int main(int argc, char **argv)
{
    char pages[4096];

    if (argc != 2) {
        fprintf(stderr, "Usage: waymark_manual DIR\n");
        return 2;
    }
    snprintf(pages, sizeof pages, "%s/man1", argv[1]);
    if (!make_folder(argv[1]) || !make_folder(pages)) {
        fprintf(stderr, "waymark_manual: %s: %s\n", pages, strerror(errno));
        return 1;
    }
    return write_pages(argv[1]) && write_completions(argv[1]) ? 0 : 1;
}
