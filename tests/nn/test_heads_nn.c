/* test_heads_nn.c - heads: where they start, their signs, their bounds, and the Gaussian truth. */
#include "nn_run.h"

/* A model on vectors with the given terms, and rows of x drawn from the hash in [-s, s). */
static void open_terms(nn_run *r, wmi_model *model, unsigned terms, int64_t m, int64_t dim,
                       int64_t n, double s)
{
    wmi_model_init(model, m, dim);
    model->terms = terms;
    nn_open(r, model, WMI_F64, WMI_ROWS_GROUPED, n, 0);
    for (int64_t i = 0; i < r->x->n; i++)
        nn_set(WMI_F64, r->in_x, i, s * named_uniform("x", i));
}

static void set_knots(nn_run *r, const wmi_model *model) /* uniform, domain [-1, 1] */
{
    const int64_t per = model->bases + 4;

    for (int64_t i = 0; i < r->dim_x * per; i++)
        nn_set(WMI_F64, r->knots, i, -1 + 2 * (double)(i % per - 3) / (double)(model->bases - 3));
}

/* log r_k is 0 at the start, or as near to it as the constraint lets it be. */
static void heads_start_at_ratio_one(void **state)
{
    static const struct {
        wmi_quadratic_kind kind;
        double q;                                                 /* Q_k = q I */
    } quadratic[] = {{WMI_QUADRATIC_PSD, 4.5399929762484854e-05}, /* e^-10 */
                     {WMI_QUADRATIC_SYMMETRIC, 6.7379469990854670e-03},
                     {WMI_QUADRATIC_FREE, 0}};
    wmi_model model;
    nn_run r;

    (void)state;
    for (int c = 0; c < 3; c++) {
        wmi_model_init(&model, 2, 5);
        model.quadratic = wmi_head_quadratic(quadratic[c].kind, c != 0);
        nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, 3, 0);
        for (int64_t i = 0; i < r.x->n; i++)
            nn_set(WMI_F64, r.in_x, i, named_uniform("x", i));
        nn_forward(&r);
        for (int64_t j = 0; j < 6; j++) {
            double square = 0;

            for (int64_t i = 0; i < 5; i++)
                square += pow(nn_get(WMI_F64, r.in_x, j * 5 + i), 2);
            assert_near(nn_score(&r, j / 3, j % 3), -quadratic[c].q * square, 1e-15);
        }
        nn_close(&r);
    }

    open_terms(&r, &model, WMI_TERM_ADDITIVE, 2, 5, 3, 1);
    set_knots(&r, &model);
    nn_forward(&r);
    for (int64_t j = 0; j < 6; j++)
        assert_true(nn_score(&r, j / 3, j % 3) == 0);
    nn_close(&r);

    /* Bilinear: u' W v with W ~ N(0, 0.005^2) and |u| |v| <= 5: sd at most 0.025. */
    wmi_model_init(&model, 2, 5);
    model.dim_u = 5;
    model.terms = WMI_TERM_SEPARABLE;
    model.separable.g.kind = model.separable.f.kind = WMI_BODY_NONE;
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, 3, 3);
    for (int64_t i = 0; i < r.x->n; i++)
        nn_set(WMI_F64, r.in_x, i, named_uniform("x", i));
    for (int64_t i = 0; i < r.u->n; i++)
        nn_set(WMI_F64, r.in_u, i, named_uniform("u", i));
    nn_forward(&r);
    for (int64_t j = 0; j < 6; j++) {
        assert_near(nn_score(&r, j / 3, j % 3), 0, 5 * 0.025);
        assert_true(nn_score(&r, j / 3, j % 3) != 0);
    }
    nn_close(&r);
}

/* The linear head is Glorot-normal: 100 bridges x 50 weights of variance 2 / (50 + 1), estimated
 * with relative sd sqrt(2 / 5000); and its score is minus the sum of x times w. */
static void linear_head_has_a_minus(void **state)
{
    wmi_model model;
    const double *w;
    double square = 0;
    nn_run r;

    (void)state;
    open_terms(&r, &model, WMI_TERM_LINEAR, 100, 50, 1, 1);
    w = (const double *)r.theta + wmi_params_find(r.params, "linear/w")->offset;
    for (int64_t i = 0; i < 5000; i++)
        square += w[i] * w[i];
    assert_near(square / 5000 / (2.0 / 51), 1, 5 * sqrt(2.0 / 5000));
    for (int64_t k = 0; k < 100; k++)
        nn_set_param(&r, "c", k, 0.25 * (double)k);
    nn_forward(&r);
    for (int64_t k = 0; k < 100; k++) {
        double energy = 0.25 * (double)k;

        for (int64_t i = 0; i < 50; i++)
            energy += w[k * 50 + i] * nn_get(WMI_F64, r.in_x, k * 50 + i);
        assert_near(nn_score(&r, k, 0), -energy, 1e-12);
    }
    nn_close(&r);
}

/* Where no node for u is given the rows are (u, v): u' W_k v, in both layouts. */
static void u_may_stand_in_the_row_of_v(void **state)
{
    enum { M = 2, U = 2, V = 3, ROWS = 4 };
    wmi_model model;
    wmi_params *params;
    double *theta;
    wm_error err;

    (void)state;
    wmi_model_init(&model, M, V);
    model.dim_u = U;
    model.terms = WMI_TERM_SEPARABLE;
    model.separable.g.kind = model.separable.f.kind = WMI_BODY_NONE;
    assert_ok(wmi_params_new(&params, &err), err);
    assert_ok(wmi_model_declare(params, "", &model, &err), err);
    assert_ok(wmi_alloc(&theta, wmi_params_count(params), sizeof *theta, "theta", &err), err);
    for (int64_t i = 0; i < wmi_params_count(params); i++)
        theta[i] = named_uniform("theta", i);
    const double *w = theta + wmi_params_find(params, "separable/head/w")->offset;
    const double *c = theta + wmi_params_find(params, "c")->offset;

    for (int grouped = 0; grouped < 2; grouped++) {
        const int64_t dim[] = {grouped ? M * ROWS : ROWS, U + V};
        wmi_graph *g;
        wmi_program *program;
        wmi_node *out;
        void *in;

        assert_ok(wmi_graph_new(&g, WMI_F64, params, &err), err);
        out = wmi_model_build(
            g, "", &model,
            &(wmi_model_inputs){.layout = grouped ? WMI_ROWS_GROUPED : WMI_ROWS_SHARED,
                                .x = wmi_input(g, "x", 2, dim)});
        assert_ok(
            wmi_compile(&program, g, &(wmi_compile_opts){.outputs = &out, .n_outputs = 1}, &err),
            err);
        assert_ok(wmi_program_input(program, "x", &in, &err), err);
        wmi_program_bind(program, theta, NULL);
        double *x = in;

        for (int64_t i = 0; i < dim[0] * dim[1]; i++)
            x[i] = named_uniform("x", i);
        assert_ok(wmi_program_forward(program, &err), err);
        const double *score = wmi_program_value(program, out);

        for (int64_t k = 0; k < M; k++)
            for (int64_t i = 0; i < ROWS; i++) {
                const double *row = x + (grouped ? k * ROWS + i : i) * (U + V);
                double energy = c[k];

                for (int64_t a = 0; a < U; a++)
                    for (int64_t b = 0; b < V; b++)
                        energy += row[a] * w[(k * U + a) * V + b] * row[U + b];
                assert_near(score[k * ROWS + i], -energy, 1e-14);
            }
        wmi_program_free(program);
        wmi_graph_free(g);
    }
    wmi_free(theta);
    wmi_params_free(params);
}

/* Raising w, c, a diagonal of A or a coefficient lowers the log-ratio where the feature is
 * positive. */
static void every_term_is_an_energy(void **state)
{
    static const struct {
        unsigned term;
        const char *param;
    } probe[] = {{WMI_TERM_LINEAR, "linear/w"},
                 {WMI_TERM_LINEAR, "c"},
                 {WMI_TERM_QUADRATIC, "quadratic/a"},
                 {WMI_TERM_QUADRATIC, "quadratic/w"},
                 {WMI_TERM_ADDITIVE, "additive/coef"}};

    (void)state;
    for (size_t c = 0; c < sizeof probe / sizeof *probe; c++) {
        const wmi_param_entry *e;
        wmi_model model;
        double sum = 0;
        nn_run r;

        open_terms(&r, &model, probe[c].term, 1, 1, 1, 0);
        nn_set(WMI_F64, r.in_x, 0, 0.7);
        nn_set(WMI_F64, r.in_t, 0, 1);
        if (r.knots)
            set_knots(&r, &model);
        nn_backward(&r);
        e = wmi_params_find(r.params, probe[c].param);
        assert_non_null(e);
        for (int64_t i = 0; e && i < e->count; i++)
            assert_true(((const double *)r.grad)[e->offset + i] <= 0);
        for (int64_t i = 0; e && i < e->count; i++)
            sum += ((const double *)r.grad)[e->offset + i];
        if (probe[c].term == WMI_TERM_ADDITIVE) /* the bases add up to one */
            assert_near(sum, -1, 1e-14);
        else
            assert_true(sum < 0);
        nn_close(&r);
    }
}

/* With no linear term the semi-definite head is below -c_k everywhere, whatever A is; with one, it
 * falls along every ray. The free head has no bound. */
static void semi_definite_head_is_bounded(void **state)
{
    enum { M = 3, D = 6, N = 40 };

    (void)state;
    for (int free_head = 0; free_head < 2; free_head++) {
        const wmi_quadratic_kind kind = free_head ? WMI_QUADRATIC_FREE : WMI_QUADRATIC_PSD;
        double most = -INFINITY;
        wmi_model model;
        nn_run r;

        wmi_model_init(&model, M, D);
        model.quadratic = wmi_head_quadratic(kind, false);
        nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, N, 0);
        for (int64_t i = 0; i < M * D * D; i++)
            nn_set_param(&r, "quadratic/a", i, 3 * named_uniform("a", i));
        for (int64_t i = 0; i < r.x->n; i++)
            nn_set(WMI_F64, r.in_x, i, 100 * named_uniform("x", i));
        for (int64_t k = 0; k < M; k++)
            nn_set_param(&r, "c", k, (double)k);
        nn_forward(&r);
        for (int64_t k = 0; k < M; k++)
            for (int64_t j = 0; j < N; j++)
                most = fmax(most, nn_score(&r, k, j) + (double)k);
        if (free_head)
            assert_true(most > 1000);
        else
            assert_true(most < 0);
        nn_close(&r);
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        wmi_model model;
        nn_run r;

        open_terms(&r, &model, WMI_TERM_QUADRATIC, 1, D, 2, 0);
        for (int64_t i = 0; i < D * D; i++)
            nn_set_param(&r, "quadratic/a", i, named_uniform("a", i));
        for (int64_t i = 0; i < D; i++) {
            nn_set_param(&r, "quadratic/w", i, named_uniform("w", i));
            nn_set(WMI_F64, r.in_x, i, sign * 1e5 * named_uniform("x", i));
            nn_set(WMI_F64, r.in_x, D + i, sign * 1e6 * named_uniform("x", i));
        }
        nn_forward(&r);
        assert_true(nn_score(&r, 0, 0) < 0);
        assert_true(nn_score(&r, 0, 1) <
                    50 * nn_score(&r, 0, 0)); /* like the square of the radius */
        nn_close(&r);
    }
}

/* The additive head is constant beyond its knots: at +-1e3 as at +-1. */
static void additive_head_has_flat_tails(void **state)
{
    wmi_model model;
    nn_run r;

    (void)state;
    open_terms(&r, &model, WMI_TERM_ADDITIVE, 1, 1, 5, 0);
    set_knots(&r, &model);
    for (int64_t i = 0; i < model.bases; i++)
        nn_set_param(&r, "additive/coef", i, named_uniform("coef", i));
    for (int64_t j = 0; j < 5; j++)
        nn_set(WMI_F64, r.in_x, j, (const double[]){-1e3, -1, 0.1, 1, 1e3}[j]);
    nn_forward(&r);
    assert_near(nn_score(&r, 0, 0), nn_score(&r, 0, 1), 1e-14);
    assert_near(nn_score(&r, 0, 3), nn_score(&r, 0, 4), 1e-14);
    assert_true(fabs(nn_score(&r, 0, 2) - nn_score(&r, 0, 1)) > 1e-3);
    nn_close(&r);
}

/* A pair (a, b) of unit Gaussians with correlation rho: log density, both normalisers left out that
 * cancel. */
static double log_pair(double a, double b, double rho)
{
    const double v = 1 - rho * rho;

    return -0.5 * log(v) - 0.5 * (a * a - 2 * rho * a * b + b * b) / v;
}

/* facts.md section 4, d = 40, m = 2: 20 correlated pairs, waymarks rho_k = (1 - alpha_k^2) rho. The
 * symmetric head holds the truth exactly: Q_ii = (1/v_k - 1/v_{k+1}) / 2 with v = 1 - rho^2, and so
 * on. */
static void quadratic_head_holds_the_gaussian_truth(void **state)
{
    enum { D = 40, M = 2, N = 7 };
    const double rho0 = sqrt(1 - exp(-4.0 * 10 / D)), alpha[] = {0, 0.5, 1};
    const double fact_diag[] = {.5833, .2759}, fact_off[] = {-.6179, -.4627},
                 fact_const[] = {5.61, 4.39};
    double rho[M + 1], total = 0;
    wmi_model model;
    nn_run r;

    (void)state;
    for (int k = 0; k <= M; k++)
        rho[k] = (1 - alpha[k] * alpha[k]) * rho0;
    wmi_model_gaussian(&model, M, D);
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, N, 0);
    assert_int_equal(wmi_params_entries(r.params), 2); /* A and c: no linear term in the paper */
    for (int64_t i = 0; i < r.x->n; i++)
        nn_set(WMI_F64, r.in_x, i, 2 * named_uniform("x", i));
    for (int64_t k = 0; k < M; k++) {
        const double v0 = 1 - rho[k] * rho[k], v1 = 1 - rho[k + 1] * rho[k + 1];
        const double diag = 0.5 * (1 / v0 - 1 / v1), off = 0.5 * (rho[k + 1] / v1 - rho[k] / v0);
        const double constant = D / 4.0 * log(v1 / v0);

        assert_near(diag, fact_diag[k], 1e-4);
        assert_near(off, fact_off[k], 1e-4);
        assert_near(constant, fact_const[k], 1e-2);
        total += constant;
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j <= i; j++)
                nn_set_param(&r, "quadratic/a", (k * D + i) * D + j,
                             i == j                ? log(diag) + 5
                             : i % 2 && j == i - 1 ? off
                                                   : 0);
        nn_set_param(&r, "c", k, -constant);
    }
    assert_near(total, 10, 1e-12); /* the mutual information: 10 nats */
    nn_forward(&r);
    for (int64_t k = 0; k < M; k++)
        for (int64_t j = 0; j < N; j++) {
            double want = 0;

            for (int64_t i = 0; i < D; i += 2) {
                const double a = nn_get(WMI_F64, r.in_x, (k * N + j) * D + i);
                const double b = nn_get(WMI_F64, r.in_x, (k * N + j) * D + i + 1);

                want += log_pair(a, b, rho[k]) - log_pair(a, b, rho[k + 1]);
            }
            assert_near(nn_score(&r, k, j), want, 1e-11);
        }
    nn_close(&r);
}

/* facts.md section 3: the 1-D head is -exp(2 theta) x^2 - c, where theta = A - 5; bridge 2 of p
 * = 7. */
static void peaked_head_is_parametrised_as_published(void **state)
{
    const double alpha2 = pow(2.0 / 4, 7), alpha3 = pow(3.0 / 4, 7), s = 1e-6;
    const double v2 = (1 - alpha2 * alpha2) * s * s + alpha2 * alpha2;
    const double v3 = (1 - alpha3 * alpha3) * s * s + alpha3 * alpha3;
    const double theta = 0.5 * log(0.5 / v2 - 0.5 / v3), x = 0.01;
    wmi_model model;
    nn_run r;

    (void)state;
    assert_near(theta, 4.50374, 1e-5);
    wmi_model_init(&model, 1, 1);
    model.quadratic = wmi_head_quadratic(WMI_QUADRATIC_PSD, false);
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, 1, 0);
    nn_set(WMI_F64, r.in_x, 0, x);
    nn_set_param(&r, "quadratic/a", 0, theta + 5);
    nn_set_param(&r, "c", 0, -0.5 * log(v3 / v2));
    nn_forward(&r);
    assert_near(nn_score(&r, 0, 0), 0.5 * log(v3 / v2) - 0.5 * x * x * (1 / v2 - 1 / v3), 1e-12);
    nn_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_start_at_ratio_one),
        cmocka_unit_test(linear_head_has_a_minus),
        cmocka_unit_test(u_may_stand_in_the_row_of_v),
        cmocka_unit_test(every_term_is_an_energy),
        cmocka_unit_test(semi_definite_head_is_bounded),
        cmocka_unit_test(additive_head_has_flat_tails),
        cmocka_unit_test(quadratic_head_holds_the_gaussian_truth),
        cmocka_unit_test(peaked_head_is_parametrised_as_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
