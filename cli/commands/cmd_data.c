/* cmd_data.c - `waymark data NAME`: samples of problems whose answer is known, and that answer.
 * Other words after `data`, for data that are not made but fetched or converted, are commands of
 * their own: two words win over one. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "commands/estimate.h"
#include "frame/commands.h"
#include "waymark/generators.h"
#include "waymark/write.h"

/* --- options -----------------------------------------------------------------------------------*/

/* Every parameter of every problem, once; the library says which problem takes which, and checks
 * them. A test holds the two together. */
#define RATIO_PARAMS(X)                                                                            \
    X(dim, "dim", "N", "columns of p and of q")                                                    \
    X(mean_p, "mean-p", "X", "mean of every column of p")                                          \
    X(sd_p, "sd-p", "X", "standard deviation of p")                                                \
    X(mean_q, "mean-q", "X", "mean of every column of q")                                          \
    X(sd_q, "sd-q", "X", "standard deviation of q; for tails its scale")                           \
    X(kl, "kl", "NATS", "wanted KL(p, q)")                                                         \
    X(spread, "spread", "X", "how much the widths of p and q differ: sd of their log-ratio")       \
    X(modes, "modes", "N", "modes along each axis")                                                \
    X(shift, "shift", "X", "distance of p and q in every column")                                  \
    X(dof_p, "dof-p", "X", "degrees of freedom of p")                                              \
    X(dof_q, "dof-q", "X", "degrees of freedom of q")
#define MI_PARAMS(X)                                                                               \
    X(dx, "dx", "N", "columns of u")                                                               \
    X(dy, "dy", "N", "columns of v")                                                               \
    X(mi, "mi", "NATS", "wanted mutual information")                                               \
    X(rho, "rho", "X", "correlation of a pair, instead of --mi")                                   \
    X(pairs, "pairs", "N", "pairs of columns that are correlated")                                 \
    X(dense, "dense", "0|1", "1: turn u and v, so that every column has a part")                   \
    X(power, "power", "X", "x becomes x |x|^power")                                                \
    X(stretch, "stretch", "X", "x becomes asinh(stretch x)")                                       \
    X(dof, "dof", "X", "degrees of freedom")                                                       \
    X(speed, "speed", "X", "angle of the turn over the squared length of a row")                   \
    X(columns, "columns", "N", "independent columns of u, and of v")                               \
    X(levels, "levels", "N", "levels of a column")                                                 \
    X(agree, "agree", "X", "probability that v copies u, instead of --mi")                         \
    X(skew, "skew", "X", "level i has a share in proportion to (i + 1)^-skew")                     \
    X(gap, "gap", "X", "distance of neighbouring levels, or modes of a mixture, in sd")            \
    X(noise, "noise", "X", "half the width of the noise")

enum {
#define PARAM_ID(id, name, arg, help) PARAM_##id,
    RATIO_PARAMS(PARAM_ID) MI_PARAMS(PARAM_ID) N_PARAMS
};

static const char *const param_names[] = {
#define PARAM_NAME(id, name, arg, help) name,
    RATIO_PARAMS(PARAM_NAME) MI_PARAMS(PARAM_NAME) NULL};

typedef struct data_opts {
    int64_t n, n_q; /* n_q 0: as n */
    const char *out, *csv, *stream;
    int format;
    bool overwrite, list;
    double value[N_PARAMS]; /* NaN: not given */
} data_opts;

static const char *const format_names[] = {"npy", "csv", NULL};

#define OPTS data_opts
#define PARAM_ROW(ID, NAME, ARG, HELP) REAL(value[PARAM_##ID], NAME, ARG, 0, 0, HELP),

static const opt_row rows[] = {
    INTEGER(n, "n", "N", 1, 1e12,
            "rows of each table; longer ones begin with the rows of shorter ones", .letter = 'n'),
    INTEGER(n_q, "n-q", "N", 1, 1e12, "rows of q", .unset = "as of p"),
    TEXT(out, "out", "DIR", "folder for p and q, or u and v, and truth.json", .letter = 'o',
         .transient = true),
    CHOICE(format, "format", "NAME", format_names, "of the tables in DIR"),
    TEXT(csv, "csv", "FILE",
         "u and v side by side in one file, header X0,X1,...,Y0,...; and FILE.truth.json",
         .transient = true),
    FLAG(overwrite, "overwrite", "replace files of these names", .transient = true),
    TEXT(stream, "stream", "NAME",
         "other names give unrelated samples of the same problem: train, test"),
    FLAG(list, "list", "list the problems with their parameters and defaults", .transient = true),
    HEADING("Parameters of ratio problems (`waymark data` has the defaults)"),
    RATIO_PARAMS(PARAM_ROW) /**/
    HEADING("Parameters of MI problems"),
    MI_PARAMS(PARAM_ROW) /**/
    {0},
};

static void defaults(void *opts)
{
    data_opts *o = opts;

    *o = (data_opts){.n = 10000, .stream = "data"};
    for (int i = 0; i < N_PARAMS; i++)
        o->value[i] = NAN;
}

/* --- the list ----------------------------------------------------------------------------------*/

static const char *kind_name(wm_problem_kind kind)
{
    return kind == WM_PROBLEM_RATIO ? "ratio" : "mi";
}

static void list_json(wm_summary *summary)
{
    for (int i = 0; i < wm_problem_count(); i++) {
        const wm_problem_info *info = wm_problem_at(i);
        wm_summary *row = wm_summary_row(summary, "problems");

        WM_PUT(row, WM_TEXT("name", info->name), WM_TEXT("about", info->about),
               WM_TEXT("kind", kind_name(info->kind)));
        for (int k = 0; k < info->n_params; k++) {
            const wm_problem_param *p = &info->params[k];
            WM_PUT(wm_summary_row(row, "parameters"), WM_TEXT("name", p->name),
                   WM_TEXT("about", p->about), WM_REAL("default", p->standard),
                   WM_REAL("lo", p->lo), WM_REAL("hi", p->hi), WM_BOOL("whole", p->whole));
        }
    }
}

static void list_text(void)
{
    const char *const titles[] = {"Two samples, p and q: KL(p, q) and KL(q, p) are known",
                                  "Paired samples, u and v: their mutual information is known"};

    for (int kind = 0; kind < 2; kind++) {
        printf("%s%s\n", kind ? "\n" : "", titles[kind]);
        for (int i = 0; i < wm_problem_count(); i++) {
            const wm_problem_info *info = wm_problem_at(i);

            if ((int)info->kind != kind)
                continue;
            printf("  %-10s  %s\n%14s", info->name, info->about, "");
            for (int k = 0; k < info->n_params; k++) {
                printf("%s--%s", k ? " " : "", info->params[k].name);
                if (!isnan(info->params[k].standard))
                    printf(" %g", info->params[k].standard);
            }
            puts("");
        }
    }
    puts("\nDefaults are shown; what has none follows from the rest. `waymark data NAME` prints "
         "the\n"
         "truth, and with -o DIR writes samples. `waymark help data` explains the options.\n"
         "Images: `waymark data mnist`, `data omniglot` and `data glyphs` are commands of their "
         "own.");
}

/* --- one problem -------------------------------------------------------------------------------*/

static wm_status make_problem(wm_problem **out, cli_call *call, wm_error *err)
{
    const data_opts *o = call->opts;
    const char *name = call->args[0], *names[64], *near;
    wm_problem_setting settings[N_PARAMS];
    wm_error inner = {0};
    wm_status st;
    int n = 0;

    *out = NULL;
    if (!wm_problem_find(name)) {
        for (int i = 0; i < wm_problem_count() && i < 63; i++)
            names[n++] = wm_problem_at(i)->name;
        names[n] = NULL;
        near = opt_nearest(name, names);
        return cli_usage(call, err, "no problem '%.60s'%s%s%s; `waymark data` lists them", name,
                         near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    for (int i = 0; i < N_PARAMS; i++)
        if (!isnan(o->value[i]))
            settings[n++] = (wm_problem_setting){param_names[i], o->value[i]};
    st = wm_problem_new(out, name, settings, n, (uint64_t)call->common->seed, &inner);
    if (st == WM_EINVAL)
        return cli_usage(call, err, "%s", inner.text);
    if (st && err)
        *err = inner;
    return st;
}

static void put_truth(wm_summary *s, const wm_problem *p)
{
    const wm_problem_info *info = wm_problem_about(p);
    const wm_problem_truth truth = wm_problem_answer(p);
    wm_summary *params;

    wm_summary_text(s, "problem", info->name);
    wm_summary_text(s, "kind", kind_name(info->kind));
    params = wm_summary_object(s, "parameters");
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i].whole)
            wm_summary_integer(params, info->params[i].name, (int64_t)wm_problem_value(p, i));
        else
            wm_summary_real(params, info->params[i].name, wm_problem_value(p, i));
    }
    WM_PUT(s, WM_REAL("kl_pq", truth.kl_pq), WM_REAL("kl_qp", truth.kl_qp), WM_REAL("mi", truth.mi),
           WM_REAL("truth_error", truth.error));
}

static wm_status print_truth(const cli_call *call, const wm_problem *p, wm_error *err)
{
    const wm_problem_info *info = wm_problem_about(p);
    const wm_problem_truth truth = wm_problem_answer(p);
    const double unit = units_per_nat(call);
    char headers[32];
    wm_text_table *t;

    printf("%s: %s\n", info->name, info->about);
    for (int i = 0; i < info->n_params; i++)
        printf("%s%s %.6g", i ? ", " : "", info->params[i].name, wm_problem_value(p, i));
    printf("%sseed %lld\n\n", info->n_params ? ", " : "", (long long)call->common->seed);
    snprintf(headers, sizeof headers, "<truth|%s", units_name(call));
    t = wm_text_table_new(NULL, headers);
    if (info->kind == WM_PROBLEM_RATIO)
        WM_ROW(t, WM_CELL_TEXT("KL(p, q)"), WM_CELL_REAL(truth.kl_pq * unit, 6),
               WM_CELL_TEXT("KL(q, p)"), WM_CELL_REAL(truth.kl_qp * unit, 6));
    else
        WM_ROW(t, WM_CELL_TEXT("MI(u, v)"), WM_CELL_REAL(truth.mi * unit, 6));
    return wm_text_table_finish(t, stdout, err);
}

/* --- files -------------------------------------------------------------------------------------*/

/* The answer, last of all files: without it beside them the samples are not whole. */
static wm_status write_truth(cli_call *call, const wm_problem *p, const char *path, wm_error *err)
{
    const data_opts *o = call->opts;
    wm_summary *s = NULL;
    wm_status st = wm_summary_new(&s, err);

    if (st)
        return st;
    put_truth(s, p);
    WM_PUT(s, WM_INTEGER("seed", call->common->seed), WM_TEXT("stream", o->stream),
           WM_INTEGER("n", o->n));
    if (wm_problem_about(p)->kind == WM_PROBLEM_RATIO)
        wm_summary_integer(s, "n_q", o->n_q ? o->n_q : o->n);
    st = wm_summary_write(s, path, err);
    wm_summary_free(s);
    return st;
}

/* Files in a folder or one CSV; the last of paths (n) is that of the answer. An old answer must
 * never stand beside new samples. */
static wm_status write_files(cli_call *call, const wm_problem *p, const wm_data *const tables[2],
                             const char *const *names, const char *const *paths, int n,
                             wm_error *err)
{
    static const char *const prefixes[] = {"X", "Y"};
    const data_opts *o = call->opts;
    wm_status st;

    if ((st = cli_spare_files(paths, n, o->overwrite, err)))
        return st;
    unlink(paths[n - 1]);
    if ((st = names ? wm_data_write_folder(tables, names, 2, o->out, o->format == 1, o->overwrite,
                                           err)
                    : wm_data_write_csv(tables, prefixes, 2, o->csv, err)))
        return st;
    st = write_truth(call, p, paths[n - 1], err);
    for (int i = 0; i < n - 1 && st && !o->overwrite; i++)
        unlink(paths[i]);
    if (!st)
        wm_summary_texts(call->summary, names ? "files" : "csv_files", paths, n);
    return st;
}

static wm_status write_folder(cli_call *call, const wm_problem *p, const wm_data *const tables[2],
                              wm_error *err)
{
    static const char *const ratio[] = {"p", "q"}, *const pairs[] = {"u", "v"};
    const data_opts *o = call->opts;
    const char *const *names = wm_problem_about(p)->kind == WM_PROBLEM_RATIO ? ratio : pairs;
    const char *const end = o->format ? ".csv" : ".npy";
    char path[3][CLI_PATH_SIZE];
    wm_status st;

    if ((st = cli_path(path[0], o->out, names[0], end, call, err)) ||
        (st = cli_path(path[1], o->out, names[1], end, call, err)) ||
        (st = cli_path(path[2], o->out, "truth", ".json", call, err)))
        return st;
    return write_files(call, p, tables, names, (const char *[]){path[0], path[1], path[2]}, 3, err);
}

static wm_status write_csv(cli_call *call, const wm_problem *p, const wm_data *const tables[2],
                           wm_error *err)
{
    const char *csv = ((const data_opts *)call->opts)->csv;
    char truth[CLI_PATH_SIZE];
    wm_status st = cli_path(truth, "", csv, ".truth.json", call, err);

    return st ? st : write_files(call, p, tables, NULL, (const char *[]){csv, truth}, 2, err);
}

static void say(const cli_call *call, bool ratio, const wm_data *const tables[2])
{
    const data_opts *o = call->opts;

    wm_say(call->sink, WM_LOG_INFO, "wrote %s (%lld x %lld) and %s (%lld x %lld) to %s%s%s",
           ratio ? "p" : "u", (long long)wm_data_count(tables[0]),
           (long long)wm_data_dim(tables[0]), ratio ? "q" : "v",
           (long long)wm_data_count(tables[1]), (long long)wm_data_dim(tables[1]),
           o->out ? o->out : "", o->out && o->csv ? " and " : "", o->csv ? o->csv : "");
}

static wm_status write_samples(cli_call *call, const wm_problem *p, wm_error *err)
{
    const data_opts *o = call->opts;
    const bool ratio = wm_problem_about(p)->kind == WM_PROBLEM_RATIO;
    const wm_data *tables[2];
    wm_data *a = NULL, *b = NULL;
    wm_status st;

    if (o->csv && ratio)
        return cli_usage(call, err, "--csv is for pairs; -o DIR --format csv writes p and q");
    if (o->n_q && !ratio)
        return cli_usage(call, err, "--n-q: u and v have the same rows");
    if (!o->out && !o->csv)
        return WM_OK;
    if ((st = wm_problem_draw(&a, &b, p, o->n, o->n_q ? o->n_q : o->n, (uint64_t)call->common->seed,
                              o->stream, err)))
        return st;
    tables[0] = a;
    tables[1] = b;
    if (o->out)
        st = write_folder(call, p, tables, err);
    if (!st && o->csv)
        st = write_csv(call, p, tables, err);
    if (!st)
        say(call, ratio, tables);
    wm_data_free(a);
    wm_data_free(b);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const data_opts *o = call->opts;
    wm_problem *p = NULL;
    wm_status st;

    if (o->list || call->n_args == 0) {
        if (cli_shows_tables(call))
            list_text();
        else
            list_json(call->summary);
        return WM_OK;
    }
    if ((st = make_problem(&p, call, err)))
        return st;
    put_truth(call->summary, p);
    if (!(st = write_samples(call, p, err)) && cli_shows_tables(call))
        st = print_truth(call, p, err);
    wm_problem_free(p);
    return st;
}

const cli_command cmd_data = {
    .name = "data",
    .about = "samples of problems whose answer is known, to try the rest on",
    .arguments = "[NAME]",
    .details = "Without NAME lists the problems: normals apart, mixtures, heavy tails, p = q, "
               "whose KL is known; Gaussian, cubed, Student, rolled-up, discrete pairs, whose "
               "mutual information is known. All is a function of the seed and the stream.",
    .examples = "waymark data\n"
                "waymark data shift -o shift                        # then: waymark ratio "
                "shift/p.npy shift/q.npy\n"
                "waymark data student --dof 2 -n 5000 -o student    # then: waymark mi "
                "student/u.npy student/v.npy\n"
                "waymark data cube --mi 3 --csv cube.csv            # columns X0, Y0",
    .common = CLI_SEED | CLI_BITS,
    CLI_OPTIONS(rows, data_opts, defaults),
    .run = run,
};
