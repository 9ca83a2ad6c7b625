/* test_batcher.c - rows end up where the engine looks for them. A row of p0 is (i, -i), a row of pm
 * (1000 + i, 0), so that a row tells where it came from. */
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "train/batcher.h"

enum { DIM = 2, BRIDGES = 3, ROWS = 4, N_VALID = 10 };

static void fill(int64_t first, int64_t n, float *x0, float *xm)
{
    for (int64_t i = 0; i < n; i++) {
        x0[i * DIM] = (float)(first + i);
        x0[i * DIM + 1] = -(float)(first + i);
        xm[i * DIM] = (float)(1000 + first + i);
        xm[i * DIM + 1] = 0;
    }
}

static wm_status train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    (void)ctx;
    fill(100 * step, rows, x0, xm);
    return WM_OK;
}

static wm_status valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    (void)ctx;
    assert_true(first >= 0 && first + rows <= N_VALID);
    fill(first, rows, x0, xm);
    return WM_OK;
}

static const wmi_source source = {
    .dim = DIM, .n_train = 50, .n_valid = N_VALID, .train = train, .valid = valid};

static wm_chain *chain_new(wm_alphas *alphas)
{
    wm_spacing spacing;
    wm_chain *chain;
    wm_error err;

    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_alphas(alphas, &spacing, BRIDGES, &err), err);
    assert_ok(wm_chain_new(&chain, BRIDGES, alphas, DIM, NULL, &err), err);
    return chain;
}

/* Row `row` of the grouped layout must be waymark k of trajectory i. */
static void assert_waymark(const float *row, double alpha, int64_t i)
{
    const double b = sqrt(1 - alpha * alpha);

    assert_near((double)row[0], b * (double)i + alpha * (double)(1000 + i), 1e-3);
    assert_near((double)row[1], -b * (double)i, 1e-3);
}

/* Step `step` of a batcher: bridge k's trajectory i is row first + apart k + i of the source. */
static void assert_trajectories(wmi_batch_form form, int64_t step, int64_t first, int64_t apart)
{
    wm_alphas a;
    wm_chain *chain = chain_new(&a);
    float x[BRIDGES * 2 * ROWS * DIM];
    wmi_batcher *b;
    wm_error err;

    assert_ok(wmi_batcher_new(&b, chain, &source, ROWS, form, &err), err);
    assert_ok(wmi_batcher_train(b, step, x, &err), err);
    for (int k = 0; k < BRIDGES; k++)
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < ROWS; i++)
                assert_waymark(x + ((2 * k + side) * ROWS + i) * DIM, a.alpha[k + side],
                               first + k * apart + i);
    wmi_batcher_free(b);
    wm_chain_free(chain);
}

static void coupled_bridges_share_trajectories(void **state)
{
    (void)state;
    assert_trajectories(WMI_BATCH_COUPLED, 2, 200, 0);
}

static void spread_bridges_share_none(void **state)
{
    (void)state;
    assert_trajectories(WMI_BATCH_SPREAD, 1, 100, ROWS);
}

static void validation_walks_round(void **state)
{
    wm_alphas a;
    wm_chain *chain = chain_new(&a);
    float x[BRIDGES * 2 * ROWS * DIM], all[(BRIDGES + 1) * ROWS * DIM];
    wmi_batcher *b;
    wm_error err;

    (void)state;
    assert_ok(wmi_batcher_new(&b, chain, &source, ROWS, WMI_BATCH_COUPLED, &err), err);
    assert_int_equal(wmi_batcher_valid_batches(b), 2);
    assert_ok(wmi_batcher_valid(b, 2, x, &err), err); /* rows 8, 9, 0, 1 */
    for (int i = 0; i < ROWS; i++)
        assert_waymark(x + i * DIM, 0, (8 + i) % N_VALID);
    assert_ok(wmi_batcher_valid_waymarks(b, 0, all, &err), err);
    for (int k = 0; k <= BRIDGES; k++)
        for (int i = 0; i < ROWS; i++)
            assert_waymark(all + (k * ROWS + i) * DIM, a.alpha[k], i);
    wmi_batcher_free(b);
    wm_chain_free(chain);
}

/* x = 2 z + 1. */
static wm_status twice(void *ctx, int64_t n, int64_t dim, float *z, float *x, wm_error *err)
{
    (void)ctx;
    (void)err;
    for (int64_t i = 0; i < n * dim; i++)
        x[i] = 2 * z[i] + 1;
    return WM_OK;
}

static void waymarks_are_mapped(void **state)
{
    const wmi_source mapped = {.dim = DIM,
                               .n_train = 50,
                               .n_valid = N_VALID,
                               .train = train,
                               .valid = valid,
                               .map = twice};
    enum { ALL = BRIDGES * 2 * ROWS * DIM, ONCE = (BRIDGES + 1) * ROWS * DIM };
    float plain[ALL], x[ALL], work[2 * ROWS * DIM];
    wm_alphas a;
    wm_chain *chain = chain_new(&a);
    wm_error err;

    (void)state;
    for (int form = WMI_BATCH_COUPLED; form <= WMI_BATCH_SPREAD; form++) {
        wmi_batcher *b[2];

        assert_ok(wmi_batcher_new(&b[0], chain, &source, ROWS, (wmi_batch_form)form, &err), err);
        assert_ok(wmi_batcher_new(&b[1], chain, &mapped, ROWS, (wmi_batch_form)form, &err), err);
        assert_ok(wmi_batcher_train(b[0], 3, plain, &err), err);
        assert_ok(wmi_batcher_train(b[1], 3, x, &err), err);
        for (int i = 0; i < ALL; i++)
            assert_near((double)x[i], 2 * (double)plain[i] + 1, 1e-3);
        assert_ok(wmi_batcher_valid(b[0], 1, plain, &err), err);
        assert_ok(wmi_batcher_valid(b[1], 1, x, &err), err);
        for (int i = 0; i < ALL; i++)
            assert_near((double)x[i], 2 * (double)plain[i] + 1, 1e-3);
        assert_ok(wmi_batcher_train_waymarks(b[0], 3, plain, &err), err);
        assert_ok(wmi_batcher_train_waymarks(b[1], 3, x, &err), err);
        for (int i = 0; i < ONCE; i++)
            assert_near((double)x[i], 2 * (double)plain[i] + 1, 1e-3);
        wmi_batcher_free(b[0]);
        wmi_batcher_free(b[1]);
    }
    assert_ok(wmi_source_valid_rows(&mapped, 2, ROWS, work, x, &err), err);
    for (int i = 0; i < ROWS; i++)
        assert_near((double)x[i * DIM], 2 * (2 + i) + 1, 0);
    wm_chain_free(chain);
}

static void an_empty_batch_is_refused(void **state)
{
    wm_alphas a;
    wm_chain *chain = chain_new(&a);
    wmi_batcher *b;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_batcher_new(&b, chain, &source, 0, WMI_BATCH_COUPLED, &err), WM_EINVAL);
    assert_null(b);
    assert_string_equal(err.topic, "batch");
    wm_chain_free(chain);
}

/* u of trajectory i is (7, i): it belongs to the same rows as the ends. */
static wm_status train_u(void *ctx, int64_t step, int64_t rows, float *u, wm_error *err)
{
    (void)err;
    (void)ctx;
    for (int64_t i = 0; i < rows; i++) {
        u[i * DIM] = 7;
        u[i * DIM + 1] = (float)(100 * step + i);
    }
    return WM_OK;
}

static wm_status valid_u(void *ctx, int64_t first, int64_t rows, float *u, wm_error *err)
{
    (void)err;
    (void)ctx;
    assert_true(first >= 0 && first + rows <= N_VALID);
    for (int64_t i = 0; i < rows; i++) {
        u[i * DIM] = 7;
        u[i * DIM + 1] = (float)(first + i);
    }
    return WM_OK;
}

static void u_and_starts_are_of_the_same_rows(void **state)
{
    wmi_source with_u = source;
    wm_alphas a;
    wm_chain *chain = chain_new(&a);
    float x[ROWS * DIM], u[ROWS * DIM];
    wmi_batcher *b;
    wm_error err;

    (void)state;
    with_u.dim_u = DIM;
    with_u.train_u = train_u;
    with_u.valid_u = valid_u;
    assert_ok(wmi_batcher_new(&b, chain, &with_u, ROWS, WMI_BATCH_COUPLED, &err), err);
    assert_ok(wmi_batcher_train_starts(b, 3, x, &err), err);
    assert_ok(wmi_batcher_train_u(b, 3, u, &err), err);
    for (int i = 0; i < ROWS; i++) {
        assert_waymark(x + i * DIM, 0, 300 + i);
        assert_true(u[i * DIM] == 7 && u[i * DIM + 1] == (float)(300 + i));
    }
    assert_ok(wmi_batcher_valid_starts(b, 2, x, &err), err); /* rows 8, 9, and round to 0, 1 */
    assert_ok(wmi_batcher_valid_u(b, 2, u, &err), err);
    for (int i = 0; i < ROWS; i++) {
        assert_waymark(x + i * DIM, 0, (2 * ROWS + i) % N_VALID);
        assert_true(u[i * DIM + 1] == (float)((2 * ROWS + i) % N_VALID));
    }
    wmi_batcher_free(b);
    assert_int_equal(wmi_batcher_new(&b, chain, &with_u, ROWS, WMI_BATCH_SPREAD, &err), WM_EINVAL);
    wm_chain_free(chain);
}

/* Two blocks of one column each, two bridges: at waymark 1 a row has either its first column
 * replaced or its second, never both, and each of them in some rows. */
static void a_random_order_changes_one_block_at_a_time(void **state)
{
    enum { MANY = 40 };
    wm_chain *chain;
    float x[3 * MANY * DIM], again[3 * MANY * DIM];
    wmi_batcher *b;
    wm_error err;
    int first = 0;

    (void)state;
    assert_ok(wm_chain_new(&chain, 2, NULL, DIM, (int64_t[]){0, 1}, &err), err);
    assert_ok(wmi_batcher_new(&b, chain, &source, MANY, WMI_BATCH_COUPLED, &err), err);
    assert_ok(wmi_batcher_random_order(b, 5, &err), err);
    assert_ok(wmi_batcher_train_waymarks(b, 1, x, &err), err);
    for (int i = 0; i < MANY; i++) {
        const float *one = x + (MANY + i) * DIM, *two = x + (2 * MANY + i) * DIM;
        const bool a = one[0] == (float)(1100 + i), c = one[1] == 0;

        assert_true(a != c);
        assert_true(x[i * DIM] == (float)(100 + i) && x[i * DIM + 1] == -(float)(100 + i));
        assert_true(two[0] == (float)(1100 + i) && two[1] == 0);
        first += a;
    }
    assert_true(first > 4 && first < MANY - 4); /* 20 expected, sd 3.2 */
    assert_ok(wmi_batcher_train_waymarks(b, 2, again, &err), err);
    assert_ok(wmi_batcher_train_waymarks(b, 1, again, &err), err);
    assert_memory_equal(x, again, sizeof x); /* a function of the step */
    wmi_batcher_free(b);
    wm_chain_free(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coupled_bridges_share_trajectories),
        cmocka_unit_test(waymarks_are_mapped),
        cmocka_unit_test(spread_bridges_share_none),
        cmocka_unit_test(validation_walks_round),
        cmocka_unit_test(an_empty_batch_is_refused),
        cmocka_unit_test(u_and_starts_are_of_the_same_rows),
        cmocka_unit_test(a_random_order_changes_one_block_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
