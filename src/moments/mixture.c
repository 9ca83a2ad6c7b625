/* mixture.c - mixtures of Gaussians by expectation and maximisation, and their waymarks
 * (mixture.h). */
#include "moments/mixture.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "engine/backend/linalg.h"

enum {
    STARTS = 4,         /* that are drawn, of which the best goes on */
    SHORT_STEPS = 12,   /* of each */
    MOST_STEPS = 200,   /* of the one that goes on */
    ON_STEPS = 40,      /* from a mixture of nearly the same rows */
    CHOICE_ROWS = 5000, /* by which components are counted */
    PATIENCE = 2,       /* numbers of components in a row that are not clearly better */
};
static const double STILL = 3e-6; /* nats a row: a step that wins less is the last */
static const double FLOOR = 1e-4; /* of the variance of a column, that every component has */
static const double SURE = 2;     /* standard errors */

int64_t wmi_mixture_count(int64_t k, int64_t d)
{
    return k * (1 + d + d * d);
}

void wmi_mixture_place(wmi_mixture *m, int64_t k, int64_t d, double *at)
{
    *m = (wmi_mixture){k, d, at, at + k, at + k + k * d};
}

/* ---- evaluation ---- */

void wmi_gaussians_free(wmi_gaussians *g)
{
    wmi_free(g->constant);
    wmi_free(g->mean);
    wmi_free(g->inverse);
    *g = (wmi_gaussians){0};
}

static wm_status new_gaussians(wmi_gaussians *g, int64_t k, int64_t d, wm_error *err)
{
    wm_status st;

    g->k = k;
    g->d = d;
    if ((st = wmi_alloc(&g->constant, k, sizeof *g->constant, "mixture", err)) ||
        (st = wmi_alloc(&g->mean, k * d, sizeof *g->mean, "mixture", err)) ||
        (st = wmi_alloc(&g->inverse, k * d * d, sizeof *g->inverse, "mixture", err)))
        return st;
    return WM_OK;
}

/* Component i: weight, and the root of its covariance, which becomes its inverse. */
static void set_component(wmi_gaussians *g, int64_t i, double weight, const double *root)
{
    const double log_2pi = 1.83787706640934548356;
    const int64_t d = g->d;
    double *inverse = g->inverse + i * d * d;

    g->constant[i] = log(weight) - 0.5 * ((double)d * log_2pi + wmi_cholesky_logdet(d, root));
    for (int64_t c = 0; c < d; c++) /* column c of the inverse, by substitution */
        for (int64_t r = 0; r < d; r++) {
            double sum = r == c;

            for (int64_t l = c; l < r; l++)
                sum -= root[r * d + l] * inverse[l * d + c];
            inverse[r * d + c] = r < c ? 0 : sum / root[r * d + r];
        }
}

static void set_plainly(wmi_gaussians *g, const wmi_mixture *m)
{
    memcpy(g->mean, m->mean, (size_t)(m->k * m->d) * sizeof *g->mean);
    for (int64_t i = 0; i < m->k; i++)
        set_component(g, i, m->weight[i], m->root + i * m->d * m->d);
}

/* out = sum of a^2 A A' over both, and its root. */
static wm_status mix_roots(int64_t d, const double *a, double by_a, const double *b, double by_b,
                           double *out, wm_error *err)
{
    for (int64_t r = 0; r < d; r++)
        for (int64_t c = 0; c < d; c++) {
            double sum = 0;

            for (int64_t l = 0; l <= (r < c ? r : c); l++)
                sum += by_a * by_a * a[r * d + l] * a[c * d + l] +
                       by_b * by_b * b[r * d + l] * b[c * d + l];
            out[r * d + c] = sum;
        }
    return wmi_cholesky(d, out, "covariance of a waymark", err);
}

wm_status wmi_gaussians_between(wmi_gaussians *g, const wmi_mixture *p, const wmi_mixture *q,
                                double a, wm_error *err)
{
    const int64_t d = p->d;
    const double b = sqrt(fmax(1 - a * a, 0));
    double *root = NULL;
    wm_status st;

    if (a <= 0 || b <= 0) {
        const wmi_mixture *end = a <= 0 ? p : q;

        if (!(st = new_gaussians(g, end->k, d, err)))
            set_plainly(g, end);
        return st;
    }
    if ((st = new_gaussians(g, p->k * q->k, d, err)) ||
        (st = wmi_alloc(&root, d * d, sizeof *root, "mixture", err)))
        return st;
    for (int64_t i = 0; !st && i < p->k; i++)
        for (int64_t j = 0; !st && j < q->k; j++) {
            const int64_t at = i * q->k + j;

            for (int64_t c = 0; c < d; c++)
                g->mean[at * d + c] = b * p->mean[i * d + c] + a * q->mean[j * d + c];
            if (!(st = mix_roots(d, p->root + i * d * d, b, q->root + j * d * d, a, root, err)))
                set_component(g, at, p->weight[i] * q->weight[j], root);
        }
    wmi_free(root);
    return st;
}

/* Log of weight and density of component i. */
static double log_component(const wmi_gaussians *g, int64_t i, const double *x)
{
    const int64_t d = g->d;
    const double *mean = g->mean + i * d, *inverse = g->inverse + i * d * d;
    double squares = 0;

    for (int64_t r = 0; r < d; r++) {
        double z = 0;

        for (int64_t c = 0; c <= r; c++)
            z += inverse[r * d + c] * (x[c] - mean[c]);
        squares += z * z;
    }
    return g->constant[i] - 0.5 * squares;
}

double wmi_gaussians_log(const wmi_gaussians *g, const double *x, double *log_each)
{
    double most = -INFINITY, sum = 0;

    for (int64_t i = 0; i < g->k; i++) { /* the largest so far is taken out as it comes */
        const double one = log_component(g, i, x);

        if (log_each)
            log_each[i] = one;
        if (one > most) {
            sum = sum * exp(most - one) + 1;
            most = one;
        } else if (one > most - 40) {
            sum += exp(one - most);
        }
    }
    return most + log(sum);
}

/* ---- expectation and maximisation ---- */

/* Rows, and what a step needs. */
typedef struct em {
    int64_t n, d, k;
    const double *x; /* (n, d) */
    double *share;   /* (n, k): how much of a row is a component's */
    double *gather;  /* (d, d) */
    double *prior;   /* (d, d): covariance of one imagined row of every component */
    double *floor;   /* (d) */
    wmi_gaussians g;
    wmi_stop stop;
} em;

static void free_em(em *e)
{
    wmi_free(e->share);
    wmi_free(e->gather);
    wmi_free(e->prior);
    wmi_free(e->floor);
    wmi_gaussians_free(&e->g);
}

static wm_status new_em(em *e, int64_t n, int64_t d, int64_t k, const double *x, wmi_stop stop,
                        wm_error *err)
{
    double *mean = NULL;
    wm_status st;

    *e = (em){.n = n, .d = d, .k = k, .x = x, .stop = stop};
    if ((st = wmi_alloc(&e->share, n * k, sizeof *e->share, "mixture", err)) ||
        (st = wmi_alloc(&e->gather, d * d, sizeof *e->gather, "mixture", err)) ||
        (st = wmi_alloc(&e->prior, d * d, sizeof *e->prior, "mixture", err)) ||
        (st = wmi_alloc(&e->floor, d, sizeof *e->floor, "mixture", err)) ||
        (st = wmi_alloc(&mean, d, sizeof *mean, "mixture", err)) ||
        (st = new_gaussians(&e->g, k, d, err)))
        goto done;
    wmi_column_means(n, d, x, mean);
    if ((st = wmi_scatter(n, d, x, mean, e->prior, err)))
        goto done;
    for (int64_t j = 0; j < d; j++)
        e->floor[j] = k > 1 ? FLOOR * e->prior[j * d + j] / (double)n : 0;
    for (int64_t j = 0; j < d * d; j++) /* as large as k components side by side would be */
        e->prior[j] = k > 1 ? e->prior[j] / (double)n / pow((double)k, 2 / (double)d) : 0;
done:
    wmi_free(mean);
    return st;
}

/* Weight, mean and covariance of component i from its shares. One imagined row keeps a component
 * of few rows from closing in on them. */
static wm_status set_from_shares(wmi_mixture *m, const em *e, int64_t i, wm_error *err)
{
    const int64_t n = e->n, d = e->d, k = e->k;
    double *mean = m->mean + i * d, *s = e->gather, sum = 0;

    memset(s, 0, (size_t)(d * d) * sizeof *s);
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t r = 0; r < n; r++) {
        const double w = e->share[r * k + i];

        sum += w;
        for (int64_t c = 0; c < d; c++)
            mean[c] += w * e->x[r * d + c];
    }
    for (int64_t c = 0; c < d; c++)
        mean[c] /= sum + 1e-300;
    for (int64_t r = 0; r < n; r++) {
        const double w = e->share[r * k + i];

        if (w < 1e-12)
            continue;
        for (int64_t a = 0; a < d; a++) {
            const double by = w * (e->x[r * d + a] - mean[a]);

            for (int64_t b = 0; b <= a; b++)
                s[a * d + b] += by * (e->x[r * d + b] - mean[b]);
        }
    }
    for (int64_t a = 0; a < d; a++)
        for (int64_t b = 0; b <= a; b++)
            s[a * d + b] = s[b * d + a] =
                (s[a * d + b] + e->prior[a * d + b]) / (sum + (k > 1)) + (a == b ? e->floor[a] : 0);
    m->weight[i] = (sum + 1) / (double)(n + k);
    memcpy(m->root + i * d * d, s, (size_t)(d * d) * sizeof *s);
    return wmi_cholesky(d, m->root + i * d * d, "covariance of a component", err);
}

static wm_status maximise(wmi_mixture *m, const em *e, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t i = 0; !st && i < e->k; i++)
        st = set_from_shares(m, e, i, err);
    return st;
}

/* Shares of the rows, and the mean log-density. */
static double expect(const wmi_mixture *m, em *e)
{
    double mean = 0;

    set_plainly(&e->g, m);
    for (int64_t r = 0; r < e->n; r++) {
        double *share = e->share + r * e->k;
        const double all = wmi_gaussians_log(&e->g, e->x + r * e->d, share);

        for (int64_t i = 0; i < e->k; i++)
            share[i] = share[i] > all - 40 ? exp(share[i] - all) : 0;
        mean += all / (double)e->n;
    }
    return mean;
}

/* From what m is, as many steps as win something; *fit is the mean log-density before the last. */
static wm_status climb(wmi_mixture *m, em *e, int steps, double *fit, wm_error *err)
{
    double before = -INFINITY;
    wm_status st = WM_OK;

    for (int i = 0; i < steps && !st; i++) {
        *fit = expect(m, e);
        if (!(st = wmi_heed(e->stop, err)))
            st = maximise(m, e, err);
        if (*fit - before < STILL)
            break;
        before = *fit;
    }
    return st;
}

/* Centres among the rows, each drawn the more likely the farther it is from those before it; every
 * row is its nearest centre's. Distances in standard deviations of the columns. */
static wm_status start(wmi_mixture *m, em *e, const wmi_rng *rng, double *nearest, wm_error *err)
{
    const int64_t n = e->n, d = e->d, k = e->k;
    const double *centre = e->x + wmi_rng_below(rng, 0, n) * d;

    memset(e->share, 0, (size_t)(n * k) * sizeof *e->share);
    for (int64_t i = 0; i < k; i++) {
        double all = 0, u, reached = 0;
        int64_t next = 0;

        for (int64_t r = 0; r < n; r++) {
            double far = 0;

            for (int64_t c = 0; c < d; c++) {
                const double by = e->x[r * d + c] - centre[c];

                far += by * by / (e->floor[c] + 1e-300);
            }
            if (i == 0 || far < nearest[r]) {
                nearest[r] = far;
                memset(e->share + r * k, 0, (size_t)k * sizeof *e->share);
                e->share[r * k + i] = 1;
            }
            all += nearest[r];
        }
        wmi_rng_uniform_f64(rng, (uint64_t)i + 1, 1, &u);
        while (next < n - 1 && (reached += nearest[next]) < u * all)
            next++;
        centre = e->x + next * d;
    }
    return maximise(m, e, err);
}

/* Several starts, and the best of them in m. */
static wm_status start_well(wmi_mixture *m, em *e, uint64_t seed, wm_error *err)
{
    const int64_t count = wmi_mixture_count(m->k, m->d);
    const wmi_rng rng = wmi_rng_make(seed, "mixture");
    double *store = NULL, *nearest = NULL, best = -INFINITY;
    wmi_mixture try;
    wm_status st;

    if ((st = wmi_alloc(&store, count, sizeof *store, "mixture", err)) ||
        (st = wmi_alloc(&nearest, e->n, sizeof *nearest, "mixture", err)))
        goto done;
    wmi_mixture_place(&try, m->k, m->d, store);
    for (int i = 0; i < (m->k > 1 ? STARTS : 1); i++) {
        const wmi_rng own = wmi_rng_sub(&rng, (uint64_t)i);
        double fit;

        if ((st = start(&try, e, &own, nearest, err)) ||
            (st = climb(&try, e, SHORT_STEPS, &fit, err)))
            goto done;
        if (i == 0 || fit > best) {
            best = fit;
            memcpy(m->weight, try.weight, (size_t)m->k * sizeof *m->weight);
            memcpy(m->mean, try.mean, (size_t)(m->k * m->d) * sizeof *m->mean);
            memcpy(m->root, try.root, (size_t)(m->k * m->d * m->d) * sizeof *m->root);
        }
    }
done:
    wmi_free(nearest);
    wmi_free(store);
    return st;
}

wm_status wmi_mixture_fit(wmi_mixture *m, int64_t n, const double *x, bool on, uint64_t seed,
                          wmi_stop stop, wm_error *err)
{
    double fit;
    em e;
    wm_status st;

    if (!(st = new_em(&e, n, m->d, m->k, x, stop, err)) &&
        (on || !(st = start_well(m, &e, seed, err))))
        st = climb(m, &e, on ? ON_STEPS : MOST_STEPS, &fit, err);
    free_em(&e);
    return st;
}

/* ---- how many ---- */

/* Log-densities of held-out rows by k components that were fitted to the others. */
static wm_status score(int64_t k, int64_t d, const int64_t n[2], const double *const x[2],
                       uint64_t seed, double *out, wmi_stop stop, wm_error *err)
{
    double *store = NULL;
    wmi_gaussians g = {0};
    wmi_mixture m;
    wm_status st;

    if ((st = wmi_alloc(&store, wmi_mixture_count(k, d), sizeof *store, "mixture", err)))
        return st;
    wmi_mixture_place(&m, k, d, store);
    if (!(st = wmi_mixture_fit(&m, n[0], x[0], false, seed, stop, err)) &&
        !(st = wmi_gaussians_between(&g, &m, &m, 0, err)))
        for (int64_t i = 0; i < n[1]; i++)
            out[i] = wmi_gaussians_log(&g, x[1] + i * d, NULL);
    wmi_gaussians_free(&g);
    wmi_free(store);
    return st;
}

/* Mean of a - b over n rows, and its standard error. */
static double mean_difference(int64_t n, const double *a, const double *b, double *se)
{
    double mean = 0, var = 0;

    for (int64_t i = 0; i < n; i++)
        mean += (a[i] - b[i]) / (double)n;
    for (int64_t i = 0; i < n; i++)
        var += (a[i] - b[i] - mean) * (a[i] - b[i] - mean) / (double)n;
    *se = sqrt(var / (double)n);
    return mean;
}

wm_status wmi_mixture_choose(int64_t *k, double *gain, int64_t n, int64_t d, const double *x,
                             uint64_t seed, wmi_stop stop, wm_error *err)
{
    static const int64_t tries[] = {2, 3, 4, 6, 8, WMI_MIXTURE_MOST};
    const int64_t used = n < CHOICE_ROWS ? n : CHOICE_ROWS, held = used / 4;
    const int64_t rows[] = {used - held, held};
    const double *const part[] = {x + held * d, x};
    double *best = NULL, *next = NULL, last = 0;
    int failed = 0;
    wm_status st;

    *k = 1;
    *gain = 0;
    if ((st = wmi_alloc(&best, held, sizeof *best, "mixture", err)) ||
        (st = wmi_alloc(&next, held, sizeof *next, "mixture", err)) ||
        (st = score(1, d, rows, part, seed, best, stop, err)))
        goto done;
    for (size_t t = 0; t < sizeof tries / sizeof *tries && failed < PATIENCE; t++) {
        double se, won;

        if (used < 10 * tries[t] * (d + 2))
            break;
        if ((st = score(tries[t], d, rows, part, seed, next, stop, err)))
            goto done;
        won = mean_difference(held, next, best, &se);
        if (won > SURE * se) {
            double *const old = best;

            best = next;
            next = old;
            *k = tries[t];
            *gain = 0;
            failed = 0;
            last = won;
        } else {
            *gain = fmax(*gain, won);
            failed++;
        }
    }
    if (failed == 0) /* more might have been wanted, and win as much again, were they tried */
        *gain = last;
done:
    wmi_free(next);
    wmi_free(best);
    return st;
}
