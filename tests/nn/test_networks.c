/* test_networks.c - whole networks against PyTorch (make_reference.py), the layouts of rows against
 * each other, and the representation g(u). */
#include <inttypes.h>

#include "network_cases.h"

/* ---- comparison ---- */

/* "name count index amount ...", after the '+' of a line: units pushed away from the kinks of
 * LeakyReLU and maximum, where single precision may fall on the other side. */
static void push(nn_run *r, FILE *f)
{
    char name[128];
    int64_t count, index;
    double amount;

    assert_int_equal(fscanf(f, "%127s %" SCNd64, name, &count), 2);
    for (int64_t i = 0; i < count; i++) {
        const wmi_param_entry *e = wmi_params_find(r->params, name);

        assert_int_equal(fscanf(f, "%" SCNd64 " %lf", &index, &amount), 2);
        if (!e || index < 0 || index >= e->count)
            fail_msg("%s has no entry %" PRId64, name, index);
        else
            nn_set(r->dtype, r->theta, e->offset + index, draw(e, index) + amount);
    }
}
/* What a line of the reference calls `name`: scores, or the gradient of an input or a parameter;
 * NULL for a name that the model does not have. */
static const void *find(const nn_run *r, const char *name, int64_t *count)
{
    const wmi_param_entry *e;
    const size_t size = r->dtype == WMI_F32 ? sizeof(float) : sizeof(double);

    if (!strcmp(name, "scores")) {
        *count = r->scores->n;
        return wmi_program_value(r->program, r->scores);
    }
    if (!strcmp(name, "x") || !strcmp(name, "u")) {
        const wmi_node *nd = *name == 'x' ? r->x : r->u;

        *count = nd->n;
        return wmi_program_grad(r->program, nd);
    }
    e = wmi_params_find(r->params, name);
    *count = e ? e->count : 0;
    return e ? (const char *)r->grad + (size_t)e->offset * size : NULL;
}

/* The largest error of a line, relative to the entry or to the root mean square of all entries,
 * whichever is larger; sum and norm relative to the norm. */
static double error_of_line(const nn_run *r, FILE *f, const char *name)
{
    int64_t count = 0, want_count, stored;
    double want_sum, want_norm, sum = 0, norm = 0, scale, rms, worst;
    char sample[160];
    const void *got = find(r, name, &count);

    assert_int_equal(
        fscanf(f, "%" SCNd64 " %" SCNd64 " %lf %lf", &want_count, &stored, &want_sum, &want_norm),
        4);
    if (!got || count < 1 || count != want_count) {
        fail_msg("%s has %" PRId64 " entries, expected %" PRId64, name, count, want_count);
        return INFINITY;
    }
    /* Softmax does not feel a shift of all keys: the gradient of attention/f/b is zero but for
     * rounding, and is measured against that of attention/f/w beside it, which is some 1e-2. */
    scale = want_norm < 1e-12 ? 1e-2 : want_norm;
    rms = scale / sqrt((double)count);
    for (int64_t i = 0; i < count; i++) {
        const double v = nn_get(r->dtype, got, i);

        sum += v;
        norm += v * v;
    }
    worst = fmax(fabs(sum - want_sum), fabs(sqrt(norm) - want_norm)) / scale;
    snprintf(sample, sizeof sample, "%s?", name);
    for (int64_t j = 0; j < stored; j++) {
        const int64_t i = stored == count ? j : named_hash(sample, (uint32_t)j) % count;
        double want, error;

        assert_int_equal(fscanf(f, "%lf", &want), 1);
        error = fabs(nn_get(r->dtype, got, i) - want) / fmax(fabs(want), rms);
        if (!(error <= worst)) /* NaN too */
            worst = error;
    }
    return worst;
}

static void compare(const network *net, wmi_dtype dtype, double tol)
{
    char path[64], name[128], worst_name[128] = "";
    double worst = 0;
    int64_t lines = 0;
    wmi_model model;
    nn_run r;
    FILE *f;

    net->describe(&model, net->m);
    nn_open(&r, &model, dtype, WMI_ROWS_GROUPED, net->n, net->n_u);
    draw_all(&r, &model);
    snprintf(path, sizeof path, "reference/%s.txt", net->name);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fscanf(f, "%127s", name) == 1) {
        double error;

        if (!strcmp(name, "+")) {
            push(&r, f);
            continue;
        }
        if (lines == 0)
            nn_backward(&r);
        error = error_of_line(&r, f, name);
        lines++;
        if (!(error <= tol))
            fail_msg("%s, %s: error %g", net->name, name, error);
        if (error > worst) {
            worst = error;
            memcpy(worst_name, name, sizeof name);
        }
    }
    fclose(f);
    /* Every parameter was compared, besides scores, x and u. */
    assert_int_equal(lines, wmi_params_entries(r.params) + 2 + (net->n_u > 0));
    print_message("%-12s %s: largest error %.1e (%s)\n", net->name,
                  dtype == WMI_F32 ? "f32" : "f64", worst, worst_name);
    nn_close(&r);
}

static void agrees_with_pytorch_f64(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++)
        compare(&networks[i], WMI_F64, 1e-9);
}

static void agrees_with_pytorch_f32(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++)
        compare(&networks[i], WMI_F32, 2e-4);
}

/* ---- layouts ---- */

/* n rows for all bridges give what the same rows, copied for each bridge, give; and since they are
 * m copies, the gradient of a shared row is the sum of theirs. */
static void layouts_agree(void **state)
{
    (void)state;
    for (int c = 0; c < N_SMALL; c++) {
        const network *net = &networks[c];
        nn_run shared, grouped;
        const double *a, *b;
        double size = 0;
        wmi_model model;

        net->describe(&model, net->m);
        nn_open(&shared, &model, WMI_F64, WMI_ROWS_SHARED, net->n, net->n_u);
        nn_open(&grouped, &model, WMI_F64, WMI_ROWS_GROUPED, net->n, net->n_u);
        draw_all(&shared, &model);
        draw_all(&grouped, &model);
        for (int64_t i = 0; i < grouped.x->n; i++)
            nn_set(WMI_F64, grouped.in_x, i, nn_get(WMI_F64, shared.in_x, i % shared.x->n));
        nn_backward(&shared);
        nn_backward(&grouped);

        for (int64_t k = 0; k < net->m; k++)
            for (int64_t j = 0; j < net->n; j++)
                assert_near(nn_score(&shared, k, j), nn_score(&grouped, k, j), 1e-11);
        a = shared.grad;
        b = grouped.grad;
        for (int64_t i = 0; i < wmi_params_count(shared.params); i++)
            size = fmax(size, fabs(b[i]));
        assert_true(size > 0.1);
        for (int64_t i = 0; i < wmi_params_count(shared.params); i++)
            assert_near(a[i], b[i], 1e-11 * size);
        a = wmi_program_grad(shared.program, shared.x);
        b = wmi_program_grad(grouped.program, grouped.x);
        for (int64_t i = 0; i < shared.x->n; i++) {
            double sum = 0;

            for (int64_t k = 0; k < net->m; k++)
                sum += b[k * shared.x->n + i];
            assert_near(a[i], sum, 1e-11 * size);
        }
        nn_close(&shared);
        nn_close(&grouped);
    }
}

/* u may have rows of its own for every bridge; where these repeat, nothing changes. */
static void rows_of_u_may_be_grouped(void **state)
{
    const network *net = &networks[5]; /* sum: all terms that read u */
    const int64_t m = net->m, n = net->n;
    nn_run few, all;
    wmi_model model;

    (void)state;
    net->describe(&model, m);
    assert_int_equal(model.dim_u, 2);
    nn_open(&few, &model, WMI_F64, WMI_ROWS_GROUPED, n, net->n_u);
    nn_open(&all, &model, WMI_F64, WMI_ROWS_GROUPED, n, m * n);
    draw_all(&few, &model);
    draw_all(&all, &model);
    for (int64_t i = 0; i < all.u->n; i++)
        nn_set(WMI_F64, all.in_u, i, nn_get(WMI_F64, few.in_u, i % few.u->n));
    nn_forward(&few);
    nn_forward(&all);
    for (int64_t k = 0; k < m; k++)
        for (int64_t j = 0; j < n; j++)
            assert_near(nn_score(&few, k, j), nn_score(&all, k, j), 1e-12);
    nn_close(&few);
    nn_close(&all);
}

/* All pairs of n rows: entry (i, j) is the model at u_i and x_j. */
static void pairs_are_the_model_at_each_pair(void **state)
{
    enum { N = 3, DU = 2, DX = 3 };
    wmi_node *u, *x, *outputs[2];
    wmi_program *program;
    wmi_graph *g;
    double *in_u, *in_x;
    const double *all, *own;
    void *at;
    wmi_model model;
    nn_run one; /* every u with every x: N * N rows */
    wm_error err;

    (void)state;
    wmi_model_init(&model, 1, DX);
    model.dim_u = DU;
    model.terms = WMI_TERM_SEPARABLE;
    model.separable.g.mlp.width = model.separable.f.mlp.width = 5;
    model.separable.g.mlp.out = 4;
    model.separable.f.mlp.out = 6; /* W is not square */
    nn_open(&one, &model, WMI_F64, WMI_ROWS_GROUPED, N * N, N * N);
    for (int64_t i = 0; i < wmi_params_count(one.params); i++)
        nn_set(WMI_F64, one.theta, i, named_uniform("theta", i));
    assert_ok(wmi_graph_new(&g, WMI_F64, one.params, &err), err);
    u = wmi_input(g, "u", 2, (int64_t[]){N, DU});
    x = wmi_input(g, "x", 2, (int64_t[]){N, DX});
    outputs[0] = wmi_model_pairs(g, "", &model, u, x, &outputs[1]);
    assert_ok(
        wmi_compile(&program, g, &(wmi_compile_opts){.outputs = outputs, .n_outputs = 2}, &err),
        err);
    wmi_program_bind(program, one.theta, NULL);
    assert_ok(wmi_program_input(program, "u", &at, &err), err);
    in_u = at;
    assert_ok(wmi_program_input(program, "x", &at, &err), err);
    in_x = at;
    for (int64_t i = 0; i < N * DU; i++)
        in_u[i] = named_uniform("u", i);
    for (int64_t i = 0; i < N * DX; i++)
        in_x[i] = named_uniform("x", i);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            for (int64_t c = 0; c < DU; c++)
                nn_set(WMI_F64, one.in_u, (i * N + j) * DU + c, in_u[i * DU + c]);
            for (int64_t c = 0; c < DX; c++)
                nn_set(WMI_F64, one.in_x, (i * N + j) * DX + c, in_x[j * DX + c]);
        }
    nn_forward(&one);
    assert_ok(wmi_program_forward(program, &err), err);
    all = wmi_program_value(program, outputs[0]);
    own = wmi_program_value(program, outputs[1]);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++)
            assert_near(all[i * N + j], nn_score(&one, 0, i * N + j), 1e-12);
        assert_near(own[i], all[i * N + i], 1e-12);
    }
    wmi_program_free(program);
    wmi_graph_free(g);
    nn_close(&one);
}
/* ---- the representation ---- */

/* g(u)' W_k f_k(v) + c_k by hand, where f is v itself and g comes from wmi_model_embed(). */
static void embedding_is_g(void **state)
{
    enum { M = 2, N = 4, E = 3, D = 3 };
    wmi_model model;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *u, *g;
    wm_error err = {0};
    void *in_u;
    const double *h, *w, *c;
    nn_run r;

    (void)state;
    set_sum(&model, M);
    model.terms = WMI_TERM_SEPARABLE;
    model.separable.f.kind = WMI_BODY_NONE;
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, N, N);
    draw_all(&r, &model);
    nn_forward(&r);

    assert_ok(wmi_graph_new(&graph, WMI_F64, r.params, &err), err);
    u = wmi_input(graph, "u", 2, (int64_t[]){N, 2});
    g = wmi_model_embed(graph, "", &model, u);
    assert_ok(
        wmi_compile(&program, graph, &(wmi_compile_opts){.outputs = &g, .n_outputs = 1}, &err),
        err);
    wmi_program_bind(program, r.theta, NULL);
    assert_ok(wmi_program_input(program, "u", &in_u, &err), err);
    memcpy(in_u, r.in_u, N * 2 * sizeof(double));
    wmi_program_step(program, 1, 0, false);
    assert_ok(wmi_program_forward(program, &err), err);
    h = wmi_program_value(program, g);
    w = (const double *)r.theta + wmi_params_find(r.params, "separable/head/w")->offset;
    c = (const double *)r.theta + wmi_params_find(r.params, "c")->offset;
    assert_int_equal(g->shape.dim[0], N);
    assert_int_equal(g->shape.dim[1], E);
    for (int64_t k = 0; k < M; k++)
        for (int64_t j = 0; j < N; j++) {
            double energy = c[k];

            for (int64_t e = 0; e < E; e++)
                for (int64_t i = 0; i < D; i++)
                    energy += h[j * E + e] * w[(k * E + e) * D + i] *
                              nn_get(WMI_F64, r.in_x, (k * N + j) * D + i);
            assert_near(nn_score(&r, k, j), -energy, 1e-12);
        }
    wmi_program_free(program);
    wmi_graph_free(graph);
    nn_close(&r);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_pytorch_f64),
        cmocka_unit_test(agrees_with_pytorch_f32),
        cmocka_unit_test(layouts_agree),
        cmocka_unit_test(rows_of_u_may_be_grouped),
        cmocka_unit_test(pairs_are_the_model_at_each_pair),
        cmocka_unit_test(embedding_is_g),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
