/* fuzz_config.c - any bytes as a --config file, or the config.json that --resume reads, of every
 * command in turn (the first byte picks it). It is taken or refused with words; what was taken is
 * written as a config file that gives the same again. */
#include <string.h>

#include "frame/commands.h"
#include "options/opt.h"
#include "patches.h"

static const cli_command *const commands[] = {&cmd_ratio,  &cmd_mi,        &cmd_ebm,  &cmd_loglik,
                                              &cmd_sample, &cmd_embed_fit, &cmd_apply};
enum { COMMANDS = sizeof commands / sizeof *commands, MOST = 1 << 20 };

static char path[PATCH_PATH];

static void remove_file(void)
{
    unlink(path);
}

/* The file as a text. */
static char *content(void)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, MOST + 1);

    if (!f || !text)
        abort();
    must(fread(text, 1, MOST, f) < MOST, "settings without end", &(wm_error){0});
    fclose(f);
    return text;
}

/* The options of a command by a config file; what they are, as text, into out. */
static bool parse(const cli_command *c, char **out)
{
    void *values = calloc(1, c->opts_size);
    opt_set set = {.command = c->name};
    wm_summary *config = NULL;
    wm_error err = {0};
    wm_status st;

    if (!values)
        abort();
    if (c->defaults)
        c->defaults(values);
    set.group[set.n_groups].rows = c->rows;
    set.group[set.n_groups++].values = values;
    st = opt_parse(&set, 0, NULL, path, &err);
    must(!st || *err.text, "refused without words", &err);
    if (!st && !wm_summary_new(&config, &err)) {
        opt_write_config(&set, config);
        must(!wm_summary_write(config, path, &err), "settings that cannot be written", &err);
        *out = content();
    }
    wm_summary_free(config);
    opt_free(&set);
    free(values);
    return !st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cli_command *c;
    char *first = NULL, *again = NULL;
    wm_error none = {0};
    FILE *f;

    if (!*path) {
        patch_path(path, "config.json");
        atexit(remove_file);
    }
    if (size < 1)
        return 0;
    c = commands[data[0] % COMMANDS];
    f = fopen(path, "wb");
    if (!f || fwrite(data + 1, 1, size - 1, f) != size - 1 || fclose(f))
        abort();
    if (parse(c, &first)) {
        must(parse(c, &again), "what was written is refused", &none);
        must(first && again && strcmp(first, again) == 0, "what was written gives other settings",
             &none);
    }
    free(again);
    free(first);
    return 0;
}
