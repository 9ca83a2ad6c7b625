/* test_network_settings.c - sizes and starting values of the paper's networks, dropout, and what is
 * refused. */
#include <inttypes.h>

#include "network_cases.h"

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
/* ---- dropout ---- */

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

/* ---- refusals ---- */

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
        cmocka_unit_test(sizes_are_the_papers),
        cmocka_unit_test(starts_as_in_the_paper),
        cmocka_unit_test(mlp_and_bilinear_start_as_in_the_code),
        cmocka_unit_test(dropout_is_for_training),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(allocation_failures_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
