/* test_study.c - answers with intervals where the truth is known, verdicts where they must not be
 * wrong, and clear refusals. Truths are within 5 of the standard errors that the study itself
 * gives: these are tested in turn by results/calibration. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "waymark/generators.h"
#include "waymark/mi.h"
#include "waymark/study.h"

static wm_data *normal(int64_t n, int64_t d, double mean, double sd, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, n, d, mean, sd, 1, stream, &err), err);
    return x;
}

static wm_study_opts quick(void)
{
    wm_study_opts o;

    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_QUADRATIC;
    o.n_models = 1;
    return o;
}

static wm_study *run(const wm_data *p, const wm_data *q, const wm_study_opts *o,
                     wm_study_info *info)
{
    wm_study *s;
    wm_error err;

    assert_ok(wm_study_run(&s, p, q, NULL, o, &err), err);
    wm_study_get_info(s, info);
    return s;
}

static const wm_check *check_of(const wm_study *s, const char *name)
{
    const wm_check *c = wm_checks_find(wm_study_checks(s), name);

    if (!c)
        fail_msg("no check '%s'", name);
    return c;
}

/* N(-5, 1) against N(5, 1): 50 nats, placed by itself. That the answer rests on the Gaussian form
 * is said. */
static void a_far_shift_is_found_and_doubted(void **state)
{
    enum { N = 2000 };
    wm_data *p = normal(N, 1, -5, 1, "p"), *q = normal(N, 1, 5, 1, "q");
    const wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s = run(p, q, &o, &info);
    int64_t n;

    (void)state;
    assert_near(info.kl_pq.value, 50, 5 * info.kl_pq.se);
    assert_near(info.kl_qp.value, 50, 5 * info.kl_qp.se);
    assert_true(info.kl_pq.se > 0.5 && info.kl_pq.se < 4); /* 1.6 expected: 50 sqrt(2 / 2000) */
    assert_true(info.kl_pq.lo < info.kl_pq.value && info.kl_pq.value < info.kl_pq.hi);
    assert_true(info.bridges >= 6 && info.bridges <= 12 && info.spacing_found);
    assert_int_equal(info.verdict, WM_DOUBT);
    assert_int_equal(check_of(s, "extrapolation")->outcome, WM_CHECK_DOUBT);
    assert_int_equal(check_of(s, "chasm")->outcome, WM_CHECK_OK);
    assert_int_equal(check_of(s, "bridges")->outcome, WM_CHECK_OK);
    assert_non_null(wm_study_log_ratios(s, 0, &n));
    assert_int_equal(n, N);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

static void one_bridge_over_a_chasm_is_rejected(void **state)
{
    wm_data *p = normal(2000, 1, -1, 0.08, "p"), *q = normal(2000, 1, 2, 0.15, "q");
    wm_study_opts o = quick();
    wm_study_info info;
    const wm_check *chasm;
    wm_study *s;

    (void)state;
    o.bridges = 1;
    s = run(p, q, &o, &info);
    assert_int_equal(info.verdict, WM_REJECT);
    chasm = check_of(s, "chasm");
    assert_int_equal(chasm->outcome, WM_CHECK_FAILED);
    assert_non_null(strstr(chasm->meaning, "use more bridges"));
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* Some tens of rows at a distance of twelve standard deviations: no shape is known by which a form
 * could go on between them. */
static void few_rows_of_separate_tables_are_rejected(void **state)
{
    wm_data *p = normal(80, 1, 0, 1, "p"), *q = normal(80, 1, 12, 1, "q");
    const wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s = run(p, q, &o, &info);
    const wm_check *support = check_of(s, "support_pq");

    (void)state;
    assert_int_equal(info.verdict, WM_REJECT);
    assert_true(support && support->outcome == WM_CHECK_FAILED);
    assert_true(support && strstr(support->meaning, "separate"));
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* A Student distribution of three degrees against N(0, 1.5^2): 0.217 nats, by integration, most of
 * which come from where q has no rows. Whatever curves make of these, that is no answer to trust.
 */
static void an_answer_from_outside_is_doubted(void **state)
{
    enum { ROWS = 3000 };
    wm_data *q = normal(ROWS, 1, 0, 1.5, "q"), *z = normal(4 * ROWS, 1, 0, 1, "z"), *p;
    const double *x = wm_data_rows(z);
    wm_study_opts o = quick();
    double t[ROWS];
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    for (int i = 0; i < ROWS; i++, x += 4)
        t[i] = x[0] / sqrt((x[1] * x[1] + x[2] * x[2] + x[3] * x[3]) / 3);
    assert_ok(wm_data_new(&p, ROWS, 1, t, &err), err);
    o.models[0] = WM_RATIO_ADDITIVE;
    o.n_models = 1;
    s = run(p, q, &o, &info);
    assert_int_equal(check_of(s, "support_pq")->outcome, WM_CHECK_DOUBT);
    assert_non_null(strstr(check_of(s, "support_pq")->meaning, "outside of all rows of q"));
    assert_int_equal(info.verdict, WM_DOUBT);
    wm_study_free(s);
    wm_data_free(z);
    wm_data_free(q);
    wm_data_free(p);
}

/* Models and waymarks are chosen by some of many rows, the answer is that of all: N(0, 1) against
 * N(1, 1) has the standard error sqrt(2.5 / n) = 0.0046 (2 / n by the means, 0.5 / n by the
 * variance of q); 40,000 rows would give 0.0079. The jackknife knows it to 5 %. */
static void every_row_of_many_counts(void **state)
{
    enum { N = 120000 };
    wm_data *p = normal(N, 1, 0, 1, "p"), *q = normal(N, 1, 1, 1, "q");
    const wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s = run(p, q, &o, &info);

    (void)state;
    assert_int_equal(info.n_test, N);
    assert_near(info.kl_pq.value, 0.5, 5 * 0.0046);
    assert_near(info.kl_pq.se, 0.0046, 5 * 0.05 * 0.0046);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* The same distribution: 0, trusted; and a study does not depend on the number of threads. */
static void nothing_is_found_where_nothing_is(void **state)
{
    wm_data *p = normal(2000, 4, 0, 1, "p"), *q = normal(3000, 4, 0, 1, "q");
    wm_study_opts o = quick();
    const int threads = omp_get_max_threads();
    wm_study_info one, two;
    const double *a, *b;
    wm_study *s, *t;
    int64_t n;

    (void)state;
    o.models[1] = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
    o.n_models = 2;
    o.adam.iterations = 40;
    o.width = 16;
    omp_set_num_threads(1);
    s = run(p, q, &o, &one);
    omp_set_num_threads(2);
    t = run(p, q, &o, &two);
    omp_set_num_threads(threads);
    assert_near(one.kl_pq.value, 0, 3 * one.kl_pq.se);
    assert_near(one.kl_qp.value, 0, 3 * one.kl_qp.se);
    assert_true(one.kl_pq.se < 0.05);
    assert_int_equal(one.verdict, WM_TRUST);
    assert_int_equal(one.bridges, 1);
    assert_int_equal(wm_study_candidates(s), 2);
    assert_true(wm_study_candidate(s, 0)->kept && !wm_study_candidate(s, 1)->kept);
    assert_true(wm_study_candidate(s, 1)->given_up && wm_study_candidate(t, 1)->given_up);
    a = wm_study_log_ratios(s, 1, &n);
    b = wm_study_log_ratios(t, 1, &n);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    assert_int_equal(n, 3000);
    wm_study_free(t);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

typedef struct watched {
    int64_t calls, last_step;
    wm_ratio_model model;
} watched;

static int watch(void *ctx, const wm_evaluation *p)
{
    watched *w = ctx;

    w->calls++;
    w->last_step = p->step;
    w->model = p->model;
    assert_true(p->n_bridges >= 1 && isfinite(p->valid_loss));
    return 0;
}

/* p = N(0, 1), q = the same in two halves at -2.5 and 2.5: a form with the moments of q is blind to
 * its gap, where p is, and the network's pilot must not be given up. KL(p, q) by Simpson's rule.
 * With one bridge, so that the ends alone count. */
static void a_network_is_kept_where_it_is_needed(void **state)
{
    enum { N = 3000, GRID = 4000 };
    wm_data *p = normal(N, 1, 0, 1, "p"), *q = normal(N, 1, 0, 1, "q");
    watched w = {0};
    wm_study_opts o;
    wm_study_info info;
    wm_study *s;
    double truth = 0;

    (void)state;
    for (int64_t i = 0; i < N; i++)
        wm_data_rows_mut(q)[i] += i % 2 ? 2.5 : -2.5;
    for (int i = 0; i <= GRID; i++) {
        const double x = -9 + 18.0 * i / GRID, weight = i == 0 || i == GRID ? 1 : i % 2 ? 4 : 2;
        const double log_r = log(2) - log(exp(-2.5 * x - 3.125) + exp(2.5 * x - 3.125));

        truth += weight * 18.0 / GRID / 3 * exp(-x * x / 2) / sqrt(2 * acos(-1)) * log_r;
    }
    wm_study_opts_init(&o);
    o.bridges = 1;
    o.adam.iterations = 300;
    o.width = 16;
    o.folds = 2;
    o.models[o.n_models++] = WM_RATIO_QUADRATIC; /* a curve of the column would do it too */
    o.models[o.n_models++] = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
    o.control.on_eval = watch;
    o.control.ctx = &w;
    s = run(p, q, &o, &info);
    assert_true(info.model & WM_RATIO_MLP);
    assert_false(wm_study_candidate(s, 0)->kept);
    assert_near(info.kl_pq.value, truth, 5 * info.kl_pq.se + 0.05 * truth);
    assert_true(w.calls >= 3 && w.last_step <= 300 && w.model == info.model);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* p: columns that are exp(z / 2) - 1 with z of N(0, 1), q: N(0, 1) each. The log-ratio is a sum of
 * curves of single columns: KL is the sum of theirs, and additive terms find most of what a form
 * cannot. */
static void curves_of_columns(void **state)
{
    enum { N = 3000, D = 2 };
    wm_data *p = normal(N, D, 0, 0.5, "p"), *q = normal(N, D, 0, 1, "q");
    wm_study_opts o = quick();
    wm_study_info form, both;
    wm_study *s;

    (void)state;
    for (int64_t i = 0; i < N * D; i++)
        wm_data_rows_mut(p)[i] = exp(wm_data_rows(p)[i]) - 1;
    o.bridges = 1;
    o.folds = 2;
    s = run(p, q, &o, &form);
    wm_study_free(s);
    o.models[0] = WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE;
    o.adam.iterations = 400;
    s = run(p, q, &o, &both);
    assert_true(both.test_loss < form.test_loss - 0.01);
    /* log p(x) = -log(1/2) - z^2 / 2 - log(1 + x) and log q(x) = -x^2 / 2, both less half a log of
     * 2 pi; in the mean over p, z^2 is 1, log(1 + x) = z / 2 is 0, x^2 is e^(1/2) - 2 e^(1/8) + 1.
     */
    const double truth = D * (log(2) - 0.5 + 0.5 * (exp(0.5) - 2 * exp(0.125) + 1));

    assert_near(both.kl_pq.value, truth, 5 * both.kl_pq.se + 0.03 * truth);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* Columns 1, 3, ... against 2, 4, ... of correlated pairs: 3 nats. */
static void mutual_information_of_pairs(void **state)
{
    enum { N = 5000, D = 6 };
    const double rho = wm_gaussian_pairs_rho(D, 3);
    wm_data *x, *joint, *shuffled;
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&x, N, D, rho, 1, "pairs", &err), err);
    assert_ok(wm_data_new(&joint, N, D, NULL, &err), err);
    for (int64_t i = 0; i < N; i++)
        for (int j = 0; j < D; j++) /* and a map of each column that ranks undo */
            wm_data_rows_mut(joint)[i * D + j] =
                sinh(wm_data_rows(x)[i * D + (j < D / 2 ? 2 * j : 2 * (j - D / 2) + 1)]);
    o.pairs = D / 2;
    o.by_rank = true;
    s = run(joint, NULL, &o, &info);
    assert_near(info.kl_pq.value, 3, 5 * info.kl_pq.se);
    assert_true(info.kl_pq.se < 0.15);
    assert_true(info.verdict != WM_REJECT);
    wm_study_free(s);
    assert_ok(wm_mi_shuffle(&shuffled, joint, D / 2, 1, &err), err);
    s = run(shuffled, NULL, &o, &info);
    assert_near(info.kl_pq.value, 0, 4 * info.kl_pq.se);
    wm_study_free(s);
    o.models[0] = WM_RATIO_QUADRATIC | WM_RATIO_SEPARABLE; /* two networks have nothing to add */
    o.adam.iterations = 60;
    o.width = 8;
    o.bridges = 2;
    s = run(joint, NULL, &o, &info);
    assert_near(info.kl_pq.value, 3, 5 * info.kl_pq.se);
    wm_study_free(s);
    wm_data_free(shuffled);
    wm_data_free(joint);
    wm_data_free(x);
}

/* p is half N(0, 1) and half N(3, 1), told apart by weights: with those of the first half q is p.
 */
static void weights_choose_rows(void **state)
{
    enum { N = 4000 };
    wm_data *a = normal(N, 1, 0, 1, "a"), *b = normal(N, 1, 3, 1, "b"),
            *q = normal(N, 1, 0, 1, "q");
    wm_data *p;
    double *w = calloc(2 * N, sizeof *w);
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&p, 2 * N, 1, NULL, &err), err);
    for (int i = 0; i < N; i++) {
        wm_data_rows_mut(p)[2 * i] = wm_data_rows(a)[i];
        wm_data_rows_mut(p)[2 * i + 1] = wm_data_rows(b)[i];
        w[2 * i] = 2.5;
    }
    s = run(p, q, &o, &info);
    assert_true(info.kl_pq.value > 0.5);
    wm_study_free(s);
    o.weights[0] = w;
    s = run(p, q, &o, &info);
    assert_near(info.kl_pq.value, 0, fmax(4 * info.kl_pq.se, 0.01));
    wm_study_free(s);
    w[7] = -1;
    assert_int_equal(wm_study_run(&s, p, q, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "weight 8 of p is -1"));
    free(w);
    wm_data_free(p);
    wm_data_free(q);
    wm_data_free(b);
    wm_data_free(a);
}

/* 40 nats of pairs that are normal: check form is about how they look, not about how much it is. */
static void much_mutual_information_is_no_departure(void **state)
{
    enum { N = 2000, D = 40 };
    const double rho = wm_gaussian_pairs_rho(D, 40);
    wm_data *x, *joint;
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&x, N, D, rho, 1, "pairs", &err), err);
    assert_ok(wm_data_new(&joint, N, D, NULL, &err), err);
    for (int64_t i = 0; i < N; i++)
        for (int j = 0; j < D; j++) /* u, then v */
            wm_data_rows_mut(joint)[i * D + j] =
                wm_data_rows(x)[i * D + (j < D / 2 ? 2 * j : 2 * (j - D / 2) + 1)];
    o.pairs = D / 2;
    s = run(joint, NULL, &o, &info);
    assert_true(info.kl_pq.value > 30);
    assert_int_equal(check_of(s, "form")->outcome, WM_CHECK_OK);
    wm_study_free(s);
    wm_data_free(joint);
    wm_data_free(x);
}

/* Any two columns are those of q, but the product of the three is positive in p: no form sees that,
 * and a short trial of a network may not. Trees beside it do, and the network gets its time. */
static void what_no_form_holds_is_doubted(void **state)
{
    enum { N = 1500, D = 3 };
    wm_data *p = normal(N, D, 0, 1, "p"), *q = normal(N, D, 0, 1, "q");
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;
    int64_t networks = 0;

    (void)state;
    s = run(p, q, &o, &info);
    assert_int_equal(check_of(s, "missed")->outcome, WM_CHECK_OK);
    wm_study_free(s);
    for (int64_t i = 0; i < N; i++) {
        double *x = wm_data_rows_mut(p) + i * D;

        x[0] = x[0] * x[1] * x[2] < 0 ? -x[0] : x[0];
    }
    s = run(p, q, &o, &info);
    assert_true(info.kl_pq.hi < 0.1); /* of log 2 */
    assert_int_equal(check_of(s, "missed")->outcome, WM_CHECK_DOUBT);
    assert_int_equal(info.verdict, WM_DOUBT);
    wm_study_free(s);
    o.n_models = 0;
    o.adam.iterations = 400;
    s = run(p, q, &o, &info);
    assert_true(info.kl_pq.value > 0.1);
    assert_true(info.verdict != WM_TRUST || info.kl_pq.hi > log(2));
    for (int64_t i = 0; i < wm_study_candidates(s); i++)
        networks +=
            wm_study_candidate(s, i)->model & WM_RATIO_MLP && !wm_study_candidate(s, i)->given_up;
    assert_true(networks > 0);
    wm_study_free(s);
    wm_data_free(p);
    wm_data_free(q);
}

/* Every other pair is correlated (0.83 nats); weights say which half counts. A network's mean of r
 * is over many shuffled pairs, and each has the weight of its row. */
static void weights_choose_pairs(void **state)
{
    enum { N = 1000 };
    wm_data *z = normal(N, 2, 0, 1, "z");
    double *w = calloc(N, sizeof *w);
    wm_study_opts o = quick();
    wm_study_info tied, loose;

    (void)state;
    for (int i = 0; i < N; i += 2) {
        double *x = wm_data_rows_mut(z) + 2 * (int64_t)i;

        x[1] = 0.9 * x[0] + sqrt(1 - 0.81) * x[1];
    }
    o.models[0] = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
    o.pairs = 1;
    o.adam.iterations = 60;
    o.weights[0] = w;
    for (int i = 0; i < N; i++)
        w[i] = i % 2 == 0;
    wm_study_free(run(z, NULL, &o, &tied));
    for (int i = 0; i < N; i++)
        w[i] = i % 2;
    wm_study_free(run(z, NULL, &o, &loose));
    assert_near(tied.kl_pq.value, 0.83, 0.3);
    assert_near(loose.kl_pq.value, 0, 0.1);
    free(w);
    wm_data_free(z);
}

/* What a study stores is what it found: the mean of its fits. */
static void the_ratio_is_kept(void **state)
{
    enum { N = 400 };
    const char *path = "test_study_model.safetensors";
    wm_data *p = normal(N, 2, 0, 0.7, "p"), *q = normal(N, 2, 0.5, 1, "q");
    wm_study_opts o = quick();
    double before[N], after[N], mean = 0;
    wm_study_info info;
    wm_study *s;
    wm_ratio *r;
    wm_error err;

    (void)state;
    o.models[0] = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
    o.ensemble = 2;
    o.folds = 3;
    o.adam.iterations = 30;
    o.width = 8;
    s = run(p, q, &o, &info);
    assert_int_equal(info.members, 6);
    assert_ok(wm_ratio_log(wm_study_ratio(s), p, before, &err), err);
    assert_ok(wm_ratio_save(wm_study_ratio(s), path, &err), err);
    assert_ok(wm_ratio_load(&r, path, &err), err);
    assert_ok(wm_ratio_log(r, p, after, &err), err);
    assert_memory_equal(before, after, sizeof before);
    for (int i = 0; i < N; i++)
        mean += before[i] / N;
    assert_near(mean, info.kl_pq.value, 0.1); /* the same but for which rows were seen */
    wm_ratio_free(r);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
    unlink(path);
}

/* Pairs of N rows and D columns, in the order of u and v. */
static wm_data *gaussian_pairs(int64_t n, int64_t d, double nats)
{
    wm_data *x, *joint;
    wm_error err;

    assert_ok(wm_data_gaussian_pairs(&x, n, d, wm_gaussian_pairs_rho(d, nats), 1, "pairs", &err),
              err);
    assert_ok(wm_data_new(&joint, n, d, NULL, &err), err);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            wm_data_rows_mut(joint)[i * d + j] =
                wm_data_rows(x)[i * d + (j < d / 2 ? 2 * j : 2 * (j - d / 2) + 1)];
    wm_data_free(x);
    return joint;
}

/* Six hundred rows are enough for moments of tables that look normal, not of others. */
static void few_rows_are_enough_where_they_look_normal(void **state)
{
    (void)state;
    for (int odd = 0; odd < 2; odd++) {
        wm_data *p = normal(600, 3, 0.3, 1, "few p"), *q = normal(600, 3, 0, 1, "few q");
        wm_study_opts o = quick();
        wm_study_info info;
        wm_study *s;

        for (int64_t i = 0; odd && i < 1800; i++) { /* two humps */
            wm_data_rows_mut(p)[i] = tanh(3 * wm_data_rows(p)[i]);
            wm_data_rows_mut(q)[i] = tanh(3 * wm_data_rows(q)[i]);
        }
        o.models[0] = WM_RATIO_QUADRATIC;
        s = run(p, q, &o, &info);
        assert_int_equal(check_of(s, "samples")->outcome, odd ? WM_CHECK_DOUBT : WM_CHECK_OK);
        wm_study_free(s);
        wm_data_free(q);
        wm_data_free(p);
    }
}

/* v has the sum of u's columns, then a rising function of one of them; then neither. */
static void what_can_be_computed_is_infinite(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        wm_data *joint = normal(1000, 4, 0, 1, "computed");
        wm_study_opts o = quick();
        wm_study_info info;
        wm_study *s;

        for (int64_t i = 0; i < 1000; i++) {
            double *row = wm_data_rows_mut(joint) + 4 * i;

            row[3] = how == 0 ? row[0] + row[1] : how == 1 ? exp(row[1]) : row[0] + row[3];
        }
        o.pairs = 2;
        o.by_rank = true;
        s = run(joint, NULL, &o, &info);
        if (how < 2)
            assert_int_equal(check_of(s, "computed")->outcome, WM_CHECK_FAILED);
        else
            assert_null(wm_checks_find(wm_study_checks(s), "computed"));
        assert_int_equal(info.verdict == WM_REJECT, how < 2);
        wm_study_free(s);
        wm_data_free(joint);
    }
}

/* A network that has learned nothing yet finds all bridges at chance, and that is no reason to take
 * them away: the moments know better. */
static void an_untrained_network_keeps_its_bridges(void **state)
{
    wm_data *joint = gaussian_pairs(600, 12, 6);
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;

    (void)state;
    o.models[0] = WM_RATIO_MLP;
    o.pairs = 6;
    o.whiten = WM_CHOICE_NO;
    o.adam.iterations = 2;
    o.width = 4;
    o.folds = 2;
    s = run(joint, NULL, &o, &info);
    assert_true(info.test_loss > 1.33);
    assert_true(info.bridges >= 3);
    wm_study_free(s);
    wm_data_free(joint);
}

/* Gaussian pairs and an MLP alone: whitened, its inputs hold the answer, as they are it would have
 * to find a product for every pair of columns. The held-out loss of the pilots sees that; and what
 * is stored mixes the columns too. */
static void a_network_reads_whitened_columns(void **state)
{
    enum { N = 3000, D = 12 };
    const char *path = "test_study_whitened.safetensors";
    wm_data *joint = gaussian_pairs(N, D, 4);
    wm_study_opts o = quick();
    static double before[N], after[N];
    wm_study_info plain, found;
    wm_study *s;
    wm_ratio *r;
    wm_error err;

    (void)state;
    o.models[0] = WM_RATIO_MLP;
    o.pairs = D / 2;
    o.adam.iterations = 250;
    o.width = 24;
    o.folds = 2;
    o.adam.batch = 128;
    o.bridges = 3;
    o.whiten = WM_CHOICE_NO;
    s = run(joint, NULL, &o, &plain);
    assert_false(plain.whitened);
    wm_study_free(s);
    o.whiten = WM_CHOICE_AUTO;
    s = run(joint, NULL, &o, &found);
    assert_true(found.whitened);
    assert_true(found.test_loss < plain.test_loss - 0.02);
    assert_near(found.kl_pq.value, 4, 5 * found.kl_pq.se + 0.2);
    assert_true(fabs(found.kl_pq.value - 4) < fabs(plain.kl_pq.value - 4));
    assert_ok(wm_ratio_log(wm_study_ratio(s), joint, before, &err), err);
    assert_ok(wm_ratio_save(wm_study_ratio(s), path, &err), err);
    assert_ok(wm_ratio_load(&r, path, &err), err);
    assert_ok(wm_ratio_log(r, joint, after, &err), err);
    assert_memory_equal(before, after, sizeof before);
    wm_ratio_free(r);
    wm_study_free(s);
    wm_data_free(joint);
    unlink(path);
}

/* A form is the same form in any coordinates: beside a network that is not trained, whitened and
 * plain log-ratios agree but for rounding, also where columns are all but the same. */
static void a_form_does_not_care(void **state)
{
    enum { N = 1000, D = 3 };
    wm_data *p = normal(N, D, 0, 1, "p"), *q = normal(N, D, 0.3, 1.5, "q");
    wm_study_opts o = quick();
    wm_study_info info;
    const double *log_r[2];
    wm_study *s[2];
    int64_t n;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        double *a = wm_data_rows_mut(p) + i * D, *b = wm_data_rows_mut(q) + i * D;

        a[1] = a[0] + 0.02 * a[1];
        b[1] = b[0] + 0.02 * b[1];
    }
    o.models[0] = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
    o.adam.iterations = 1;
    o.adam.lr = 1e-12;
    o.width = 4;
    o.bridges = 2;
    for (int i = 0; i < 2; i++) {
        o.whiten = i ? WM_CHOICE_AUTO : WM_CHOICE_NO;
        s[i] = run(p, q, &o, &info);
        assert_int_equal(info.whitened, i); /* by the correlation of columns 1 and 2 */
        log_r[i] = wm_study_log_ratios(s[i], 0, &n);
    }
    for (int64_t i = 0; i < n; i++)
        assert_near(log_r[1][i], log_r[0][i], 1e-7 * (1 + fabs(log_r[0][i])));
    wm_study_free(s[1]);
    wm_study_free(s[0]);
    wm_data_free(q);
    wm_data_free(p);
}

static void bad_input_is_refused(void **state)
{
    wm_data *p = normal(100, 2, 0, 1, "p"), *q = normal(100, 3, 0, 1, "q"),
            *few = normal(5, 2, 0, 1, "few");
    wm_study_opts o = quick();
    wm_study *s;
    wm_error err;

    (void)state;
    assert_int_equal(wm_study_run(&s, p, q, NULL, &o, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "p has 2 columns and q 3"));
    assert_null(s);
    assert_int_equal(wm_study_run(&s, p, few, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "q has 5 rows"));
    wm_data_rows_mut(p)[7] = NAN;
    assert_int_equal(wm_study_run(&s, p, p, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "row 4, column 2 is NaN"));
    wm_data_rows_mut(p)[7] = 0;
    o.folds = 1;
    assert_int_equal(wm_study_run(&s, p, p, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "1 folds"));
    o.folds = 5;
    o.models[0] = WM_RATIO_SEPARABLE;
    assert_int_equal(wm_study_run(&s, p, p, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "are for pairs of u and v"));
    o.models[0] = WM_RATIO_ADDITIVE;
    o.pairs = 1;
    assert_int_equal(wm_study_run(&s, p, NULL, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "see one column at a time"));
    o.models[0] = WM_RATIO_QUADRATIC;
    o.pairs = 2;
    assert_int_equal(wm_study_run(&s, p, NULL, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "at least one of each of u and v"));
    wm_data_free(few);
    wm_data_free(q);
    wm_data_free(p);
}

/* One whole number that tells p from q nearly always: no chain of two bridges can be made of it. */
static void a_single_discrete_column_has_one_bridge(void **state)
{
    enum { N = 400 };
    double x[2][N];
    wm_data *table[2];
    wm_study_opts o = quick();
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    o.n_models = 0; /* as found: a form would need a covariance that is not singular */
    for (int i = 0; i < N; i++) {
        x[0][i] = i % 20 > 1 ? 1 + i % 2 : 5 + i % 2;
        x[1][i] = i % 20 > 1 ? 5 + i % 2 : 1 + i % 2;
    }
    for (int t = 0; t < 2; t++)
        assert_ok(wm_data_new(&table[t], N, 1, x[t], &err), err);
    s = run(table[0], table[1], &o, &info);
    assert_int_equal(info.bridges, 1);
    assert_true(info.kl_pq.value > 1 && isfinite(info.kl_qp.value));
    wm_study_free(s);
    wm_data_free(table[0]);
    wm_data_free(table[1]);
}

/* A whole number that is the same in all rows of p: its covariance has no inverse, however it is
 * shrunk, and forms are all that may be tried. */
static void candidates_that_all_fail_are_an_error(void **state)
{
    enum { N = 60 };
    double x[2][2 * N];
    wm_data *table[2];
    wm_study_opts o = quick();
    wm_study *s = NULL;
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int t = 0; t < 2; t++) {
            x[t][2 * i] = (i * (7 + t)) % 5;
            x[t][2 * i + 1] = t == 0 ? 3 : i % 5;
        }
    for (int t = 0; t < 2; t++)
        assert_ok(wm_data_new(&table[t], N, 2, x[t], &err), err);
    o.n_models = 0;
    o.models[o.n_models++] = WM_RATIO_LINEAR;
    o.models[o.n_models++] = WM_RATIO_QUADRATIC;
    assert_int_equal(wm_study_run(&s, table[0], table[1], NULL, &o, &err), WM_EINVAL);
    assert_null(s);
    assert_non_null(strstr(err.text, "not positive definite"));
    wm_data_free(table[0]);
    wm_data_free(table[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_far_shift_is_found_and_doubted),
        cmocka_unit_test(one_bridge_over_a_chasm_is_rejected),
        cmocka_unit_test(few_rows_of_separate_tables_are_rejected),
        cmocka_unit_test(an_answer_from_outside_is_doubted),
        cmocka_unit_test(every_row_of_many_counts),
        cmocka_unit_test(nothing_is_found_where_nothing_is),
        cmocka_unit_test(a_network_is_kept_where_it_is_needed),
        cmocka_unit_test(a_single_discrete_column_has_one_bridge),
        cmocka_unit_test(candidates_that_all_fail_are_an_error),
        cmocka_unit_test(curves_of_columns),
        cmocka_unit_test(mutual_information_of_pairs),
        cmocka_unit_test(weights_choose_rows),
        cmocka_unit_test(what_no_form_holds_is_doubted),
        cmocka_unit_test(weights_choose_pairs),
        cmocka_unit_test(much_mutual_information_is_no_departure),
        cmocka_unit_test(the_ratio_is_kept),
        cmocka_unit_test(few_rows_are_enough_where_they_look_normal),
        cmocka_unit_test(what_can_be_computed_is_infinite),
        cmocka_unit_test(an_untrained_network_keeps_its_bridges),
        cmocka_unit_test(a_network_reads_whitened_columns),
        cmocka_unit_test(a_form_does_not_care),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
