/* test_count_table.c - the form of a table of counts says r of every cell; as many rows are lent to
 * independence as the counts want. */
#include <math.h>

#include "asserts.h"
#include "moments/count_table.h"

enum { D = 5, FIRST = 2, MOST = 4000 };

/* u has three levels, of which the first has no feature; v is one of the numbers 2, 3, 5, 9, and 3
 * and 5 have an indicator too. All are moved and scaled. */
static const double shift[D] = {0.4, 0.3, 4, 0.2, 0.25}, scale[D] = {0.5, 0.7, 2, 0.3, 0.6},
                    level[D] = {1, 2, NAN, 3, 5};
static const double number[] = {2, 3, 5, 9};
static double x[MOST * D];

static void put_row(double *row, int u, int v)
{
    const double raw[D] = {u == 1, u == 2, number[v], v == 1, v == 2};

    for (int f = 0; f < D; f++)
        row[f] = (raw[f] - shift[f]) / scale[f];
}

static double log_r_at(const wmi_convex_bridge *b, const double *row)
{
    double sum = b->c;

    for (int i = 0; i < D; i++) {
        sum += b->w[i] * row[i];
        for (int j = 0; j < D; j++)
            sum += b->q[i * D + j] * row[i] * row[j];
    }
    return -sum;
}

/* So many rows of each cell, cut in two parts somewhere. */
static int64_t fill(const int cell[3][4])
{
    int64_t n = 0;

    for (int u = 0; u < 3; u++)
        for (int v = 0; v < 4; v++)
            for (int i = 0; i < cell[u][v]; i++)
                put_row(x + D * n++, u, v);
    return n;
}

static wmi_count_fit fit_of(int64_t n, wmi_convex_bridge *b)
{
    const wmi_count_rows rows = {.n = {n / 3, n - n / 3},
                                 .dim = D,
                                 .first = FIRST,
                                 .x = {x, x + n / 3 * D},
                                 .shift = shift,
                                 .scale = scale,
                                 .level = level};
    wmi_count_fit fit;
    wm_error err;

    assert_ok(wmi_count_table(b, &fit, &rows, &err), err);
    return fit;
}

static void every_cell_has_its_ratio(void **state)
{
    static const int cell[3][4] = {{30, 2, 7, 11}, {3, 40, 0, 5}, {9, 12, 25, 1}};
    double q[D * D], w[D], of_u[3] = {0}, of_v[4] = {0}, mean = 0;
    wmi_convex_bridge b = {.q = q, .w = w};
    const int64_t n = fill(cell);
    const wmi_count_fit fit = fit_of(n, &b);

    (void)state;
    assert_true(fit.lent > 1 && fit.lent < 100);
    for (int u = 0; u < 3; u++)
        for (int v = 0; v < 4; v++) {
            of_u[u] += cell[u][v] / (double)n;
            of_v[v] += cell[u][v] / (double)n;
        }
    for (int u = 0; u < 3; u++)
        for (int v = 0; v < 4; v++) {
            const double share = of_u[u] * of_v[v];
            const double want = log((cell[u][v] / share + fit.lent) / ((double)n + fit.lent));
            double row[D];

            put_row(row, u, v);
            assert_near(log_r_at(&b, row), want, 1e-10);
            mean += share * exp(want);
        }
    assert_near(mean, 1, 1e-12);
}

/* Counts that are products of their sums say nothing: all rows that may be lent are. With every
 * row of u at one of v few are. */
static void rows_are_lent_as_the_counts_want(void **state)
{
    static const int alike[3][4] = {{10, 20, 30, 40}, {20, 40, 60, 80}, {5, 10, 15, 20}};
    static const int tied[3][4] = {{100, 0, 0, 0}, {0, 100, 0, 0}, {0, 0, 100, 1}};
    double q[D * D], w[D];
    wmi_convex_bridge b = {.q = q, .w = w};
    wmi_count_fit fit = fit_of(fill(alike), &b);

    (void)state;
    assert_true(fit.lent > 1e6);
    assert_near(fit.numbers, 4, 0.1); /* levels of v */
    fit = fit_of(fill(tied), &b);
    assert_true(fit.lent < 5);
    assert_near(fit.missed, 0, 0.02);
}

static void a_level_may_be_missing(void **state)
{
    static const int cell[3][4] = {{0, 0, 0, 0}, {20, 5, 0, 0}, {4, 30, 0, 0}};
    double q[D * D], w[D], row[D];
    wmi_convex_bridge b = {.q = q, .w = w};

    (void)state;
    (void)fit_of(fill(cell), &b);
    put_row(row, 1, 0);
    assert_true(log_r_at(&b, row) > 0.3);
    put_row(row, 1, 2); /* a number that no row has: an average one */
    assert_near(log_r_at(&b, row), 0, 1e-10);
    put_row(row, 0, 0);
    assert_near(log_r_at(&b, row), 0, 1e-10);
}

static void a_number_of_more_values_is_refused(void **state)
{
    static const int cell[3][4] = {{2, 2, 2, 2}, {2, 2, 2, 2}, {2, 2, 2, 2}};
    const int64_t n = fill(cell);
    double q[D * D], w[D];
    wmi_convex_bridge b = {.q = q, .w = w};
    wmi_count_rows rows = {.n = {n},
                           .dim = D,
                           .first = FIRST,
                           .x = {x},
                           .shift = shift,
                           .scale = scale,
                           .level = level};
    wmi_count_fit fit;
    wm_error err;

    (void)state;
    x[2] += 0.125; /* a third value without a feature */
    assert_int_equal(wmi_count_table(&b, &fit, &rows, &err), WM_EINVAL);
    assert_string_equal(err.text, "v has more values than its features tell");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_has_its_ratio),
        cmocka_unit_test(rows_are_lent_as_the_counts_want),
        cmocka_unit_test(a_level_may_be_missing),
        cmocka_unit_test(a_number_of_more_values_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
