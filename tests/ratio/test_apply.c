/* test_apply.c - a ratio at the rows of a file: the same numbers by every way in and out, weights
 * as wm_weights_make() has them, and nothing left behind where it fails. */
#include "asserts.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "npy_files.h"
#include "ratio/ratio_impl.h"
#include "scratch.h"
#include "study/mixed_study.h"
#include "waymark/apply.h"
#include "waymark/generators.h"
#include "waymark/study.h"
#include "waymark/write.h"

enum { N = 66001 }; /* more than a block has */

/* What every test uses: a model of two columns and N rows in several files. */
static wm_ratio *ratio;
static double want[N]; /* their log-ratios */

static wm_data *normal(int64_t n, double mean, double sd, const char *stream)
{
    wm_data *x;
    wm_error err;

    assert_ok(wm_data_normal(&x, n, 2, mean, sd, 1, stream, &err), err);
    return x;
}

static int make_all(void **state)
{
    static const char *const prefix[] = {"X"};
    wm_data *p, *q, *x;
    wm_ratio_opts o;
    wm_error err;

    if (scratch_make(state))
        return -1;
    p = normal(2000, 0, 1, "p");
    q = normal(2000, 0.5, 1.3, "q");
    x = normal(N, 0.5, 1.3, "x");
    wm_ratio_opts_init(&o);
    o.bridges = 2;
    assert_ok(wm_ratio_fit(&ratio, p, q, &o, &err), err);
    assert_ok(wm_ratio_log(ratio, x, want, &err), err);
    assert_ok(wm_data_write_npy(x, scratch("x.npy"), &err), err);
    assert_ok(wm_data_write_csv((const wm_data *const *)&x, prefix, 1, scratch("x.csv"), &err),
              err);
    wm_data_free(x);
    wm_data_free(q);
    wm_data_free(p);
    return 0;
}

static int free_all(void **state)
{
    wm_ratio_free(ratio);
    return scratch_remove(state);
}

/* A column of a file of numbers that we wrote. */
static double *read_column(const char *path, int64_t columns, int64_t column, int64_t *n)
{
    wm_schema *schema;
    wm_data *d;
    double *out;
    wm_error err;

    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&d, path, schema, NULL, &err), err);
    assert_int_equal(wm_data_dim(d), columns);
    *n = wm_data_count(d);
    out = malloc((size_t)*n * sizeof *out);
    for (int64_t i = 0; i < *n; i++)
        out[i] = wm_data_rows(d)[i * columns + column];
    wm_data_free(d);
    wm_schema_free(schema);
    return out;
}

static void assert_column(const char *path, int64_t columns, const double *x, int64_t n)
{
    int64_t got;
    double *y = read_column(path, columns, columns - 1, &got);

    assert_int_equal(got, n);
    assert_memory_equal(y, x, (size_t)n * sizeof *y);
    free(y);
}

/* ---- log-ratios ---- */

static void every_way_in_and_out_gives_the_same_bits(void **state)
{
    static const char *const in[] = {"x.npy", "x.csv"};
    static const struct {
        const char *name;
        int64_t columns;
    } out[] = {{"y.npy", 1}, {"y.csv", 2}, {"y.txt", 1}};
    static const int threads[] = {1, 2, 7};
    const int before = omp_get_max_threads();
    wm_apply_info info;
    wm_error err;

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            omp_set_num_threads(threads[k]);
            assert_ok(
                wm_ratio_apply(&info, ratio, scratch(in[i]), scratch(out[k].name), NULL, &err),
                err);
            assert_column(scratch(out[k].name), out[k].columns, want, N);
            assert_int_equal(info.n, N);
            assert_int_equal(info.rows, N);
            assert_int_equal(info.dim, 2);
            unlink(scratch(out[k].name));
        }
    omp_set_num_threads(before);
}

static void the_info_is_that_of_the_numbers(void **state)
{
    static const char *const in[] = {"x.npy", "x.csv"}; /* of a number known before, and not */
    double least = INFINITY, largest = -INFINITY, sum = 0;
    double *w = malloc(N * sizeof *w);
    wm_weights_info weights;
    wm_apply_info info;
    wm_error err;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        least = fmin(least, want[i]);
        largest = fmax(largest, want[i]);
        sum += want[i];
    }
    assert_ok(wm_weights_make(w, &weights, want, N, NULL, &err), err);
    for (int i = 0; i < 2; i++) {
        assert_ok(wm_ratio_apply(&info, ratio, scratch(in[i]), scratch("y.npy"), NULL, &err), err);
        assert_true(info.least == least && info.largest == largest);
        assert_near(info.mean, sum / N, 1e-12);
        assert_memory_equal(&info.weights, &weights, sizeof weights);
        assert_int_equal(info.far, 0);
        assert_int_equal(info.not_finite, 0);
    }
    unlink(scratch("y.npy"));
    free(w);
}

static void bits_are_nats_over_log_two(void **state)
{
    wm_apply_opts o;
    wm_error err;
    int64_t n;
    double *y;

    (void)state;
    wm_apply_opts_init(&o);
    o.bits = true;
    assert_ok(wm_ratio_apply(NULL, ratio, scratch("x.npy"), scratch("y.npy"), &o, &err), err);
    y = read_column(scratch("y.npy"), 1, 0, &n);
    for (int64_t i = 0; i < N; i++)
        assert_near(y[i], want[i] / log(2), 1e-14 * (1 + fabs(want[i])));
    free(y);
    unlink(scratch("y.npy"));
}

/* ---- weights ---- */

static void weights_are_those_made_in_memory(void **state)
{
    static const char *const in[] = {"x.npy", "x.csv"};
    double *w = malloc(N * sizeof *w);
    wm_weights_info info;
    wm_error err;

    (void)state;
    for (int k = 0; k < 24; k++) {
        wm_weights_opts how;
        wm_apply_info got;
        wm_apply_opts o;

        wm_weights_opts_init(&how);
        how.tail = k % 4 < 2 ? WM_TAIL_CLIP : k % 4 == 2 ? WM_TAIL_PARETO : WM_TAIL_KEEP;
        how.clip_value = k % 4 == 0 ? 1.5 : NAN;
        how.clip_quantile = 0.9;
        how.scale = (wm_weights_scale)(k / 4 % 3);
        how.alpha = k >= 12 ? 0.2 : 0;
        how.logs = k % 5 == 0;
        wm_apply_opts_init(&o);
        o.weights = &how;
        assert_ok(wm_weights_make(w, &info, want, N, &how, &err), err);
        assert_ok(wm_ratio_apply(&got, ratio, scratch(in[k % 2]), scratch("w.npy"), &o, &err), err);
        assert_column(scratch("w.npy"), 1, w, N);
        assert_memory_equal(&got.weights, &info, sizeof info);
    }
    unlink(scratch("w.npy"));
    free(w);
}

/* ---- missing values ---- */

/* x.csv with missing values in rows 2, 3 and 66000 of 66001 and after the last. */
static void rows_that_are_dropped_can_be_told(void **state)
{
    static const int64_t gone[] = {1, 2, 65999, N};
    FILE *from = fopen(scratch("x.csv"), "r"), *to = fopen(scratch("gaps.csv"), "w");
    double *kept = malloc(N * sizeof *kept), *number, *value;
    wm_read_opts read;
    wm_apply_opts o;
    wm_apply_info info;
    wm_error err;
    char line[256];
    int64_t n = 0, got;

    (void)state;
    assert_true(from && to);
    for (int64_t i = -1; fgets(line, sizeof line, from); i++)
        fputs(i == gone[0] || i == gone[1] || i == gone[2] ? ",0.5\n" : line, to);
    fputs("NA,1\n", to);
    fclose(from);
    fclose(to);
    for (int64_t i = 0; i < N; i++)
        if (i != gone[0] && i != gone[1] && i != gone[2])
            kept[n++] = want[i];
    wm_read_opts_init(&read);
    wm_apply_opts_init(&o);
    o.read = &read;
    assert_int_equal(wm_ratio_apply(NULL, ratio, scratch("gaps.csv"), scratch("y.csv"), &o, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "line 3")); /* the header is line 1 */
    read.missing = WM_MISSING_DROP;
    assert_ok(wm_ratio_apply(&info, ratio, scratch("gaps.csv"), scratch("y.csv"), &o, &err), err);
    assert_int_equal(info.n, N - 3);
    assert_int_equal(info.rows, N + 1);
    value = read_column(scratch("y.csv"), 2, 1, &got);
    number = read_column(scratch("y.csv"), 2, 0, &got);
    assert_int_equal(got, N - 3);
    assert_memory_equal(value, kept, (size_t)got * sizeof *value);
    for (int64_t i = 0, row = 1; i < got; i++, row++) {
        while (row - 1 == gone[0] || row - 1 == gone[1] || row - 1 == gone[2])
            row++;
        assert_true(number[i] == (double)row);
    }
    assert_ok(wm_ratio_apply(&info, ratio, scratch("gaps.csv"), scratch("y.npy"), &o, &err), err);
    assert_column(scratch("y.npy"), 1, kept, N - 3);
    read.missing = WM_MISSING_MEAN;
    assert_int_equal(wm_ratio_apply(NULL, ratio, scratch("gaps.csv"), scratch("y.csv"), &o, &err),
                     WM_EINVAL);
    free(number);
    free(value);
    free(kept);
    unlink(scratch("gaps.csv"));
    unlink(scratch("y.csv"));
    unlink(scratch("y.npy"));
}

/* ---- refusals ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Fails with these words, and leaves nothing. */
static void refuse(const wm_ratio *r, const char *in, const char *out, const wm_apply_opts *o,
                   wm_status status, const char *words)
{
    const int before = scratch_count(scratch_folder);
    wm_error err = {0};

    assert_int_equal(wm_ratio_apply(NULL, r, in, out, o, &err), status);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
    assert_int_equal(scratch_count(scratch_folder), before);
}

/* log p/q becomes log q/p, and back. */
static void turn_round(void)
{
    for (int64_t i = 0; i < wmi_params_count(ratio->params); i++)
        ratio->theta[i] *= -1;
}

static void bad_input_and_settings_are_named(void **state)
{
    wm_weights_opts how;
    wm_apply_opts o;
    char *x = scratch("x.npy"), *in = scratch("bad.csv"), *out = scratch("y.npy");

    (void)state;
    write_text(in, "1,2,3\n4,5,6\n");
    refuse(ratio, in, out, NULL, WM_ESHAPE, "bad.csv: 3 columns, the model was fitted on 2");
    write_text(in, "1,2\n4,nan\n");
    refuse(ratio, in, out, NULL, WM_EINVAL, "bad.csv: line 2, column 2");
    write_text(in, "1,2\n4,five\n");
    refuse(ratio, in, out, NULL, WM_EINVAL, "five");
    refuse(ratio, scratch("none.npy"), out, NULL, WM_EIO, "none.npy");
    refuse(ratio, x, scratch("y.parquet"), NULL, WM_EINVAL, "y.parquet: the name must end in .npy");
    refuse(ratio, x, scratch("no/y.npy"), NULL, WM_EIO, "no/y.npy");
    refuse(ratio, x, scratch_folder, NULL, WM_EINVAL, "must end in");
    wm_apply_opts_init(&o);
    o.struct_size = 1;
    refuse(ratio, x, out, &o, WM_EINVAL, "wm_apply_opts_init");
    wm_apply_opts_init(&o);
    wm_weights_opts_init(&how);
    how.alpha = 1;
    o.weights = &how;
    refuse(ratio, x, out, &o, WM_EINVAL, "alpha is 1");
    how.alpha = 0;
    write_text(in, "1,2\n4,1e200\n"); /* its square is infinite */
    turn_round();
    refuse(ratio, in, out, &o, WM_EINVAL, "bad.csv: the log-ratio of row 2 is inf");
    turn_round();
    unlink(in);
}

/* The last line of words and how many there were. */
typedef struct hearing {
    char text[512];
    int warnings;
} hearing;

static void hear(void *ctx, wm_log_level level, const char *text)
{
    hearing *h = ctx;

    h->warnings += level == WM_LOG_WARN;
    snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s\n", text);
}

static void strange_rows_are_spoken_of(void **state)
{
    hearing h = {.warnings = 0};
    char *in = scratch("far.csv"), *out = scratch("y.txt");
    wm_apply_info info;
    wm_apply_opts o;
    wm_sink sink;
    wm_error err;

    (void)state;
    wm_sink_init(&sink);
    sink.ctx = &h;
    sink.log = hear;
    wm_apply_opts_init(&o);
    o.sink = &sink;
    assert_ok(wm_ratio_apply(&info, ratio, scratch("x.npy"), out, &o, &err), err);
    assert_int_equal(h.warnings, 0);
    write_text(in, "1,2\n4,1e200\n500,0.1\n0.1,0.2\n");
    turn_round();
    assert_ok(wm_ratio_apply(&info, ratio, in, out, &o, &err), err);
    assert_int_equal(info.far, 2);
    assert_int_equal(info.not_finite, 1);
    assert_true(isnan(info.weights.ess) && isfinite(info.mean));
    assert_int_equal(h.warnings, 2);
    assert_non_null(strstr(h.text, "far.csv: 2 of 4 rows (50 %) have a value far outside"));
    assert_non_null(strstr(h.text, "far.csv: 1 log-ratios are not finite"));
    assert_non_null(strstr(scratch_read(out), "\ninf\n"));
    turn_round();
    h = (hearing){.warnings = 0};
    assert_ok(wm_ratio_apply(&info, ratio, in, out, &o, &err), err);
    assert_int_equal(info.not_finite, 1); /* -inf, which is a weight */
    assert_true(info.weights.ess >= 1 && isfinite(info.mean) && isfinite(info.least));
    assert_non_null(strstr(scratch_read(out), "\n-inf\n"));
    unlink(in);
    unlink(out);
}

static void no_rows_give_no_numbers(void **state)
{
    static const char dict[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }";
    wm_weights_opts how;
    wm_apply_info info;
    wm_apply_opts o;
    wm_error err;

    (void)state;
    make_npy("none.npy", 1, dict, NULL, 0);
    assert_ok(wm_ratio_apply(&info, ratio, scratch("none.npy"), scratch("y.csv"), NULL, &err), err);
    assert_int_equal(info.n, 0);
    assert_true(isnan(info.mean));
    assert_string_equal(scratch_read(scratch("y.csv")), "row,log_ratio\n");
    unlink(scratch("y.csv"));
    wm_apply_opts_init(&o);
    wm_weights_opts_init(&how);
    o.weights = &how;
    refuse(ratio, scratch("none.npy"), scratch("y.csv"), &o, WM_EINVAL, "no rows");
    unlink(scratch("none.npy"));
}

/* ---- the columns of the model ---- */

/* A model of a named number and a category, as `waymark ratio` makes it. */
static void columns_are_held_to_the_schema(void **state)
{
    char *in = scratch("new.csv"), *out = scratch("y.npy");
    wm_study *study = mixed_study("age,sex", "fmx", false);
    const wm_ratio *r = wm_study_ratio(study);
    wm_apply_info info;
    double log_r[3];
    wm_data *points;
    wm_error err;

    (void)state;
    assert_ok(wm_ratio_save(r, scratch("m.safetensors"), &err), err);
    write_text(in, "age,sex\n30,m\n40.5,x\n7,f\n");
    assert_ok(wm_data_new(&points, 3, 2, (double[]){30, 1, 40.5, 2, 7, 0}, &err), err);
    assert_ok(wm_ratio_log(r, points, log_r, &err), err);
    assert_ok(wm_ratio_apply(NULL, r, in, out, NULL, &err), err);
    assert_column(out, 1, log_r, 3);
    unlink(out);
    /* by name, among others; a category that nobody has seen is an average one, and counted */
    write_text(in, "more,sex,age\nx,m,30\ny,unknown,40.5\n");
    assert_ok(wm_ratio_apply(&info, r, in, out, NULL, &err), err);
    assert_int_equal(info.unseen, 1);
    assert_int_equal(info.not_finite, 0);
    assert_true(info.largest == log_r[0] || info.least == log_r[0]);
    unlink(out);
    write_text(in, "age,gender\n30,m\n");
    refuse(r, in, out, NULL, WM_EINVAL, "gender");
    write_text(in, "age\n30\n");
    refuse(r, in, out, NULL, WM_ESHAPE, "column");
    wm_data_free(points);
    wm_study_free(study);
    unlink(in);
    unlink(scratch("t.csv"));
    unlink(scratch("m.safetensors"));
}

/* A file may say one thing of its columns in the schema and another in the tensors. */
static void a_schema_of_another_width_is_refused(void **state)
{
    wm_schema *schema;
    wm_data *t;
    char *text;
    wm_error err;

    (void)state;
    write_text(scratch("t.csv"), "a,b,c\n1.5,2.5,3.5\n4.5,5.5,6.5\n");
    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&t, scratch("t.csv"), schema, NULL, &err), err);
    assert_ok(wm_schema_write(schema, &text, &err), err);
    ratio->schema = text;
    refuse(ratio, scratch("t.csv"), scratch("y.npy"), NULL, WM_EFORMAT, "2 columns, its schema 3");
    ratio->schema = NULL;
    wm_text_free(text);
    wm_data_free(t);
    wm_schema_free(schema);
    unlink(scratch("t.csv"));
}

/* ---- ends that come early ---- */

static void a_stop_leaves_nothing(void **state)
{
    static const char *const in[] = {"x.npy", "x.csv"};
    const volatile sig_atomic_t stop = 1;
    wm_apply_opts o;

    (void)state;
    wm_apply_opts_init(&o);
    o.stop = &stop;
    for (int i = 0; i < 2; i++)
        refuse(ratio, scratch(in[i]), scratch("y.npy"), &o, WM_EINTERRUPTED, "no file was written");
}

/* Set while a run is under way, by its own progress. */
static volatile sig_atomic_t stop_now;

static void stop_soon(void *ctx, const wm_progress *p)
{
    (void)ctx;
    (void)p;
    stop_now = 1;
}

static void a_stop_in_the_middle_leaves_the_old_file(void **state)
{
    static const char *const in[] = {"x.npy", "x.csv"};
    char *out = scratch("old.npy");
    wm_apply_opts o;
    wm_sink sink;

    (void)state;
    write_text(out, "old");
    wm_sink_init(&sink);
    sink.progress = stop_soon;
    sink.interval = 0;
    wm_apply_opts_init(&o);
    o.stop = &stop_now;
    o.sink = &sink;
    for (int i = 0; i < 2; i++) {
        stop_now = 0;
        refuse(ratio, scratch(in[i]), out, &o, WM_EINTERRUPTED, "no file was written");
        assert_string_equal(scratch_read(out), "old");
    }
    unlink(out);
}

static void a_full_disk_is_told(void **state)
{
    wm_weights_opts how;
    wm_apply_opts o;

    (void)state;
    if (access("/dev/full", W_OK))
        skip();
    wm_apply_opts_init(&o);
    refuse(ratio, scratch("x.npy"), "/dev/full", &o, WM_EIO, "No space left on device");
    o.format = WM_APPLY_NPY;
    wm_weights_opts_init(&how);
    o.weights = &how;
    refuse(ratio, scratch("x.csv"), "/dev/full", &o, WM_EIO, "No space left on device");
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
    const int64_t live = wmi_alloc_live();
    char *in = scratch("few.csv"), *out = scratch("y.csv");
    wm_weights_opts how;
    wm_read_opts read;
    wm_apply_opts o;
    wm_status st;
    int k = 0, before;

    (void)state;
    write_text(in, "1,2\n,3\n4,5\n");
    before = scratch_count(scratch_folder);
    wm_weights_opts_init(&how);
    wm_read_opts_init(&read);
    read.missing = WM_MISSING_DROP;
    wm_apply_opts_init(&o);
    o.weights = &how;
    o.read = &read;
    do {
        wm_error err = {0};

        wmi_alloc_fail_at(++k);
        st = wm_ratio_apply(NULL, ratio, in, out, &o, &err);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_int_equal(scratch_count(scratch_folder), before + !st);
    } while (st && k < 10000);
    assert_true(k > 20 && !st);
    unlink(in);
    unlink(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_in_and_out_gives_the_same_bits),
        cmocka_unit_test(the_info_is_that_of_the_numbers),
        cmocka_unit_test(bits_are_nats_over_log_two),
        cmocka_unit_test(weights_are_those_made_in_memory),
        cmocka_unit_test(rows_that_are_dropped_can_be_told),
        cmocka_unit_test(bad_input_and_settings_are_named),
        cmocka_unit_test(strange_rows_are_spoken_of),
        cmocka_unit_test(no_rows_give_no_numbers),
        cmocka_unit_test(columns_are_held_to_the_schema),
        cmocka_unit_test(a_schema_of_another_width_is_refused),
        cmocka_unit_test(a_stop_leaves_nothing),
        cmocka_unit_test(a_stop_in_the_middle_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(memory_that_runs_out_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
