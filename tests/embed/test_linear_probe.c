/* test_linear_probe.c - linear probes against an independent minimiser, closed forms, and toy data.
 */
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "probe_values.h"
#include "waymark/probe.h"

/* Weights of each class less their mean over classes: what the data determine. */
static double centred(const double *w, int64_t classes, int64_t at)
{
    double mean = 0;

    for (int64_t k = 0; k < classes; k++)
        mean += w[k] / (double)classes;
    return w[at] - mean;
}

static void fill_reference(float *x)
{
    for (int i = 0; i < REF_N * REF_DIM; i++)
        x[i] = (float)ref_x[i];
}

static void ridge_fit_is_that_of_newton(void **state)
{
    float x[REF_N * REF_DIM];
    wm_probe_opts o;
    wm_probe_column c;
    wm_probe *p;
    wm_error err;

    (void)state;
    fill_reference(x);
    wm_probe_opts_init(&o);
    o.ridge = REF_RIDGE;
    o.decrease = 0; /* until the gradient is 1e-8 */
    assert_ok(wm_probe_fit(&p, REF_N, REF_DIM, x, 1, ref_y, NULL, &o, &err), err);
    c = wm_probe_get(p, 0);
    assert_true(c.converged);
    assert_int_equal(c.classes, REF_CLASSES);
    assert_near(c.loss, REF_LOSS, 1e-12); /* of second order in the error of the weights */
    for (int64_t j = 0; j < REF_DIM; j++)
        for (int64_t k = 0; k < REF_CLASSES; k++) {
            const double want = ref_w[j * REF_CLASSES + k];

            /* Curvature is at least the ridge, so that the weights are within 1e-8 / 0.05 (times
             * their norm, times 1 / scale = 10 for the last feature). */
            assert_near(c.weights[j * REF_CLASSES + k], want, 1e-5);
        }
    for (int64_t k = 0; k < REF_CLASSES; k++)
        assert_near(centred(c.bias, REF_CLASSES, k), ref_b[k], 1e-4);
    wm_probe_free(p);
}

/* One feature that is a group's indicator: without a penalty the model is saturated, and its
 * probabilities are the shares of the classes in each group. */
static void saturated_model_has_the_shares(void **state)
{
    enum { N = 100 };
    static const int64_t count[2][3] = {{10, 20, 30}, {25, 5, 10}}; /* sums 60 and 40 */
    float x[N];
    int32_t y[N];
    double want = 0;
    wm_probe_opts o;
    wm_probe_column c;
    wm_probe *p;
    wm_error err;
    int64_t i = 0;

    (void)state;
    for (int g = 0; g < 2; g++)
        for (int k = 0; k < 3; k++) {
            const double share = (double)count[g][k] / (g ? 40 : 60);

            want -= (double)count[g][k] * log(share) / N;
            for (int64_t r = 0; r < count[g][k]; r++, i++) {
                x[i] = (float)g;
                y[i] = k;
            }
        }
    wm_probe_opts_init(&o);
    o.decrease = 0;
    assert_ok(wm_probe_fit(&p, N, 1, x, 1, y, NULL, &o, &err), err);
    c = wm_probe_get(p, 0);
    assert_near(c.loss, want, 1e-12);
    for (int g = 0; g < 2; g++)
        for (int k = 1; k < 3; k++)
            assert_near(c.bias[k] - c.bias[0] + g * (c.weights[k] - c.weights[0]),
                        log((double)count[g][k] / (double)count[g][0]), 1e-6);
    wm_probe_free(p);
}

/* Three columns of labels with 2, 3 and 5 classes, told by three separate features of ten. */
enum { ROWS = 3000, DIM = 10, COLUMNS = 3 };
static const int64_t sizes[COLUMNS] = {2, 3, 5};

static void make_rows(uint64_t seed, float *x, int32_t *y)
{
    const wmi_rng rng = wmi_rng_make(seed, "probe");

    wmi_rng_normal_f32(&rng, 0, ROWS * DIM, x);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t c = 0; c < COLUMNS; c++) {
            y[i * COLUMNS + c] = (int32_t)((i * (c + 7) / (c + 1) + i / 11) % sizes[c]);
            x[i * DIM + 3 * c] *= 0.05F;
            x[i * DIM + 3 * c] += (float)y[i * COLUMNS + c];
        }
}

static void parted_classes_are_found_in_every_column(void **state)
{
    static float x[ROWS * DIM];
    static int32_t y[ROWS * COLUMNS];
    int64_t confusion[25];
    int64_t *const wanted[COLUMNS] = {NULL, NULL, confusion};
    wm_share accuracy[COLUMNS], mean;
    wm_probe *p;
    wm_error err;

    (void)state;
    make_rows(1, x, y);
    assert_ok(wm_probe_fit(&p, ROWS, DIM, x, COLUMNS, y, NULL, NULL, &err), err);
    make_rows(2, x, y);
    assert_ok(wm_probe_score(p, ROWS, x, y, accuracy, &mean, wanted, &err), err);
    for (int64_t c = 0; c < COLUMNS; c++) {
        assert_int_equal(wm_probe_get(p, c).classes, sizes[c]);
        /* Classes stand 20 deviations apart; a line through 5 of them in a row has its borders
         * where the fit stopped, not in the middle, so a few may be lost. */
        assert_true(accuracy[c].value > 0.99);
    }
    assert_near(mean.value, (accuracy[0].value + accuracy[1].value + accuracy[2].value) / 3, 1e-12);
    for (int64_t k = 0, all = 0; k < 5; k++) {
        int64_t row = 0, is = 0;

        for (int64_t j = 0; j < 5; j++)
            row += confusion[k * 5 + j];
        for (int64_t i = 0; i < ROWS; i++)
            is += y[i * COLUMNS + 2] == k;
        assert_int_equal(row, is);
        all += confusion[k * 5 + k];
        if (k == 4)
            assert_int_equal(all, accuracy[2].hits);
    }
    wm_probe_free(p);
}

/* Labels that have nothing to do with the features: accuracy is chance, within 5 standard errors of
 * a share of 3000 rows. */
static void nothing_is_read_where_nothing_is(void **state)
{
    static float x[ROWS * DIM];
    static int32_t y[ROWS];
    wm_share accuracy, mean;
    wm_probe_opts o;
    wm_probe *p;
    wm_error err;
    wmi_rng rng = wmi_rng_make(3, "noise");

    (void)state;
    wm_probe_opts_init(&o);
    wmi_rng_normal_f32(&rng, 0, ROWS * DIM, x);
    for (int64_t i = 0; i < ROWS; i++)
        y[i] = (int32_t)(i % 4);
    assert_ok(wm_probe_fit(&p, ROWS, DIM, x, 1, y, NULL, &o, &err), err);
    rng = wmi_rng_make(4, "noise");
    wmi_rng_normal_f32(&rng, 0, ROWS * DIM, x);
    assert_ok(wm_probe_score(p, ROWS, x, y, &accuracy, &mean, NULL, &err), err);
    assert_near(accuracy.value, 0.25, 5 * sqrt(0.25 * 0.75 / ROWS));
    assert_near(mean.lo, accuracy.lo, 1e-3); /* one column: the same interval */
    assert_near(mean.hi, accuracy.hi, 1e-3);
    wm_probe_free(p);
}

/* Columns that always err together are worth one. */
static void interval_of_the_mean_knows_rows(void **state)
{
    static float x[ROWS * DIM];
    static int32_t y[ROWS], twice[2 * ROWS];
    wm_share one, both[2], mean;
    wm_probe *p;
    wm_error err;
    const wmi_rng rng = wmi_rng_make(3, "noise");

    (void)state;
    wmi_rng_normal_f32(&rng, 0, ROWS * DIM, x);
    for (int64_t i = 0; i < ROWS; i++)
        twice[2 * i] = twice[2 * i + 1] = y[i] = x[i * DIM] + x[i * DIM + 1] * x[i * DIM + 2] > 0;
    assert_ok(wm_probe_fit(&p, ROWS, DIM, x, 1, y, NULL, NULL, &err), err);
    assert_ok(wm_probe_score(p, ROWS, x, y, &one, NULL, NULL, &err), err);
    wm_probe_free(p);
    assert_ok(wm_probe_fit(&p, ROWS, DIM, x, 2, twice, NULL, NULL, &err), err);
    assert_ok(wm_probe_score(p, ROWS, x, twice, both, &mean, NULL, &err), err);
    wm_probe_free(p);
    assert_near(mean.value, one.value, 1e-12);
    assert_near(mean.lo, one.lo, 1e-3);
    assert_near(mean.hi, one.hi, 1e-3);
}

/* Wilson's interval, as printed in textbooks: 95 % of 10 out of 20 is 0.299 to 0.701; of none out
 * of 10 it is 0 to z^2 / (10 + z^2). */
static void wilson_is_textbook(void **state)
{
    const double z2 = 1.959963984540054 * 1.959963984540054;

    (void)state;
    assert_near(wm_share_of(10, 20).lo, 0.2993, 1e-4);
    assert_near(wm_share_of(10, 20).hi, 0.7007, 1e-4);
    assert_near(wm_share_of(0, 10).lo, 0, 1e-15);
    assert_near(wm_share_of(0, 10).hi, z2 / (10 + z2), 1e-12);
    assert_near(wm_share_of(10, 10).lo, 10 / (10 + z2), 1e-12);
    assert_near(wm_share_of(10, 10).hi, 1, 1e-15);
}

static void probabilities_are_the_models(void **state)
{
    float x[REF_N * REF_DIM];
    int32_t said[REF_N];
    double log_p[REF_N];
    wm_probe_column c;
    wm_probe *p;
    wm_error err;

    (void)state;
    fill_reference(x);
    assert_ok(
        wm_probe_fit(&p, REF_N, REF_DIM, x, 1, ref_y, (int64_t[]){REF_CLASSES + 1}, NULL, &err),
        err); /* a class that no row has */
    assert_ok(wm_probe_predict(p, REF_N, x, said, log_p, &err), err);
    c = wm_probe_get(p, 0);
    assert_int_equal(c.classes, REF_CLASSES + 1);
    for (int64_t i = 0; i < REF_N; i++) {
        double z[REF_CLASSES + 1], sum = 0;

        for (int64_t k = 0; k < c.classes; k++) {
            z[k] = c.bias[k];
            for (int64_t j = 0; j < REF_DIM; j++)
                z[k] += c.weights[j * c.classes + k] * (double)x[i * REF_DIM + j];
        }
        for (int64_t k = 0; k < c.classes; k++) {
            assert_true(z[k] <= z[said[i]] + 1e-9);
            sum += exp(z[k] - z[said[i]]);
        }
        assert_near(log_p[i], -log(sum), 1e-9);
    }
    wm_probe_free(p);
}

static void bad_input_is_named(void **state)
{
    float x[] = {0, 1, 2, 3, 4, 5};
    const int32_t y[] = {0, 1, 2}, same[] = {0, 0, 0}, negative[] = {0, -1, 1}, two[] = {0, 1, 1};
    wm_share share;
    wm_probe_opts o;
    wm_probe *p;
    wm_error err;

    (void)state;
    assert_int_equal(wm_probe_fit(&p, 3, 2, x, 1, y, (int64_t[]){2}, NULL, &err), WM_EINVAL);
    assert_string_equal(err.text, "labels: row 3, column 1 is 2, but the classes are 0 to 1");
    assert_null(p);
    assert_int_equal(wm_probe_fit(&p, 3, 2, x, 1, negative, NULL, NULL, &err), WM_EINVAL);
    assert_string_equal(err.text, "labels: row 2, column 1 is -1, but the classes are 0 to 1");
    assert_int_equal(wm_probe_fit(&p, 3, 2, x, 1, same, NULL, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 1 has 1 classes"));
    assert_int_equal(wm_probe_fit(&p, 0, 2, x, 1, y, NULL, NULL, &err), WM_EINVAL);
    wm_probe_opts_init(&o);
    o.ridge = -1;
    assert_int_equal(wm_probe_fit(&p, 3, 2, x, 1, y, NULL, &o, &err), WM_EINVAL);
    assert_ok(wm_probe_fit(&p, 3, 2, x, 1, two, NULL, NULL, &err), err);
    assert_int_equal(wm_probe_score(p, 3, x, y, &share, NULL, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_probe_score(p, 0, x, two, &share, NULL, NULL, &err), WM_EINVAL);
    wm_probe_free(p);
    x[3] = NAN;
    assert_int_equal(wm_probe_fit(&p, 3, 2, x, 1, y, NULL, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "row 2, column 2"));
}

static void leaves_when_asked(void **state)
{
    const float x[] = {0, 1, 2};
    const int32_t y[] = {0, 1, 0};
    volatile sig_atomic_t stop = 1;
    wm_probe_opts o;
    wm_probe *p;
    wm_error err;

    (void)state;
    wm_probe_opts_init(&o);
    o.control.stop = &stop;
    assert_int_equal(wm_probe_fit(&p, 3, 1, x, 1, y, NULL, &o, &err), WM_EINTERRUPTED);
    assert_null(p);
}

static void failing_allocations_leave_nothing(void **state)
{
    const float x[] = {0, 1, 2};
    const int32_t y[] = {0, 1, 0};
    const int64_t before = wmi_alloc_live();
    wm_status st = WM_ENOMEM;
    wm_probe *p = NULL;
    wm_error err;

    (void)state;
    for (int64_t k = 1; st; k++) {
        wmi_alloc_fail_at(k);
        st = wm_probe_fit(&p, 3, 1, x, 1, y, NULL, NULL, &err);
        wmi_alloc_fail_at(0);
        if (st) {
            assert_int_equal(st, WM_ENOMEM);
            assert_int_equal(wmi_alloc_live(), before);
        }
        assert_true(k < 40);
    }
    wm_probe_free(p);
    assert_int_equal(wmi_alloc_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ridge_fit_is_that_of_newton),
        cmocka_unit_test(saturated_model_has_the_shares),
        cmocka_unit_test(parted_classes_are_found_in_every_column),
        cmocka_unit_test(nothing_is_read_where_nothing_is),
        cmocka_unit_test(interval_of_the_mean_knows_rows),
        cmocka_unit_test(wilson_is_textbook),
        cmocka_unit_test(probabilities_are_the_models),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(leaves_when_asked),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
