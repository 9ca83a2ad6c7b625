/* cmd_embed.c - `waymark embed MODEL U -o g.npy`: the representation g(u) of rows, by a separable
 * model. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "waymark/embed.h"
#include "waymark/generators.h"
#include "waymark/read.h"

typedef struct embed_opts {
    const char *out;
    double divide;
} embed_opts;

static const opt_row rows[] = {
    {.kind = OPT_TEXT,
     .name = "out",
     .letter = 'o',
     .at = offsetof(embed_opts, out),
     .arg = "FILE",
     .help = "where g(u) goes, as .npy",
     .transient = true},
    {.kind = OPT_REAL,
     .name = "divide",
     .at = offsetof(embed_opts, divide),
     .arg = "D",
     .help = "values of U are divided by it: 255 for bytes of pixels",
     .lo = 0,
     .hi = 1e300,
     .above = true,
     .unset = "1"},
    {0},
};

static void defaults(void *opts)
{
    *(embed_opts *)opts = (embed_opts){.divide = NAN};
}

/* Rows of u as float, divided. Bytes of pixels would pass through the network and mean nothing:
 * they are refused unless --divide was given. */
static wm_status take_rows(float *u, const wm_data *data, const wm_embed_info *info, cli_call *call,
                           wm_error *err)
{
    const embed_opts *o = call->opts;
    const double by = isnan(o->divide) ? 1 : o->divide, *x = wm_data_rows(data);
    const int64_t n = wm_data_count(data) * wm_data_dim(data);
    double most = 0;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
        u[i] = (float)(x[i] / by);
    }
    if (isnan(o->divide) && info->u.height > 0 && most > 1)
        return cli_usage(call, err,
                         "%.100s: values reach %g, and pixels were fitted as 0 to 1: give --divide "
                         "255 for bytes, or --divide 1 to take them as they are",
                         call->args[1], most);
    return WM_OK;
}

static wm_status represent(wm_data **out, const wm_embed *e, const wm_data *data, cli_call *call,
                           wm_error *err)
{
    const int64_t n = wm_data_count(data);
    float *u = malloc(sizeof *u * (size_t)(n * wm_data_dim(data))), *g = NULL;
    wm_embed_info info;
    wm_status st;

    wm_embed_get_info(e, &info);
    g = malloc(sizeof *g * (size_t)(n * info.features));
    if (!u || !g)
        st = WM_ENOMEM;
    else if (!(st = take_rows(u, data, &info, call, err)) &&
             !(st = wm_embed_rows(e, n, u, g, err)) &&
             !(st = wm_data_new(out, n, info.features, NULL, err)))
        for (int64_t i = 0; i < n * info.features; i++)
            wm_data_rows_mut(*out)[i] = (double)g[i];
    free(u);
    free(g);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const embed_opts *o = call->opts;
    const char *model = call->args[0];
    wm_data *data = NULL, *g = NULL;
    wm_schema *schema = NULL;
    wm_embed *e = NULL;
    wm_embed_info info;
    wm_read_opts read;
    struct stat is;
    wm_status st;

    if (!o->out || !*o->out)
        return cli_usage(call, err, "-o FILE.npy is needed: where g(u) goes");
    if (stat(model, &is) == 0 && S_ISDIR(is.st_mode))
        return opt_fail(err, "%.120s is a folder: name a model in it, such as tre-9.safetensors",
                        model);
    wm_read_opts_init(&read);
    read.continuous = "all";
    read.sink = call->sink;
    if ((st = wm_embed_load(&e, model, err)) || (st = wm_schema_new(&schema, err)) ||
        (st = wm_data_read(&data, call->args[1], schema, &read, err)))
        goto done;
    wm_embed_get_info(e, &info);
    if (wm_data_dim(data) != info.dim_u) {
        st = opt_fail(err, "%.100s has %" PRId64 " columns, the u of %.80s has %" PRId64,
                      call->args[1], wm_data_dim(data), model, info.dim_u);
        goto done;
    }
    if ((st = represent(&g, e, data, call, err)) || (st = wm_data_write_npy(g, o->out, err)))
        goto done;
    wm_summary_text(call->summary, "model", model);
    wm_summary_text(call->summary, "input", call->args[1]);
    wm_summary_text(call->summary, "output", o->out);
    wm_summary_integer(call->summary, "n", wm_data_count(data));
    wm_summary_integer(call->summary, "features", info.features);
    if (cli_shows_tables(call))
        printf("%s: %" PRId64 " rows of %" PRId64 " features\n", o->out, wm_data_count(data),
               info.features);
done:
    wm_data_free(g);
    wm_data_free(data);
    wm_schema_free(schema);
    wm_embed_free(e);
    return st;
}

const cli_command cmd_embed = {
    .name = "embed",
    .about = "the representation g(u) that a separable model has learned, of any rows",
    .arguments = "MODEL U",
    .min_args = 2,
    .max_args = 2,
    .details = "MODEL is a file of `waymark reproduce omniglot -o DIR`, such as "
               "DIR/tre-9.safetensors, or\n"
               "one that wm_embed_save() wrote. U has the columns (or pixels) that the model was "
               "fitted on.",
    .examples = "waymark embed omniglot/tre-9.safetensors test/u.npy --divide 255 -o g.npy\n"
                "waymark probe g.npy test/labels.npy",
    .rows = rows,
    .opts_size = sizeof(embed_opts),
    .defaults = defaults,
    .run = run,
};
