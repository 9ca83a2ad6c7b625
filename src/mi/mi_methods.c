/* mi_methods.c - splitting, training, and what the critics say about held-out rows
 * (mi_methods.h). */
#include "mi/mi_methods.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/sums.h"
#include "mi/ksg.h"
#include "mi/mi_critic.h"
#include "optim/lr_schedule.h"
#include "waymark/sink.h"
#include "waymark/waymarks.h"

enum {
    MAX_HELD_OUT = 10000, /* rows: more would cost more than training does */
    LOOK_PAIRS = 8000,    /* of q in a half of the held-out rows, while training */
    LAST_PAIRS = 200000,  /* and for the estimate */
    LOOK_ROUNDS = 2,      /* groupings of the held-out rows into batches of InfoNCE */
    LAST_ROUNDS = 16,     /* and for the estimate */
    MIN_ROWS = 40
};

/* One run. Rows are in the order of the split: training, first half held out, second half. */
typedef struct study {
    wmi_mi_method kind;
    const wmi_mi_method_opts *opts;
    int64_t n, du, dv;
    int64_t n_train, half[2], first[2]; /* rows; first row of a half */
    float *u, *v;                       /* (n, du), (n, dv) */
    wmi_critic critic;
    float *best[2];       /* the best parameters by either half ... */
    double best_value[2]; /* ... and their objective there */
    int64_t best_step[2];
    int64_t *row[2];   /* (batch) of p, and of q's v */
    double *t;         /* (1 + shifts, half) scores of held-out pairs; row 0: of p */
    double *influence; /* (half) */
    double *from_v;    /* (half) */
    int64_t *order;    /* (half) */
} study;

/* ---- rows ---- */

/* Pair number `slot` of the next pass: u of row i, v of row j. */
static void put(const study *s, int64_t slot, int64_t i, int64_t j)
{
    wmi_critic_put(&s->critic, slot, s->u + i * s->du, s->v + j * s->dv);
}

static wm_status split(study *s, const double *u, const double *v, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(s->opts->control.seed, "mi/split");
    int64_t *order = NULL;
    wm_status st;

    if ((st = wmi_alloc(&s->u, s->n * s->du, sizeof *s->u, "rows of u", err)) ||
        (st = wmi_alloc(&s->v, s->n * s->dv, sizeof *s->v, "rows of v", err)) ||
        (st = wmi_alloc(&order, s->n, sizeof *order, "order of rows", err)))
        return st;
    wmi_rng_permutation(&rng, s->n, order);
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t c = 0; c < s->du; c++)
            s->u[i * s->du + c] = (float)u[order[i] * s->du + c];
        for (int64_t c = 0; c < s->dv; c++)
            s->v[i * s->dv + c] = (float)v[order[i] * s->dv + c];
    }
    wmi_free(order);
    return WM_OK;
}

/* Pairs of q for each row of a half: row i meets v of rows i + 1 .. i + shifts, in a circle. */
static int64_t count_shifts(const study *s, int h, bool last)
{
    const int64_t n = s->half[h];
    const int64_t many = (last ? LAST_PAIRS : LOOK_PAIRS) / n;

    return many < n - 1 ? many : n - 1;
}

static int64_t most_scores(const study *s)
{
    const int64_t a = (1 + count_shifts(s, 0, true)) * s->half[0];
    const int64_t b = (1 + count_shifts(s, 1, true)) * s->half[1];

    return a > b ? a : b;
}

static wm_status count_rows(study *s, wm_error *err)
{
    const int64_t wish = (int64_t)((double)s->n * s->opts->held_out);
    const int64_t held = wish < MAX_HELD_OUT ? wish : MAX_HELD_OUT;

    s->n_train = s->n - held;
    s->half[0] = held / 2;
    s->half[1] = held - held / 2;
    s->first[0] = s->n_train;
    s->first[1] = s->n_train + s->half[0];
    if (s->half[0] < 2 || s->n_train < 2)
        return wmi_fail(err, WM_EINVAL,
                        "a held-out share of %g leaves %" PRId64 " of %" PRId64
                        " rows for training and %" PRId64 " apart: 2 and 4 are needed",
                        s->opts->held_out, s->n_train, s->n, held);
    return WM_OK;
}

static wm_status open_study(study *s, const double *u, const double *v, wm_error *err)
{
    wmi_critic *c = &s->critic;
    int64_t batch = s->opts->adam.batch;
    wm_status st;

    if ((st = count_rows(s, err)) || (st = split(s, u, v, err)))
        return st;
    if (batch > s->n_train)
        batch = s->n_train;
    if (s->kind == WMI_MI_INFONCE && batch > s->half[0])
        batch = s->half[0];
    if ((st = wmi_critic_open(c, s->kind, s->du, s->dv, batch, s->opts, err)) ||
        (st = wmi_alloc(&s->best[0], c->n, sizeof **s->best, "best parameters", err)) ||
        (st = wmi_alloc(&s->best[1], c->n, sizeof **s->best, "best parameters", err)) ||
        (st = wmi_alloc(&s->row[0], batch, sizeof **s->row, "rows", err)) ||
        (st = wmi_alloc(&s->row[1], batch, sizeof **s->row, "rows", err)) ||
        (st = wmi_alloc(&s->t, most_scores(s), sizeof *s->t, "scores", err)) ||
        (st = wmi_alloc(&s->influence, s->half[1], sizeof *s->influence, "influence", err)) ||
        (st = wmi_alloc(&s->from_v, s->half[1], sizeof *s->from_v, "influence", err)) ||
        (st = wmi_alloc(&s->order, s->half[1], sizeof *s->order, "order of rows", err)))
        return st;
    return WM_OK;
}

static void close_study(study *s)
{
    wmi_critic_close(&s->critic);
    wmi_free(s->u);
    wmi_free(s->v);
    for (int h = 0; h < 2; h++) {
        wmi_free(s->best[h]);
        wmi_free(s->row[h]);
    }
    wmi_free(s->t);
    wmi_free(s->influence);
    wmi_free(s->from_v);
    wmi_free(s->order);
}

/* ---- held-out rows ---- */

/* T of the pairs of a half into s->t, (1 + shifts, n): shift 0 is p. */
static wm_status score_pairs(study *s, int h, int64_t shifts, wm_error *err)
{
    const int64_t n = s->half[h], pairs = (1 + shifts) * n, slots = s->critic.slots;
    wm_status st;

    for (int64_t from = 0; from < pairs; from += slots) {
        const int64_t count = pairs - from < slots ? pairs - from : slots;
        const float *t;

        for (int64_t i = 0; i < count; i++) {
            const int64_t row = (from + i) % n, shift = (from + i) / n;

            put(s, i, s->first[h] + row, s->first[h] + (row + shift) % n);
        }
        if ((st = wmi_critic_scores(&s->critic, &t, err)))
            return st;
        for (int64_t i = 0; i < count; i++)
            s->t[from + i] = (double)t[i];
    }
    return WM_OK;
}

/* The bound that a method reports, from s->t, and the influence of each row on it: what a row adds
 * as a draw of p, as a u of q, and as a v of q. e^T is taken relative to the largest of them. */
static double joint_bound(study *s, int h, int64_t shifts)
{
    const int64_t n = s->half[h];
    const double tau = s->kind == WMI_MI_SMILE ? s->opts->tau : INFINITY;
    const bool of_log = s->kind == WMI_MI_DV || s->kind == WMI_MI_SMILE;
    const double mean_p = wmi_sum_f64(s->t, n) / (double)n;
    double most = -INFINITY, mean_q = 0, scale;

    for (int64_t i = n; i < (1 + shifts) * n; i++) {
        s->t[i] = fmax(-tau, fmin(tau, s->t[i]));
        most = fmax(most, s->t[i]);
    }
    memset(s->influence, 0, (size_t)n * sizeof *s->influence);
    memset(s->from_v, 0, (size_t)n * sizeof *s->from_v);
    for (int64_t k = 1; k <= shifts; k++)
        for (int64_t i = 0; i < n; i++) {
            const double w = exp(s->t[k * n + i] - most) / (double)shifts;

            s->influence[i] += w;
            s->from_v[(i + k) % n] += w;
        }
    mean_q = wmi_sum_f64(s->influence, n) / (double)n;
    scale = of_log ? 1 / mean_q : exp(most);
    for (int64_t i = 0; i < n; i++)
        s->influence[i] = s->t[i] - mean_p - scale * (s->influence[i] + s->from_v[i] - 2 * mean_q);
    return of_log ? mean_p - (most + log(mean_q)) : mean_p + 1 - scale * mean_q;
}

/* Minus the logistic loss of s->t. */
static double logistic_objective(const study *s, int h, int64_t shifts)
{
    const int64_t n = s->half[h];
    double of_p = 0, of_q = 0;

    for (int64_t i = 0; i < n; i++)
        of_p += wmi_log1pexp(-s->t[i]);
    for (int64_t i = n; i < (1 + shifts) * n; i++)
        of_q += wmi_log1pexp(s->t[i]);
    return -of_p / (double)n - of_q / (double)(shifts * n);
}

/* Mean over rows of log(e^T_ii / mean_j e^T_ij) in batches drawn anew in every round. Rows that no
 * batch had (they fit no whole batch) have no influence. */
static wm_status infonce_bound(study *s, int h, int64_t rounds, double *bound, wm_error *err)
{
    const int64_t n = s->half[h], b = s->critic.batch, groups = n / b;
    const wmi_rng rng = wmi_rng_make(s->opts->control.seed, h ? "mi/batches1" : "mi/batches0");
    double *seen = s->from_v, sum = 0;
    wm_status st;

    memset(s->influence, 0, (size_t)n * sizeof *s->influence);
    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int64_t k = 0; k < rounds * groups; k++) {
        const int64_t *row = s->order + k % groups * b;
        const float *t; /* (b, b) */

        if (k % groups == 0) {
            const wmi_rng round = wmi_rng_sub(&rng, (uint64_t)(k / groups));

            wmi_rng_permutation(&round, n, s->order);
        }
        for (int64_t i = 0; i < b; i++)
            put(s, i, s->first[h] + row[i], s->first[h] + row[i]);
        if ((st = wmi_critic_scores(&s->critic, &t, err)))
            return st;
        for (int64_t i = 0; i < b; i++) {
            float top = -INFINITY; /* GCC 12 for arm64 cannot compile a double fmax() over floats */
            double most, total = 0;

            for (int64_t j = 0; j < b; j++)
                top = fmaxf(top, t[i * b + j]);
            most = (double)top;
            for (int64_t j = 0; j < b; j++)
                total += exp((double)t[i * b + j] - most);
            s->influence[row[i]] += (double)t[i * b + i] - most - log(total / (double)b);
            seen[row[i]]++;
        }
    }
    for (int64_t i = 0; i < n; i++)
        sum += s->influence[i];
    *bound = sum / (double)(rounds * groups * b);
    for (int64_t i = 0; i < n; i++)
        s->influence[i] = seen[i] > 0 ? s->influence[i] / seen[i] - *bound : 0;
    return WM_OK;
}

/* Variance of the bound on a half, from the influence of its rows. */
static double bound_variance(const study *s, int h)
{
    return wmi_moments_f64(s->influence, s->half[h]).var / (double)s->half[h];
}

/* The bound of the present parameters on a half, and what the choice among parameters goes by. */
static wm_status judge(study *s, int h, bool last, double *bound, double *objective, wm_error *err)
{
    const int64_t shifts = count_shifts(s, h, last);
    wm_status st;

    if (s->kind == WMI_MI_INFONCE) {
        st = infonce_bound(s, h, last ? LAST_ROUNDS : LOOK_ROUNDS, bound, err);
        *objective = st ? NAN : *bound;
        return st;
    }
    if ((st = score_pairs(s, h, shifts, err)))
        return st;
    *objective = logistic_objective(s, h, shifts);
    *bound = joint_bound(s, h, shifts);
    /* A batch that happens to miss the tail must not look better for it. */
    if (s->kind == WMI_MI_NWJ || s->kind == WMI_MI_DV)
        *objective = *bound - 2 * sqrt(bound_variance(s, h));
    return WM_OK;
}

/* ---- training ---- */

/* Keeps the parameters where they are the best yet on a half. */
static wm_status look(study *s, int64_t step, double *mean, bool *better, wm_error *err)
{
    wm_status st;

    *better = false;
    *mean = 0;
    for (int h = 0; h < 2; h++) {
        double bound, objective;

        if ((st = judge(s, h, false, &bound, &objective, err)))
            return st;
        *mean += 0.5 * bound;
        if (step > 0 && !(objective > s->best_value[h])) /* also where it is NaN */
            continue;
        *better = true;
        s->best_value[h] = objective;
        s->best_step[h] = step;
        memcpy(s->best[h], s->critic.theta, (size_t)s->critic.n * sizeof *s->critic.theta);
    }
    return WM_OK;
}

static wm_status take_step(study *s, int64_t step, double lr, wm_error *err)
{
    const int64_t n = s->n_train, b = s->critic.batch;

    wm_pairing_draw(s->opts->control.seed, step, n, n, b, s->row[0], s->row[1]);
    for (int64_t i = 0; i < b; i++) {
        const int64_t own = s->row[0][i], other = s->row[1][i];

        put(s, i, own, own);
        if (s->kind != WMI_MI_INFONCE)
            put(s, b + i, own, other == own ? (own + 1) % n : other);
    }
    return wmi_critic_step(&s->critic, step, lr, err);
}

static bool wants_to_end(const study *s, double started)
{
    const wmi_mi_method_opts *o = s->opts;

    return (o->control.stop && *o->control.stop) ||
           (o->control.time_limit > 0 &&
            wm_clock(o->control.sink) - started >= o->control.time_limit);
}

static wm_status train(study *s, wmi_mi_method_result *r, wm_error *err)
{
    const wmi_mi_method_opts *o = s->opts;
    const wmi_lr_schedule schedule = {
        .kind = WMI_LR_COSINE, .lr0 = o->adam.lr, .total = o->adam.iterations};
    const double started = wm_clock(o->control.sink);
    const char *name = wmi_mi_method_name(s->kind);
    wm_task progress;
    int64_t stale = 0;
    bool better;
    double mi;
    wm_status st = look(s, 0, &mi, &better, err);

    wm_task_start(&progress, o->control.sink, "steps", 0, o->adam.iterations);
    while (!st && r->steps < o->adam.iterations && !wants_to_end(s, started)) {
        wm_error why;

        st = take_step(s, r->steps, wmi_lr_at(&schedule, r->steps), &why);
        if (st == WM_EDIVERGED) { /* what was best so far is the answer */
            wm_say(o->control.sink, WM_LOG_WARN, "%s: %s", name, why.text);
            r->diverged = true;
            st = WM_OK;
            break;
        }
        if (st) {
            if (err)
                *err = why;
            break;
        }
        r->steps++;
        if (r->steps % o->adam.eval_every == 0 || r->steps == o->adam.iterations) {
            st = look(s, r->steps, &mi, &better, err);
            stale = better ? 0 : stale + 1;
            if (o->adam.patience > 0 && stale >= o->adam.patience)
                break;
        }
        wm_task_update(&progress, r->steps, "%s: %.3f nats held out", name, mi);
    }
    wm_task_finish(&progress, r->steps, "%s: %.3f nats held out", name, mi);
    return st;
}

/* Each half judges the parameters that the other one chose. */
static wm_status conclude(study *s, wmi_mi_method_result *r, wm_error *err)
{
    const double all = (double)(s->half[0] + s->half[1]);
    double variance = 0;
    wm_status st;

    for (int h = 0; h < 2; h++) {
        const double share = (double)s->half[h] / all;
        double bound, objective;

        memcpy(s->critic.theta, s->best[1 - h], (size_t)s->critic.n * sizeof *s->critic.theta);
        if ((st = judge(s, h, true, &bound, &objective, err)))
            return st;
        r->mi += share * bound;
        variance += share * share * bound_variance(s, h);
    }
    r->se = sqrt(variance);
    r->best_step = s->best_step[0] > s->best_step[1] ? s->best_step[0] : s->best_step[1];
    r->n_train = s->n_train;
    r->n_held_out = s->half[0] + s->half[1];
    if (s->kind == WMI_MI_INFONCE)
        r->bound = log((double)s->critic.batch);
    return WM_OK;
}

/* ---- KSG ---- */

/* Rows order[0 .. n) of x. */
static wm_status pick(double **out, int64_t n, int64_t d, const double *x, const int64_t *order,
                      wm_error *err)
{
    wm_status st = wmi_alloc(out, n * d, sizeof **out, "chosen rows", err);

    for (int64_t i = 0; !st && i < n; i++)
        memcpy(*out + i * d, x + order[i] * d, (size_t)d * sizeof *x);
    return st;
}

static wm_status run_ksg(const study *s, const double *u, const double *v, wmi_mi_method_result *r,
                         wm_error *err)
{
    const wmi_mi_method_opts *o = s->opts;
    const int64_t n = o->ksg_rows > 0 && o->ksg_rows < s->n ? o->ksg_rows : s->n;
    const wmi_rng rng = wmi_rng_make(o->control.seed, "mi/ksg");
    double *own_u = NULL, *own_v = NULL;
    int64_t *order = NULL;
    wmi_ksg_opts ksg;
    wmi_ksg_result found;
    wm_status st = WM_OK;

    wmi_ksg_opts_init(&ksg);
    ksg.k = o->k;
    ksg.control = o->control;
    if (n < s->n) {
        if ((st = wmi_alloc(&order, s->n, sizeof *order, "order of rows", err)))
            goto done;
        wmi_rng_permutation(&rng, s->n, order);
        if ((st = pick(&own_u, n, s->du, u, order, err)) ||
            (st = pick(&own_v, n, s->dv, v, order, err)))
            goto done;
    }
    if ((st = wmi_ksg(&found, n, s->du, own_u ? own_u : u, s->dv, own_v ? own_v : v, &ksg, err)))
        goto done;
    r->mi = found.mi;
    r->se = found.se;
    r->doubtful = found.doubtful;
    r->n_held_out = n;
done:
    wmi_free(own_v);
    wmi_free(own_u);
    wmi_free(order);
    return st;
}

/* ---- in public ---- */

static const char *const method_names[WMI_MI_METHODS] = {
    [WMI_MI_INFONCE] = "infonce", [WMI_MI_NWJ] = "nwj",     [WMI_MI_DV] = "dv",
    [WMI_MI_JS] = "js",           [WMI_MI_SMILE] = "smile", [WMI_MI_KSG] = "ksg",
};

const char *wmi_mi_method_name(wmi_mi_method kind)
{
    return method_names[kind];
}

void wmi_mi_method_opts_init(wmi_mi_method_opts *opts)
{
    *opts = (wmi_mi_method_opts){
        .adam = {.iterations = 3000, .batch = 256, .lr = 5e-4, .eval_every = 50, .patience = 20},
        .width = 128,
        .embed = 32,
        .held_out = 0.2,
        .mine = 0.01,
        .tau = 5,
        .k = 3,
        .ksg_rows = 20000,
    };
    wm_fit_control_init(&opts->control);
}

static wm_status check(const study *s, const double *u, const double *v, wm_error *err)
{
    const wmi_mi_method_opts *o = s->opts;

    if (s->du < 1 || s->dv < 1)
        return wmi_fail(err, WM_ESHAPE,
                        "%" PRId64 " and %" PRId64 " columns: both sides need at least 1", s->du,
                        s->dv);
    if (s->n < MIN_ROWS)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " rows: at least %d are needed", s->n, MIN_ROWS);
    if (o->adam.iterations < 1 || o->adam.batch < 2 || o->width < 1 || o->embed < 1 ||
        o->adam.eval_every < 1 || !(o->adam.lr > 0) || !(o->tau > 0) ||
        !(o->mine > 0 && o->mine <= 1) || !(o->held_out > 0 && o->held_out < 1))
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " steps, batch %" PRId64 ", width %" PRId64 ", embed %" PRId64
                        ", eval_every %" PRId64 ", lr %g, tau %g, mine %g, held_out %g: all "
                        "must be positive, the batch above 1, mine at most 1, held_out below 1",
                        o->adam.iterations, o->adam.batch, o->width, o->embed, o->adam.eval_every,
                        o->adam.lr, o->tau, o->mine, o->held_out);
    for (int side = 0; side < 2; side++) {
        const double *x = side ? v : u;
        const int64_t d = side ? s->dv : s->du;

        for (int64_t i = 0; i < s->n * d; i++)
            if (!isfinite((float)x[i])) /* the critic sees floats */
                return wmi_fail(err, WM_EINVAL,
                                "%s: row %" PRId64 ", column %" PRId64
                                " is %g: a critic needs finite, standardised values",
                                side ? "v" : "u", i / d + 1, i % d + 1, x[i]);
    }
    return WM_OK;
}

/* With one thread: a network of this size gains little from a second, and waiting for it costs
 * dearly on a busy machine. What is set in a region, here of one thread, ends with it. */
static wm_status run_critic(study *s, const double *u, const double *v, wmi_mi_method_result *r,
                            wm_error *err)
{
    wm_status st = WM_OK;

#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1);
        if (!(st = open_study(s, u, v, err)) && !(st = train(s, r, err)))
            st = conclude(s, r, err);
        close_study(s);
    }
    return st;
}

wm_status wmi_mi_method_run(wmi_mi_method kind, const wmi_mi_rows *rows,
                            const wmi_mi_method_opts *opts, wmi_mi_method_result *out,
                            wm_error *err)
{
    wmi_mi_method_result r = {.bound = INFINITY};
    wmi_mi_method_opts defaults;
    study s = {.kind = kind, .opts = opts, .n = rows->n, .du = rows->du, .dv = rows->dv};
    double started;
    wm_status st;

    wmi_mi_method_opts_init(&defaults);
    if (!opts)
        s.opts = &defaults;
    started = wm_clock(s.opts->control.sink);
    if ((st = check(&s, rows->u, rows->v, err)) ||
        (st = kind == WMI_MI_KSG ? run_ksg(&s, rows->u, rows->v, &r, err)
                                 : run_critic(&s, rows->u, rows->v, &r, err)))
        return st;
    r.seconds = wm_clock(s.opts->control.sink) - started;
    *out = r;
    return WM_OK;
}

/* One method of several. */
typedef struct task {
    wm_status st;
    wm_error why;
} task;

wm_status wmi_mi_methods_run(int count, const wmi_mi_method *kinds, const wmi_mi_rows *rows,
                             const wmi_mi_method_opts *opts, wmi_mi_method_result *out,
                             wm_error *err)
{
    task *tasks = NULL;
    wmi_mi_method_opts o;
    wm_status st;

    wmi_mi_method_opts_init(&o);
    if (opts)
        o = *opts;
    if (count < 0 || count > WMI_MI_METHODS)
        return wmi_fail(err, WM_EINVAL, "%d methods at once: there are %d", count, WMI_MI_METHODS);
    if ((st = wmi_alloc(&tasks, count, sizeof *tasks, "methods", err)))
        return st;
    for (int i = 0; i < count; i++)
        if (kinds[i] == WMI_MI_KSG) /* has threads of its own */
            tasks[i].st = wmi_mi_method_run(kinds[i], rows, &o, &out[i], &tasks[i].why);
            /* One at a time, as threads come free: they take very different numbers of steps. */
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < count; i++) {
        wmi_mi_method_opts own = o;

        if (omp_get_thread_num() != 0)
            own.control.sink = NULL; /* the caller's thread alone speaks */
        if (kinds[i] != WMI_MI_KSG)
            tasks[i].st = wmi_mi_method_run(kinds[i], rows, &own, &out[i], &tasks[i].why);
    }
    for (int i = 0; i < count && !st; i++) {
        st = tasks[i].st;
        if (st && err)
            *err = tasks[i].why;
    }
    wmi_free(tasks);
    return st;
}
