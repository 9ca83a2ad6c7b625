/* test_ebm_path.c - the path that samplers walk: log f_w(z) = log N(z) + sum_k w_k log r_k(F(z)),
 * its gradient, and the programs for the last few bridges only. */
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "ebm/ebm_impl.h"

enum { ROWS = 300, CHAINS = 6, BRIDGES = 7, SIDE = 6, IMAGE = SIDE * SIDE, MOST = IMAGE };

typedef struct setting {
    const char *name;
    wm_ebm_noise noise;
    unsigned model;
    int64_t dim;
    wm_objective objective;
} setting;

static const setting settings[] = {
    {"gaussian quadratic", WM_NOISE_GAUSSIAN, WM_EBM_QUADRATIC, 3, WM_OBJECTIVE_LOGISTIC},
    {"gaussian additive", WM_NOISE_GAUSSIAN, WM_EBM_ADDITIVE, 3, WM_OBJECTIVE_LOGISTIC},
    {"gaussian mlp", WM_NOISE_GAUSSIAN, WM_EBM_MLP, 3, WM_OBJECTIVE_LOGISTIC},
    {"copula quadratic", WM_NOISE_COPULA, WM_EBM_QUADRATIC, 3, WM_OBJECTIVE_LOGISTIC},
    {"copula additive", WM_NOISE_COPULA, WM_EBM_ADDITIVE, 3, WM_OBJECTIVE_LOGISTIC},
    {"copula mlp", WM_NOISE_COPULA, WM_EBM_MLP, 3, WM_OBJECTIVE_LOGISTIC},
    {"flow quadratic", WM_NOISE_FLOW, WM_EBM_QUADRATIC, 3, WM_OBJECTIVE_LOGISTIC},
    {"flow additive", WM_NOISE_FLOW, WM_EBM_ADDITIVE, 3, WM_OBJECTIVE_LOGISTIC},
    {"flow mlp", WM_NOISE_FLOW, WM_EBM_MLP, 3, WM_OBJECTIVE_LOGISTIC},
    {"gaussian resnet", WM_NOISE_GAUSSIAN, WM_EBM_ADDITIVE | WM_EBM_RESNET, IMAGE,
     WM_OBJECTIVE_LOGISTIC},
    {"copula resnet", WM_NOISE_COPULA, WM_EBM_ADDITIVE | WM_EBM_RESNET, IMAGE,
     WM_OBJECTIVE_LOGISTIC},
    {"flow resnet", WM_NOISE_FLOW, WM_EBM_ADDITIVE | WM_EBM_RESNET, IMAGE, WM_OBJECTIVE_LOGISTIC},
    {"levels, gaussian mlp", WM_NOISE_GAUSSIAN, WM_EBM_MLP, 3, WM_OBJECTIVE_DENOISE},
    {"levels, copula additive", WM_NOISE_COPULA, WM_EBM_ADDITIVE, 3, WM_OBJECTIVE_DENOISE},
    {"levels, flow quadratic", WM_NOISE_FLOW, WM_EBM_QUADRATIC, 3, WM_OBJECTIVE_DENOISE},
    {"levels, gaussian resnet", WM_NOISE_GAUSSIAN, WM_EBM_ADDITIVE | WM_EBM_RESNET, IMAGE,
     WM_OBJECTIVE_DENOISE},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* Bridges that were trained for so short have learned little: parameters away from their start make
 * every part of the gradient count. */
static void shake(wm_ebm *e)
{
    const wmi_rng rng = wmi_rng_make(4, "shake");
    const int64_t n = wmi_params_count(e->params);
    float *u = NULL;
    wm_error err;

    assert_ok(wmi_alloc(&u, n, sizeof *u, "numbers", &err), err);
    wmi_rng_normal_f32(&rng, 0, n, u);
    for (int64_t i = 0; i < n; i++)
        e->theta[i] += 0.1f * u[i];
    wmi_free(u);
}

/* Rows with structure: columns that depend on each other and are not normal. */
static wm_ebm *fit(const setting *s)
{
    const wmi_rng rng = wmi_rng_make(1, "rows");
    wm_ebm_opts o;
    wm_data *data;
    wm_ebm *e;
    wm_error err;
    double *x;

    assert_ok(wm_data_new(&data, ROWS, s->dim, NULL, &err), err);
    x = wm_data_rows_mut(data);
    wmi_rng_normal_f64(&rng, 0, ROWS * s->dim, x);
    for (int64_t i = 0; i < ROWS * s->dim; i++)
        x[i] = i % s->dim ? 0.6 * x[i] + 0.5 * sin(x[i - 1]) : x[i] + 0.3 * x[i] * fabs(x[i]);
    wm_ebm_opts_init(&o);
    o.noise = s->noise;
    o.model = s->model;
    o.objective = s->objective;
    o.bridges = BRIDGES;
    o.noise_bins = 6;
    o.noise_hidden = 8;
    o.noise_levels = 1;
    o.noise_steps = 2;
    o.noise_dropout = 0;
    o.bases = 6;
    o.mlp_width = 8;
    o.mlp_blocks = 1;
    o.network = "stem 3/1 4, 4 down, dense 8";
    if (s->dim == IMAGE) {
        o.height = o.width = SIDE;
        o.channels = 1;
    }
    o.train[WM_STAGE_NOISE] = (wm_adam_opts)WM_ADAM(15, 50, 1e-2, WM_UNSET);
    o.train[WM_STAGE_HEADS] = (wm_adam_opts)WM_ADAM(15, 70, 3e-2, WM_UNSET);
    o.train[WM_STAGE_BRIDGES] = (wm_adam_opts)WM_ADAM(25, 70, 3e-2, WM_UNSET);
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    wm_data_free(data);
    shake(e);
    return e;
}

static wm_ebm *models[N_SETTINGS]; /* fitted when they are first needed */

static int free_models(void **state)
{
    (void)state;
    for (int s = 0; s < N_SETTINGS; s++)
        wm_ebm_free(models[s]);
    return 0;
}

/* A model with its path, and what it says at CHAINS points. */
typedef struct walk {
    const wm_ebm *e;
    wmi_ebm_path *own;
    wm_path path;
    double z[CHAINS * MOST], w[CHAINS * BRIDGES];
    double log_f[CHAINS], grad[CHAINS * MOST], terms[CHAINS * BRIDGES];
} walk;

static void open_walk(walk *t, int setting_of)
{
    const setting *s = &settings[setting_of];
    const wmi_rng rng = wmi_rng_make(2, "points");
    wm_error err;

    memset(t, 0, sizeof *t);
    if (!models[setting_of])
        models[setting_of] = fit(s);
    t->e = models[setting_of];
    assert_ok(wmi_ebm_path_new(&t->own, t->e, CHAINS, &(wm_fit_control){0}, &err), err);
    t->path = wmi_ebm_path_get(t->own);
    assert_int_equal(t->path.bridges, BRIDGES);
    assert_int_equal(t->path.dim, s->dim);
    wmi_rng_normal_f64(&rng, 0, CHAINS * s->dim, t->z);
}

static void close_walk(walk *t)
{
    wmi_ebm_path_free(t->own);
}

static void ask(walk *t, int64_t n, bool grad)
{
    wm_error err;

    assert_ok(
        t->path.eval(t->path.ctx, n, t->z, t->w, t->log_f, grad ? t->grad : NULL, t->terms, &err),
        err);
}

static void same_weights(walk *t, double w)
{
    for (int i = 0; i < CHAINS * BRIDGES; i++)
        t->w[i] = w;
}

static double log_normal(const double *z, int64_t dim)
{
    double sum = 0;

    for (int64_t j = 0; j < dim; j++)
        sum += z[j] * z[j];
    return -0.5 * sum - 0.5 * (double)dim * log(2 * 3.14159265358979323846);
}

/* Along a random direction v: (f(z + h v) - f(z - h v)) / 2h. Bridges are float: |log r| < 30 says
 * 2e-6 of rounding, 1e-3 after division by 2h = 2e-3, and splines bend by less. A leaky unit that
 * changes sides within h of a point leaves up to half of its jump, whatever h is: one point of six
 * may be off by 5 %, the others by 0.5 %. A wrong sign or a forgotten factor of any part is of the
 * size of the bridges' own slope at every point. */
static void gradients_match_differences(void **state)
{
    const double h = 1e-3;
    const wmi_rng rng = wmi_rng_make(3, "direction");
    static walk t;

    (void)state;
    for (int s = 0; s < N_SETTINGS; s++) {
        const int64_t d = settings[s].dim;
        double v[CHAINS * MOST], z[CHAINS * MOST], up[CHAINS] = {0}, down[CHAINS] = {0},
                                                   largest = 0;
        int kinks = 0;

        open_walk(&t, s);
        for (int i = 0; i < CHAINS * BRIDGES; i++)
            t.w[i] = (double)(i % 5) / 4; /* 0, 1 and between, other ones for every point */
        wmi_rng_normal_f64(&rng, 0, CHAINS * d, v);
        memcpy(z, t.z, sizeof z);
        for (int side = 0; side < 2; side++) {
            for (int64_t i = 0; i < CHAINS * d; i++)
                t.z[i] = z[i] + (side ? -h : h) * v[i];
            ask(&t, CHAINS, false);
            memcpy(side ? down : up, t.log_f, sizeof up);
        }
        memcpy(t.z, z, sizeof z);
        ask(&t, CHAINS, true);
        for (int64_t i = 0; i < CHAINS; i++) {
            double slope = 0, bridges = 0, off;

            for (int64_t j = 0; j < d; j++) {
                slope += t.grad[i * d + j] * v[i * d + j];
                bridges += (t.grad[i * d + j] + z[i * d + j]) * v[i * d + j];
            }
            off = fabs((up[i] - down[i]) / (2 * h) - slope) / (1 + fabs(bridges));
            kinks += !(off < 5e-3);
            if (!(off < 0.05) || kinks > 1)
                fail_msg("%s, point %d: slope %g, by differences %g", settings[s].name, (int)i,
                         slope, (up[i] - down[i]) / (2 * h));
            largest = fmax(largest, fabs(bridges));
        }
        assert_true(largest > 0.1); /* the bridges' part: else nothing was tested */
        close_walk(&t);
    }
}

static void weights_of_zero_leave_the_noise(void **state)
{
    static walk t;

    (void)state;
    for (int s = 0; s < N_SETTINGS; s += 4) {
        const int64_t d = settings[s].dim;

        open_walk(&t, s);
        t.terms[0] = 17; /* stays: nobody was asked */
        ask(&t, CHAINS, true);
        for (int64_t i = 0; i < CHAINS; i++)
            assert_near(t.log_f[i], log_normal(t.z + i * d, d), 1e-12);
        for (int64_t i = 0; i < CHAINS * d; i++)
            assert_true(t.grad[i] == -t.z[i]);
        assert_true(t.terms[0] == 17);
        close_walk(&t);
    }
}

/* The bridges' sum is what wm_ebm_log_density() finds at the same points, given as data. */
static void weights_of_one_are_the_model(void **state)
{
    static walk t;

    (void)state;
    for (int s = 0; s < N_SETTINGS; s++) {
        const int64_t d = settings[s].dim;
        double log_q[CHAINS], log_phi[CHAINS];
        float z[CHAINS * MOST], y[CHAINS * MOST];
        wmi_row_map map;
        wm_data *x;
        wm_error err;

        open_walk(&t, s);
        same_weights(&t, 1);
        ask(&t, CHAINS, false);
        for (int64_t i = 0; i < CHAINS * d; i++)
            z[i] = (float)t.z[i];
        assert_ok(wmi_row_map_open(&map, t.e, WMI_MAP_TO_Y, WMI_F32, CHAINS, &err), err);
        assert_ok(wmi_row_map_run(&map, CHAINS, WMI_F32, z, y, NULL, &err), err);
        wmi_row_map_close(&map);
        assert_ok(wm_data_new(&x, CHAINS, d, NULL, &err), err);
        for (int64_t i = 0; i < CHAINS * d; i++)
            wm_data_rows_mut(x)[i] = (double)y[i];
        wmi_transform_back(&t.e->transform, CHAINS, wm_data_rows(x), wm_data_rows_mut(x));
        assert_ok(wm_ebm_log_density(t.e, x, 1, log_q, log_phi, NULL, &err), err);
        for (int64_t i = 0; i < CHAINS; i++) {
            double sum = 0;

            for (int k = 0; k < BRIDGES; k++)
                sum += t.terms[i * BRIDGES + k];
            if (t.e->net.levels) /* two of them were asked: they know the whole, not its terms */
                sum = t.log_f[i] - log_normal(t.z + i * d, d);
            assert_near(t.log_f[i], log_normal(t.z + i * d, d) + sum, 1e-9);
            assert_near(log_phi[i] - log_q[i], sum, 1e-4 * (1 + fabs(sum))); /* floats, twice */
        }
        wm_data_free(x);
        close_walk(&t);
    }
}

/* Opens a walk and asks for the log-ratio of every bridge at every point. */
static void open_terms(walk *t, int which, double all[CHAINS * BRIDGES])
{
    open_walk(t, which);
    same_weights(t, 0.5); /* of levels, too, every term */
    ask(t, CHAINS, false);
    memcpy(all, t->terms, sizeof *all * CHAINS * BRIDGES);
}

/* Bridges from `first` on: another program than that for all, the same numbers. */
static void suffixes_agree_with_the_whole(void **state)
{
    static walk t;
    double all[CHAINS * BRIDGES];

    (void)state;
    for (int s = 0; s < N_SETTINGS; s++) {
        const int64_t d = settings[s].dim;

        open_terms(&t, s, all);
        for (int first = 1; first < BRIDGES; first++) {
            same_weights(&t, 1);
            for (int i = 0; i < CHAINS * BRIDGES; i++)
                if (i % BRIDGES < first)
                    t.w[i] = 0;
            memset(t.terms, 0, sizeof t.terms);
            ask(&t, CHAINS - 1, true); /* also fewer points than the program has */
            for (int64_t i = 0; i < CHAINS - 1; i++) {
                double sum = log_normal(t.z + i * d, d);

                for (int k = first; k < BRIDGES; k++) {
                    const double r = all[i * BRIDGES + k];

                    if (k == first || !t.e->net.levels)
                        assert_near(t.terms[i * BRIDGES + k], r, 1e-5 * (1 + fabs(r)));
                    sum += r;
                }
                assert_near(t.log_f[i], sum, 1e-4 * (1 + fabs(sum)));
            }
        }
        close_walk(&t);
    }
}

/* Chains are at different places at the same time, each with a weight between 0 and 1. */
static void every_point_has_its_own_bridge(void **state)
{
    static walk t;
    double all[CHAINS * BRIDGES];

    (void)state;
    for (int s = 0; s < N_SETTINGS; s++) {
        const int64_t d = settings[s].dim;

        open_terms(&t, s, all);
        for (int64_t i = 0; i < CHAINS * BRIDGES; i++) {
            const int64_t k = i % BRIDGES, active = (3 * (i / BRIDGES)) % BRIDGES;

            t.w[i] = k < active ? 0 : k > active ? 1 : 0.3;
        }
        ask(&t, CHAINS, true);
        for (int64_t i = 0; i < CHAINS; i++) {
            double sum = log_normal(t.z + i * d, d);

            for (int64_t k = 0; k < BRIDGES; k++)
                sum += t.w[i * BRIDGES + k] * all[i * BRIDGES + k];
            assert_near(t.log_f[i], sum, 1e-4 * (1 + fabs(sum)));
        }
        close_walk(&t);
    }
}

/* One point where the bridges are no numbers: its chain diverges, the others do not see it. */
static void a_point_far_away_is_alone(void **state)
{
    static walk t;

    (void)state;
    for (int s = 0; s < 3; s += 2) { /* those whose tails are not constant */
        const int64_t d = settings[s].dim;
        double log_f[CHAINS], grad[CHAINS * MOST];

        open_walk(&t, s);
        same_weights(&t, 1);
        ask(&t, CHAINS, true);
        memcpy(log_f, t.log_f, sizeof log_f);
        memcpy(grad, t.grad, sizeof grad);
        t.z[2 * d] = 1e38;
        ask(&t, CHAINS, true);
        assert_true(!isfinite(t.log_f[2]));
        for (int64_t i = 0; i < CHAINS; i++) {
            if (i == 2)
                continue;
            assert_true(t.log_f[i] == log_f[i]);
            assert_memory_equal(t.grad + i * d, grad + i * d, (size_t)d * sizeof *grad);
        }
        close_walk(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(weights_of_zero_leave_the_noise),
        cmocka_unit_test(weights_of_one_are_the_model),
        cmocka_unit_test(suffixes_agree_with_the_whole),
        cmocka_unit_test(every_point_has_its_own_bridge),
        cmocka_unit_test(a_point_far_away_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
