/* test_ratio.c - the public estimator: answers with a closed form, files, and clear refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "waymark/generators.h"
#include "waymark/ratio.h"

static wm_data *normal(int64_t n, int64_t d, double mean, double sd, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, n, d, mean, sd, 1, stream, &err), err);
    return x;
}

/* p = N(0, 1/4), q = N(1, 1) in each of two columns: log r has a closed form. The tolerance on the
 * mean of log r over p, KL = 2 (log 2 + (1/4 + 1)/2 - 1/2) = 1.636: sd of log r is below 2, so 5 *
 * 2 / sqrt(4000) = 0.16 for the sampling and the same again for the fit. */
static void default_settings_find_the_kl_of_gaussians(void **state)
{
    enum { N = 4000 };
    wm_data *p = normal(N, 2, 0, 0.5, "p"), *q = normal(N, 2, 1, 1, "q");
    wm_data *fresh = normal(N, 2, 0, 0.5, "fresh");
    double *log_r = malloc(N * sizeof *log_r), *each = malloc(8 * N * sizeof *each), mean = 0;
    wm_ratio_info info;
    wm_ratio *r;
    wm_error err;

    (void)state;
    assert_ok(wm_ratio_fit(&r, p, q, NULL, &err), err);
    wm_ratio_get_info(r, &info);
    assert_int_equal(info.bridges, 8);
    assert_true(info.convex && info.finished);
    assert_int_equal(info.n_train + info.n_held_out, N);
    assert_ok(wm_ratio_log(r, fresh, log_r, &err), err);
    assert_ok(wm_ratio_log_bridges(r, fresh, each, &err), err);
    for (int64_t i = 0; i < N; i++) {
        double sum = 0;

        for (int k = 0; k < 8; k++)
            sum += each[k * N + i];
        assert_true(sum == log_r[i]);
        mean += log_r[i] / N;
    }
    assert_near(mean, 2 * (log(2) + 0.625 - 0.5), 0.32);
    for (int k = 0; k < 8; k++) {
        wm_bridge b;

        wm_ratio_get_bridge(r, k, &b);
        assert_near(b.alpha_from, k / 8.0, 1e-15);
        assert_near(b.alpha_to, (k + 1) / 8.0, 1e-15);
        assert_true(b.loss > 1 && b.loss < 1.4);
        assert_true(b.accuracy > 0.45 && b.accuracy < 0.8);
    }
    wm_ratio_free(r);
    free(each);
    free(log_r);
    wm_data_free(fresh);
    wm_data_free(q);
    wm_data_free(p);
}

static void a_saved_model_gives_the_same_bits(void **state)
{
    enum { N = 300 };
    const char *path = "build_ratio_test.safetensors";
    wm_data *p = normal(N, 3, 0, 0.5, "p"), *q = normal(N, 3, 0, 1, "q");

    static const wm_ratio_model models[] = {WM_RATIO_LINEAR,
                                            WM_RATIO_QUADRATIC,
                                            WM_RATIO_MLP,
                                            WM_RATIO_LINEAR | WM_RATIO_MLP,
                                            WM_RATIO_QUADRATIC | WM_RATIO_MLP,
                                            WM_RATIO_ADDITIVE,
                                            WM_RATIO_MIXTURE,
                                            WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE | WM_RATIO_MLP,
                                            WM_RATIO_QUADRATIC | WM_RATIO_SEPARABLE};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double before[N], after[N];
        wm_ratio *r, *loaded;
        wm_ratio_info a, b;
        wm_ratio_opts o;
        wm_error err;

        wm_ratio_opts_init(&o);
        o.model = models[i];
        o.squares = i == 4;
        o.bridges = 3;
        o.adam.iterations = 20;
        o.adam.batch = 64;
        o.width = 8;
        o.pairs = models[i] & WM_RATIO_SEPARABLE ? 1 : 0;
        assert_ok(wm_ratio_fit(&r, p, o.pairs ? NULL : q, &o, &err), err);
        assert_ok(wm_ratio_save(r, path, &err), err);
        assert_ok(wm_ratio_load(&loaded, path, &err), err);
        assert_ok(wm_ratio_log(r, p, before, &err), err);
        assert_ok(wm_ratio_log(loaded, p, after, &err), err);
        assert_memory_equal(before, after, sizeof before);
        wm_ratio_get_info(r, &a);
        wm_ratio_get_info(loaded, &b);
        assert_int_equal(a.n_train, b.n_train);
        assert_int_equal(a.steps, b.steps);
        assert_true(a.held_out_loss == b.held_out_loss);
        wm_ratio_free(loaded);
        wm_ratio_free(r);
    }
    unlink(path);
    wm_data_free(q);
    wm_data_free(p);
}

/* Correlated pairs against N(0, I), 1.5 nats, and against a table of it: in x the form has products
 * of columns, in the coordinates that it is trained in it has none. log r has the standard
 * deviation sqrt(3) rho = 1.4 over rows of p (rho^2 = 1 - e^-1 for each of three pairs): 0.020 for
 * their mean, and as much for what 5,000 rows tell of the ratio, 0.028 in all. */
static void a_diagonal_form_finds_its_coordinates(void **state)
{
    enum { N = 5000, D = 6 };
    const char *path = "build_diagonal_test.safetensors";
    const double rho = wm_gaussian_pairs_rho(D, 1.5);
    wm_data *p, *q, *fresh;
    wm_ratio_opts o;
    wm_error err;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&p, N, D, rho, 1, "p", &err), err);
    assert_ok(wm_data_gaussian_pairs(&fresh, N, D, rho, 2, "p", &err), err);
    q = normal(N, D, 0, 1, "q");
    wm_ratio_opts_init(&o);
    o.bridges = 2;
    o.form = WM_FORM_DIAGONAL;
    o.optimizer = WM_OPTIMIZER_ADAM;
    o.adam.iterations = 2000;
    o.adam.batch = 512;
    o.adam.lr = 1e-2;
    o.adam.average = 0.99;
    for (int table = 0; table < 2; table++) {
        double log_r[N], again[N], mean = 0;
        wm_ratio *r, *loaded;

        o.normal_q = !table;
        o.scaling = table ? WM_SCALING_STANDARD : WM_SCALING_NONE;
        assert_ok(wm_ratio_fit(&r, p, table ? q : NULL, &o, &err), err);
        assert_ok(wm_ratio_log(r, fresh, log_r, &err), err);
        for (int i = 0; i < N; i++)
            mean += log_r[i] / N;
        assert_near(mean, 1.5, 5 * 0.028);
        assert_ok(wm_ratio_save(r, path, &err), err);
        assert_ok(wm_ratio_load(&loaded, path, &err), err);
        assert_ok(wm_ratio_log(loaded, fresh, again, &err), err);
        assert_memory_equal(log_r, again, sizeof again);
        wm_ratio_free(loaded);
        wm_ratio_free(r);
    }
    unlink(path);
    wm_data_free(fresh);
    wm_data_free(q);
    wm_data_free(p);
}

static void a_file_that_is_no_model_is_refused(void **state)
{
    const char *path = "build_no_model.safetensors";
    FILE *f = fopen(path, "wb");
    wm_ratio *r;
    wm_error err;

    (void)state;
    assert_non_null(f);
    fputs("not a model", f);
    fclose(f);
    assert_int_equal(wm_ratio_load(&r, path, &err), WM_EFORMAT);
    assert_null(r);
    assert_non_null(strstr(err.text, path));
    unlink(path);
    assert_int_equal(wm_ratio_load(&r, path, &err), WM_EIO);
}

typedef struct refusal {
    const char *words; /* that the message must have */
    wm_status status;
} refusal;

static void refuse(const wm_data *p, const wm_data *q, const wm_ratio_opts *o, refusal want)
{
    wm_ratio *r;
    wm_error err = {0};

    assert_int_equal(wm_ratio_fit(&r, p, q, o, &err), want.status);
    assert_null(r);
    if (!strstr(err.text, want.words))
        fail_msg("'%s' is not in '%s'", want.words, err.text);
}

static void bad_samples_and_settings_are_named(void **state)
{
    wm_data *p = normal(50, 2, 0, 1, "p"), *q = normal(50, 2, 1, 1, "q");
    wm_data *wide = normal(50, 3, 0, 1, "w"), *short_ = normal(1, 2, 0, 1, "s");
    wm_ratio_opts o;

    (void)state;
    wm_ratio_opts_init(&o);
    refuse(p, wide, &o, (refusal){"2 columns and q 3", WM_ESHAPE});
    refuse(short_, q, &o, (refusal){"p has 1 rows", WM_EINVAL});
    wm_data_rows_mut(p)[7] = NAN;
    refuse(p, q, &o, (refusal){"row 4", WM_EINVAL});
    wm_data_rows_mut(p)[7] = 0;
    for (int i = 0; i < 50; i++)
        wm_data_rows_mut(p)[2 * i] = wm_data_rows_mut(q)[2 * i] = 5;
    refuse(p, q, &o, (refusal){"column 1 is constant (5)", WM_EINVAL});
    wm_data_free(p);
    p = normal(50, 2, 0, 1, "p");
    refuse(p, q, &o, (refusal){"column 1 is constant (5) in q but not", WM_EINVAL});
    wm_data_free(q);
    q = normal(50, 2, 1, 1, "q");
    o.bridges = 0;
    refuse(p, q, &o, (refusal){"bridge", WM_EINVAL});
    o.bridges = 2;
    o.spacing.kind = WM_SPACING_LIST;
    o.spacing.n_list = 3;
    o.spacing.list[1] = 1;
    o.spacing.list[2] = 0.5;
    refuse(p, q, &o, (refusal){"0.5", WM_EINVAL});
    wm_ratio_opts_init(&o);
    o.normal_q = true;
    refuse(p, q, &o, (refusal){"q is given", WM_EINVAL});
    refuse(p, NULL, &o, (refusal){"standardised", WM_EINVAL});
    wm_ratio_opts_init(&o);
    o.model = WM_RATIO_MLP;
    o.optimizer = WM_OPTIMIZER_CONVEX;
    refuse(p, q, &o, (refusal){"convex", WM_EINVAL});
    wm_ratio_opts_init(&o);
    o.optimizer = WM_OPTIMIZER_ADAM;
    o.adam.batch = 3;
    refuse(p, q, &o, (refusal){"the batch holds no", WM_EINVAL});
    wm_data_free(short_);
    wm_data_free(wide);
    wm_data_free(q);
    wm_data_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_settings_find_the_kl_of_gaussians),
        cmocka_unit_test(a_saved_model_gives_the_same_bits),
        cmocka_unit_test(a_diagonal_form_finds_its_coordinates),
        cmocka_unit_test(a_file_that_is_no_model_is_refused),
        cmocka_unit_test(bad_samples_and_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
