/* test_cell_net.c - networks of cells: that each cell is seen by itself, and that rows put together
 * from codes are rows put together from cells, in value and in gradient. */
#include "nn_run.h"

enum { DOWN = 2, ACROSS = 3, CELLS = DOWN * ACROSS, H = 8, W = 10, DIM = DOWN * H * ACROSS * W };
enum { M = 2, ENDS = 4, ROWS = 6 /* of a bridge */, N_U = 3 };

static void set_model(wmi_model *model, bool join)
{
    const char *text = join ? "stem 3/2 4, 4 down, 6, max, dense 5, cells 2x3, join 7"
                            : "stem 3/2 4, 4 down, 6, max, dense 5, cells 2x3";
    wm_error err;

    wmi_model_init(model, M, DIM);
    model->dim_u = DIM;
    model->terms = WMI_TERM_SEPARABLE;
    for (int side = 0; side < 2; side++) {
        wmi_body *body = side ? &model->separable.f : &model->separable.g;

        body->kind = WMI_BODY_RESNET;
        body->resnet = (wmi_resnet_opts){.height = DOWN * H, .width = ACROSS * W, .channels = 1};
        assert_ok(wmi_resnet_parse(&body->resnet, text, &err), err);
        assert_int_equal(wmi_resnet_features(&body->resnet), join ? 7 : CELLS * 5);
    }
}

static void fill(double *x, const char *name, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = named_uniform(name, i);
}

/* Where pixel j of cell `cell` stands in a row. */
static int64_t pixel(int64_t cell, int64_t j)
{
    const int64_t y = cell / ACROSS * H + j / W, x = cell % ACROSS * W + j % W;

    return y * ACROSS * W + x;
}

/* The program with a mix: what the trainer builds. */
typedef struct mixed {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *scores;
    double *grad;
} mixed;

static void open_mixed(mixed *r, const wmi_model *model, const nn_run *rows, const double *ends,
                       const double *mix)
{
    wmi_model_inputs in = {.layout = WMI_ROWS_GROUPED};
    wmi_node *t;
    void *at;
    wm_error err;

    assert_ok(wmi_graph_new(&r->graph, WMI_F64, rows->params, &err), err);
    in.x = wmi_input(r->graph, "x", 2, (int64_t[]){ENDS, DIM});
    in.u = wmi_input(r->graph, "u", 2, (int64_t[]){N_U, DIM});
    in.mix = wmi_input(r->graph, "mix", 1, (int64_t[]){M * ROWS * CELLS});
    t = wmi_input(r->graph, "t", 2, (int64_t[]){M, ROWS});
    r->scores = wmi_model_build(r->graph, "", model, &in);
    assert_ok(
        wmi_compile(&r->program, r->graph,
                    &(wmi_compile_opts){
                        .outputs = &r->scores,
                        .n_outputs = 1,
                        .loss = wmi_sum(r->graph, wmi_mul(r->graph, r->scores, t), WMI_ALL_AXES),
                        .param_grads = true},
                    &err),
        err);
    assert_ok(wmi_alloc(&r->grad, wmi_params_count(rows->params), sizeof *r->grad, "grad", &err),
              err);
    wmi_program_bind(r->program, rows->theta, r->grad);
    wmi_program_step(r->program, 1, 0, false);
    assert_ok(wmi_program_input(r->program, "x", &at, &err), err);
    memcpy(at, ends, sizeof(double) * ENDS * DIM);
    assert_ok(wmi_program_input(r->program, "u", &at, &err), err);
    memcpy(at, rows->in_u, sizeof(double) * N_U * DIM);
    assert_ok(wmi_program_input(r->program, "mix", &at, &err), err);
    memcpy(at, mix, sizeof(double) * M * ROWS * CELLS);
    assert_ok(wmi_program_input(r->program, "t", &at, &err), err);
    memcpy(at, rows->in_t, sizeof(double) * M * ROWS);
    assert_ok(wmi_program_backward(r->program, &err), err);
}

static void compare_codes_and_cells(bool join)
{
    static double ends[ENDS * DIM], mix[M * ROWS * CELLS];
    wmi_model model;
    nn_run rows;
    mixed r;

    set_model(&model, join);
    nn_open(&rows, &model, WMI_F64, WMI_ROWS_GROUPED, ROWS, N_U);
    for (int64_t i = 0; i < wmi_params_count(rows.params); i++)
        ((double *)rows.theta)[i] += 0.3 * named_uniform("theta", i);
    fill(ends, "ends", ENDS * DIM);
    fill(rows.in_u, "u", N_U * DIM);
    fill(rows.in_t, "t", M * ROWS);
    for (int64_t i = 0; i < M * ROWS; i++)
        for (int64_t c = 0; c < CELLS; c++) {
            const int64_t end = (int64_t)(named_hash("end", (uint32_t)(i * CELLS + c)) % ENDS);
            /* A cell may even come from another place. */
            const int64_t from = i == 0 ? CELLS - 1 - c : c;

            mix[i * CELLS + c] = (double)(end * CELLS + from);
            for (int64_t j = 0; j < H * W; j++)
                ((double *)rows.in_x)[i * DIM + pixel(c, j)] = ends[end * DIM + pixel(from, j)];
        }
    nn_backward(&rows);
    open_mixed(&r, &model, &rows, ends, mix);
    for (int64_t i = 0; i < M * ROWS; i++) {
        const double a = nn_score(&rows, i / ROWS, i % ROWS);

        assert_true(fabs(a) > 1e-6);
        assert_near(((const double *)wmi_program_value(r.program, r.scores))[i], a,
                    1e-12 * (1 + fabs(a)));
    }
    for (int64_t i = 0; i < wmi_params_count(rows.params); i++)
        assert_near(r.grad[i], ((double *)rows.grad)[i],
                    1e-10 * (1 + fabs(((double *)rows.grad)[i])));
    wmi_program_free(r.program);
    wmi_graph_free(r.graph);
    wmi_free(r.grad);
    nn_close(&rows);
}

static void rows_of_codes_are_rows_of_cells(void **state)
{
    (void)state;
    compare_codes_and_cells(true);
    compare_codes_and_cells(false);
}

/* With the codes of all but one cell cut off in the joining layer, no pixel of another cell
 * matters, also none beside the border. */
static void a_cell_sees_no_other(void **state)
{
    enum { SEEN = 4 };
    wmi_model model;
    nn_run r;

    (void)state;
    set_model(&model, true);
    nn_open(&r, &model, WMI_F64, WMI_ROWS_SHARED, 1, 1);
    for (int64_t i = 0; i < wmi_params_count(r.params); i++)
        ((double *)r.theta)[i] += 0.3 * named_uniform("theta", i);
    for (int64_t c = 0; c < CELLS; c++)
        for (int64_t i = 0; i < 5 * 7 && c != SEEN; i++)
            nn_set_param(&r, "separable/f/join/w", c * 35 + i, 0);
    fill(r.in_x, "x", DIM);
    fill(r.in_u, "u", DIM);
    fill(r.in_t, "t", M);
    nn_backward(&r);
    for (int64_t c = 0; c < CELLS; c++) {
        const double *dx = wmi_program_grad(r.program, r.x);
        double most = 0;

        for (int64_t j = 0; j < H * W; j++)
            most = fmax(most, fabs(dx[pixel(c, j)]));
        if (c == SEEN)
            assert_true(most > 1e-6);
        else
            assert_near(most, 0, 0);
    }
    nn_close(&r);
}

static void expect_refusal(const char *text, int64_t height, const char *why)
{
    wmi_model model;
    wmi_params *params;
    wm_error err;

    set_model(&model, true);
    assert_ok(wmi_resnet_parse(&model.separable.f.resnet, text, &err), err);
    model.separable.f.resnet.height = height;
    assert_ok(wmi_params_new(&params, &err), err);
    assert_int_not_equal(wmi_model_declare(params, "", &model, &err), WM_OK);
    assert_non_null(strstr(err.text, why));
    wmi_params_free(params);
}

static void what_are_no_cells_is_refused(void **state)
{
    (void)state;
    expect_refusal("stem 3/2 4, dense 5, cells 3x3, join 7", DOWN * H,
                   "16 x 30 has no 3 x 3 equal cells");
    expect_refusal("stem 3/2 4, dense 5, cells 2x3, join 7", DOWN * H + 1,
                   "480 columns are no image of 17 x 30 x 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_codes_are_rows_of_cells),
        cmocka_unit_test(a_cell_sees_no_other),
        cmocka_unit_test(what_are_no_cells_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
