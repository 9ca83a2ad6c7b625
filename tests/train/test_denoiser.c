/* test_denoiser.c - the denoising objective: its gradient in double against differences, its value,
 * and what it learns where the levels are known: z_0 = mu + A n is normal, so that with s = sqrt(1
 * - a^2) p_k = N(s mu, C), C = s^2 A A' + a^2 I, and the noise is N(0, I). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "base/rng.h"
#include "train/denoiser.h"
#include "train/train_state.h"
#include "train/trainer.h"

enum { DIM = 2, MOST_LEVELS = 12 };

static wm_chain *make_chain(int64_t bridges)
{
    wm_spacing spacing;
    wm_alphas alphas;
    wm_chain *chain;
    wm_error err;

    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_parse(&spacing, "snr:3", &err), err);
    spacing.lowest = 0.1;
    spacing.drop_first = true;
    assert_ok(wm_spacing_alphas(&alphas, &spacing, bridges, &err), err);
    assert_ok(wm_chain_new(&chain, bridges, &alphas, DIM, NULL, &err), err);
    return chain;
}

/* ---- the gradient, in double ---- */

enum { LEVELS = 4, ROWS = 5, SMOOTH = 3, HINGES = 3, WHITES = 2, OWN = LEVELS * ROWS };

/* Both programs of a step in double, and rows that stay. */
typedef struct step {
    wmi_model model;
    wmi_params *params;
    wmi_graph *graph[2];
    wmi_program *program[2]; /* gradients of f for rows; the surrogate */
    wmi_node *x, *sum, *loss, *scores;
    double *x_rows, *x_in, *slope, *rest, *pull; /* inputs */
    double theta[2000], grad[2000];
    wmi_denoise_level level[LEVELS];
    double *chains; /* in x_in, (2, OWN, DIM): where they are and where they started */
    double z0[LEVELS * ROWS * DIM], e[LEVELS * ROWS * DIM], z[LEVELS * ROWS * DIM];
} step;

static const double classify = 0.7, share = 0.3; /* of the softmax; of a chain */
enum {
    BOUNDED = WMI_TERM_ADDITIVE | WMI_TERM_MLP | WMI_TERM_RESNET,
    ALL_TERMS = BOUNDED | WMI_TERM_QUADRATIC
};

static double *input(wmi_program *p, const char *name)
{
    void *at;
    wm_error err;

    assert_ok(wmi_program_input(p, name, &at, &err), err);
    return at;
}

/* Basis, hinges, whitening and coordinates of a model, in double. */
static void fill_constants(const step *s, wmi_program *p, const wm_chain *chain)
{
    static const double hinge[(HINGES + WHITES) * 5 * DIM] = {
        1,  2,   0.1, -0.3, 1,   0.5, 1,  2,  0.2, 0.1, /* rates, offsets, gains, tops, bases */
        -1, 1,   0,   0.2,  0.7, 1,   3,  3,  0.3, 0,   /* of columns */
        2,  0.5, -1,  0.4,  0.6, 0.8, 2,  4,  0.1, 0.4, /**/
        1,  1,   8,   8,    1,   1,   16, 16, 8,   8,   /* and of whitened columns */
        -1, 1,   0.3, -0.6, 1.2, 0.9, 5,  4,  0.4, 0.3};
    static const double filter[DIM * DIM] = {1.1, -0.4, -0.4, 0.8};
    double *basis = input(p, "basis"), *turn = input(p, "turn");
    float b[LEVELS * SMOOTH];

    memcpy(input(p, "hinge"), hinge, sizeof hinge);
    memcpy(input(p, "filter"), filter, sizeof filter);
    for (int j = 0; j < DIM; j++)
        for (int i = 0; i < HINGES * HINGES; i++)
            turn[j * HINGES * HINGES + i] = (i % (HINGES + 1) == 0) + 0.2 * i - 0.3 * j;
    wmi_level_basis(LEVELS, chain->alpha, s->model.smooth, b);
    for (int i = 0; i < LEVELS * SMOOTH; i++)
        basis[i] = (double)b[i];
}

/* Every term, and both networks as levels have them: with hinges, without kinks, which would
 * disturb differences. The two columns are an image of one row. */
static void open_step(step *s, unsigned terms, double reach)
{
    const wmi_denoise_shape shape = {LEVELS, ROWS, DIM, ROWS};
    const int64_t rows[] = {OWN, DIM}, own[] = {LEVELS, OWN};
    const wmi_rng rng = wmi_rng_make(5, "denoiser");
    wm_chain *chain = make_chain(LEVELS);
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    double *label;
    wm_error err;
    int64_t n;

    wmi_model_init(&s->model, LEVELS, DIM);
    s->model.terms = terms;
    s->model.levels = true;
    s->model.hinges = HINGES;
    s->model.whites = WHITES;
    s->model.filters = DIM;
    s->model.smooth = SMOOTH;
    s->model.mlp = (wmi_mlp_opts){.width = 3, .out = 3, .blocks = 2};
    s->model.resnet = (wmi_resnet_opts){.height = 1,
                                        .width = DIM,
                                        .channels = 1,
                                        .stem = {.window = 3, .stride = 1, .width = 2},
                                        .n_blocks = 1,
                                        .block = {{.width = 3}},
                                        .flat = true,
                                        .dense = 2,
                                        .slope = 0.3};
    assert_ok(wmi_params_new(&s->params, &err), err);
    assert_ok(wmi_model_declare(s->params, "", &s->model, &err), err);
    n = wmi_params_count(s->params);
    assert_true(n <= 2000);
    wmi_params_init(s->params, 1, WMI_F64, s->theta);
    wmi_rng_normal_f64(&rng, 0, n, s->grad);
    for (int64_t i = 0; i < n; i++)
        s->theta[i] += 0.3 * s->grad[i];
    memset(s->grad, 0, sizeof s->grad); /* gaps between entries have no gradient */
    for (int i = 0; i < 2; i++)
        assert_ok(wmi_graph_new(&s->graph[i], WMI_F64, s->params, &err), err);

    in.x = s->x = wmi_input(s->graph[0], "x", 2, rows);
    wmi_model_constants(s->graph[0], &s->model, &in);
    s->sum = wmi_sum(s->graph[0],
                     wmi_mul(s->graph[0], wmi_model_levels(s->graph[0], "", &s->model, &in),
                             wmi_input(s->graph[0], "own", 2, own)),
                     WMI_ALL_AXES);
    assert_ok(
        wmi_compile(&s->program[0], s->graph[0],
                    &(wmi_compile_opts){.loss = s->sum, .grad_inputs = &s->x, .n_grad_inputs = 1},
                    &err),
        err);
    wmi_program_bind(s->program[0], s->theta, NULL);

    in = (wmi_model_inputs){0};
    wmi_model_constants(s->graph[1], &s->model, &in);
    s->loss = wmi_denoise_build(s->graph[1], &s->model, in, &shape, classify, &s->scores);
    assert_ok(wmi_compile(
                  &s->program[1], s->graph[1],
                  &(wmi_compile_opts){
                      .outputs = &s->scores, .n_outputs = 1, .loss = s->loss, .param_grads = true},
                  &err),
              err);
    wmi_program_bind(s->program[1], s->theta, s->grad);

    for (int i = 0; i < 2; i++)
        fill_constants(s, s->program[i], chain);
    s->x_rows = input(s->program[0], "x");
    s->x_in = input(s->program[1], "x");
    s->slope = input(s->program[1], "slope");
    s->rest = input(s->program[1], "rest");
    label = input(s->program[1], "label");
    for (int i = 0; i < OWN + ROWS; i++)
        label[i] = i / ROWS;
    for (int i = 0; i < LEVELS * OWN; i++)
        input(s->program[0], "own")[i] = i % OWN / ROWS == i / OWN;
    assert_ok(wmi_denoise_levels(chain, s->level, &err), err);
    wmi_rng_normal_f64(&rng, 10000, LEVELS * ROWS * DIM, s->z0);
    wmi_rng_normal_f64(&rng, 20000, LEVELS * ROWS * DIM, s->e);
    for (int k = 0; k < LEVELS; k++) {
        s->level[k].reach *= reach;
        wm_waymark_linear_f64(s->level[k].alpha, ROWS * DIM, s->z0 + k * ROWS * DIM,
                              s->e + k * ROWS * DIM, s->z + k * ROWS * DIM);
    }
    memcpy(s->x_in + 2 * OWN * DIM, s->e, sizeof(double) * ROWS * DIM); /* some noise */
    s->pull = input(s->program[1], "pull");
    s->chains = s->x_in + (2 * OWN + ROWS) * DIM;
    wmi_rng_normal_f64(&rng, 30000, 2 * OWN * DIM, s->chains);
    for (int i = 0; i < LEVELS * 2 * OWN; i++)
        s->pull[i] = i % OWN / ROWS != i / (2 * OWN) ? 0 : i % (2 * OWN) < OWN ? share : -share;
    wm_chain_free(chain);
}

static void close_step(step *s)
{
    for (int i = 0; i < 2; i++) {
        wmi_program_free(s->program[i]);
        wmi_graph_free(s->graph[i]);
    }
    wmi_params_free(s->params);
}

/* The denoising loss at theta by its definition; and, with fill, what the surrogate wants. */
static double denoising_loss(step *s, bool fill)
{
    double side[2][ROWS * DIM], slope[ROWS], sum = 0, rest = 0, known;
    const double *g;
    wm_error err;

    memcpy(s->x_rows, s->z, sizeof s->z);
    assert_ok(wmi_program_backward(s->program[0], &err), err);
    g = wmi_program_grad(s->program[0], s->x);
    if (fill)
        memset(s->slope, 0, sizeof(double) * LEVELS * 2 * OWN);
    for (int k = 0; k < LEVELS; k++) {
        const int at = k * ROWS * DIM;
        const double loss = wmi_denoise_rows_f64(&s->level[k], ROWS, DIM, s->z0 + at, s->e + at,
                                                 g + at, side[0], side[1], slope, &known);

        sum += loss;
        rest += loss - known;
        for (int i = 0; fill && i < 2; i++) {
            memcpy(s->x_in + i * OWN * DIM + at, side[i], sizeof side[i]);
            for (int j = 0; j < ROWS; j++)
                s->slope[(2 * k + i) * OWN + k * ROWS + j] = i ? -slope[j] : slope[j];
        }
    }
    if (fill)
        *s->rest = rest;
    return sum;
}

/* What chains add: f where they are less f where they started, of their own levels. */
static double chain_loss(step *s)
{
    double sum = 0;
    wm_error err;

    for (int i = 0; i < 2; i++) {
        memcpy(s->x_rows, s->chains + i * OWN * DIM, sizeof s->z);
        assert_ok(wmi_program_forward(s->program[0], &err), err);
        sum += (i ? -share : share) * wmi_program_scalar(s->program[0], s->sum);
    }
    return sum;
}

/* The mean over rows of -log of the share of their own level among all and the noise, from the
 * scores: the logit of level j is the sum of the bridges from there on. */
static double softmax_loss(step *s)
{
    const int rows = OWN + ROWS;
    const double *r;
    double sum = 0;
    wm_error err;

    assert_ok(wmi_program_forward(s->program[1], &err), err);
    r = wmi_program_value(s->program[1], s->scores);
    for (int i = 0; i < rows; i++) {
        double logit[LEVELS + 1] = {0}, all = 1;

        for (int k = LEVELS - 1; k >= 0; k--) {
            logit[k] = logit[k + 1] + r[k * rows + i];
            all += exp(logit[k]);
        }
        sum += (log(all) - logit[i / ROWS]) / rows;
    }
    return sum;
}

/* The parts of the loss written out, without the functions that are tested. */
static void the_loss_is_half_a_mean_square_less_that_of_the_noise(void **state)
{
    static step s;
    double sum = 0, snr[LEVELS];
    const double *g;

    (void)state;
    open_step(&s, ALL_TERMS, 1);
    for (int k = 0; k < LEVELS; k++) {
        const double a = s.level[k].alpha;

        snr[k] = log((1 - a * a) / (a * a));
    }
    const double loss = denoising_loss(&s, true);

    g = wmi_program_grad(s.program[0], s.x);
    for (int k = 0; k < LEVELS; k++) {
        const double a = s.level[k].alpha, t = sqrt(1 - a * a);
        const double width = (snr[k > 0 ? k - 1 : 0] - snr[k < LEVELS - 1 ? k + 1 : k]) / 2;

        for (int i = k * ROWS * DIM; i < (k + 1) * ROWS * DIM; i++) {
            const double target = s.z[i] - s.e[i] / a, zero = a * target, off = a * (g[i] - target);

            assert_near(s.z[i], t * s.z0[i] + a * s.e[i], 1e-14);
            sum += width / 2 * (off * off - zero * zero) / (ROWS * DIM);
        }
    }
    assert_near(loss, sum, 1e-12 * (1 + fabs(sum)));
    close_step(&s);
}

/* A reach of 2e-5 leaves 4e-10 of curvature and 1e-16 / 2e-5 of rounding; differences of the loss
 * over 1e-5 leave 1e-10 and 1e-11: 1e-6 of the largest entry is above all of them. With the reach
 * of training the direction is what counts: 0.04 % of curvature, cosine above 0.9999. */
static void the_gradient_is_that_of_the_loss(void **state)
{
    const double h = 1e-5;
    static step s;
    static double numeric[2000];

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        double largest = 0, dot = 0, a = 0, b = 0, value;
        int64_t n;
        wm_error err;

        open_step(&s, ALL_TERMS, pass ? 1 : 1e-3);
        n = wmi_params_count(s.params);
        value = denoising_loss(&s, true) + classify * softmax_loss(&s) + chain_loss(&s);
        assert_ok(wmi_program_backward(s.program[1], &err), err);
        assert_near(wmi_program_scalar(s.program[1], s.loss), value,
                    (pass ? 0.01 : 1e-6) * (1 + fabs(value)));
        for (int64_t i = 0; i < n; i++) {
            const double keep = s.theta[i];
            double side[2];

            for (int j = 0; j < 2; j++) {
                s.theta[i] = keep + (j ? -h : h);
                side[j] = denoising_loss(&s, false) + classify * softmax_loss(&s) + chain_loss(&s);
            }
            s.theta[i] = keep;
            numeric[i] = (side[0] - side[1]) / (2 * h);
            largest = fmax(largest, fabs(numeric[i]));
            dot += numeric[i] * s.grad[i];
            a += numeric[i] * numeric[i];
            b += s.grad[i] * s.grad[i];
        }
        assert_true(largest > 0.01);
        for (int64_t i = 0; i < n && !pass; i++)
            assert_near(s.grad[i], numeric[i], 1e-6 * largest);
        assert_true(dot / sqrt(a * b) > 0.9999);
        close_step(&s);
    }
}

/* Or the energy, linear in what networks make of x, would fall for ever in some direction, and
 * chains would follow it. */
static void far_from_the_data_levels_are_constant(void **state)
{
    static step s;
    double value[2];
    wm_error err;

    (void)state;
    open_step(&s, BOUNDED, 1);
    for (int far = 0; far < 2; far++) {
        for (int i = 0; i < LEVELS * ROWS * DIM; i++)
            s.x_rows[i] = (i % 3 ? 1 : -1) * (far ? 1e6 : 1e3);
        assert_ok(wmi_program_forward(s.program[0], &err), err);
        value[far] = wmi_program_scalar(s.program[0], s.sum);
    }
    assert_true(fabs(value[0]) > 0.1);
    assert_near(value[0], value[1], 1e-9 * fabs(value[0]));
    close_step(&s);
}

static void basis_rows_add_up_to_one(void **state)
{
    wm_chain *chain = make_chain(MOST_LEVELS);
    float basis[MOST_LEVELS * 5];

    (void)state;
    wmi_level_basis(MOST_LEVELS, chain->alpha, 5, basis);
    for (int k = 0; k < MOST_LEVELS; k++) {
        double sum = 0;

        for (int r = 0; r < 5; r++) {
            assert_true(basis[5 * k + r] >= 0);
            sum += (double)basis[5 * k + r];
        }
        assert_near(sum, 1, 1e-6);
    }
    assert_true(basis[0] > 0.5f && basis[5 * MOST_LEVELS - 1] > 0.5f); /* each end its own */
    wm_chain_free(chain);
}

/* ---- what is learned ---- */

static const double mu[DIM] = {0.5, -0.3}, factor[DIM][DIM] = {{0.8, 0}, {0.45, 0.4}};

static void draw(const char *stream, uint64_t at, uint64_t first, int64_t rows, float *x0,
                 float *xm)
{
    const wmi_rng all = wmi_rng_make(3, stream), zero = wmi_rng_sub(&all, at),
                  other = wmi_rng_make(4, stream), one = wmi_rng_sub(&other, at);

    wmi_rng_normal_f32(&zero, first, rows * DIM, x0);
    wmi_rng_normal_f32(&one, first, rows * DIM, xm);
    for (int64_t i = 0; i < rows; i++) {
        const double u = (double)x0[i * DIM], v = (double)x0[i * DIM + 1];

        for (int j = 0; j < DIM; j++)
            x0[i * DIM + j] = (float)(mu[j] + factor[j][0] * u + factor[j][1] * v);
    }
}

static wm_status train(void *ctx, int64_t step_of, int64_t rows, float *x0, float *xm,
                       wm_error *err)
{
    (void)ctx;
    (void)err;
    draw("train", (uint64_t)step_of, 0, rows, x0, xm);
    return WM_OK;
}

static wm_status valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)ctx;
    (void)err;
    draw("valid", 0, (uint64_t)(first * DIM), rows, x0, xm);
    return WM_OK;
}

/* log p_k / p_m at z. */
static double exact(double a, const double *z)
{
    const double s = sqrt(1 - a * a);
    double c[DIM][DIM], det, y[DIM];

    for (int i = 0; i < DIM; i++) {
        y[i] = z[i] - s * mu[i];
        for (int j = 0; j < DIM; j++)
            c[i][j] = s * s * (factor[i][0] * factor[j][0] + factor[i][1] * factor[j][1]) +
                      (i == j ? a * a : 0);
    }
    det = c[0][0] * c[1][1] - c[0][1] * c[1][0];
    return -0.5 * (c[1][1] * y[0] * y[0] - 2 * c[0][1] * y[0] * y[1] + c[0][0] * y[1] * y[1]) /
               det -
           0.5 * log(det) + 0.5 * (z[0] * z[0] + z[1] * z[1]);
}

enum { BRIDGES = 6, POINTS = 200 };

typedef struct outcome {
    wm_status st;
    wm_error err;
    wmi_train_result result;
    wm_bridge eval[BRIDGES];
    float theta[256];
    float f[BRIDGES * POINTS]; /* levels at draws of the first waymark */
    float z[POINTS * DIM];
} outcome;

static void ask_levels(outcome *o, const wmi_model *model, const wmi_params *params, double alpha)
{
    const int64_t rows[] = {POINTS, DIM};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    float z0[POINTS * DIM], e[POINTS * DIM];
    wmi_graph *g;
    wmi_program *p;
    wmi_node *f;
    void *at;

    assert_ok(wmi_graph_new(&g, WMI_F32, params, &o->err), o->err);
    in.x = wmi_input(g, "x", 2, rows);
    f = wmi_model_levels(g, "", model, &in);
    assert_ok(wmi_compile(&p, g, &(wmi_compile_opts){.outputs = &f, .n_outputs = 1}, &o->err),
              o->err);
    wmi_program_bind(p, o->theta, NULL);
    assert_ok(wmi_program_input(p, "x", &at, &o->err), o->err);
    draw("points", 0, 0, POINTS, z0, e);
    wm_waymark_linear_f32(alpha, POINTS * DIM, z0, e, o->z);
    memcpy(at, o->z, sizeof o->z);
    assert_ok(wmi_program_forward(p, &o->err), o->err);
    memcpy(o->f, wmi_program_value(p, f), sizeof o->f);
    wmi_program_free(p);
    wmi_graph_free(g);
}

static void run(outcome *o, const wmi_train_opts *opts)
{
    const wmi_source source = {
        .dim = DIM, .n_train = 5000, .n_valid = 2000, .train = train, .valid = valid};
    wm_chain *chain = make_chain(BRIDGES);
    wmi_params *params;
    wmi_model model;

    memset(o, 0, sizeof *o);
    wmi_model_init(&model, BRIDGES, DIM);
    model.levels = true;
    model.quadratic = wmi_head_quadratic(WMI_QUADRATIC_FREE, true);
    assert_ok(wmi_params_new(&params, &o->err), o->err);
    assert_ok(wmi_model_declare(params, "", &model, &o->err), o->err);
    assert_true(wmi_params_count(params) <= 256);
    o->st = wmi_train(&model, params, chain, &source, opts, o->theta, o->eval, &o->result, &o->err);
    if (!o->st)
        ask_levels(o, &model, params, chain->alpha[0]);
    wmi_params_free(params);
    wm_chain_free(chain);
}

/* Metropolis' walk: what a sampler is here. */
static wm_status walk(void *ctx, int64_t number, int64_t n, int64_t dim, const double *size,
                      wmi_own_density *density, void *of, float *z, double *accept, wm_error *err)
{
    enum { MOST = 64 };
    const wmi_rng all = wmi_rng_make(11, "walk"), now = wmi_rng_sub(&all, (uint64_t)number);
    double before[MOST], after[MOST], by[MOST * DIM], u[MOST];
    float to[MOST * DIM], g[MOST * DIM];
    wm_status st;

    ++*(int64_t *)ctx;
    assert_true(n <= MOST && dim == DIM);
    wmi_rng_normal_f64(&now, 0, n * dim, by);
    wmi_rng_uniform_f64(&now, (uint64_t)(n * dim + 64), n, u);
    for (int64_t i = 0; i < n * dim; i++)
        to[i] = z[i] + (float)(2 * size[i / dim] * by[i]);
    if ((st = density(of, z, before, g, err)) || (st = density(of, to, after, g, err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        accept[i] = fmin(1, exp(after[i] - before[i]));
        if (u[i] < accept[i])
            memcpy(z + i * dim, to + i * dim, (size_t)dim * sizeof *z);
    }
    return WM_OK;
}

static wmi_train_opts quick(void)
{
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.objective = WMI_DENOISE;
    t.adam.batch = 210;
    t.adam.iterations = 2000;
    t.adam.eval_every = 500;
    t.adam.lr = 2e-2;
    t.adam.lr_constants = 1;
    t.adam.average = 0.99;
    t.saturated = 0;
    return t;
}

/* Root mean square of what level k is off. */
static double distance(const outcome *o, const wm_chain *chain, int k)
{
    double square = 0;

    for (int i = 0; i < POINTS; i++) {
        const double z[DIM] = {(double)o->z[2 * i], (double)o->z[2 * i + 1]};
        const double off = (double)o->f[k * POINTS + i] - exact(chain->alpha[k], z);

        square += off * off / POINTS;
    }
    return sqrt(square);
}

/* A level sees 6e4 rows, whose targets have errors of 1 in units of a: the slopes of its gradient
 * are known to 1 / (a sqrt(6e4)) = 0.04 at a = 0.1, where they are 5 or so, and better elsewhere.
 * f at z of |z| < 2 is then good to some 0.04 |z|^2 = 0.1, the constant, from 1.6e4 pairs of
 * neighbours, to 0.02. Five of these 0.1, as a root of the mean square over points: 0.5; a level is
 * 1.4 nats on average there, with a deviation of 1. */
static void normal_levels_are_found(void **state)
{
    const wmi_train_opts t = quick();
    wm_chain *chain = make_chain(BRIDGES);
    static outcome o;

    (void)state;
    run(&o, &t);
    assert_ok(o.st, o.err);
    assert_int_equal(o.result.stop, WMI_STOP_DONE);
    for (int k = 0; k < BRIDGES; k++)
        assert_true(distance(&o, chain, k) < 0.5);
    wm_chain_free(chain);
}

/* Chains that walk by levels which are right leave them alone; they are asked every other step of
 * the second half. */
static void chains_leave_what_is_right_alone(void **state)
{
    int64_t moves = 0;
    const wmi_mover mover = {walk, &moves};
    wm_chain *chain = make_chain(BRIDGES);
    wmi_train_opts t = quick();
    static outcome o;

    (void)state;
    t.own = (wmi_own_opts){
        .mover = &mover, .rows = 5, .weight = 1, .from = 1000, .every = 2, .stay = 30};
    run(&o, &t);
    assert_ok(o.st, o.err);
    assert_int_equal(moves, 500);
    for (int k = 0; k < BRIDGES; k++)
        assert_true(distance(&o, chain, k) < 0.5);
    wm_chain_free(chain);
}

static int stop_at_200(void *ctx, const wm_evaluation *e)
{
    (void)ctx;
    return e->step == 200;
}

/* With chains too, whose state is in the checkpoint. */
static void a_resumed_run_ends_in_the_same_bits(void **state)
{
    int64_t moves = 0;
    const wmi_mover mover = {walk, &moves};
    char path[] = "/tmp/waymark-denoiser-XXXXXX";
    wmi_train_opts t = quick();
    static outcome whole, half, rest;
    const int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    t.adam.iterations = 300;
    t.adam.eval_every = 100;
    for (int chains = 0; chains < 2; chains++) {
        if (chains)
            t.own = (wmi_own_opts){
                .mover = &mover, .rows = 3, .weight = 1, .from = 150, .every = 3, .stay = 10};
        t.control = (wm_fit_control){0};
        wm_fit_control_init(&t.control);
        run(&whole, &t);
        assert_ok(whole.st, whole.err);
        t.control.checkpoint = path;
        t.control.on_eval = stop_at_200;
        run(&half, &t);
        assert_ok(half.st, half.err);
        assert_int_equal(half.result.stop, WMI_STOP_ASKED);
        t.control.resume = true;
        t.control.on_eval = NULL;
        run(&rest, &t);
        assert_ok(rest.st, rest.err);
        assert_memory_equal(rest.theta, whole.theta, sizeof whole.theta);
        assert_memory_equal(rest.eval, whole.eval, sizeof whole.eval);
        unlink(path);
    }
}

/* The first step of Adam is the rate times the gradient's sign, whatever its size. */
static void splines_and_constants_have_rates_of_their_own(void **state)
{
    static const double rate[] = {1, 4, 10};
    static const char *const name[] = {"w", "coef", "c"};
    const wmi_param_group group[] = {WMI_GROUP_BODY, WMI_GROUP_SPLINE, WMI_GROUP_CONSTANT};
    const wmi_init zero = {.kind = WMI_INIT_CONST};
    wmi_train_opts opts;
    wmi_train_state s;
    wmi_params *params;
    float grad[64];
    wm_error err;

    (void)state;
    wmi_train_opts_init(&opts);
    assert_ok(wmi_params_new(&params, &err), err);
    for (int i = 0; i < 3; i++)
        assert_ok(wmi_params_add(params, name[i], 1, (const int64_t[]){2}, zero, group[i], &err),
                  err);
    assert_ok(
        wmi_train_state_open(&s, params, 1, &opts.adam, &(wmi_train_tune){.splines = 4}, &err),
        err);
    assert_true(s.n <= 64);
    for (int64_t i = 0; i < s.n; i++)
        grad[i] = -3;
    assert_ok(wmi_adam_step_f32(s.adam, 1e-3, grad, s.theta, &err), err);
    for (int i = 0; i < 3; i++)
        assert_near(s.theta[wmi_params_find(params, name[i])->offset], 1e-3 * rate[i], 1e-8);
    wmi_train_state_close(&s);
    wmi_params_free(params);
}

static void a_chain_from_the_data_itself_is_refused(void **state)
{
    wmi_denoise_level level[2];
    wm_spacing spacing;
    wm_alphas alphas;
    wm_chain *chain;
    wm_error err;

    (void)state;
    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_alphas(&alphas, &spacing, 2, &err), err);
    assert_ok(wm_chain_new(&chain, 2, &alphas, DIM, NULL, &err), err);
    assert_int_equal(wmi_denoise_levels(chain, level, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "first waymark"));
    wm_chain_free(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_half_a_mean_square_less_that_of_the_noise),
        cmocka_unit_test(the_gradient_is_that_of_the_loss),
        cmocka_unit_test(far_from_the_data_levels_are_constant),
        cmocka_unit_test(basis_rows_add_up_to_one),
        cmocka_unit_test(normal_levels_are_found),
        cmocka_unit_test(chains_leave_what_is_right_alone),
        cmocka_unit_test(a_resumed_run_ends_in_the_same_bits),
        cmocka_unit_test(splines_and_constants_have_rates_of_their_own),
        cmocka_unit_test(a_chain_from_the_data_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
