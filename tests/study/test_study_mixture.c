/* test_study_mixture.c - tables of several clusters: found as mixtures of Gaussians, believed where
 * every cluster looks normal, doubted where components only together look like the table. */
#include <math.h>
#include <string.h>

#include "asserts.h"
#include "waymark/generators.h"
#include "waymark/ratio.h"
#include "waymark/study.h"

enum { N = 4000, D = 2 };

/* Two clusters in the plane, half of the rows each, all with standard deviation 0.8. */
typedef struct clusters {
    double at[2][D];
} clusters;
static const clusters of_p = {{{0, 0}, {3, 1}}}, of_q = {{{6, 0}, {5, 5}}};

static wm_data *draw(const clusters *c, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, N, D, 0, 0.8, 1, stream, &err), err);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            wm_data_rows_mut(x)[D * i + j] += c->at[i % 2][j];
    return x;
}

/* Up to what is the same for both tables. */
static double log_density(const clusters *c, const double *x)
{
    double sum = 0;

    for (int k = 0; k < 2; k++) {
        double squares = 0;

        for (int j = 0; j < D; j++)
            squares += (x[j] - c->at[k][j]) * (x[j] - c->at[k][j]) / 0.64;
        sum += exp(-0.5 * squares);
    }
    return log(sum);
}

/* 20.6 nats: a form by moments takes each table for one wide cloud and says less than half. */
static void clusters_are_found_and_believed(void **state)
{
    wm_data *p = draw(&of_p, "p"), *q = draw(&of_q, "q");
    wm_study_opts o;
    wm_study_info info;
    double truth = 0;
    wm_study *s;
    wm_error err;

    (void)state;
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_QUADRATIC;
    o.models[1] = WM_RATIO_MIXTURE;
    o.n_models = 2;
    for (int i = 0; i < N; i++)
        truth += (log_density(&of_p, wm_data_rows(p) + D * i) -
                  log_density(&of_q, wm_data_rows(p) + D * i)) /
                 N;
    assert_ok(wm_study_run(&s, p, q, NULL, &o, &err), err);
    wm_study_get_info(s, &info);
    assert_int_equal(info.model, WM_RATIO_MIXTURE);
    assert_near(info.kl_pq.value, truth, 5 * info.kl_pq.se);
    assert_true(info.kl_pq.se < 0.05 * truth); /* a variance of 2,000 rows is known to 3 % */
    assert_int_equal(info.verdict, WM_TRUST);
    assert_null(wm_checks_find(wm_study_checks(s), "components"));
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* A crescent needs several components that overlap: what they say beyond its rows is a guess. */
static void a_crescent_is_doubted(void **state)
{
    wm_data *p, *q;
    wm_study_opts o;
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_ok(wm_data_normal(&p, N, D, 0, 1, 1, "crescent", &err), err);
    assert_ok(wm_data_normal(&q, N, D, 0, 1, 1, "cloud", &err), err);
    for (int i = 0; i < N; i++)
        wm_data_rows_mut(p)[D * i + 1] += 2 * wm_data_rows(p)[D * i] * wm_data_rows(p)[D * i];
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_MIXTURE;
    o.n_models = 1;
    assert_ok(wm_study_run(&s, p, q, NULL, &o, &err), err);
    wm_study_get_info(s, &info);
    assert_near(info.kl_pq.value, 6, 5 * info.kl_pq.se); /* E[(2 z^2)^2] / 2 */
    assert_int_equal(info.verdict, WM_DOUBT);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

/* Sixteen clusters in a square are more than the twelve components that are tried. */
static void a_grid_wants_more_components(void **state)
{
    wm_data *p, *q;
    wm_study_opts o;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_ok(wm_data_normal(&p, N, D, 0, 0.5, 1, "grid", &err), err);
    assert_ok(wm_data_normal(&q, N, D, 4.5, 4, 1, "cloud", &err), err);
    for (int i = 0; i < N; i++) {
        wm_data_rows_mut(p)[D * i] += 3 * (i % 4);
        wm_data_rows_mut(p)[D * i + 1] += 3 * (i / 4 % 4);
    }
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_MIXTURE;
    o.n_models = 1;
    assert_ok(wm_study_run(&s, p, q, NULL, &o, &err), err);
    assert_int_equal(wm_checks_find(wm_study_checks(s), "components")->outcome, WM_CHECK_DOUBT);
    wm_study_free(s);
    wm_data_free(q);
    wm_data_free(p);
}

static void what_is_no_pair_of_clouds_is_refused(void **state)
{
    wm_data *p = draw(&of_p, "p"), *q = draw(&of_q, "q");
    wm_study_opts o;
    wm_study *s;
    wm_error err;

    (void)state;
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_MIXTURE;
    o.n_models = 1;
    o.pairs = 1;
    assert_int_equal(wm_study_run(&s, p, NULL, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "two tables"));
    o.pairs = 0;
    o.models[0] |= WM_RATIO_MLP;
    assert_int_equal(wm_study_run(&s, p, q, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "stands alone"));
    o.models[0] = WM_RATIO_MIXTURE;
    for (int i = 0; i < N; i++) { /* a category */
        wm_data_rows_mut(p)[D * i] = i % 3;
        wm_data_rows_mut(q)[D * i] = i % 2;
    }
    assert_int_equal(wm_study_run(&s, p, q, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "continuous columns only"));
    wm_data_free(q);
    wm_data_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_found_and_believed),
        cmocka_unit_test(a_crescent_is_doubted),
        cmocka_unit_test(a_grid_wants_more_components),
        cmocka_unit_test(what_is_no_pair_of_clouds_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
