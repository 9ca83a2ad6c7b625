/* cmd_embed.c - `waymark embed MODEL U -o g.npy`: the representation g(u) of rows, by a separable
 * model. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "commands/embed_pairs.h"
#include "frame/commands.h"
#include "waymark/columns.h"
#include "waymark/embed.h"
#include "waymark/generators.h"
#include "waymark/write.h"

typedef struct embed_opts {
    const char *out;
    double divide;
    read_flags read;
    bool overwrite;
} embed_opts;

#define OPTS embed_opts

static const opt_row rows[] = {
    TEXT(out, "out", "FILE", "where g(u) goes, as .npy", .letter = 'o', .transient = true),
    FLAG(overwrite, "overwrite", "FILE may be U itself", .transient = true),
    REAL(divide, "divide", "D", 0, 1e300,
         "values of U are divided by it, where the model does not know: 255 for bytes of pixels",
         .above = true, .unset = "1"),
    ROWS(read, read_file_options),
    {0},
};

static void defaults(void *opts)
{
    *(embed_opts *)opts = (embed_opts){.divide = NAN};
}

/* What the run holds, to be freed together. */
typedef struct embed_run {
    wm_embed *e;
    wm_embed_info info;
    wm_columns *divided;       /* by --divide, where the model does not know its columns; or NULL */
    const wm_columns *columns; /* these, or the model's */
    wm_schema *schema;
    wm_data *data, *g;
} embed_run;

static void free_run(embed_run *r)
{
    wm_data_free(r->g);
    wm_data_free(r->data);
    wm_schema_free(r->schema);
    wm_columns_free(r->divided);
    wm_embed_free(r->e);
}

/* The model: a file, or the run folder of `embed fit`. */
static wm_status open_model(embed_run *r, cli_call *call, wm_error *err)
{
    const embed_opts *o = call->opts;
    const char *given = call->args[0];
    char path[CLI_PATH_SIZE];
    struct stat is;
    wm_status st;

    if (cli_model_path(path, given, "embed fit U V", NULL)) {
        if (stat(given, &is) == 0 && S_ISDIR(is.st_mode))
            return opt_fail(err,
                            "%.120s is a folder without model.safetensors: name a model in it, "
                            "such as tre-9.safetensors",
                            given);
        return cli_model_path(path, given, "embed fit U V", err);
    }
    if ((st = wm_embed_load(&r->e, path, err)))
        return st;
    wm_embed_get_info(r->e, &r->info);
    r->columns = wm_embed_columns(r->e, 0);
    if (!r->columns) {
        st = wm_columns_divide(&r->divided, r->info.dim_u, isnan(o->divide) ? 1 : o->divide, err);
        r->columns = r->divided;
        return st;
    }
    if (!isnan(o->divide))
        return cli_usage(call, err,
                         "--divide: the model in %.120s already knows how its columns are scaled",
                         given);
    return WM_OK;
}

/* Rows of u, with the columns and levels that the model knows. */
static wm_status read_rows(embed_run *r, cli_call *call, wm_error *err)
{
    const char *schema = wm_columns_schema(r->columns);
    wm_read_opts read = read_opts(&((const embed_opts *)call->opts)->read, call->sink);
    wm_status st;

    if (!schema)
        read.continuous = "all";
    if ((st = schema ? wm_schema_parse(&r->schema, schema, err) : wm_schema_new(&r->schema, err)) ||
        (st = wm_data_read(&r->data, call->args[1], r->schema, &read, err)))
        return st;
    if (wm_data_dim(r->data) != wm_columns_raw(r->columns))
        return opt_fail(err, "%.100s has %" PRId64 " columns, the u of %.80s has %" PRId64,
                        call->args[1], wm_data_dim(r->data), call->args[0],
                        wm_columns_raw(r->columns));
    /* A model of images takes no bytes: they would pass through the network and mean nothing. */
    if (r->divided && isnan(((const embed_opts *)call->opts)->divide) && r->info.u.height > 0)
        return check_pixels(r->data, call->args[1], "pixels were fitted as 0 to 1", call, err);
    return WM_OK;
}

static wm_status represent(embed_run *r, const volatile sig_atomic_t *stop, wm_error *err)
{
    const int64_t n = wm_data_count(r->data), width = r->info.features;
    float *u = malloc(sizeof *u * (size_t)(n * r->info.dim_u));
    float *g = malloc(sizeof *g * (size_t)(n * width));
    wm_status st;

    if (!u || !g)
        st = WM_ENOMEM;
    else if (!(st = wm_columns_apply(r->columns, n, wm_data_rows(r->data), u, err)) &&
             !(st = wm_embed_rows(r->e, n, u, g, stop, err)) &&
             !(st = wm_data_new(&r->g, n, width, NULL, err)))
        for (int64_t i = 0; i < n * width; i++)
            wm_data_rows_mut(r->g)[i] = (double)g[i];
    free(u);
    free(g);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const embed_opts *o = call->opts;
    embed_run r = {0};
    wm_status st;

    if (!o->out || !*o->out)
        return cli_usage(call, err, "-o FILE.npy is needed: where g(u) goes");
    if ((st = cli_spare_inputs(call, o->out, o->overwrite, err)) ||
        (st = open_model(&r, call, err)) || (st = read_rows(&r, call, err)) ||
        (st = represent(&r, call->stop, err)) || (st = wm_data_write_npy(r.g, o->out, err)))
        goto done;
    WM_PUT(call->summary, WM_TEXT("model", call->args[0]), WM_TEXT("input", call->args[1]),
           WM_TEXT("output", o->out), WM_INTEGER("n", wm_data_count(r.data)),
           WM_INTEGER("features", r.info.features));
    if (cli_shows_tables(call))
        printf("%s: %" PRId64 " rows of %" PRId64 " features\n", o->out, wm_data_count(r.data),
               r.info.features);
done:
    free_run(&r);
    return st;
}

const cli_command cmd_embed = {
    .name = "embed",
    .about = "the representation g(u) that a separable model has learned, of any rows",
    .arguments = "MODEL U",
    .details = "MODEL is a run folder of `waymark embed fit U V -o DIR`, a file of `waymark "
               "reproduce omniglot -o DIR`, such as DIR/tre-9.safetensors, or one that "
               "wm_embed_save() wrote. U has the columns (or pixels) that the model was fitted on; "
               "a run of `embed fit` knows itself how they are to be scaled.",
    .examples =
        "waymark embed fit left.npy right.npy -o run && waymark embed run left.npy -o g.npy\n"
        "waymark embed omniglot/tre-9.safetensors test/u.npy --divide 255 -o g.npy\n"
        "waymark probe g.npy test/labels.npy",
    CLI_OPTIONS(rows, embed_opts, defaults),
    .run = run,
};
