/* test_study_counts.c - mutual information of two columns of levels, however many. */
#include <math.h>
#include <stdio.h>

#include "asserts.h"
#include "base/rng.h"
#include "scratch.h"
#include "waymark/study.h"

enum { ROWS = 6000 };

/* v is u where a draw is below `tied`, else any of `levels`; as a file, which names them. */
static void write_tied(int64_t n, int64_t levels, double tied)
{
    const wmi_rng rng = wmi_rng_make(3, "pairs of levels");
    FILE *f = fopen(scratch("pairs.csv"), "w");

    assert_non_null(f);
    fprintf(f, "u,v\n");
    for (int64_t i = 0; i < n; i++) {
        double draw[3];
        int u, v;

        wmi_rng_uniform_f64(&rng, (uint64_t)(3 * i), 3, draw);
        u = (int)(draw[0] * (double)levels);
        v = draw[1] < tied ? u : (int)(draw[2] * (double)levels);
        fprintf(f, "a%d,b%d\n", u, v);
    }
    fclose(f);
}

static double truth_of(double levels, double tied)
{
    const double same = tied / levels + (1 - tied) / levels / levels,
                 other = (1 - tied) / levels / levels;

    return levels * same * log(same * levels * levels) +
           (tied < 1 ? levels * (levels - 1) * other * log(other * levels * levels) : 0);
}

static wm_study_info answer(wm_checks *checks)
{
    wm_study_opts o;
    wm_study_info info;
    wm_study *study;
    wm_schema *schema;
    wm_data *joint;
    wm_error err;

    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&joint, scratch("pairs.csv"), schema, NULL, &err), err);
    wm_study_opts_init(&o);
    o.pairs = 1;
    assert_ok(wm_study_run(&study, joint, NULL, schema, &o, &err), err);
    wm_study_get_info(study, &info);
    *checks = *wm_study_checks(study);
    wm_study_free(study);
    wm_data_free(joint);
    wm_schema_free(schema);
    return info;
}

/* 200 levels have 40,000 cells for 6,000 rows; two standard errors are what an interval is, and
 * four of them leave room for any seed. */
static void many_levels_are_counted(void **state)
{
    static const double tied[] = {0, 0.9, 1};
    static const int64_t levels[] = {4, 200};
    wm_checks checks;

    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            const double truth = truth_of((double)levels[k], tied[i]);
            wm_study_info info;

            write_tied(ROWS, levels[k], tied[i]);
            info = answer(&checks);
            assert_int_equal(info.bridges, 1);
            assert_near(info.kl_pq.value, truth, 4 * info.kl_pq.se);
            assert_true(info.kl_pq.se < 0.15);
            assert_int_equal(info.verdict, WM_TRUST);
            assert_null(wm_checks_find(&checks, "chasm"));
        }
}

/* 300 levels in 400 rows: some number comes out, and is doubted. */
static void too_few_rows_are_doubted(void **state)
{
    wm_checks checks;

    (void)state;
    write_tied(400, 300, 0.5);
    assert_int_equal(answer(&checks).verdict, WM_DOUBT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_levels_are_counted),
        cmocka_unit_test(too_few_rows_are_doubted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
