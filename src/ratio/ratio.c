/* ratio.c - wm_ratio: checking and preparing samples, and the way to one of the two fits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/rng.h"
#include "columns/knots.h"
#include "ratio/ratio_mixture.h"

enum { MIN_ROWS = 4 }; /* two to train on and two to judge by */

void wm_ratio_opts_init(wm_ratio_opts *opts)
{
    *opts = (wm_ratio_opts){
        .struct_size = sizeof *opts,
        .bridges = 8,
        .model = WM_RATIO_QUADRATIC,
        .form = WM_FORM_FREE,
        .linear_term = true,
        .objective = WM_OBJECTIVE_LOGISTIC,
        .optimizer = WM_OPTIMIZER_AUTO,
        .scaling = WM_SCALING_STANDARD,
        .refine = true,
        .calibrate = true,
        .adam = {.iterations = 20000,
                 .batch = 1024,
                 .lr = 1e-3,
                 .lr_constants = 10,
                 .eval_every = WM_AUTO},
        .width = 128,
        .blocks = 1,
        .held_out = 0.1,
        .stop_saturated = true,
        .components = {WM_AUTO, WM_AUTO},
    };
    wm_spacing_init(&opts->spacing);
    wm_fit_control_init(&opts->control);
}

/* ---- the network ---- */

static wmi_model network(const wm_ratio *r)
{
    static const wmi_quadratic_kind kinds[] = {
        [WM_FORM_FREE] = WMI_QUADRATIC_FREE,
        [WM_FORM_POSDIAG] = WMI_QUADRATIC_SYMMETRIC,
        [WM_FORM_SEMIDEF] = WMI_QUADRATIC_PSD,
        [WM_FORM_DIAGONAL] = WMI_QUADRATIC_FREE, /* not used */
    };
    wmi_model net;

    wmi_model_init(&net, r->alphas.bridges, r->encoder.dim);
    net.terms = (r->model & WM_RATIO_LINEAR ? WMI_TERM_LINEAR : 0) |
                (r->model & WM_RATIO_QUADRATIC ? WMI_TERM_QUADRATIC : 0) |
                (r->model & WM_RATIO_ADDITIVE ? WMI_TERM_ADDITIVE : 0) |
                (r->model & WM_RATIO_MLP ? WMI_TERM_MLP : 0) |
                (r->model & WM_RATIO_SEPARABLE ? WMI_TERM_SEPARABLE : 0);
    if (r->model & WM_RATIO_SEPARABLE) { /* other terms read both again */
        net.dim_u = r->encoder.first[r->pairs];
        net.dim -= net.dim_u;
    }
    net.diagonal = r->form == WM_FORM_DIAGONAL;
    net.quadratic = wmi_head_quadratic(kinds[r->form], r->linear_term);
    net.mlp.width = net.mlp.out = r->width;
    net.mlp.blocks = (int)r->blocks;
    net.squares = r->squares;
    net.head = wmi_head_linear();
    net.separable.g.mlp = net.separable.f.mlp = net.mlp;
    return net;
}

void wmi_ratio_take_opts(wm_ratio *r, const wm_ratio_opts *opts)
{
    r->model = opts->model;
    r->form = opts->form;
    r->linear_term = opts->linear_term;
    r->squares = opts->squares;
    r->width = opts->width;
    r->blocks = opts->blocks;
    r->pairs = opts->pairs;
    r->seed = opts->control.seed;
    r->info.saturated_bridge = -1;
}

wm_status wmi_ratio_open(wm_ratio *r, wm_error *err)
{
    const int64_t m = r->alphas.bridges;
    wm_status st;

    r->info.dim = r->encoder.raw;
    r->info.bridges = m;
    r->info.members = r->members;
    r->net = network(r);
    if ((st = wmi_params_new(&r->params, err)) ||
        (st = r->model & WM_RATIO_MIXTURE ? wmi_ratio_declare_mixture(r, err)
                                          : wmi_model_declare(r->params, "", &r->net, err)) ||
        (st = wmi_alloc(&r->theta, r->members * wmi_params_count(r->params), sizeof *r->theta,
                        "parameters", err)) ||
        (st = wmi_alloc(&r->bridges, m, sizeof *r->bridges, "bridges", err)) ||
        (r->model & WM_RATIO_ADDITIVE &&
         (st = wmi_alloc(&r->knots, r->encoder.dim * (r->net.bases + 4), sizeof *r->knots, "knots",
                         err))))
        return st;
    for (int64_t k = 0; k < m; k++)
        r->bridges[k] =
            (wm_bridge){.alpha_from = r->alphas.alpha[k], .alpha_to = r->alphas.alpha[k + 1]};
    return WM_OK;
}

wm_status wmi_ratio_place_knots(wm_ratio *r, const int64_t n[2], const double *const x[2],
                                wm_error *err)
{
    enum { MOST = 20000 }; /* rows of an end: quantiles are known well enough */
    const int64_t d = r->encoder.dim;
    int64_t used[2] = {0, 0}, at = 0;
    float *rows = NULL;
    wm_status st;

    if (!r->knots)
        return WM_OK;
    for (int t = 0; t < 2; t++)
        used[t] = !x[t] ? 0 : n[t] < MOST ? n[t] : MOST;
    if ((st = wmi_alloc(&rows, (used[0] + used[1]) * d, sizeof *rows, "rows", err)))
        return st;
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < used[t] * d; i++)
            rows[at++] = (float)x[t][i];
    st = wmi_knots_of(used[0] + used[1], d, rows, r->net.bases, r->knots, err);
    for (int64_t f = 0; !st && f < d; f++) /* between the two values that an indicator has */
        if (!isnan(r->encoder.level[f]))
            wmi_knots_even(-r->encoder.shift[f] / r->encoder.scale[f],
                           (1 - r->encoder.shift[f]) / r->encoder.scale[f], r->net.bases,
                           r->knots + f * (r->net.bases + 4));
    wmi_free(rows);
    return st;
}

void wm_ratio_free(wm_ratio *r)
{
    if (!r)
        return;
    wmi_params_free(r->params);
    wmi_encoder_free(&r->encoder);
    wmi_free(r->theta);
    wmi_free(r->mix);
    wmi_free(r->knots);
    wmi_free(r->bridges);
    wmi_free(r->columns);
    wmi_free(r->schema);
    wmi_free(r);
}

/* ---- samples ---- */

static wm_status check_samples(const wm_data *p, const wm_data *q, const wm_ratio_opts *opts,
                               wm_error *err)
{
    const wm_data *const both[] = {p, q};
    static const char *const names[] = {"p", "q"};
    wm_status st;

    if (!p || (!q && !opts->normal_q && !opts->pairs))
        return wmi_fail(err, WM_EINVAL, "samples of p and of q are needed");
    if (q && (opts->normal_q || opts->pairs))
        return wmi_fail(err, WM_EINVAL, "q is given, but %s",
                        opts->pairs ? "pairs says that it is made from p"
                                    : "normal_q says that it is N(0, I)");
    if (opts->pairs < 0 || opts->pairs >= wm_data_dim(p))
        return wmi_fail(err, WM_EINVAL,
                        "pairs: %" PRId64 " columns of u of %" PRId64 " in all leave no v",
                        opts->pairs, wm_data_dim(p));
    if (opts->normal_q && opts->scaling != WM_SCALING_NONE)
        return wmi_fail(err, WM_EINVAL, "with q = N(0, I) the columns cannot be standardised");
    for (int i = 0; i < 2 && both[i]; i++) {
        if (wm_data_count(both[i]) < MIN_ROWS)
            return wmi_fail(err, WM_EINVAL, "%s has %" PRId64 " rows: at least %d are needed",
                            names[i], wm_data_count(both[i]), MIN_ROWS);
        if ((st = wm_data_check_finite(both[i], names[i], err)))
            return st;
    }
    if (q && wm_data_dim(p) != wm_data_dim(q))
        return wmi_fail(err, WM_ESHAPE,
                        "p has %" PRId64 " columns and q %" PRId64 ": they must have the same ones",
                        wm_data_dim(p), wm_data_dim(q));
    return WM_OK;
}

/* The two tables, encoded and in the order of a permutation: the first n_valid rows are held out.
 */
typedef struct shuffled {
    double *x[2];
} shuffled;

/* A random tenth (held_out) of each table is set aside, by a permutation of its own. */
static wm_status split(wmi_ratio_rows *rows, shuffled *own, const wm_ratio *r, const wm_data *table,
                       int which, double held_out, wm_error *err)
{
    static const char *const streams[] = {"split/p", "split/q"};
    const int64_t n = wm_data_count(table), d = rows->dim, raw = r->encoder.raw;
    const wmi_rng rng = wmi_rng_make(rows->seed, streams[which]);
    int64_t *order = NULL, n_valid = llround(held_out * (double)n);
    double *ordered = NULL;
    wm_status st;

    n_valid = n_valid < 2 ? 2 : n_valid > n - 2 ? n - 2 : n_valid;
    if ((st = wmi_alloc(&order, n, sizeof *order, "split", err)) ||
        (st = wmi_alloc(&ordered, n * raw, sizeof *ordered, "rows", err)) ||
        (st = wmi_alloc(&own->x[which], n * d, sizeof(double), "rows", err)))
        goto done;
    wmi_rng_permutation(&rng, n, order);
    for (int64_t i = 0; i < n; i++)
        memcpy(ordered + i * raw, wm_data_rows(table) + order[i] * raw,
               (size_t)raw * sizeof *ordered);
    if ((st = wmi_encoder_apply(&r->encoder, n, ordered, own->x[which], err)))
        goto done;
    rows->n_valid[which] = n_valid;
    rows->n_train[which] = n - n_valid;
    rows->valid[which] = own->x[which];
    rows->train[which] = own->x[which] + n_valid * d;
done:
    wmi_free(ordered);
    wmi_free(order);
    return st;
}

void wmi_ratio_rows_q(const wmi_ratio_rows *rows, bool valid, int64_t first, int64_t n, double *out)
{
    const int64_t d = rows->dim;

    if (rows->normal_q) {
        const wmi_rng rng = wmi_rng_make(rows->seed, valid ? "normal_q/valid" : "normal_q/rows");

        wmi_rng_normal_f64(&rng, (uint64_t)(first * d), n * d, out);
        return;
    }
    const double *table = valid ? rows->valid[1] : rows->train[1];
    const int64_t count = valid ? rows->n_valid[1] : rows->n_train[1];
    const int64_t ahead = rows->pairs ? count / 2 : 0; /* no row meets itself */

    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * d, table + (first + i + ahead) % count * d, (size_t)d * sizeof *out);
}

void wmi_ends_free(wmi_ends *e)
{
    wmi_free(e->x[0]);
    wmi_free(e->x[1]);
}

wm_status wmi_ratio_ends(wmi_ends *e, const wmi_ratio_rows *rows, bool all, wm_error *err)
{
    const int64_t d = rows->dim;
    wm_status st = WM_OK;

    for (int t = 0; !st && t < 2; t++) {
        const bool drawn = t == 1 && rows->normal_q;
        const int64_t train = drawn ? rows->n_train[0] : rows->n_train[t];
        const int64_t valid = all && !drawn ? rows->n_valid[t] : 0;

        e->n[t] = train + valid;
        if ((st = wmi_alloc(&e->x[t], e->n[t] * d, sizeof *e->x[t], "rows", err)))
            break;
        if (t == 1)
            wmi_ratio_rows_q(rows, false, 0, train, e->x[t]);
        else
            memcpy(e->x[t], rows->train[t], (size_t)(train * d) * sizeof *e->x[t]);
        if (valid)
            memcpy(e->x[t] + train * d, rows->valid[t], (size_t)(valid * d) * sizeof *e->x[t]);
    }
    return st;
}

wm_status wmi_ratio_chain(wm_chain **out, const wm_ratio *r, wm_error *err)
{
    return wm_chain_new(out, r->alphas.bridges, &r->alphas, r->encoder.dim, r->columns, err);
}

/* ---- fitting ---- */

static bool convex_applies(const wm_ratio_opts *o)
{
    return o->objective == WM_OBJECTIVE_LOGISTIC &&
           (o->model == WM_RATIO_LINEAR || o->model == WM_RATIO_ADDITIVE ||
            ((o->model & ~WM_RATIO_ADDITIVE) == WM_RATIO_QUADRATIC && o->form == WM_FORM_FREE &&
             o->linear_term));
}

wm_status wmi_ratio_check_opts(const wm_ratio_opts *o, wm_error *err)
{
    if (o->objective == WM_OBJECTIVE_DENOISE)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "denoising is for energy-based models, whose noise is normal: a "
                                  "ratio of two samples needs another objective"),
                         err, "objective");
    if (!o->model || (o->model != WM_RATIO_MIXTURE &&
                      o->model & ~(WM_RATIO_LINEAR | WM_RATIO_QUADRATIC | WM_RATIO_TRAINED)))
        return wmi_fail(
            err, WM_EINVAL,
            "model %#x is not a sum of linear, quadratic, additive, mlp and separable, and "
            "not mixture, which stands alone",
            o->model);
    for (int t = 0; t < 2; t++)
        if (o->components[t] != WM_AUTO &&
            (o->components[t] < 1 || o->components[t] > WMI_MIXTURE_MOST))
            return wmi_fail(err, WM_EINVAL, "%" PRId64 " components: 1 to %d are possible",
                            o->components[t], WMI_MIXTURE_MOST);
    if (o->model & WM_RATIO_SEPARABLE && !o->pairs)
        return wmi_fail(err, WM_EINVAL,
                        "separable bridges g(u)' W f(v) are for pairs of u and v (waymark mi): two "
                        "tables of samples have no u and v; choose mlp");
    if (o->pairs && !(o->model & ~(WM_RATIO_LINEAR | WM_RATIO_ADDITIVE)))
        return wmi_fail(err, WM_EINVAL,
                        "linear and additive terms see one column at a time, and u and v depend on "
                        "each other: add quadratic, mlp or separable");
    if (o->form == WM_FORM_DIAGONAL && (o->model != WM_RATIO_QUADRATIC || o->pairs))
        return wmi_fail(err, WM_EINVAL,
                        "the diagonal form is a quadratic model of two tables, by itself");
    if (!(o->held_out > 0 && o->held_out < 1))
        return wmi_fail(err, WM_EINVAL, "held-out share %g is not between 0 and 1", o->held_out);
    if (o->optimizer == WM_OPTIMIZER_CONVEX && !convex_applies(o))
        return wmi_fail(
            err, WM_EINVAL,
            "the convex optimizer fits linear, additive and quadratic (free, with "
            "linear term) bridges with the logistic objective: choose adam for this model");
    if (o->model & (WM_RATIO_MLP | WM_RATIO_SEPARABLE) &&
        (o->width < 1 || o->blocks < 0 || o->blocks > 1000))
        return wmi_fail(err, WM_EINVAL, "a network of width %" PRId64 " and %" PRId64 " blocks",
                        o->width, o->blocks);
    return WM_OK;
}

wm_status wmi_ratio_fit_rows(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                             wm_error *err)
{
    r->info.n_train = rows->n_train[0];
    r->info.n_held_out = rows->n_valid[0];
    if (opts->model & WM_RATIO_MIXTURE)
        return wmi_ratio_fit_mixture(r, rows, opts, err);
    if (opts->optimizer == WM_OPTIMIZER_CONVEX ||
        (opts->optimizer == WM_OPTIMIZER_AUTO && convex_applies(opts) &&
         (!(opts->model & WM_RATIO_ADDITIVE) || wmi_ratio_can_curve(&r->encoder))))
        return wmi_ratio_fit_convex(r, rows, opts, err);
    return wmi_ratio_fit_adam(r, rows, opts, err);
}

static void rows_meet_themselves(wmi_ratio_rows *rows)
{
    rows->n_train[1] = rows->n_train[0];
    rows->n_valid[1] = rows->n_valid[0];
    rows->train[1] = rows->train[0];
    rows->valid[1] = rows->valid[0];
}

/* The roles that were given, or those that pairs imply. */
static wm_status take_columns(wm_ratio *r, const wm_ratio_opts *o, wm_error *err)
{
    wm_status st = wmi_alloc(&r->columns, r->encoder.dim, sizeof *r->columns, "columns", err);

    if (st)
        return st;
    wmi_encoder_columns(&r->encoder, o->pairs, r->columns);
    if (o->columns)
        memcpy(r->columns, o->columns, (size_t)r->encoder.dim * sizeof *r->columns);
    return WM_OK;
}

static wm_status fit(wm_ratio **out, const wm_data *p, const wm_data *q, const wm_ratio_opts *opts,
                     wm_error *err)
{
    wmi_ratio_rows rows = {0};
    shuffled own = {0};
    wm_ratio *r = NULL;
    double *mix = NULL;
    wm_status st;

    if ((st = wmi_ratio_check_opts(opts, err)) || (st = check_samples(p, q, opts, err)) ||
        (st = wmi_alloc(&r, 1, sizeof *r, "ratio", err)))
        return st;
    const int64_t n[2] = {wm_data_count(p), q ? wm_data_count(q) : 0};
    const double *const x[2] = {wm_data_rows(p), q ? wm_data_rows(q) : NULL};
    const wmi_encode_opts encode = {.standardize = opts->scaling == WM_SCALING_STANDARD};

    wmi_ratio_take_opts(r, opts);
    r->members = 1;
    rows.dim = wm_data_dim(p);
    rows.normal_q = opts->normal_q;
    rows.pairs = opts->pairs > 0;
    rows.seed = opts->control.seed;
    if ((st = wm_spacing_alphas(&r->alphas, &opts->spacing, opts->bridges, err)) ||
        (st = wmi_encoder_fit(&r->encoder, rows.dim, n, x, &encode, err)) ||
        (st = take_columns(r, opts, err)) ||
        (st = split(&rows, &own, r, p, 0, opts->held_out, err)) ||
        (q && (st = split(&rows, &own, r, q, 1, opts->held_out, err))))
        goto done;
    if (rows.pairs)
        rows_meet_themselves(&rows);
    if ((opts->model & WM_RATIO_MIXTURE &&
         (st = wmi_ratio_choose_components(r, &rows, opts, err))) ||
        (st = wmi_ratio_open(r, err)) ||
        (st = wmi_ratio_place_knots(r, rows.n_train, rows.train, err)) ||
        (opts->form == WM_FORM_DIAGONAL && (st = wmi_ratio_turn(&mix, r, &rows, own.x, err))) ||
        (st = wmi_ratio_fit_rows(r, &rows, opts, err)))
        goto done;
    r->mix = mix; /* rows were turned before: from now on the ratio does it */
    mix = NULL;
    *out = r;
    r = NULL; /* the caller's now */
done:
    wmi_free(mix);
    wmi_free(own.x[0]);
    wmi_free(own.x[1]);
    wm_ratio_free(r);
    return st;
}

wm_status wm_ratio_fit(wm_ratio **out, const wm_data *p, const wm_data *q,
                       const wm_ratio_opts *opts, wm_error *err)
{
    wm_ratio_opts o;
    wm_status st;
    int threads;

    *out = NULL;
    wm_ratio_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_ratio_opts_init", err)))
        return st;
    threads = wmi_threads_use(o.control.threads);
    st = fit(out, p, q, &o, err);
    wmi_threads_restore(threads);
    return st;
}

void wm_ratio_get_info(const wm_ratio *r, wm_ratio_info *info)
{
    *info = r->info;
}

void wm_ratio_get_bridge(const wm_ratio *r, int64_t k, wm_bridge *bridge)
{
    *bridge = r->bridges[k];
}

void wmi_ratio_judge(wm_ratio *r, const wm_checks *checks)
{
    const wm_check *reason = wm_checks_reason(checks);

    r->judged = true;
    r->verdict = wm_checks_verdict(checks);
    snprintf(r->reason, sizeof r->reason, "%s", reason ? reason->meaning : "");
}

bool wm_ratio_get_verdict(const wm_ratio *r, wm_verdict *verdict, const char **reason)
{
    if (!r->judged)
        return false;
    if (verdict)
        *verdict = r->verdict;
    if (reason)
        *reason = r->reason;
    return true;
}
