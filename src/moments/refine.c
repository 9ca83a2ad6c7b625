/* refine.c - ridge-logistic regression of one bridge, started and centred at the moment solution.
 *
 * Coordinates are whitened: z = L^-1 (x - mu) with mean and covariance of the bridge's own rows.
 * There the Hessian of the logistic loss is near a multiple of the identity, so that gradient steps
 * are close to Newton's and one ridge strength suits all entries. The free vector is b = (diag P,
 * sqrt(2) lower P, v, e)   for   log r = -(z'Pz + v'z + e), whose Euclidean norm is the Frobenius
 * norm of P beside those of v and e. */
#include "moments/refine.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/stop.h"
#include "base/sums.h"
#include "engine/backend/linalg.h"
#include "engine/ops.h"
#include "engine/program.h"
#include "optim/lbfgs.h"

enum {
    CHUNK = 1024,      /* rows of each class in one run of the program */
    TRIAL_ROWS = 8192, /* of each class, at most, for the first gradient */
    VALID_ROWS = 8192,
    PAIRINGS = 4, /* times that rows meet others, where pairs are free */
};

static const double ROUNDING = 1e-24; /* of a squared mean, the variance of a constant column */
static const double SURE = 2; /* times the noise, that a step must win, and the refinement of the
                                 only bridge */
static const double ROOT_TWO = 1.4142135623730950488, ROOT_HALF = 0.70710678118654752440;

typedef struct rows {
    int64_t n;             /* of each class: a multiple of CHUNK, rows come again to fill it up */
    float *num, *den;      /* (n, d) whitened */
    int64_t *row[2];       /* (n) which rows of p0 and of pm they are made of */
    int64_t n_distinct[2]; /* rows that there are */
} rows;

typedef struct refiner {
    const wmi_convex_data *data;
    const wm_chain *chain;
    int64_t k;         /* the bridge */
    uint64_t seed;     /* of its pairing */
    int64_t d, n_free; /* length of b */
    bool quadratic;
    double *mu, *l; /* (d), (d, d): x = mu + L z */
    rows train, valid;
    wmi_params *params;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *scores, *loss;
    float *x, *theta, *grad;
    const double *start; /* centre of the ridge */
    double ridge;
    const volatile sig_atomic_t *stop;
} refiner;

static int64_t free_length(int64_t d, bool quadratic)
{
    return (quadratic ? d * (d + 1) / 2 : 0) + d + 1;
}

/* ---- rows ---- */

/* n rows of waymarks k and k + 1, of the training or the held-out set, in whitened coordinates. */
static wm_status draw_rows(const refiner *r, rows *out, bool valid, int64_t n, wm_error *err)
{
    const wmi_convex_data *data = r->data;
    const double *x0 = valid ? data->x0_valid : data->x0_train;
    const double *xm = valid ? data->xm_valid : data->xm_train;
    const int64_t n0 = valid ? data->n0_valid : data->n0_train;
    const int64_t nm = valid ? data->nm_valid : data->nm_train;
    const int64_t d = r->d, k = r->k;
    double *z = NULL;
    wm_status st;

    out->n_distinct[0] = n0;
    out->n_distinct[1] = nm;
    out->n = (n + CHUNK - 1) / CHUNK * CHUNK;
    if ((st = wmi_alloc(&out->num, out->n * d, sizeof *out->num, "rows", err)) ||
        (st = wmi_alloc(&out->den, out->n * d, sizeof *out->den, "rows", err)) ||
        (st = wmi_alloc(&out->row[0], out->n, sizeof *out->row[0], "rows", err)) ||
        (st = wmi_alloc(&out->row[1], out->n, sizeof *out->row[1], "rows", err)) ||
        (st = wmi_alloc(&z, CHUNK * d, sizeof *z, "rows", err)))
        goto done;
    wm_pairing_draw(r->seed + valid, k, n0, nm, out->n, out->row[0], out->row[1]);
    for (int side = 0; side < 2; side++)
        for (int64_t first = 0; first < out->n; first += CHUNK) {
            float *to = (side ? out->den : out->num) + first * d;

            wm_chain_waymark_f64(r->chain, k + side,
                                 &(wm_ends_f64){.rows = CHUNK,
                                                .x0 = x0,
                                                .xm = xm,
                                                .row0 = out->row[0] + first,
                                                .rowm = out->row[1] + first},
                                 z);
            for (int64_t i = 0; i < CHUNK * d; i++)
                z[i] -= r->mu[i % d];
            wmi_lower_solve(CHUNK, d, r->l, z);
            for (int64_t i = 0; i < CHUNK * d; i++)
                to[i] = (float)z[i];
        }
done:
    wmi_free(z);
    return st;
}

static void free_rows(rows *r)
{
    wmi_free(r->row[0]);
    wmi_free(r->row[1]);
    wmi_free(r->num);
    wmi_free(r->den);
    *r = (rows){0};
}

/* Mean and Cholesky factor of both waymarks' rows together, from the training rows. */
static wm_status find_whitening(refiner *r, wm_error *err)
{
    const wmi_convex_data *data = r->data;
    const int64_t d = r->d, n = data->n0_train < TRIAL_ROWS ? data->n0_train : TRIAL_ROWS;
    int64_t *row0 = NULL, *rowm = NULL;
    double *x = NULL;
    wm_status st;

    if ((st = wmi_alloc(&row0, n, sizeof *row0, "rows", err)) ||
        (st = wmi_alloc(&rowm, n, sizeof *rowm, "rows", err)) ||
        (st = wmi_alloc(&x, 2 * n * d, sizeof *x, "rows", err)))
        goto done;
    wm_pairing_draw(r->seed, r->k, data->n0_train, data->nm_train, n, row0, rowm);
    for (int side = 0; side < 2; side++)
        wm_chain_waymark_f64(
            r->chain, r->k + side,
            &(wm_ends_f64){
                .rows = n, .x0 = data->x0_train, .xm = data->xm_train, .row0 = row0, .rowm = rowm},
            x + side * n * d);
    for (int64_t i = 0; i < 2 * n * d; i++)
        r->mu[i % d] += x[i] / (double)(2 * n);
    if ((st = wmi_scatter(2 * n, d, x, r->mu, r->l, err)))
        goto done;
    for (int64_t i = 0; i < d * d; i++)
        r->l[i] /= (double)(2 * n);
    for (int64_t i = 0; i < d; i++)
        /* fewer rows than columns, or one value in all of them: still a factor */
        r->l[i * (d + 1)] =
            r->l[i * (d + 1)] > ROUNDING * r->mu[i] * r->mu[i] ? r->l[i * (d + 1)] * (1 + 1e-6) : 1;
    st = wmi_cholesky(d, r->l, "covariance of a bridge's rows", err);
done:
    wmi_free(x);
    wmi_free(rowm);
    wmi_free(row0);
    return st;
}

/* ---- the loss ---- */

static wm_status build(refiner *r, wm_error *err)
{
    const wmi_init zero = {WMI_INIT_CONST, 0, 0};
    const int64_t d = r->d, a[] = {1, d, d}, w[] = {1, d, 1}, c[] = {1}, x[] = {1, 2 * CHUNK, d},
                  out[] = {1, 2 * CHUNK};
    wmi_node *energy, *xn;
    wm_status st;

    if ((st = wmi_params_new(&r->params, err)) ||
        (st = wmi_params_add(r->params, "a", 3, a, zero, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(r->params, "w", 3, w, zero, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(r->params, "c", 1, c, zero, WMI_GROUP_BODY, err)) ||
        (st = wmi_graph_new(&r->graph, WMI_F32, r->params, err)))
        return st;
    xn = wmi_input(r->graph, "x", 3, x);
    energy = wmi_reshape(r->graph, wmi_matmul(r->graph, xn, wmi_param(r->graph, "w"), false, false),
                         2, out);
    if (r->quadratic)
        energy = wmi_add(r->graph, energy,
                         wmi_quadratic(r->graph, xn, wmi_param(r->graph, "a"), WMI_QUADRATIC_FREE));
    r->scores = wmi_affine(r->graph, wmi_add(r->graph, energy, wmi_param(r->graph, "c")), -1, 0);
    r->loss = wmi_logistic_loss(r->graph, r->scores, NULL, CHUNK);
    if ((st = wmi_compile(
             &r->program, r->graph,
             &(wmi_compile_opts){
                 .outputs = &r->scores, .n_outputs = 1, .loss = r->loss, .param_grads = true},
             err)) ||
        (st = wmi_alloc(&r->theta, wmi_params_count(r->params), sizeof *r->theta, "theta", err)) ||
        (st = wmi_alloc(&r->grad, wmi_params_count(r->params), sizeof *r->grad, "gradient", err)))
        return st;
    wmi_program_bind(r->program, r->theta, r->grad);
    void *at;

    st = wmi_program_input(r->program, "x", &at, err);
    r->x = at;
    return st;
}

static float *part(const refiner *r, float *flat, const char *name)
{
    return flat + wmi_params_find(r->params, name)->offset;
}

static void load_free(const refiner *r, const double *b)
{
    const int64_t d = r->d;
    float *a = part(r, r->theta, "a"), *w = part(r, r->theta, "w");

    if (r->quadratic)
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j <= i; j++, b++)
                a[i * d + j] = (float)(i == j ? *b : *b * ROOT_HALF);
    for (int64_t j = 0; j < d; j++)
        w[j] = (float)b[j];
    *part(r, r->theta, "c") = (float)b[d];
}

/* Gradient of the loss with respect to b, added with a weight. */
static void add_gradient(const refiner *r, double weight, double *g)
{
    const int64_t d = r->d;
    const float *a = part(r, r->grad, "a"), *w = part(r, r->grad, "w");

    if (r->quadratic)
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j <= i; j++, g++)
                *g += weight * (double)a[i * d + j] * (i == j ? 1 : ROOT_HALF);
    for (int64_t j = 0; j < d; j++)
        g[j] += weight * (double)w[j];
    g[d] += weight * (double)*part(r, r->grad, "c");
}

static void load_chunk(const refiner *r, const rows *from, int64_t i)
{
    const size_t bytes = (size_t)(CHUNK * r->d) * sizeof *r->x;

    memcpy(r->x, from->num + i * CHUNK * r->d, bytes);
    memcpy(r->x + CHUNK * r->d, from->den + i * CHUNK * r->d, bytes);
}

/* Mean logistic loss over the training rows and its gradient. Of many columns one pass over the
 * rows takes seconds, so it is left as soon as somebody asks. */
static double loss_and_gradient(refiner *r, const double *b, double *g, wm_error *err)
{
    const int64_t chunks = r->train.n / CHUNK;
    double loss = 0;

    load_free(r, b);
    memset(g, 0, (size_t)r->n_free * sizeof *g);
    for (int64_t i = 0; i < chunks; i++) {
        load_chunk(r, &r->train, i);
        if (wmi_heed(r->stop, err) || wmi_program_backward(r->program, err))
            return NAN;
        loss += wmi_program_scalar(r->program, r->loss) / (double)chunks;
        add_gradient(r, 1.0 / (double)chunks, g);
    }
    return loss;
}

static double ridge_objective(void *ctx, const double *b, double *g, wm_error *err)
{
    refiner *r = ctx;
    double loss = loss_and_gradient(r, b, g, err);

    for (int64_t i = 0; i < r->n_free; i++) {
        const double diff = b[i] - r->start[i];

        loss += 0.5 * r->ridge * diff * diff;
        g[i] += r->ridge * diff;
    }
    return loss;
}

/* Held-out losses of each pair of rows into each (valid.n), and their mean. */
static wm_status held_out(refiner *r, const double *b, double *each, double *mean, wm_error *err)
{
    *mean = 0;
    load_free(r, b);
    for (int64_t i = 0; i < r->valid.n / CHUNK; i++) {
        const float *s;
        wm_status st;

        load_chunk(r, &r->valid, i);
        if ((st = wmi_program_forward(r->program, err)))
            return st;
        s = wmi_program_value(r->program, r->scores);
        for (int64_t j = 0; j < CHUNK; j++) {
            each[i * CHUNK + j] = wmi_log1pexp(-(double)s[j]) + wmi_log1pexp((double)s[CHUNK + j]);
            *mean += each[i * CHUNK + j] / (double)r->valid.n;
        }
    }
    return WM_OK;
}

/* ---- coordinates ---- */

/* b of a bridge given in x: P = L'QL, v = L'(w + 2 Q mu), e = c + w'mu + mu'Q mu. work is (2, d,
 * d). */
static void to_free(const refiner *r, const wmi_convex_bridge *x, double *b, double *work)
{
    const int64_t d = r->d;
    double *lt = work, *p = work + d * d;

    b[r->n_free - 1] = x->c;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            lt[i * d + j] = r->l[j * d + i];
    wmi_product(d, d, d, 1, lt, x->q, 0, p); /* L'Q */
    double *v = b + r->n_free - 1 - d;

    for (int64_t i = 0; i < d; i++) {
        v[i] = 0;
        for (int64_t j = 0; j < d; j++)
            v[i] += lt[i * d + j] * x->w[j] + 2 * p[i * d + j] * r->mu[j];
    }
    for (int64_t i = 0; i < d; i++) {
        b[r->n_free - 1] += x->w[i] * r->mu[i];
        for (int64_t j = 0; j < d; j++)
            b[r->n_free - 1] += r->mu[i] * x->q[i * d + j] * r->mu[j];
    }
    if (!r->quadratic)
        return;
    wmi_product(d, d, d, 1, p, r->l, 0, lt); /* L'QL */
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++)
            *b++ = lt[i * d + j] * (i == j ? 1 : ROOT_TWO);
}

/* Back: Q = L'^-1 P L^-1, w = L'^-1 v - 2 Q mu, c = e - w'mu - mu'Q mu. work is (d, d). */
static void from_free(const refiner *r, const double *b, wmi_convex_bridge *x, double *work)
{
    const int64_t d = r->d;
    const double *v = b + r->n_free - 1 - d;

    memset(x->q, 0, (size_t)(d * d) * sizeof *x->q);
    if (r->quadratic) {
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j <= i; j++, b++)
                x->q[i * d + j] = x->q[j * d + i] = i == j ? *b : *b * ROOT_HALF;
        /* rows times L^-1 from the right, twice, with a transposition between (P is symmetric) */
        wmi_lower_solve_right(d, d, r->l, x->q);
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                work[i * d + j] = x->q[j * d + i];
        wmi_lower_solve_right(d, d, r->l, work);
        memcpy(x->q, work, (size_t)(d * d) * sizeof *work);
    }
    memcpy(x->w, v, (size_t)d * sizeof *v);
    wmi_lower_solve_right(1, d, r->l, x->w);
    x->c = v[d];
    for (int64_t i = 0; i < d; i++) {
        double qmu = 0;

        for (int64_t j = 0; j < d; j++)
            qmu += x->q[i * d + j] * r->mu[j];
        x->w[i] -= 2 * qmu;
        x->c -= x->w[i] * r->mu[i] + qmu * r->mu[i];
    }
}

/* ---- the choice ---- */

/* Sum of the squares of the sums of a - b - mean over the pairs with one row of p0 (side 0) or pm
 * (1) in common. sum is scratch. */
static double clustered(const rows *v, int side, const double *a, const double *b, double mean,
                        double *sum)
{
    double squares = 0;

    memset(sum, 0, (size_t)v->n_distinct[side] * sizeof *sum);
    for (int64_t i = 0; i < v->n; i++)
        sum[v->row[side][i]] += a[i] - b[i] - mean;
    for (int64_t i = 0; i < v->n_distinct[side]; i++)
        squares += sum[i] * sum[i];
    return squares;
}

/* Mean of a - b, losses of the held-out pairs, in units of its own noise. A few rows come many
 * times (they fill chunks, and where pairs are free they meet several others), and a row that comes
 * again is no new evidence: two-way clusters, by the row of p0 and by that of pm. */
static double noise_units(const rows *v, const double *a, const double *b, double *sum,
                          double *mean)
{
    double alone = 0, by_row[2], squares;

    *mean = 0;
    for (int64_t i = 0; i < v->n; i++)
        *mean += (a[i] - b[i]) / (double)v->n;
    for (int64_t i = 0; i < v->n; i++) {
        const double diff = a[i] - b[i] - *mean;

        alone += diff * diff;
    }
    for (int side = 0; side < 2; side++)
        by_row[side] = clustered(v, side, a, b, *mean, sum);
    squares = fmax(by_row[0] + by_row[1] - alone, fmax(by_row[0], by_row[1]));
    return squares > 0 ? *mean / (sqrt(squares) / (double)v->n) : 0;
}

typedef struct trial {
    double *b, *best, *g;         /* (n_free) */
    double *before, *now, *least; /* (valid.n) held-out losses: of the moments, now, the best */
    double *sum;                  /* (rows of p0 or pm) scratch */
} trial;

/* One step along the gradient, in the three lengths that fit a Hessian of 1/4 .. 1: cheap, and
 * enough to tell whether the moments leave anything to learn. */
static wm_status worth_refining(refiner *r, trial *t, bool *yes, wm_error *err)
{
    static const double steps[] = {4, 1, 0.25};
    wm_error inner = {0};
    double mean, gain;

    *yes = false;
    loss_and_gradient(r, r->start, t->g, &inner);
    if (inner.code) {
        if (err)
            *err = inner;
        return inner.code;
    }
    for (size_t s = 0; s < sizeof steps / sizeof *steps && !*yes; s++) {
        wm_status st;

        for (int64_t i = 0; i < r->n_free; i++)
            t->b[i] = r->start[i] - steps[s] * t->g[i];
        if ((st = held_out(r, t->b, t->now, &mean, err)))
            return st;
        *yes = noise_units(&r->valid, t->before, t->now, t->sum, &gain) > SURE;
    }
    return WM_OK;
}

/* Of many bridges some win twice the noise by chance, and what one of them then says far from its
 * own rows is wrong by many nats. By this bar, with tails of exp(-z^2 / 2), chance wins any of m
 * bridges as rarely as the only one. */
static double bar_of_many(const refiner *r)
{
    return sqrt(SURE * SURE + 2 * log((double)wm_chain_bridges(r->chain)));
}

/* From a strong ridge to a weak one, each fit starting from the last. A ridge pulls toward the
 * moments, which is a bias where rows are plenty: the weakest one counts that held-out rows do not
 * tell from the best. Where parameters are many weak ones are clearly worse, and the path ends. */
static wm_status follow_ridge(refiner *r, trial *t, wmi_convex_bridge *bridge, wm_error *err)
{
    const size_t bytes = (size_t)r->n_free * sizeof *t->b;
    const size_t losses = (size_t)r->valid.n * sizeof *t->now;
    /* The data weigh as much as a ridge of some 1/n: one far below it is none. */
    const double weakest = fmax(1e-6, 0.1 / (double)r->data->n0_train);
    const double moments = bridge->valid_loss;
    double best = moments, units = 0, gain;
    wmi_lbfgs_opts opts;

    wmi_lbfgs_opts_init(&opts);
    opts.max_iterations = 50;
    opts.grad_tol = 1e-5;
    opts.decrease_tol = 1e-7;
    memcpy(t->b, r->start, bytes);
    memcpy(t->best, r->start, bytes);
    memcpy(t->least, t->before, losses);
    for (r->ridge = 1; r->ridge > weakest; r->ridge /= 3) {
        wmi_lbfgs_result result;
        double mean, rise;
        wm_status st;

        if ((st = wmi_lbfgs(t->b, r->n_free, ridge_objective, r, &opts, &result, err)) ||
            (st = held_out(r, t->b, t->now, &mean, err)))
            return st;
        rise = noise_units(&r->valid, t->now, t->least, t->sum, &gain);
        if (rise > 2)
            break;
        if (mean < best) {
            best = mean;
            memcpy(t->least, t->now, losses);
        }
        if (rise < 1) {
            memcpy(t->best, t->b, bytes);
            bridge->ridge = r->ridge;
            bridge->valid_loss = mean;
            units =
                fmax(units, noise_units(&r->valid, t->before, t->now, t->sum, &bridge->valid_gain));
        }
    }
    if (units < bar_of_many(r)) { /* the moments stay */
        bridge->ridge = INFINITY;
        bridge->valid_loss = moments;
        bridge->valid_gain = 0;
    }
    return WM_OK;
}

static wm_status choose(refiner *r, double *start, double *work, wmi_convex_bridge *bridge,
                        wm_error *err)
{
    const int64_t *const have = r->valid.n_distinct;
    const int64_t distinct = have[0] > have[1] ? have[0] : have[1];
    trial t = {0};
    bool yes;
    wm_status st;

    to_free(r, bridge, start, work);
    r->start = start;
    if ((st = wmi_alloc(&t.b, r->n_free, sizeof *t.b, "refinement", err)) ||
        (st = wmi_alloc(&t.best, r->n_free, sizeof *t.best, "refinement", err)) ||
        (st = wmi_alloc(&t.g, r->n_free, sizeof *t.g, "refinement", err)) ||
        (st = wmi_alloc(&t.before, r->valid.n, sizeof *t.before, "refinement", err)) ||
        (st = wmi_alloc(&t.now, r->valid.n, sizeof *t.now, "refinement", err)) ||
        (st = wmi_alloc(&t.least, r->valid.n, sizeof *t.least, "refinement", err)) ||
        (st = wmi_alloc(&t.sum, distinct, sizeof *t.sum, "refinement", err)) ||
        (st = held_out(r, start, t.before, &bridge->valid_loss, err)) ||
        (st = worth_refining(r, &t, &yes, err)))
        goto done;
    if (yes) { /* now with all rows */
        const int64_t all = r->data->n0_train * (r->data->pairs ? PAIRINGS : 1);

        if (r->train.n < all) {
            free_rows(&r->train);
            if ((st = draw_rows(r, &r->train, false, all, err)))
                goto done;
        }
        if ((st = follow_ridge(r, &t, bridge, err)))
            goto done;
        if (isfinite(bridge->ridge))
            from_free(r, t.best, bridge, work);
    }
done:
    wmi_free(t.sum);
    wmi_free(t.least);
    wmi_free(t.now);
    wmi_free(t.before);
    wmi_free(t.g);
    wmi_free(t.best);
    wmi_free(t.b);
    return st;
}

wm_status wmi_refine_bridge(const wmi_convex_data *data, const wm_chain *chain,
                            const wmi_convex_opts *opts, int64_t k, wmi_convex_bridge *bridge,
                            wm_error *err)
{
    const int64_t d = data->dim;
    const int64_t n_train = data->n0_train < TRIAL_ROWS ? data->n0_train : TRIAL_ROWS;
    const int64_t all_valid = data->n0_valid * (data->pairs ? PAIRINGS : 1);
    const int64_t n_valid = all_valid < VALID_ROWS ? all_valid : VALID_ROWS;
    refiner r = {.data = data,
                 .chain = chain,
                 .k = k,
                 .seed = opts->seed,
                 .d = d,
                 .quadratic = opts->quadratic,
                 .n_free = free_length(d, opts->quadratic),
                 .stop = opts->stop};
    double *start = NULL, *work = NULL;
    wm_status st;

    if ((st = wmi_heed(r.stop, err)))
        return st;
    if ((st = wmi_alloc(&r.mu, d, sizeof *r.mu, "whitening", err)) ||
        (st = wmi_alloc(&r.l, d * d, sizeof *r.l, "whitening", err)) ||
        (st = wmi_alloc(&start, r.n_free, sizeof *start, "refinement", err)) ||
        (st = wmi_alloc(&work, 2 * d * d, sizeof *work, "refinement", err)) ||
        (st = find_whitening(&r, err)) || (st = draw_rows(&r, &r.train, false, n_train, err)) ||
        (st = draw_rows(&r, &r.valid, true, n_valid, err)) || (st = build(&r, err)))
        goto done;
    st = choose(&r, start, work, bridge, err);
done:
    wmi_program_free(r.program);
    wmi_graph_free(r.graph);
    wmi_params_free(r.params);
    wmi_free(r.grad);
    wmi_free(r.theta);
    free_rows(&r.valid);
    free_rows(&r.train);
    wmi_free(work);
    wmi_free(start);
    wmi_free(r.l);
    wmi_free(r.mu);
    return st;
}
