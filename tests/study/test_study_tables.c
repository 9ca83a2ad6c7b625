/* test_study_tables.c - studies of ordinary tables, of numbers and levels: what they say of
 * columns, products among many columns, values that one table lacks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "scratch.h"
#include "waymark/study.h"

enum { MOST_ROWS = 4000, MOST_COLUMNS = 40 };

static double rows_of[2][MOST_ROWS * MOST_COLUMNS];

static void draw_normals(double *out, int64_t n, const char *stream)
{
    const wmi_rng rng = wmi_rng_make(1, stream);

    wmi_rng_normal_f64(&rng, 0, n, out);
}

static wm_study *study_of(int64_t n, int64_t d, const wm_study_opts *o)
{
    wm_data *table[2];
    wm_study *s;
    wm_error err;

    for (int t = 0; t < 2; t++)
        assert_ok(wm_data_new(&table[t], n, d, rows_of[t], &err), err);
    assert_ok(wm_study_run(&s, table[0], table[1], NULL, o, &err), err);
    for (int t = 0; t < 2; t++)
        wm_data_free(table[t]);
    return s;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* N(0.6, 1) against N(0, 1), 0.18 nats; a two-valued number with shares 0.7 and 0.5, 0.082; a
 * column without news. They are independent, so shares add up: 0.69, 0.31 and 0. The rows are
 * sorted by the first column, as files are. Standard errors are about a tenth: 500 rows have the
 * mean log-ratio of the second to 0.42 / sqrt(500) = 0.019 of 0.26 nats, curves fitted to 2,000
 * rows add as much. What a share was before (the fall of the mean log-ratio, KL both ways together)
 * would be 1.4 and 0.6. */
static void independent_columns_share_the_answer(void **state)
{
    enum { N = 2000 };
    const double want[] = {0.69, 0.31, 0};
    wm_study_opts o;
    wm_study *s;

    (void)state;
    for (int t = 0; t < 2; t++) {
        double *x = rows_of[t];

        draw_normals(x, 3 * N, t ? "q" : "p");
        for (int i = 0; i < N; i++) {
            x[3 * i] += t ? 0 : 0.6;
            x[3 * i + 1] = fabs(x[3 * i + 1]) < (t ? 0.67449 : 1.03643); /* quartile, 0.85 */
        }
        qsort(x, N, 3 * sizeof *x, rising);
    }
    wm_study_opts_init(&o);
    s = study_of(N, 3, &o);
    for (int j = 0; j < 3; j++)
        assert_near(wm_study_column_at(s, j)->share, want[j], 0.2);
    wm_study_free(s);
}

/* A column that is 0 in all of q and in no row of p is left out, and the answer is that of the
 * other; one that is 0 in a third of q's rows and in none of p makes KL(q, p) infinite. */
static void zeros_of_one_table_are_found(void **state)
{
    enum { N = 1000 };
    wm_study_opts o;
    wm_study_info info;
    const wm_check *c;
    wm_study *s;

    (void)state;
    for (int t = 0; t < 2; t++) {
        double *x = rows_of[t];

        draw_normals(x, 3 * N, t ? "q" : "p");
        for (int i = 0; i < N; i++) {
            x[3 * i + 1] = t ? 0 : exp(x[3 * i + 1]);
            x[3 * i + 2] = t && i % 3 == 0 ? 0 : x[3 * i + 2];
        }
    }
    wm_study_opts_init(&o);
    s = study_of(N, 3, &o);
    wm_study_get_info(s, &info);
    assert_non_null(wm_study_column_at(s, 1)->aside);
    assert_null(wm_study_column_at(s, 2)->aside);
    c = wm_checks_find(wm_study_checks(s), "split");
    assert_non_null(c);
    assert_non_null(strstr(c->meaning, "'column 2'"));
    c = wm_checks_find(wm_study_checks(s), "levels_qp");
    assert_non_null(c);
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_non_null(strstr(c->meaning, "KL(q, p) is infinite"));
    assert_non_null(strstr(c->meaning, "334 rows of q have column 3 = 0, none of p"));
    assert_true(fabs(info.kl_pq.value) < 2); /* log(3/2) = 0.41 as far as it can be told */
    assert_int_equal(info.verdict, WM_REJECT);
    assert_int_equal(info.verdict_pq, WM_DOUBT); /* for the column that is left out */
    assert_true(isnan(info.kl_qp.value) && isnan(info.kl_qp.hi));
    assert_near(info.rest_qp.value, 0, 0.1); /* nothing differs elsewhere */
    assert_near(info.lone_q, 0.334, 1e-12);
    assert_true(info.lone_p == 0 && isnan(info.rest_pq.value));
    wm_study_free(s);
}

/* A fifth of p's rows have a level that q lacks. Elsewhere p has N(0.6, 1) where q has N(0, 1),
 * 0.18 nats both ways: that is what KL(p, q) is without these rows, and KL(q, p) has -log(4/5) =
 * 0.223 more. The same where the level is one of a pair that q never has. */
static void the_answer_for_the_rest_stands(void **state)
{
    enum { N = 2000 };
    wm_study_opts o;

    (void)state;
    wm_study_opts_init(&o);
    for (int pair = 0; pair < 2; pair++) {
        wm_study_info info;
        const wm_check *c;
        wm_study *s;

        for (int t = 0; t < 2; t++) {
            double *x = rows_of[t];

            draw_normals(x, 3 * N, t ? "q" : "p");
            for (int i = 0; i < N; i++) {
                const bool lone = !t && i % 5 == 0;

                x[3 * i] += t ? 0 : 0.6;
                x[3 * i + 1] = pair ? i % 2 : lone ? 2 : i % 2;
                x[3 * i + 2] = x[3 * i + 2] > 0;
                if (pair) { /* (1, 1) is lone: p has it in a fifth of its rows, q nowhere */
                    x[3 * i + 1] = lone || i % 3 == 0;
                    x[3 * i + 2] = lone || (i % 3 != 0 && i % 2);
                }
            }
        }
        s = study_of(N, 3, &o);
        wm_study_get_info(s, &info);
        c = wm_checks_find(wm_study_checks(s), pair ? "combinations_pq" : "levels_pq");
        assert_non_null(c);
        assert_int_equal(c->outcome, WM_CHECK_FAILED);
        assert_int_equal(info.verdict, WM_REJECT);
        assert_int_equal(info.verdict_pq, WM_REJECT);
        assert_true(info.verdict_qp != WM_REJECT);
        assert_near(info.lone_p, 0.2, 1e-12);
        assert_true(isnan(info.kl_pq.value));
        assert_near(info.rest_pq.value, 0.18, 0.08);
        assert_true(info.rest_pq.lo < 0.18 && 0.18 < info.rest_pq.hi);
        assert_near(info.kl_qp.value, 0.18 + 0.223, 0.12);
        assert_near(info.under_q.log_mean, log(0.8), 0.05); /* q has nothing in the rest of p */
        assert_true(isinf(wm_study_column_at(s, 1)->kl) == !pair);
        wm_study_free(s);
    }
}

/* 30 numbers and a yes/no make more products than are tried at once; p has the rows of which x_3
 * x_7 is likely to be positive: it is kept with probability sigma(1.5 x_3 x_7). KL(p, q) is 2
 * E[sigma(t) log(2 sigma(t))] with t = 1.5 z z': 0.122 nats by quadrature. No curve of one column
 * sees any of it. */
static void one_product_of_many_is_found(void **state)
{
    enum { N = 1500, D = 31, A = 3, B = 7 };
    static double all[3 * N * D];
    const wmi_rng rng = wmi_rng_make(1, "keep");
    wm_study_opts o;
    wm_study_info info;
    wm_study *s;
    int64_t n = 0;

    (void)state;
    draw_normals(all, (int64_t)3 * N * D, "p");
    draw_normals(rows_of[1], (int64_t)N * D, "q");
    for (int i = 0; i < 3 * N && n < N; i++) {
        double *row = all + i * D, u;

        wmi_rng_uniform_f64(&rng, (uint64_t)i, 1, &u);
        row[D - 1] = row[D - 1] > 0;
        if (u < 1 / (1 + exp(-1.5 * row[A] * row[B])))
            memcpy(rows_of[0] + D * n++, row, D * sizeof *row);
    }
    assert_int_equal(n, N);
    for (int i = 0; i < N; i++)
        rows_of[1][i * D + D - 1] = rows_of[1][i * D + D - 1] > 0;
    wm_study_opts_init(&o);
    s = study_of(N, D, &o);
    wm_study_get_info(s, &info);
    assert_int_equal(info.model, WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE);
    assert_near(info.kl_pq.value, 0.122, 5 * info.kl_pq.se);
    assert_true(info.kl_pq.se < 0.05); /* rows alone have 0.408 / sqrt(1500) */
    wm_study_free(s);
}

/* Three classes that do not overlap: log 3 nats. Two thirds of the shuffled pairs are where no pair
 * is, so that the mean of q/p over pairs is a third: no reason to throw the answer away. */
static void classes_far_apart_are_not_rejected(void **state)
{
    enum { N = 900 };
    FILE *f = fopen(scratch("classes.csv"), "w");
    wm_schema *schema;
    wm_data *t;
    wm_study_opts o;
    wm_study_info info;
    wm_study *s;
    wm_error err;

    (void)state;
    assert_non_null(f);
    draw_normals(rows_of[0], N, "classes");
    fprintf(f, "x,class\n");
    for (int i = 0; i < N; i++)
        fprintf(f, "%.9g,%c\n", 12 * (i % 3) + rows_of[0][i], 'a' + i % 3);
    fclose(f);
    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&t, scratch("classes.csv"), schema, NULL, &err), err);
    wm_study_opts_init(&o);
    o.pairs = 1;
    o.by_rank = true;
    o.models[0] = WM_RATIO_MLP;
    o.n_models = 1;
    o.adam.iterations = 1500;
    assert_ok(wm_study_run(&s, t, NULL, schema, &o, &err), err);
    wm_study_get_info(s, &info);
    assert_true(info.under_p.log_mean < log(0.5));
    assert_int_equal(info.verdict, WM_DOUBT);
    assert_near(info.kl_pq.value, log(3), 0.05);
    wm_study_free(s);
    wm_data_free(t);
    wm_schema_free(schema);
}

/* Two columns of correlation 0.9, of which p moves one up and the other down by 0.3: 0.9 nats, and
 * 0.045 of either alone, so each takes 95 % with it. A row that got any value of q's would be one
 * that no table has (a share of -3.4, when it did). Near rows are not like it in full, which takes
 * something off a share; a tenth is noise. */
static void columns_that_tell_together_have_the_whole(void **state)
{
    enum { N = 2000 };
    wm_study_opts o;
    wm_study *s;

    (void)state;
    for (int t = 0; t < 2; t++) {
        double *x = rows_of[t];

        draw_normals(x, 3 * N, t ? "together/q" : "together/p");
        for (int64_t i = 0; i < N; i++, x += 3) {
            x[1] = 0.9 * x[0] + sqrt(1 - 0.81) * x[1];
            x[0] += t ? 0 : 0.3;
            x[1] -= t ? 0 : 0.3;
        }
    }
    wm_study_opts_init(&o);
    s = study_of(N, 3, &o);
    for (int64_t j = 0; j < 2; j++)
        assert_near(wm_study_column_at(s, j)->share, 0.95, 0.3);
    assert_near(wm_study_column_at(s, 2)->share, 0, 0.1);
    wm_study_free(s);
}

/* Counts of 1 to 40 in sixteen bins: as many of them in each. */
static void bins_of_whole_numbers_hold_as_many_each(void **state)
{
    enum { N = 2000 };
    wm_study_opts o;
    wm_study *s;
    const wm_study_column *c;

    (void)state;
    for (int t = 0; t < 2; t++) {
        draw_normals(rows_of[t], 2 * N, t ? "bins/q" : "bins/p");
        for (int64_t i = 0; i < N; i++)
            rows_of[t][2 * i] = (double)(1 + i % 40);
    }
    wm_study_opts_init(&o);
    s = study_of(N, 2, &o);
    c = wm_study_column_at(s, 0);
    assert_int_equal(c->n, 14);
    for (int64_t b = 0; b < 13; b++) {
        assert_near(c->edges[b + 1] - c->edges[b], 3, 1e-12);
        assert_near(c->p[b], 3.0 / 40, 1e-12);
    }
    wm_study_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_columns_share_the_answer),
        cmocka_unit_test(zeros_of_one_table_are_found),
        cmocka_unit_test(the_answer_for_the_rest_stands),
        cmocka_unit_test(one_product_of_many_is_found),
        cmocka_unit_test(classes_far_apart_are_not_rejected),
        cmocka_unit_test(columns_that_tell_together_have_the_whole),
        cmocka_unit_test(bins_of_whole_numbers_hold_as_many_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
