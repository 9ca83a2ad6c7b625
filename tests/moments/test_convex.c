/* test_convex.c - bridges from moments against the closed forms of the Gaussian experiment, and the
 * refinement on data that are not Gaussian. */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "moments/convex.h"
#include "waymark/data.h"
#include "waymark/generators.h"

typedef struct fitted {
    int64_t m, d;
    wmi_convex_bridge *bridge;
    double *store;
} fitted;

static fitted fit_with(const wmi_convex_data *data, int64_t m, const wmi_convex_opts *opts)
{
    const int64_t d = data->dim;
    fitted f = {.m = m, .d = d};
    wm_spacing spacing;
    wm_alphas alphas;
    wm_chain *chain;
    wm_error err;

    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_alphas(&alphas, &spacing, m, &err), err);
    assert_ok(wmi_alloc(&f.bridge, m, sizeof *f.bridge, "bridges", &err), err);
    assert_ok(wmi_alloc(&f.store, m * (d * d + d), sizeof *f.store, "store", &err), err);
    for (int64_t k = 0; k < m; k++) {
        f.bridge[k].q = f.store + k * (d * d + d);
        f.bridge[k].w = f.bridge[k].q + d * d;
    }
    assert_ok(wm_chain_new(&chain, m, &alphas, d, NULL, &err), err);
    assert_ok(wmi_convex_fit(data, chain, opts, f.bridge, NULL, &err), err);
    wm_chain_free(chain);
    return f;
}

static fitted fit(const wmi_convex_data *data, int64_t m, bool quadratic, bool refine)
{
    return fit_with(data, m,
                    &(wmi_convex_opts){.quadratic = quadratic, .refine = refine, .seed = 1});
}

/* Logistic loss of the first bridge of one column at a row of each class. */
static double pair_loss(const fitted *f, double num, double den)
{
    const wmi_convex_bridge *b = f->bridge;
    const double s0 = -(b->q[0] * num * num + b->w[0] * num + b->c);
    const double s1 = -(b->q[0] * den * den + b->w[0] * den + b->c);

    return fmax(-s0, 0) + log1p(exp(-fabs(s0))) + fmax(s1, 0) + log1p(exp(-fabs(s1)));
}

static void fitted_free(fitted *f)
{
    wmi_free(f->store);
    wmi_free(f->bridge);
}

/* p0: pairs with correlation rho, pm: N(0, I). Waymark k has correlation r_k = (1 - a_k^2) rho, so
 * its precision has 1/(1 - r^2) on the diagonal and -r/(1 - r^2) beside it, and its log-determinant
 * is (d/2) log(1 - r^2). Q is half the difference of neighbours, c half the difference of
 * log-determinants. Standard errors with n rows: an entry of the precision P has sd sqrt((P_ii P_jj
 * + P_ij^2) / n) <= sqrt(2) P_ii / sqrt(n), and a precision entry of 0 as much as P_ii / sqrt(n);
 * the largest of 1e5 normal draws stays below 5.5 sd, so 6 sd of the larger of the two neighbours
 * holds for all entries. log det has sd sqrt(2 d / n) and bias -d (d + 1) / (2 n). */
static void gaussian_pairs(int64_t d, int64_t m, double mi, int64_t n)
{
    const double rho = wm_gaussian_pairs_rho(d, mi), root_n = sqrt((double)n);
    wm_data *x, *v;
    wm_error err;
    fitted f;

    assert_ok(wm_data_gaussian_pairs(&x, n, d, rho, 1, "train", &err), err);
    assert_ok(wm_data_gaussian_pairs(&v, 2000, d, rho, 1, "valid", &err), err);
    f = fit(&(wmi_convex_data){.dim = d,
                               .n0_train = n,
                               .n0_valid = 2000,
                               .x0_train = wm_data_rows(x),
                               .x0_valid = wm_data_rows(v),
                               .xm_standard = true},
            m, true, false);
    for (int64_t k = 0; k < m; k++) {
        double p[2], off[2], logdet[2];

        for (int i = 0; i < 2; i++) {
            const double a = (double)(k + i) / (double)m, r = (1 - a * a) * rho;

            p[i] = 1 / (1 - r * r);
            off[i] = -r / (1 - r * r);
            logdet[i] = 0.5 * (double)d * log(1 - r * r);
        }
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++) {
                const double want = i == j           ? 0.5 * (p[0] - p[1])
                                    : i / 2 == j / 2 ? 0.5 * (off[0] - off[1])
                                                     : 0;

                assert_near(f.bridge[k].q[i * d + j], want, 6 * sqrt(2) * p[0] / root_n);
            }
        for (int64_t j = 0; j < d; j++) /* mean zero: w = differences of precision times mean */
            assert_near(f.bridge[k].w[j], 0, 6 * 2 * p[0] / root_n);
        assert_near(f.bridge[k].c, 0.5 * (logdet[0] - logdet[1]),
                    5 * sqrt(2 * (double)d) / root_n + (double)(d * d) / (double)n);
    }
    fitted_free(&f);
    wm_data_free(v);
    wm_data_free(x);
}

static void moments_give_the_closed_form(void **state)
{
    (void)state;
    gaussian_pairs(40, 2, 10, 50000);
    gaussian_pairs(320, 8, 80, 20000);
}

/* facts: d = 40, m = 2: diagonal .5833 .2759, beside it -.6179 -.4627, constants -5.61 -4.39: that
 * the formula of the test above is the paper's. */
static void the_formula_is_the_papers(void **state)
{
    const double rho = wm_gaussian_pairs_rho(40, 10);
    const double r[] = {rho, 0.75 * rho, 0}, diag[] = {0.5833, 0.2759}, off[] = {-0.6179, -0.4627},
                 c[] = {-5.61, -4.39};

    (void)state;
    for (int k = 0; k < 2; k++) {
        const double a = 1 - r[k] * r[k], b = 1 - r[k + 1] * r[k + 1];

        assert_near(0.5 * (1 / a - 1 / b), diag[k], 5e-5);
        assert_near(0.5 * (-r[k] / a + r[k + 1] / b), off[k], 5e-5);
        assert_near(10 * (log(a) - log(b)), c[k], 5e-3);
    }
}

/* p0 = N(1, 1), pm = N(0, 1), one bridge: log r = x - 1/2. The moments have sd ~ 1/sqrt(n) in w and
 * c. */
static void linear_bridges_find_a_shift(void **state)
{
    enum { N = 20000 };
    wm_data *p, *q;
    wm_error err;
    fitted f;

    (void)state;
    assert_ok(wm_data_normal(&p, N, 1, 1, 1, 1, "p", &err), err);
    assert_ok(wm_data_normal(&q, N, 1, 0, 1, 1, "q", &err), err);
    f = fit(&(wmi_convex_data){.dim = 1,
                               .n0_train = N / 2,
                               .n0_valid = N / 2,
                               .nm_train = N / 2,
                               .nm_valid = N / 2,
                               .x0_train = wm_data_rows(p),
                               .x0_valid = wm_data_rows(p) + N / 2,
                               .xm_train = wm_data_rows(q),
                               .xm_valid = wm_data_rows(q) + N / 2},
            1, false, true);
    assert_near(f.bridge[0].w[0], -1, 5 * 2 / sqrt(N / 2.0));
    assert_near(f.bridge[0].c, 0.5, 5 * 2 / sqrt(N / 2.0));
    assert_true(f.bridge[0].q[0] == 0);
    fitted_free(&f);
    wm_data_free(q);
    wm_data_free(p);
}

/* p0 is N(0, 0.05^2) in four rows of five and N(0, 1) in the fifth, pm = N(0, 1). The moments say
 * N(0, 0.202), under which the fifth row is nearly impossible, and logistic loss punishes that. The
 * refinement must find a gain, on its own held-out rows and on fresh ones. */
static void refinement_beats_moments_where_they_are_wrong(void **state)
{
    enum { N = 8192, PART = N / 4, FRESH = N / 2 };
    double *x = malloc(2 * (size_t)N * sizeof *x), gain = 0;
    const wmi_rng rng = wmi_rng_make(5, "x"), which = wmi_rng_make(5, "which");
    const wmi_convex_data data = {.dim = 1,
                                  .n0_train = PART,
                                  .n0_valid = PART,
                                  .nm_train = PART,
                                  .nm_valid = PART,
                                  .x0_train = x,
                                  .x0_valid = x + PART,
                                  .xm_train = x + N,
                                  .xm_valid = x + N + PART};
    fitted moments, refined;

    (void)state;
    assert_non_null(x);
    wmi_rng_normal_f64(&rng, 0, 2 * N, x);
    for (int64_t i = 0; i < N; i++)
        x[i] *= wmi_rng_below(&which, (uint64_t)i, 5) ? 0.05 : 1;
    moments = fit(&data, 1, true, false);
    refined = fit(&data, 1, true, true);
    assert_true(isfinite(refined.bridge[0].ridge));
    assert_true(refined.bridge[0].valid_gain > 0);
    for (int64_t i = 0; i < FRESH; i++)
        gain += (pair_loss(&moments, x[2 * PART + i], x[N + 2 * PART + i]) -
                 pair_loss(&refined, x[2 * PART + i], x[N + 2 * PART + i])) /
                FRESH;
    assert_true(gain > 0.01);
    fitted_free(&refined);
    fitted_free(&moments);
    free(x);
}

/* Where the moments are the truth, the gradient has nothing but noise to offer. */
static void moments_win_on_gaussian_data(void **state)
{
    enum { N = 20000, D = 10 };
    wm_data *x, *q;
    wm_error err;
    fitted f;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&x, N, D, 0.7, 2, "p", &err), err);
    assert_ok(wm_data_normal(&q, N, D, 0, 1, 2, "q", &err), err);
    f = fit(&(wmi_convex_data){.dim = D,
                               .n0_train = N / 2,
                               .n0_valid = N / 2,
                               .nm_train = N / 2,
                               .nm_valid = N / 2,
                               .x0_train = wm_data_rows(x),
                               .x0_valid = wm_data_rows(x) + N / 2 * D,
                               .xm_train = wm_data_rows(q),
                               .xm_valid = wm_data_rows(q) + N / 2 * D},
            2, true, true);
    for (int k = 0; k < 2; k++)
        assert_true(f.bridge[k].ridge == INFINITY);
    fitted_free(&f);
    wm_data_free(q);
    wm_data_free(x);
}

/* With all_rows bridges that keep their moments have those of training and held-out rows together.
 * (One column: there is nothing to shrink.) */
static void all_rows_count_in_the_end(void **state)
{
    enum { N = 400, PART = 300 };
    wm_data *p, *q;
    wm_error err;
    fitted all, pooled;

    (void)state;
    assert_ok(wm_data_normal(&p, N, 1, 1, 1, 1, "p", &err), err);
    assert_ok(wm_data_normal(&q, N, 1, 0, 1.3, 1, "q", &err), err);
    const double *x = wm_data_rows(p), *y = wm_data_rows(q);

    all = fit(&(wmi_convex_data){.dim = 1,
                                 .n0_train = N,
                                 .nm_train = N,
                                 .n0_valid = 2,
                                 .nm_valid = 2,
                                 .x0_train = x,
                                 .x0_valid = x,
                                 .xm_train = y,
                                 .xm_valid = y},
              2, true, false);
    pooled = fit_with(&(wmi_convex_data){.dim = 1,
                                         .n0_train = PART,
                                         .nm_train = PART,
                                         .n0_valid = N - PART,
                                         .nm_valid = N - PART,
                                         .x0_train = x,
                                         .x0_valid = x + PART,
                                         .xm_train = y,
                                         .xm_valid = y + PART},
                      2, &(wmi_convex_opts){.quadratic = true, .all_rows = true, .seed = 1});
    for (int k = 0; k < 2; k++) {
        assert_near(pooled.bridge[k].q[0], all.bridge[k].q[0], 1e-12);
        assert_near(pooled.bridge[k].w[0], all.bridge[k].w[0], 1e-12);
        assert_near(pooled.bridge[k].c, all.bridge[k].c, 1e-12);
    }
    fitted_free(&pooled);
    fitted_free(&all);
    wm_data_free(q);
    wm_data_free(p);
}

/* Ten held-out rows fill a chunk of a thousand by coming a hundred times. Counted as a thousand
 * they are sure of themselves, and moments that are right lost in a third of the samples; counted
 * as ten, a gain must be twice its own noise. By chance that is so 1 time in 40 for one step
 * length; of three, which are much alike, and the ridge path after them, let it be 6 in 100: 3.6 of
 * 60 samples, with 5 standard deviations fewer than 13. */
static void few_rows_are_no_evidence_by_coming_again(void **state)
{
    enum { SAMPLES = 60, N = 100, VALID = 10, D = 1 };
    int refined = 0;

    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        wm_data *p, *q;
        wm_error err;
        fitted f;

        assert_ok(wm_data_normal(&p, N, D, 0.5, 1, (uint64_t)i, "p", &err), err);
        assert_ok(wm_data_normal(&q, N, D, 0, 1, (uint64_t)i, "q", &err), err);
        f = fit(&(wmi_convex_data){.dim = D,
                                   .n0_train = N - VALID,
                                   .n0_valid = VALID,
                                   .nm_train = N - VALID,
                                   .nm_valid = VALID,
                                   .x0_train = wm_data_rows(p) + VALID * D,
                                   .x0_valid = wm_data_rows(p),
                                   .xm_train = wm_data_rows(q) + VALID * D,
                                   .xm_valid = wm_data_rows(q)},
                1, true, true);
        refined += f.bridge[0].ridge < INFINITY;
        fitted_free(&f);
        wm_data_free(q);
        wm_data_free(p);
    }
    assert_true(refined < 13);
}

/* Twenty bridges over a shift of twenty standard deviations. Were twice the noise enough for each,
 * chance would refine one in 6 of these 20 samples, and the answer of the chain would be wrong by
 * the lever of that one. Chance must win any of the twenty as rarely as one alone, 2 times in 100:
 * 0.4 of 20 samples, with 5 standard deviations fewer than 4. */
static void many_bridges_are_no_more_chances(void **state)
{
    enum { SAMPLES = 20, BRIDGES = 20, N = 2000, VALID = 500 };
    int refined = 0;

    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        wm_data *p, *q;
        wm_error err;
        bool any = false;
        fitted f;

        assert_ok(wm_data_normal(&p, N, 1, 20, 1, (uint64_t)i, "p", &err), err);
        assert_ok(wm_data_normal(&q, N, 1, 0, 1, (uint64_t)i, "q", &err), err);
        f = fit(&(wmi_convex_data){.dim = 1,
                                   .n0_train = N - VALID,
                                   .n0_valid = VALID,
                                   .nm_train = N - VALID,
                                   .nm_valid = VALID,
                                   .x0_train = wm_data_rows(p) + VALID,
                                   .x0_valid = wm_data_rows(p),
                                   .xm_train = wm_data_rows(q) + VALID,
                                   .xm_valid = wm_data_rows(q)},
                BRIDGES, true, true);
        for (int k = 0; k < BRIDGES; k++)
            any = any || f.bridge[k].ridge < INFINITY;
        refined += any;
        fitted_free(&f);
        wm_data_free(q);
        wm_data_free(p);
    }
    assert_true(refined < 4);
}

static volatile sig_atomic_t asked;

static void ask(int signal)
{
    (void)signal;
    asked = 1;
}

static double processor_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The alarm comes in the middle of the refinement, by the time that the processor has spent: how
 * busy the machine is does not matter, nor how fast it is. */
static void a_refinement_ends_when_it_is_asked_to(void **state)
{
    enum { ROWS = 4000, DIM = 30 };
    const wmi_rng rng = wmi_rng_make(3, "stopped");
    wmi_convex_data data = {.dim = DIM,
                            .n0_train = ROWS / 2,
                            .n0_valid = ROWS / 2,
                            .nm_train = ROWS / 2,
                            .nm_valid = ROWS / 2};
    wmi_convex_opts opts = {.quadratic = true, .stop = &asked};
    wmi_convex_bridge bridge = {0};
    double *x, *store, start, moments, refined, until;
    struct itimerval soon = {0};
    wm_alphas alphas;
    wm_spacing spacing;
    wm_chain *chain;
    wm_error err;
    int threads;

    (void)state;
    assert_ok(wmi_alloc(&x, 2L * ROWS * DIM, sizeof *x, "rows", &err), err);
    assert_ok(wmi_alloc(&store, DIM * DIM + DIM, sizeof *store, "store", &err), err);
    wmi_rng_normal_f64(&rng, 0, 2L * ROWS * DIM, x);
    for (int64_t i = 0; i < ROWS * DIM; i++)
        x[i] = x[i] * x[i];
    data.x0_train = x;
    data.x0_valid = x + ROWS / 2 * DIM;
    data.xm_train = x + ROWS * DIM;
    data.xm_valid = x + 3 * ROWS / 2 * DIM;
    bridge.q = store;
    bridge.w = store + DIM * DIM;
    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_alphas(&alphas, &spacing, 1, &err), err);
    assert_ok(wm_chain_new(&chain, 1, &alphas, DIM, NULL, &err), err);
    asked = 0;
    threads = omp_get_max_threads();
    omp_set_num_threads(1); /* those that wait would spend time too */
    (void)signal(SIGPROF, ask);
    start = processor_seconds();
    assert_ok(wmi_convex_fit(&data, chain, &opts, &bridge, NULL, &err), err);
    moments = processor_seconds() - start;
    opts.refine = true;
    assert_ok(wmi_convex_fit(&data, chain, &opts, &bridge, NULL, &err), err);
    refined = processor_seconds() - start - moments; /* moments, and then the refinement */
    if (!(refined > 2 * moments))
        fail_msg("moments %g s, with refinement %g s", moments, refined);
    until = (moments + refined) / 2;
    soon.it_value.tv_sec = (time_t)until;
    soon.it_value.tv_usec = (suseconds_t)(1e6 * (until - (double)soon.it_value.tv_sec));
    assert_int_equal(setitimer(ITIMER_PROF, &soon, NULL), 0);
    assert_int_equal(wmi_convex_fit(&data, chain, &opts, &bridge, NULL, &err), WM_EINTERRUPTED);
    (void)signal(SIGPROF, SIG_DFL);
    omp_set_num_threads(threads);
    wm_chain_free(chain);
    wmi_free(store);
    wmi_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_give_the_closed_form),
        cmocka_unit_test(the_formula_is_the_papers),
        cmocka_unit_test(linear_bridges_find_a_shift),
        cmocka_unit_test(refinement_beats_moments_where_they_are_wrong),
        cmocka_unit_test(moments_win_on_gaussian_data),
        cmocka_unit_test(all_rows_count_in_the_end),
        cmocka_unit_test(few_rows_are_no_evidence_by_coming_again),
        cmocka_unit_test(many_bridges_are_no_more_chances),
        cmocka_unit_test(a_refinement_ends_when_it_is_asked_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
