/* diagnose.c - whether chains agree and how much their draws are worth (Vehtari, Gelman, Simpson,
 * Carpenter and Bürkner 2021): rank-normalised split R-hat, bulk and tail effective sample sizes,
 * error of the mean, E-BFMI. Formulas as in ArviZ 0.23, with which a test compares. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/order.h"
#include "base/special.h"
#include "base/sums.h"
#include "waymark/sample.h"

typedef struct valued {
    double value;
    int64_t place;
} valued;

/* Room for one dimension; one for each thread. Chains are split: rows = 2 chains of `half` draws;
 * of an odd number of draws the one in the middle is in neither. */
typedef struct bench {
    int64_t rows, half;
    double *x, *z, *centred; /* (rows, half) */
    double *rho;             /* (half) autocorrelations */
    double *all;             /* (chains x draws) */
    valued *sorted;          /* (rows x half) */
} bench;

static wm_status bench_alloc(bench *b, int64_t chains, int64_t draws, wm_error *err)
{
    const char *what = "diagnostics of draws";
    int64_t n;
    wm_status st;

    *b = (bench){.rows = 2 * chains, .half = draws / 2};
    n = b->rows * b->half;
    if ((st = wmi_alloc(&b->x, n, sizeof *b->x, what, err)) ||
        (st = wmi_alloc(&b->z, n, sizeof *b->z, what, err)) ||
        (st = wmi_alloc(&b->centred, n, sizeof *b->centred, what, err)) ||
        (st = wmi_alloc(&b->rho, b->half, sizeof *b->rho, what, err)) ||
        (st = wmi_alloc(&b->all, chains * draws, sizeof *b->all, what, err)))
        return st;
    return wmi_alloc(&b->sorted, n, sizeof *b->sorted, what, err);
}

static void bench_free(bench *b)
{
    wmi_free(b->x);
    wmi_free(b->z);
    wmi_free(b->centred);
    wmi_free(b->rho);
    wmi_free(b->all);
    wmi_free(b->sorted);
}

static int by_value(const void *a, const void *b)
{
    const double x = ((const valued *)a)->value, y = ((const valued *)b)->value;

    return (x > y) - (x < y);
}

/* Normal scores of z, in place: Phi^-1((rank - 3/8) / (n + 1/4)), equal values share their average
 * rank. Returns the median of z as it was. */
static double make_scores(bench *b)
{
    const int64_t n = b->rows * b->half;
    double median;

    for (int64_t i = 0; i < n; i++)
        b->sorted[i] = (valued){b->z[i], i};
    qsort(b->sorted, (size_t)n, sizeof *b->sorted, by_value);
    median = 0.5 * (b->sorted[n / 2 - 1].value + b->sorted[n / 2].value); /* n is even */
    for (int64_t i = 0, j; i < n; i = j) {
        double score;

        for (j = i + 1; j < n && b->sorted[j].value == b->sorted[i].value;)
            j++;
        score = wmi_normal_inverse((0.5 * (double)(i + 1 + j) - 0.375) / ((double)n + 0.25));
        for (int64_t k = i; k < j; k++)
            b->z[b->sorted[k].place] = score;
    }
    return median;
}

/* sqrt(((n - 1) W / n + B / n) / W) of y (rows, half). */
static double rhat_of(const bench *b, const double *y)
{
    const double n = (double)b->half, rows = (double)b->rows;
    wmi_running_sum within = {0}, mean = {0}, square = {0};
    double grand;

    for (int64_t r = 0; r < b->rows; r++) {
        const wmi_moments m = wmi_moments_f64(&y[r * b->half], b->half);

        wmi_sum_add(&within, m.var);
        wmi_sum_add(&mean, m.mean);
    }
    grand = wmi_sum_value(&mean) / rows;
    for (int64_t r = 0; r < b->rows; r++) {
        const double d = wmi_sum_f64(&y[r * b->half], b->half) / n - grand;

        wmi_sum_add(&square, d * d);
    }
    return sqrt(
        (n * (wmi_sum_value(&square) / (rows - 1)) / (wmi_sum_value(&within) / rows) + n - 1) / n);
}

/* Autocovariance at a lag, averaged over rows. */
static double autocovariance(const bench *b, int64_t lag)
{
    double sum = 0;

    for (int64_t r = 0; r < b->rows; r++) {
        const double *a = &b->centred[r * b->half], *c = a + lag;
        double s = 0;

#pragma omp simd reduction(+ : s)
        for (int64_t i = 0; i < b->half - lag; i++)
            s += a[i] * c[i];
        sum += s;
    }
    return sum / (double)(b->half * b->rows);
}

/* Effective sample size of y (rows, half): Geyer's initial positive, then monotone sequence. Lags
 * are computed only as far as the sequence goes. */
static double ess_of(bench *b, const double *y)
{
    const int64_t n = b->half, total = b->rows * n;
    double lo = y[0], hi = y[0], mean_var, var_plus, even = 1, odd, tau;
    wmi_running_sum means = {0}, square = {0};
    int64_t t, last;

    for (int64_t i = 0; i < total; i++) {
        lo = fmin(lo, y[i]);
        hi = fmax(hi, y[i]);
    }
    if (hi - lo < 1e-15)
        return (double)total;
    for (int64_t r = 0; r < b->rows; r++) {
        const double mean = wmi_sum_f64(&y[r * n], n) / (double)n;

        wmi_sum_add(&means, mean);
        for (int64_t i = 0; i < n; i++)
            b->centred[r * n + i] = y[r * n + i] - mean;
    }
    for (int64_t r = 0; r < b->rows; r++) {
        const double d =
            wmi_sum_f64(&y[r * n], n) / (double)n - wmi_sum_value(&means) / (double)b->rows;

        wmi_sum_add(&square, d * d);
    }
    mean_var = autocovariance(b, 0) * (double)n / (double)(n - 1);
    var_plus =
        mean_var * (double)(n - 1) / (double)n + wmi_sum_value(&square) / (double)(b->rows - 1);
    for (int64_t i = 0; i < n; i++)
        b->rho[i] = 0;
    odd = 1 - (mean_var - autocovariance(b, 1)) / var_plus;
    b->rho[0] = even;
    b->rho[1] = odd;
    for (t = 1; t < n - 3 && even + odd > 0; t += 2) {
        even = 1 - (mean_var - autocovariance(b, t + 1)) / var_plus;
        odd = 1 - (mean_var - autocovariance(b, t + 2)) / var_plus;
        if (even + odd >= 0) {
            b->rho[t + 1] = even;
            b->rho[t + 2] = odd;
        }
    }
    last = t - 2;
    if (even > 0) /* a last term that is better than none */
        b->rho[last + 1] = even;
    for (t = 1; t <= last - 2; t += 2)
        if (b->rho[t + 1] + b->rho[t + 2] > b->rho[t - 1] + b->rho[t])
            b->rho[t + 1] = b->rho[t + 2] = 0.5 * (b->rho[t - 1] + b->rho[t]);
    tau = -1 + b->rho[last + 1];
    for (int64_t i = 0; i <= last; i++)
        tau += 2 * b->rho[i];
    /* antithetic chains may be worth more than independent draws, but not endlessly */
    return (double)total / fmax(tau, 1 / log10((double)total));
}

/* That of the share of draws at or below the quantile q of all draws, which are sorted. */
static double ess_quantile(bench *b, int64_t n_all, double q)
{
    const double at = q * (double)(n_all - 1);
    const int64_t i = (int64_t)at, next = i + 1 < n_all ? i + 1 : i;
    const double limit = b->all[i] + (at - (double)i) * (b->all[next] - b->all[i]);

    for (int64_t k = 0; k < b->rows * b->half; k++)
        b->z[k] = b->x[k] <= limit;
    return ess_of(b, b->z);
}

static void diagnose_dim(wm_diagnosis *d, const wm_draws *draws, int64_t k, bench *b)
{
    const int64_t n = draws->draws, chains = draws->chains, n_all = chains * n;
    bool finite = true;
    wmi_moments m;
    double median;

    for (int64_t c = 0; c < chains; c++)
        for (int64_t i = 0; i < n; i++) {
            const double v = draws->x[(c * n + i) * draws->dim + k];

            finite = finite && isfinite(v);
            b->all[c * n + i] = v;
            if (i < b->half)
                b->x[2 * c * b->half + i] = v;
            if (i >= n - b->half)
                b->x[(2 * c + 1) * b->half + i - (n - b->half)] = v;
        }
    m = wmi_moments_f64(b->all, n_all);
    d->mean[k] = m.mean;
    d->sd[k] = sqrt(m.var);
    d->rhat[k] = d->ess_bulk[k] = d->ess_tail[k] = d->mcse_mean[k] = (double)NAN;
    if (!finite || n < 4)
        return;
    d->mcse_mean[k] = d->sd[k] / sqrt(ess_of(b, b->x));
    for (int64_t i = 0; i < b->rows * b->half; i++)
        b->z[i] = b->x[i];
    median = make_scores(b);
    d->rhat[k] = rhat_of(b, b->z);
    d->ess_bulk[k] = ess_of(b, b->z);
    for (int64_t i = 0; i < b->rows * b->half; i++)
        b->z[i] = fabs(b->x[i] - median);
    make_scores(b);
    d->rhat[k] = fmax(d->rhat[k], rhat_of(b, b->z)); /* one that is NaN gives way */
    wmi_sort_f64(b->all, n_all);
    d->ess_tail[k] = fmin(ess_quantile(b, n_all, 0.05), ess_quantile(b, n_all, 0.95));
}

/* Squared steps of the energy over twice its variance would be 1 for independent energies; the
 * usual form leaves out the 2. */
static double e_bfmi_of(const double *energy, int64_t n)
{
    wmi_running_sum steps = {0};

    for (int64_t i = 1; i < n; i++)
        wmi_sum_add(&steps, (energy[i] - energy[i - 1]) * (energy[i] - energy[i - 1]));
    return n > 1 ? wmi_sum_value(&steps) / (double)(n - 1) / wmi_moments_f64(energy, n).var
                 : (double)NAN;
}

/* The smaller, or NaN if one is. */
static double least(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
}

static void summarise(wm_diagnosis *d, const wm_draws *draws)
{
    const int64_t n = draws->chains * draws->draws;
    wmi_running_sum accept = {0};

    for (int64_t i = 0; i < n; i++) {
        d->divergent += draws->divergent[i] != 0;
        d->saturated += draws->max_depth > 0 && draws->depth[i] >= draws->max_depth;
        d->total_leapfrogs += (double)draws->n_leapfrog[i];
        wmi_sum_add(&accept, draws->accept[i]);
    }
    d->accept = wmi_sum_value(&accept) / (double)n;
    d->worst_rhat = -(double)INFINITY;
    d->least_bulk = d->least_tail = d->least_e_bfmi = (double)INFINITY;
    for (int64_t k = 0; k < d->dim; k++) {
        d->worst_rhat = -least(-d->worst_rhat, -d->rhat[k]);
        d->least_bulk = least(d->least_bulk, d->ess_bulk[k]);
        d->least_tail = least(d->least_tail, d->ess_tail[k]);
    }
    for (int64_t c = 0; c < d->chains; c++) {
        d->e_bfmi[c] = e_bfmi_of(&draws->energy[c * draws->draws], draws->draws);
        d->least_e_bfmi = least(d->least_e_bfmi, d->e_bfmi[c]);
    }
}

static wm_status diagnosis_alloc(wm_diagnosis **out, const wm_draws *draws, wm_error *err)
{
    double **columns[6];
    wm_diagnosis *d;
    wm_status st;

    if ((st = wmi_alloc(out, 1, sizeof **out, "diagnostics of draws", err)))
        return st;
    d = *out;
    d->chains = draws->chains;
    d->draws = draws->draws;
    d->dim = draws->dim;
    d->max_depth = draws->max_depth;
    columns[0] = &d->mean;
    columns[1] = &d->sd;
    columns[2] = &d->rhat;
    columns[3] = &d->ess_bulk;
    columns[4] = &d->ess_tail;
    columns[5] = &d->mcse_mean;
    for (int i = 0; i < 6; i++)
        if ((st = wmi_alloc(columns[i], d->dim, sizeof(double), "diagnostics of draws", err)))
            return st;
    return wmi_alloc(&d->e_bfmi, d->chains, sizeof *d->e_bfmi, "diagnostics of draws", err);
}

wm_status wm_diagnose(wm_diagnosis **out, const wm_draws *draws, wm_error *err)
{
    const int64_t threads = omp_get_max_threads();
    wm_diagnosis *d = NULL;
    bench *benches = NULL;
    wm_status st;

    *out = NULL;
    if (draws->chains < 1 || draws->draws < 1 || draws->dim < 1)
        return wmi_fail(err, WM_EINVAL,
                        "nothing to diagnose: %" PRId64 " chains, %" PRId64 " draws, %" PRId64
                        " dimensions",
                        draws->chains, draws->draws, draws->dim);
    if ((st = diagnosis_alloc(&d, draws, err)) ||
        (st = wmi_alloc(&benches, threads, sizeof *benches, "diagnostics of draws", err)))
        goto done;
    for (int64_t i = 0; i < threads; i++)
        if ((st = bench_alloc(&benches[i], draws->chains, draws->draws, err)))
            goto done;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < d->dim; k++)
        diagnose_dim(d, draws, k, &benches[omp_get_thread_num()]);
    summarise(d, draws);
    *out = d;
    d = NULL; /* ownership moved to the caller */
done:
    for (int64_t i = 0; benches && i < threads; i++)
        bench_free(&benches[i]);
    wmi_free(benches);
    wm_diagnosis_free(d);
    return st;
}

void wm_diagnosis_free(wm_diagnosis *d)
{
    if (!d)
        return;
    wmi_free(d->mean);
    wmi_free(d->sd);
    wmi_free(d->rhat);
    wmi_free(d->ess_bulk);
    wmi_free(d->ess_tail);
    wmi_free(d->mcse_mean);
    wmi_free(d->e_bfmi);
    wmi_free(d);
}
