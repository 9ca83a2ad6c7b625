/* test_networks.c - whole networks against PyTorch (make_reference.py), the two layouts of rows
 * against each other, and the sizes of the paper's networks. */
#include <inttypes.h>

#include "nn_run.h"

/* ---- the cases of make_reference.py ---- */

typedef struct network {
    const char *name;
    int64_t m, n, n_u;
    void (*describe)(wmi_model *model, int64_t m);
} network;

static void set_mnist(wmi_model *model, int64_t m)
{
    wmi_model_mnist(model, m);
}

static void set_mnist_small(wmi_model *model, int64_t m) /* an eighth of the channels */
{
    wmi_model_mnist(model, m);
    model->resnet.stem.width /= 8;
    model->resnet.dense /= 8;
    for (int i = 0; i < model->resnet.n_blocks; i++)
        model->resnet.block[i].width /= 8;
}

/* Not square, several channels, even stride, per channel, a projection without need. */
static void set_channels(wmi_model *model, int64_t m)
{
    static const wmi_resnet_block block[] = {{.width = 6},
                                             {.width = 6, .down = true},
                                             {.width = 10},
                                             {.width = 10, .down = true, .project = true},
                                             {.width = 10}};

    wmi_model_init(model, m, 15 * 13 * 2);
    model->terms = WMI_TERM_RESNET;
    model->head = wmi_head_quadratic(WMI_QUADRATIC_FREE, false);
    wmi_resnet_laptop(&model->resnet);
    model->resnet.height = 15;
    model->resnet.width = 13;
    model->resnet.channels = 2;
    model->resnet.stem.width = 6;
    model->resnet.dense = 8;
    model->resnet.per_channel = true;
    memcpy(model->resnet.block, block, sizeof block);
}

static void set_omniglot(wmi_model *model, int64_t m)
{
    wmi_model_omniglot(model, m, 1, 4);
    model->separable.g.resnet.dense = model->separable.f.resnet.dense = 12;
}

static wmi_mlp_opts mlp(int64_t width, int64_t out, int blocks, bool residual)
{
    wmi_mlp_opts opts;

    wmi_mlp_opts_init(&opts);
    opts.width = width;
    opts.out = out;
    opts.blocks = blocks;
    opts.residual = residual;
    return opts;
}

static void set_mlp_residual(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 7);
    model->terms = WMI_TERM_MLP;
    model->mlp = mlp(10, 6, 2, true);
}

static void set_mlp_plain(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 7);
    model->terms = WMI_TERM_MLP;
    model->head = wmi_head_linear();
    model->mlp = mlp(10, 6, 2, false);
}

static void set_sum(wmi_model *model, int64_t m)
{
    wmi_model_init(model, m, 3);
    model->dim_u = 2;
    model->terms = WMI_TERM_LINEAR | WMI_TERM_QUADRATIC | WMI_TERM_ADDITIVE | WMI_TERM_MLP |
                   WMI_TERM_SEPARABLE;
    model->independent = true;
    model->quadratic = wmi_head_quadratic(WMI_QUADRATIC_SYMMETRIC, true);
    model->bases = 7;
    model->mlp = mlp(5, 4, 1, true);
    model->separable.g.mlp = mlp(4, 3, 1, true);
    model->separable.f.mlp = mlp(6, 5, 1, false);
}

static const network networks[] = {
    {"mnist_small", 3, 2, 0, set_mnist_small}, {"channels", 2, 3, 0, set_channels},
    {"omniglot", 2, 6, 3, set_omniglot},       {"mlp_residual", 3, 5, 0, set_mlp_residual},
    {"mlp_plain", 3, 5, 0, set_mlp_plain},     {"sum", 7, 4, 2, set_sum},
    {"mnist_paper", 10, 2, 0, set_mnist},
};
enum { N_NETWORKS = sizeof networks / sizeof *networks, N_SMALL = N_NETWORKS - 1 };

/* ---- parameters and inputs, drawn as in make_reference.py ---- */

static double draw(const wmi_param_entry *e, int64_t i)
{
    const char *slash = strrchr(e->name, '/'), *last = slash ? slash + 1 : e->name;
    const int64_t *dim = e->shape.dim;
    const double v = nn_uniform(e->name, i);

    if (!strcmp(last, "w") && e->shape.rank == 2)
        return v * sqrt(6 / (double)(dim[0] + dim[1]));
    if (!strcmp(last, "w") && e->shape.rank == 4)
        return v * sqrt(6 / (double)(dim[0] * dim[1] * (dim[2] + dim[3])));
    if (!strcmp(last, "w"))
        return v / sqrt((double)dim[1]);
    if (!strcmp(last, "a"))
        return v * 0.3 / sqrt((double)dim[1]) + (i / dim[2] % dim[1] == i % dim[2] ? 4 : 0);
    if (!strcmp(last, "scale") || !strcmp(last, "gamma"))
        return 1 + 0.2 * v;
    if (!strcmp(last, "shift") || !strcmp(last, "b"))
        return 0.2 * v;
    return v;
}

static void draw_all(nn_run *r, const wmi_model *model)
{
    const int64_t per_column = model->bases + 4;
    const double step = 3 / (double)(model->bases - 3);

    for (int64_t k = 0; k < wmi_params_entries(r->params); k++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, k);

        for (int64_t i = 0; i < e->count; i++)
            nn_set(r->dtype, r->theta, e->offset + i, draw(e, i));
    }
    for (int64_t i = 0; i < r->x->n; i++)
        nn_set(r->dtype, r->in_x, i, 1.8 * nn_uniform("x", i));
    for (int64_t i = 0; r->u && i < r->u->n; i++)
        nn_set(r->dtype, r->in_u, i, 1.8 * nn_uniform("u", i));
    for (int64_t i = 0; i < r->m * r->n; i++)
        nn_set(r->dtype, r->in_t, i, nn_uniform("t", i));
    for (int64_t i = 0; r->knots && i < r->dim_x * per_column; i++)
        nn_set(r->dtype, r->knots, i,
               -1.5 + step * ((double)(i % per_column) - 3 + 0.3 * nn_uniform("knots", i)));
}

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

/* ---- comparison ---- */

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
        const int64_t i = stored == count ? j : nn_hash(sample, (uint32_t)j) % count;
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
        nn_set(WMI_F64, one.theta, i, nn_uniform("theta", i));
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
        in_u[i] = nn_uniform("u", i);
    for (int64_t i = 0; i < N * DX; i++)
        in_x[i] = nn_uniform("x", i);
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

/* ---- sizes ---- */

typedef struct sizes {
    int64_t shared,
        per_bridge; /* of the body: kernels and biases; scales and shifts of one bridge */
} sizes;

static sizes sizes_of(const wmi_resnet_opts *opts)
{
    wmi_model model;
    wmi_params *p;
    wm_error err = {0};
    sizes s = {0, 0};

    wmi_model_init(&model, 1, opts->height * opts->width * opts->channels);
    model.terms = WMI_TERM_RESNET;
    model.resnet = *opts;
    assert_ok(wmi_params_new(&p, &err), err);
    assert_ok(wmi_model_declare(p, "", &model, &err), err);
    for (int64_t i = 0; i < wmi_params_entries(p); i++) {
        const wmi_param_entry *e = wmi_params_entry(p, i);

        if (strstr(e->name, "/scale") || strstr(e->name, "/shift"))
            s.per_bridge += e->count;
        else if (!strstr(e->name, "/head/") && strcmp(e->name, "c") != 0)
            s.shared += e->count;
    }
    wmi_params_free(p);
    return s;
}

static void sizes_are_the_papers(void **state)
{
    wmi_resnet_opts o;
    sizes s;

    (void)state;
    /* The authors' network, facts.md section 2: 1x1 shortcuts also on blocks 1 and 7. */
    wmi_resnet_mnist(&o);
    o.block[0].project = o.block[6].project = true;
    s = sizes_of(&o);
    assert_int_equal(s.shared, 1455953);
    assert_int_equal(s.per_bridge, 574720);

    /* Ours, the paper's rule: without those two. Shared, less 64*64 and 128*128:
     * 1,455,953 - 4,096 - 16,384. A bridge has less two pairs of 28*28*64 and of 4*4*128:
     * 574,720 - 2 (50,176 + 2,048). */
    wmi_resnet_mnist(&o);
    s = sizes_of(&o);
    assert_int_equal(s.shared, 1435473);
    assert_int_equal(s.per_bridge, 470272);

    /* Per channel: a pair for each output channel of 17 3x3 convolutions (stem 64, 4 blocks of 2 x
     * 64, 4 of 2 x 128), the shortcut (128) and the dense layer (128): 2 (64 + 512 + 1,024 + 128 +
     * 128). */
    o.per_channel = true;
    s = sizes_of(&o);
    assert_int_equal(s.shared, 1435473);
    assert_int_equal(s.per_bridge, 3712);

    /* Omniglot n = 1, 2, 3, authors: 1x1 shortcuts on all three down blocks. */
    for (int64_t n = 1; n <= 3; n++) {
        static const int64_t per_bridge[] = {45784, 163120, 338312};

        wmi_resnet_omniglot(&o, n, 32);
        o.block[0].project = o.block[2].project = o.block[4].project = true;
        s = sizes_of(&o);
        assert_int_equal(s.per_bridge, per_bridge[n - 1]);
        /* Stem 25*32; convolutions 9*32*32 four times, 9*32*64, 9*64*64 seven times; shortcuts
         * 32*32, 32*64, 64*64; dense 64 * 300n + 300n: 0.34, 0.36, 0.38 million. */
        assert_int_equal(s.shared, 25 * 32 + 4 * 9216 + 18432 + 7 * 36864 + 1024 + 2048 + 4096 +
                                       65 * 300 * n);
    }
}

/* Variance of the draws of the parameter `name`, relative to the expected one. An estimate from
 * count normal draws has a relative standard deviation of sqrt(2 / count). */
static void assert_variance(const nn_run *r, const char *name, double expected)
{
    const wmi_param_entry *e = wmi_params_find(r->params, name);
    double square = 0;

    if (!e) {
        fail_msg("no parameter '%s'", name);
        return;
    }
    for (int64_t i = 0; i < e->count; i++)
        square += pow(((const double *)r->theta)[e->offset + i], 2);
    assert_near(square / (double)e->count / expected, 1, 5 * sqrt(2 / (double)e->count));
}

/* facts.md, section 9: variance scaling 2.0 and 0.1 inside the blocks, Glorot outside; and section
 * 2: N(0, 0.005^2) between g and f. */
static void mlp_and_bilinear_start_as_in_the_code(void **state)
{
    wmi_model model;
    nn_run r;

    (void)state;
    set_sum(&model, 2);
    model.independent = false;
    model.mlp = mlp(100, 40, 1, true);
    model.separable.g.mlp = mlp(10, 50, 1, true);
    model.separable.f.mlp = mlp(10, 60, 1, true);
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, 2, 2);
    assert_variance(&r, "mlp/first/w", 2.0 / (5 + 100));
    assert_variance(&r, "mlp/block1/dense1/w", 2.0 / 100);
    assert_variance(&r, "mlp/block1/dense2/w", 0.1 / 100);
    assert_variance(&r, "mlp/last/w", 2.0 / (100 + 40));
    assert_variance(&r, "separable/head/w", 0.005 * 0.005);
    nn_close(&r);
}

/* The first numbers of an initialisation are the paper's: kernels within Glorot's bounds and of its
 * variance, scales N(1, 0.02^2) on images and 1 on vectors, all else zero. */
static void starts_as_in_the_paper(void **state)
{
    wmi_model model;
    nn_run r;

    (void)state;
    set_mnist_small(&model, 3);
    nn_open(&r, &model, WMI_F64, WMI_ROWS_GROUPED, 2, 0);
    for (int64_t k = 0; k < wmi_params_entries(r.params); k++) {
        const wmi_param_entry *e = wmi_params_entry(r.params, k);
        const double *v = (const double *)r.theta + e->offset;
        const int64_t *dim = e->shape.dim;
        double sum = 0, square = 0, most = 0, mean, var;

        for (int64_t i = 0; i < e->count; i++) {
            sum += v[i];
            square += v[i] * v[i];
            most = fmax(most, fabs(v[i]));
        }
        mean = sum / (double)e->count;
        var = square / (double)e->count - mean * mean;
        if (strstr(e->name, "/w") && !strstr(e->name, "/head/")) {
            const double fans = e->shape.rank == 2 ? (double)(dim[0] + dim[1])
                                                   : (double)(dim[0] * dim[1] * (dim[2] + dim[3]));
            const double limit = sqrt(6 / fans);

            assert_true(most <= limit);
            /* var of a uniform: limit^2 / 3, its estimate has sd limit^2 / 3 sqrt(0.8 / count) */
            assert_near(var / (limit * limit / 3), 1, 5 * sqrt(0.8 / (double)e->count));
        } else if (strstr(e->name, "/scale") && e->shape.rank == 4) {
            assert_near(mean, 1, 5 * 0.02 / sqrt((double)e->count));
            assert_near(sqrt(var) / 0.02, 1, 5 / sqrt(2 * (double)e->count));
        } else if (strstr(e->name, "/scale")) {
            assert_true(mean == 1 && var == 0);
        } else {
            assert_true(most == 0);
        }
        assert_int_equal(e->group, strcmp(e->name, "c") ? WMI_GROUP_BODY : WMI_GROUP_CONSTANT);
    }
    nn_close(&r);
}

/* ---- the rest ---- */

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

/* Dropout acts in training, and only there. */
static void dropout_is_for_training(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) {
        const int which[] = {0, 3, 4}; /* a ResNet, both MLPs */
        const network *net = &networks[which[c]];
        nn_run plain, dropped;
        wmi_model model;
        double moved = 0;

        net->describe(&model, net->m);
        nn_open(&plain, &model, WMI_F64, WMI_ROWS_GROUPED, net->n, 0);
        draw_all(&plain, &model);
        model.mlp.dropout = model.resnet.dropout = 0.5;
        nn_open(&dropped, &model, WMI_F64, WMI_ROWS_GROUPED, net->n, 0);
        draw_all(&dropped, &model);
        nn_forward(&plain);
        nn_forward(&dropped);
        for (int64_t k = 0; k < net->m; k++)
            assert_near(nn_score(&dropped, k, 0), nn_score(&plain, k, 0), 1e-12);
        wmi_program_step(dropped.program, 1, 7, true);
        nn_forward(&dropped);
        for (int64_t k = 0; k < net->m; k++)
            moved = fmax(moved, fabs(nn_score(&dropped, k, 0) - nn_score(&plain, k, 0)));
        assert_true(moved > 1e-3);
        nn_close(&plain);
        nn_close(&dropped);
    }
}

static void expect_refusal(const wmi_model *model, wm_status code, const char *text)
{
    wmi_params *p;
    wm_error err = {0};

    assert_ok(wmi_params_new(&p, &err), err);
    assert_int_equal(wmi_model_declare(p, "", model, &err), code);
    assert_string_equal(err.text, text);
    wmi_params_free(p);
}

static void bad_settings_are_refused(void **state)
{
    char long_prefix[200];
    wmi_params *p;
    wm_error err = {0};
    wmi_model model;

    (void)state;
    wmi_model_init(&model, 0, 5);
    expect_refusal(&model, WM_EINVAL, "model: 0 bridges, 5 columns, 0 columns of u");
    wmi_model_init(&model, 2, 5);
    model.terms = 64;
    expect_refusal(&model, WM_EINVAL, "model: no set of terms is 0x40");
    model.terms = WMI_TERM_SEPARABLE;
    expect_refusal(&model, WM_EINVAL, "model: the separable term needs a u");
    model.terms = WMI_TERM_RESNET;
    expect_refusal(&model, WM_ESHAPE, "resnet: 5 columns are no image of 28 x 28 x 1");
    model.terms = WMI_TERM_MLP;
    model.mlp.dropout = 1;
    expect_refusal(&model, WM_EINVAL, "mlp: width 128, out 128, blocks 1, dropout 1");
    model.mlp.dropout = 0;
    model.head = (wmi_head_opts){0};
    expect_refusal(&model, WM_EINVAL,
                   "mlp/head: a head with neither a quadratic nor a linear term");
    wmi_model_mnist(&model, 2);
    model.resnet.block[3].width = -4;
    expect_refusal(&model, WM_EINVAL, "resnet: block 4 has width -4");
    wmi_model_mnist(&model, 2);
    model.resnet.attention = 9;
    expect_refusal(&model, WM_EINVAL, "resnet: 8 blocks (at most 16), attention after block 9");
    model.resnet.attention = 0;
    model.resnet.stem.stride = 0;
    expect_refusal(&model, WM_EINVAL, "resnet: stem 3x3 stride 0 to 64, dense 128");

    memset(long_prefix, 'x', sizeof long_prefix - 1);
    long_prefix[sizeof long_prefix - 1] = '\0';
    wmi_model_init(&model, 2, 5);
    assert_ok(wmi_params_new(&p, &err), err);
    assert_int_equal(wmi_model_declare(p, long_prefix, &model, &err), WM_EINVAL);
    wmi_params_free(p);
}

/* Builds with x (rows, columns), u (rows_u, 2) and expects the graph to refuse. */
static void expect_bad_rows(const wmi_model *model, int64_t rows, int64_t columns, int64_t rows_u,
                            bool knots, const char *text)
{
    wmi_params *p;
    wmi_graph *g;
    wm_error err = {0};
    wmi_model_inputs in = {.layout = WMI_ROWS_GROUPED};

    assert_ok(wmi_params_new(&p, &err), err);
    assert_ok(wmi_model_declare(p, "", model, &err), err);
    assert_ok(wmi_graph_new(&g, WMI_F64, p, &err), err);
    in.x = wmi_input(g, "x", 2, (int64_t[]){rows, columns});
    if (rows_u)
        in.u = wmi_input(g, "u", 2, (int64_t[]){rows_u, 2});
    if (knots)
        in.knots = wmi_input(g, "knots", 2, (int64_t[]){5, model->bases + 4});
    assert_null(wmi_model_build(g, "", model, &in));
    assert_int_not_equal(wmi_graph_status(g, &err), WM_OK);
    assert_string_equal(err.text, text);
    wmi_graph_free(g);
    wmi_params_free(p);
}

static void bad_rows_are_refused(void **state)
{
    wmi_model model;

    (void)state;
    set_sum(&model, 2);
    expect_bad_rows(&model, 8, 4, 2, true, "model: x is (8, 4), not (rows, 3)");
    expect_bad_rows(&model, 8, 3, 0, true, "model: u is missing");
    /* 8 rows of x hold u's 8 / 2 = 4 for a bridge; 3 do not fit. */
    expect_bad_rows(&model, 8, 3, 3, true, "model: 3 rows of u for 4 of x");
    expect_bad_rows(&model, 8, 3, 2, false, "additive: the additive head has no knots");
    model.terms = WMI_TERM_SEPARABLE;
    expect_bad_rows(&model, 8, 3, 3, true, "separable: 3 rows of u for 4 rows of v a bridge");
    set_mlp_plain(&model, 3);
    expect_bad_rows(&model, 8, 7, 0, false, "model: x has 8 rows for 3 bridges");
}

static wm_status build_and_compile(const wmi_model *model, wm_error *err)
{
    wmi_params *p = NULL;
    wmi_graph *g = NULL;
    wmi_program *program = NULL;
    wmi_model_inputs in = {.layout = WMI_ROWS_GROUPED};
    wmi_node *s;
    wm_status st;

    if ((st = wmi_params_new(&p, err)) || (st = wmi_model_declare(p, "", model, err)) ||
        (st = wmi_graph_new(&g, WMI_F32, p, err)))
        goto done;
    in.x = wmi_input(g, "x", 2, (int64_t[]){model->bridges * 2, model->dim});
    if (model->dim_u)
        in.u = wmi_input(g, "u", 2, (int64_t[]){2, model->dim_u});
    if (model->terms & WMI_TERM_ADDITIVE)
        in.knots = wmi_input(g, "knots", 2, (int64_t[]){5, model->bases + 4});
    s = wmi_model_build(g, "", model, &in);
    st = wmi_compile(
        &program, g,
        &(wmi_compile_opts){.outputs = &s, .n_outputs = 1, .loss = s, .param_grads = true}, err);
done:
    wmi_program_free(program);
    wmi_graph_free(g);
    wmi_params_free(p);
    return st;
}

/* Whichever allocation fails, the error says so and nothing leaks. */
static void allocation_failures_are_survived(void **state)
{
    void (*const describe[])(wmi_model *, int64_t) = {set_sum, set_mnist_small, set_omniglot};

    (void)state;
    for (int c = 0; c < 3; c++) {
        const int64_t live = wmi_alloc_live();
        wm_status st = WM_ENOMEM;
        wmi_model model;
        int64_t k = 0;

        describe[c](&model, 7);
        while (st) {
            wm_error err = {0};

            wmi_alloc_fail_at(++k);
            st = build_and_compile(&model, &err);
            wmi_alloc_fail_at(0);
            assert_int_equal(wmi_alloc_live(), live);
            if (st) {
                assert_int_equal(st, WM_ENOMEM);
                assert_int_equal(err.code, WM_ENOMEM);
            }
        }
        assert_true(k > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_pytorch_f64),
        cmocka_unit_test(agrees_with_pytorch_f32),
        cmocka_unit_test(layouts_agree),
        cmocka_unit_test(rows_of_u_may_be_grouped),
        cmocka_unit_test(pairs_are_the_model_at_each_pair),
        cmocka_unit_test(sizes_are_the_papers),
        cmocka_unit_test(starts_as_in_the_paper),
        cmocka_unit_test(mlp_and_bilinear_start_as_in_the_code),
        cmocka_unit_test(embedding_is_g),
        cmocka_unit_test(dropout_is_for_training),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(allocation_failures_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
