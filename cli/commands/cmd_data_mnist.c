/* cmd_data_mnist.c - `waymark data mnist`: the four IDX files of MNIST, or of a set that took over
 * its form, as npy arrays with a validation part. */
#include <stdio.h>

#include "frame/commands.h"
#include "waymark/images.h"

typedef struct mnist_opts {
    const char *from, *out;
    int64_t valid;
    bool overwrite;
} mnist_opts;

#define OPTS mnist_opts

static const opt_row rows[] = {
    TEXT(from, "from", "DIR",
         "folder with train-images-idx3-ubyte and the other three, also gzipped"),
    TEXT(out, "out", "DIR",
         "folder for train.npy, valid.npy, test.npy, their labels and images.json", .letter = 'o',
         .transient = true),
    INTEGER(valid, "valid", "N", 0, 1e9, "images for validation, the last ones of train"),
    FLAG(overwrite, "overwrite", "replace files of these names", .transient = true),
    {0},
};

static void defaults(void *opts)
{
    *(mnist_opts *)opts = (mnist_opts){.valid = 10000};
}

static const char *const names[3] = {"train", "valid", "test"};

static void put_facts(wm_summary *s, const wm_image_set *set)
{
    wm_summary *counts;

    WM_PUT(s, WM_TEXT("source", wm_image_set_folder(set)),
           WM_INTEGER("height", wm_image_set_height(set)),
           WM_INTEGER("width", wm_image_set_width(set)), WM_INTEGER("channels", 1),
           WM_INTEGER("levels", 256));
    counts = wm_summary_object(s, "images");
    for (int i = 0; i < 3; i++)
        wm_summary_integer(counts, names[i], wm_image_set_part(set, (wm_split)i).n);
}

/* images.json comes last: it says what the arrays hold, so they must be there. */
static wm_status write_all(cli_call *call, const wm_image_set *set, wm_error *err)
{
    const mnist_opts *o = call->opts;
    char path[CLI_PATH_SIZE];
    wm_summary *s = NULL;
    wm_status st;

    if ((st = cli_path(path, o->out, "images", ".json", call, err)) ||
        (st = wm_image_set_write(set, o->out, o->overwrite, err)) || (st = wm_summary_new(&s, err)))
        return st;
    put_facts(s, set);
    st = wm_summary_write(s, path, err);
    wm_summary_free(s);
    return st;
}

static wm_status print_parts(const wm_image_set *set, wm_error *err)
{
    wm_text_table *t = wm_text_table_new(NULL, "<part|images|ink|labels");

    for (int i = 0; i < 3; i++) {
        const wm_image_part part = wm_image_set_part(set, (wm_split)i);
        const int64_t size = wm_image_set_height(set) * wm_image_set_width(set);
        int64_t sum = 0, different = 0;
        bool seen[256] = {false};
        char text[32];

        for (int64_t k = 0; k < part.n * size; k++)
            sum += part.pixels[k];
        for (int64_t k = 0; k < part.n; k++) {
            different += !seen[part.labels[k]];
            seen[part.labels[k]] = true;
        }
        snprintf(text, sizeof text, "%.2f %%",
                 part.n ? 100.0 * (double)sum / 255 / (double)(part.n * size) : 0);
        WM_ROW(t, WM_CELL_TEXT(names[i]), WM_CELL_INTEGER(part.n), WM_CELL_TEXT(text),
               WM_CELL_INTEGER(different));
    }
    printf("%s: %lld x %lld pixels\n\n", wm_image_set_folder(set),
           (long long)wm_image_set_height(set), (long long)wm_image_set_width(set));
    return wm_text_table_finish(t, stdout, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const mnist_opts *o = call->opts;
    wm_image_set *set = NULL;
    wm_status st;

    if (!o->from)
        return cli_usage(call, err,
                         "--from DIR: the folder with the IDX files is needed; `make "
                         "data` in the source folder brings them");
    if ((st = wm_image_set_open(&set, o->from, o->valid, err)))
        return st;
    put_facts(call->summary, set);
    if (o->out && !(st = write_all(call, set, err)))
        wm_say(call->sink, WM_LOG_INFO, "wrote train, valid and test to %s", o->out);
    if (!st && cli_shows_tables(call))
        st = print_parts(set, err);
    wm_image_set_free(set);
    return st;
}

const cli_command cmd_data_mnist = {
    .name = "data mnist",
    .about = "MNIST or Fashion-MNIST, from their IDX files to npy arrays",
    .details =
        "Looks for the four files in DIR and the folders in it, checks them, and writes images as "
        "uint8 (n, 28, 28) with labels. `make data` in the source folder brings both data sets.",
    .examples = "waymark data mnist --from ../data/mnist               # look at what is there\n"
                "waymark data mnist --from ../data/mnist -o mnist      # then: waymark ebm "
                "mnist/train.npy",
    CLI_OPTIONS(rows, mnist_opts, defaults),
    .run = run,
};
