/* test_columns.c - a person's columns as networks see them: by hand, through a file, and what is
 * refused. */
#include "columns/columns_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "data/formats/safetensors.h"
#include "scratch.h"
#include "waymark/embed.h"

enum { ROWS = 4, RAW = 3, DIM = 4 };

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* size (numbers), colour (three levels), lit (two). */
static wm_data *example(wm_schema **schema)
{
    wm_data *data;
    wm_error err;

    put_file(scratch("t.csv"),
             "size,colour,lit\n1.5,red,no\n2.5,blue,yes\n3.5,red,no\n4.5,green,yes\n");
    assert_ok(wm_schema_new(schema, &err), err);
    assert_ok(wm_data_read(&data, scratch("t.csv"), *schema, NULL, &err), err);
    return data;
}

static void numbers_and_categories(void **state)
{
    const double sd = sqrt(1.25), half = 0.5;
    /* levels in sorted order: blue, green, red; the first has no column. Shares: green 1/4, red
     * 1/2, yes 1/2; a scale is the root of share (1 - share). */
    const double green = sqrt(0.1875);
    const double want[ROWS][DIM] = {{-1.5 / sd, -0.25 / green, half / half, -half / half},
                                    {-0.5 / sd, -0.25 / green, -half / half, half / half},
                                    {0.5 / sd, -0.25 / green, half / half, -half / half},
                                    {1.5 / sd, 0.75 / green, -half / half, half / half}};
    static const int64_t origin[DIM] = {0, 1, 1, 2};
    wm_schema *schema;
    wm_data *data = example(&schema);
    int64_t of[DIM];
    float x[ROWS][DIM];
    wm_columns *c;
    wm_error err;

    (void)state;
    assert_ok(wm_columns_fit(&c, ROWS, wm_data_rows(data), schema, &err), err);
    assert_int_equal(wm_columns_raw(c), RAW);
    assert_int_equal(wm_columns_dim(c), DIM);
    wmi_columns_origin(c, of);
    assert_memory_equal(of, origin, sizeof of);
    assert_ok(wm_columns_apply(c, ROWS, wm_data_rows(data), x[0], &err), err);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < DIM; j++)
            assert_near((double)x[i][j], want[i][j], 1e-6);
    wm_columns_free(c);
    wm_data_free(data);
    wm_schema_free(schema);
}

/* A safetensors file that has something of its own. */
/* The file of some model with columns of u and v, which may be NULL. */
static void put_model(const char *path, const wm_columns *u, const wm_columns *v)
{
    static const float w[] = {1, 2};
    wmi_st_tensor t[1 + 2 * WMI_ENCODER_TENSORS] = {{"w", WMI_ST_F32, 1, {2}, w}};
    wmi_st_pair meta[3] = {{"format", "some model"}};
    wmi_columns_file columns = {.n_tensors = 0};
    wm_error err;

    assert_ok(wmi_columns_file_open(&columns, (const wm_columns *const[]){u, v}, &err), err);
    memcpy(t + 1, columns.tensor, sizeof columns.tensor);
    memcpy(meta + 1, columns.meta, sizeof columns.meta);
    assert_ok(wmi_safetensors_write(path, t, 1 + columns.n_tensors, meta, 1 + columns.n_meta, &err),
              err);
    wmi_columns_file_close(&columns);
}

/* Columns of a side in a file. */
static wm_status load(wm_columns **out, int side, const char *path, wm_error *err)
{
    wmi_safetensors *f;
    wm_status st;

    *out = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    st = wmi_columns_read(out, f, side, path, err);
    wmi_safetensors_close(f);
    return st;
}

static void a_model_keeps_them(void **state)
{
    const int64_t live = wmi_alloc_live();
    const char *path = scratch("model.safetensors");
    const double pixels[] = {51, 255, 0, 102};
    wm_columns *u, *v, *u_again, *v_again;
    float x[2][ROWS * DIM], y[4];
    wmi_safetensors *f;
    wm_schema *schema, *parsed;
    wm_data *data = example(&schema);
    wm_error err;

    (void)state;
    put_model(path, NULL, NULL);
    assert_ok(load(&u, 0, path, &err), err); /* it has none yet */
    assert_ok(load(&v, 1, path, &err), err);
    assert_null(u);
    assert_null(v);
    assert_ok(wm_columns_fit(&u, ROWS, wm_data_rows(data), schema, &err), err);
    assert_ok(wm_columns_divide(&v, 2, 255, &err), err);
    put_model(path, u, v);
    assert_ok(load(&u_again, 0, path, &err), err);
    assert_ok(load(&v_again, 1, path, &err), err);
    assert_string_equal(wm_columns_schema(u_again), wm_columns_schema(u));
    assert_null(wm_columns_schema(v_again));
    assert_ok(wm_schema_parse(&parsed, wm_columns_schema(u_again), &err), err);
    assert_string_equal(wm_schema_level(parsed, 1, 2), "red");
    assert_ok(wm_columns_apply(u, ROWS, wm_data_rows(data), x[0], &err), err);
    assert_ok(wm_columns_apply(u_again, ROWS, wm_data_rows(data), x[1], &err), err);
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_ok(wm_columns_apply(v_again, 2, pixels, y, &err), err);
    assert_near((double)y[0], 0.2, 1e-7);
    assert_near((double)y[1], 1, 1e-7);
    assert_ok(wmi_safetensors_open(&f, path, &err), err); /* what was there is there */
    assert_string_equal(wmi_safetensors_meta(f, "format"), "some model");
    assert_near((double)((const float *)wmi_safetensors_find(f, "w")->data)[1], 2, 0);
    wmi_safetensors_close(f);
    wm_columns_free(u_again);
    wm_columns_free(v_again);
    wm_columns_free(u);
    wm_columns_free(v);
    wm_columns_free(NULL);
    wm_schema_free(parsed);
    wm_schema_free(schema);
    wm_data_free(data);
    assert_int_equal(wmi_alloc_live(), live);
}

static void what_is_refused(void **state)
{
    static const double flat[] = {7, 0, 0, 7, 1, 1}, none[] = {1, 3, 0};
    static const int64_t kinds[] = {5, 0};
    static const double one[] = {1};
    const wmi_st_tensor bad = {"columns_u.kinds", WMI_ST_I64, 2, {2, 1}, kinds};
    const wmi_st_tensor short_of[] = {{"columns_u.kinds", WMI_ST_I64, 2, {2, 1}, (int64_t[]){0, 0}},
                                      {"columns_u.shift", WMI_ST_F64, 1, {1}, one}};
    const char *path = scratch("bad.safetensors");
    wm_schema *schema;
    wm_data *data = example(&schema);
    wm_columns *c;
    float x[DIM];
    wm_error err;

    (void)state;
    assert_int_equal(wm_columns_fit(&c, 2, flat, schema, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 1 ('size') is constant (7)"));
    assert_null(c);
    assert_int_equal(wm_columns_fit(&c, 0, flat, schema, &err), WM_EINVAL);
    assert_int_equal(wm_columns_divide(&c, 2, 0, &err), WM_EINVAL);
    assert_int_equal(wm_columns_divide(&c, 0, 2, &err), WM_EINVAL);
    assert_ok(wm_columns_fit(&c, ROWS, wm_data_rows(data), schema, &err), err);
    assert_int_equal(wm_columns_apply(c, 1, none, x, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "category 3"));
    wm_columns_free(c);
    assert_ok(wmi_safetensors_write(path, &bad, 1, NULL, 0, &err), err);
    assert_int_equal(load(&c, 0, path, &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "column 1 of u has kind 5"));
    assert_ok(wmi_safetensors_write(path, short_of, 2, NULL, 0, &err), err);
    assert_int_equal(load(&c, 0, path, &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "columns_u.levels"));
    assert_null(c);
    wm_schema_free(schema);
    wm_data_free(data);
}

/* An allocation that fails anywhere leaves nothing behind. */
static void no_memory(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_schema *schema;
    wm_data *data = example(&schema);
    int failures = 0;

    (void)state;
    for (int64_t k = 1;; k++) {
        wm_columns *c;
        wm_status st;

        wmi_alloc_fail_at(k);
        st = wm_columns_fit(&c, ROWS, wm_data_rows(data), schema, NULL);
        wmi_alloc_fail_at(0);
        wm_columns_free(c);
        if (!st)
            break;
        assert_int_equal(st, WM_ENOMEM);
        assert_null(c);
        failures++;
    }
    assert_true(failures > 5);
    wm_schema_free(schema);
    wm_data_free(data);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_categories), cmocka_unit_test(a_model_keeps_them),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
