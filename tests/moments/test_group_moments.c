/* test_group_moments.c - moments of rows that pass by are those of the table, whatever the blocks;
 * a study takes them for a table of which it holds a sample. */
#include <math.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "engine/backend/linalg.h"
#include "moments/group_moments.h"
#include "moments/plug_in.h"
#include "scratch.h"
#include "waymark/generators.h"
#include "waymark/study.h"
#include "waymark/write.h"

enum { D = 3, N = 4001 };

static wm_data *draw(int64_t n, double mean, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, n, D, mean, 1, 1, stream, &err), err);
    return x;
}

static wm_moments *moments_of(const wm_data *d, int64_t block)
{
    const int64_t n = wm_data_count(d);
    wmi_moments_work w = {0};
    wm_moments *m;
    wm_error err;

    assert_ok(wmi_moments_new(&m, D, &err), err);
    for (int64_t at = 0; at < n; at += block)
        assert_ok(
            wmi_moments_add(m, &w, n - at < block ? n - at : block, wm_data_rows(d) + at * D, &err),
            err);
    wmi_moments_finish(m, &w);
    return m;
}

static void groups_add_up_to_the_table(void **state)
{
    wm_data *d = draw(N, 1e6, "far"); /* where sums about 0 would have lost 12 digits */
    double mean[D], scatter[D * D], got_mean[D], got[D * D];
    wmi_row_moments all = {0, got_mean, got};
    wm_error err;

    (void)state;
    wmi_column_means(N, D, wm_data_rows(d), mean);
    assert_ok(wmi_scatter(N, D, wm_data_rows(d), mean, scatter, &err), err);
    for (int64_t block = 1; block <= N; block = block * 40 + 1) {
        wm_moments *m = moments_of(d, block);
        double n = 0;

        assert_int_equal(wm_moments_count(m), N);
        wmi_moments_join(&all, m, 0, m->groups);
        assert_true(all.n == N);
        for (int i = 0; i < D; i++)
            assert_near(got_mean[i], mean[i], 1e-8);
        for (int i = 0; i < D * D; i++) /* rounding of x - shift: 1e6 eps sqrt(n) */
            assert_near(got[i], scatter[i], 1e-5);
        for (int64_t g = 0; g < m->groups; g++) {
            /* binomial: 80 +- 9, 6 sd */
            assert_true(m->group[g].n > 20 && m->group[g].n < 140);
            n += m->group[g].n;
        }
        assert_true(n == N);
        wm_moments_free(m);
    }
    wm_data_free(d);
}

static void scaled_columns_have_scaled_moments(void **state)
{
    const int64_t column[] = {2, 0};
    const double shift[] = {1, -2}, scale[] = {2, 0.5};
    wm_data *d = draw(N, 0, "scaled");
    wm_moments *m = moments_of(d, 500), *s;
    wm_error err;

    (void)state;
    assert_ok(wmi_moments_scaled(&s, m, 2, column, shift, scale, &err), err);
    assert_int_equal(wm_moments_count(s), N);
    assert_near(s->group[7].mean[0], (m->group[7].mean[2] - 1) / 2, 1e-12);
    assert_near(s->group[7].scatter[1], m->group[7].scatter[2 * D], 1e-9); /* 2 times 0.5 is 1 */
    wm_moments_free(s);
    wm_moments_free(m);
    wm_data_free(d);
}

/* The divergences of groups are those of rows, but for which rows make a group. */
static void divergences_by_groups_and_by_rows_agree(void **state)
{
    wm_data *p = draw(N, 0.5, "p"), *q = draw(N, 0, "q");
    wm_moments *mp = moments_of(p, 512), *mq = moments_of(q, 512);
    wmi_plug_in rows[2], groups[2];
    wm_error err;

    (void)state;
    assert_ok(
        wmi_plug_in_divergences(
            rows,
            &(wmi_plug_in_rows){.n = {N, N}, .dim = D, .x = {wm_data_rows(p), wm_data_rows(q)}}, 5,
            &err),
        err);
    assert_ok(wmi_plug_in_divergences(
                  groups, &(wmi_plug_in_rows){.n = {N, N}, .dim = D, .groups = {mp, mq}}, 5, &err),
              err);
    for (int t = 0; t < 2; t++) {
        /* the same but for the correction, of order (d / n)^2 and the jackknife's noise in it */
        assert_near(groups[t].corrected, rows[t].corrected, 0.2 * rows[t].se);
        assert_true(groups[t].se > 0.6 * rows[t].se && groups[t].se < 1.6 * rows[t].se);
        assert_near(groups[t].unseen, rows[t].unseen, rows[t].se);
    }
    wm_moments_free(mq);
    wm_moments_free(mp);
    wm_data_free(q);
    wm_data_free(p);
}

/* A study of 1,000 rows that knows the moments of 40 times as many: within 5 of its standard
 * errors of the truth, 3 / 8 nats, and these six times smaller than without (sqrt(40) = 6.3). */
static void a_study_uses_the_moments_of_all_rows(void **state)
{
    wm_data *p = draw(40000, 0.5, "p"), *q = draw(40000, 0, "q"), *few[2];
    wm_study_info all, sample;
    wm_schema *schema;
    wm_moments *m[2];
    wm_study *s;
    wm_study_opts o;
    wm_error err;

    (void)state;
    assert_ok(wm_data_write_npy(p, scratch("p.npy"), &err), err);
    assert_ok(wm_data_write_npy(q, scratch("q.npy"), &err), err);
    assert_ok(wm_schema_new(&schema, &err), err);
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_QUADRATIC;
    o.n_models = 1;
    for (int t = 0; t < 2; t++) {
        wm_data *whole;
        const char *path = scratch(t ? "q.npy" : "p.npy");

        assert_ok(wm_data_read(&whole, path, schema, NULL, &err), err);
        assert_ok(wm_moments_read(&m[t], path, schema, NULL, &err), err);
        assert_ok(wm_data_borrow(&few[t], 1000, D, wm_data_rows(t ? q : p), &err), err);
        wm_data_free(whole);
    }
    assert_ok(wm_study_run(&s, few[0], few[1], schema, &o, &err), err);
    wm_study_get_info(s, &sample);
    wm_study_free(s);
    o.moments[0] = m[0];
    o.moments[1] = m[1];
    assert_ok(wm_study_run(&s, few[0], few[1], schema, &o, &err), err);
    wm_study_get_info(s, &all);
    assert_near(all.kl_pq.value, 0.375, 5 * all.kl_pq.se);
    assert_near(all.kl_qp.value, 0.375, 5 * all.kl_qp.se);
    assert_true(all.kl_pq.se < sample.kl_pq.se / 4);
    /* and the ratio that is kept: log r = sum (x_i / 2) - 3/8, at 0 */
    double log_r;
    const double zero[D] = {0};
    wm_data *at;

    assert_ok(wm_data_new(&at, 1, D, zero, &err), err);
    assert_ok(wm_ratio_log(wm_study_ratio(s), at, &log_r, &err), err);
    assert_near(log_r, -0.375, 0.05); /* sd of a mean of 40,000 rows: 0.005; of 1,000: 0.03 */
    wm_data_free(at);
    wm_study_free(s);
    for (int t = 0; t < 2; t++) {
        wm_moments_free(m[t]);
        wm_data_free(few[t]);
    }
    wm_schema_free(schema);
    wm_data_free(q);
    wm_data_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_add_up_to_the_table),
        cmocka_unit_test(scaled_columns_have_scaled_moments),
        cmocka_unit_test(divergences_by_groups_and_by_rows_agree),
        cmocka_unit_test(a_study_uses_the_moments_of_all_rows),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
