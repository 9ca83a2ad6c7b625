/* test_param_tensors.c - metadata and tensors of model files: what is read, and what is refused
 * with which words. */
#include "train/param_tensors.h"

#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "scratch.h"

/* A file with these metadata and one tensor. */
static wmi_safetensors *file_of(const wmi_st_pair *meta, int64_t n)
{
    static const double x[] = {1, 2, 3, 4, 5, 6};
    const wmi_st_tensor t = {"x", WMI_ST_F64, 2, {2, 3}, x};
    wmi_safetensors *f;
    wm_error err;

    assert_ok(wmi_safetensors_write(scratch("m.safetensors"), &t, 1, meta, n, &err), err);
    assert_ok(wmi_safetensors_open(&f, scratch("m.safetensors"), &err), err);
    return f;
}

static void counts(void **state)
{
    static const wmi_st_pair meta[] = {{"a", "12"},
                                       {"b", "-3"},
                                       {"c", "12x"},
                                       {"d", "1e3"},
                                       {"e", ""},
                                       {"f", "99999999999999999999"},
                                       {"g", "9223372036854775807"},
                                       {"h", "0"}};
    wmi_safetensors *f = file_of(meta, 8);
    int64_t n;
    wm_error err;

    (void)state;
    assert_ok(wmi_meta_count(f, "m", "a", 0, 12, &n, &err), err);
    assert_int_equal(n, 12);
    assert_ok(wmi_meta_count(f, "m", "b", -3, 0, &n, &err), err);
    assert_int_equal(n, -3);
    assert_ok(wmi_meta_count(f, "m", "g", 0, INT64_MAX, &n, &err), err);
    assert_true(n == INT64_MAX);
    assert_ok(wmi_meta_count(f, "m", "h", 0, 0, &n, &err), err);
    for (const char *key = "abcdefx"; *key; key++) {
        const char name[] = {*key, 0};

        /* 'a' is above its limit, 'b' below, 'x' is not there; the others are no counts */
        assert_int_equal(wmi_meta_count(f, "some.file", name, 0, 11, &n, &err), WM_EFORMAT);
        assert_non_null(strstr(err.text, "some.file: metadata '"));
        assert_non_null(strstr(err.text, *key == 'x' ? "'x' is missing" : " is '"));
    }
    wmi_safetensors_close(f);
}

static void reals(void **state)
{
    static const wmi_st_pair meta[] = {
        {"a", "0.10000000000000001"}, {"b", "-1e-300"}, {"c", "nan"}, {"d", "inf"}, {"e", "1.5 "}};
    wmi_safetensors *f = file_of(meta, 5);
    double x;
    wm_error err;

    (void)state;
    assert_ok(wmi_meta_real(f, "m", "a", &x, &err), err);
    assert_true(x == 0.1);
    assert_ok(wmi_meta_real(f, "m", "b", &x, &err), err);
    assert_true(x == -1e-300);
    for (const char *key = "cdex"; *key; key++) {
        const char name[] = {*key, 0};

        assert_int_equal(wmi_meta_real(f, "m", name, &x, &err), WM_EFORMAT);
    }
    wmi_safetensors_close(f);
}

static void words(void **state)
{
    static const char *const known[] = {"gaussian", "copula"};
    static const wmi_st_pair meta[] = {{"a", "copula"}, {"b", "Copula"}, {"c", "copul"}};
    wmi_safetensors *f = file_of(meta, 3);
    int i;
    wm_error err;

    (void)state;
    assert_ok(wmi_meta_word(f, "m", "a", known, 2, &i, &err), err);
    assert_int_equal(i, 1);
    assert_int_equal(wmi_meta_word(f, "m", "a", known, 1, &i, &err), WM_EFORMAT);
    assert_int_equal(wmi_meta_word(f, "m", "b", known, 2, &i, &err), WM_EFORMAT);
    assert_string_equal(err.text, "m: metadata 'b' is 'Copula'");
    assert_int_equal(wmi_meta_word(f, "m", "c", known, 2, &i, &err), WM_EFORMAT);
    assert_int_equal(wmi_meta_word(f, "m", "x", known, 2, &i, &err), WM_EFORMAT);
    assert_string_equal(err.text, "m: metadata 'x' is missing");
    wmi_safetensors_close(f);
}

static void formats(void **state)
{
    static const struct {
        const char *format, *says;
        wm_status st;
    } cases[] = {
        {"waymark ebm 1", "", WM_OK},
        {"waymark ebm 2", "written by waymark 9.9 as 'waymark ebm 2'", WM_EFORMAT},
        {"waymark ratio 1", "this is no model of `waymark ebm`", WM_EFORMAT},
        {"pt", "format is 'pt'", WM_EFORMAT},
    };
    wm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wmi_st_pair meta[] = {{"format", cases[i].format}, {"version", "9.9"}};
        wmi_safetensors *f = file_of(meta, 2);

        err.text[0] = 0;
        assert_int_equal(wmi_meta_format(f, "m", "waymark ebm 1", &err), cases[i].st);
        assert_non_null(strstr(err.text, cases[i].says));
        wmi_safetensors_close(f);
    }
    wmi_safetensors *f = file_of(NULL, 0);

    assert_int_equal(wmi_meta_format(f, "m", "waymark ebm 1", &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "format is 'not given'"));
    wmi_safetensors_close(f);
}

static void tensors(void **state)
{
    wmi_safetensors *f = file_of(NULL, 0);
    wmi_st_tensor like = {"x", WMI_ST_F64, 2, {2, 3}, NULL};
    double x[7] = {0, 0, 0, 0, 0, 0, 17};
    wm_error err;

    (void)state;
    assert_ok(wmi_tensor_read(f, &like, x, &err), err);
    for (int i = 0; i < 6; i++)
        assert_true(x[i] == i + 1);
    assert_true(x[6] == 17);
    like.dim[0] = 3;
    like.dim[1] = 2;
    assert_int_equal(wmi_tensor_read(f, &like, x, &err), WM_ESHAPE);
    like = (wmi_st_tensor){"x", WMI_ST_F32, 2, {2, 3}, NULL};
    assert_int_equal(wmi_tensor_read(f, &like, x, &err), WM_ESHAPE);
    like = (wmi_st_tensor){"y", WMI_ST_F64, 2, {2, 3}, NULL};
    assert_int_equal(wmi_tensor_read(f, &like, x, &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "y"));
    wmi_safetensors_close(f);
}

/* A parameter is where its offset says, in the type of the vector. */
static void parameters(void **state)
{
    const int64_t a[] = {5}, b[] = {2, 3};
    double theta[64];
    wmi_params *p;
    wmi_st_tensor t;
    wm_error err;

    (void)state;
    for (int i = 0; i < 64; i++)
        theta[i] = i;
    assert_ok(wmi_params_new(&p, &err), err);
    assert_ok(wmi_params_add(p, "a", 1, a, (wmi_init){0}, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(p, "b", 2, b, (wmi_init){0}, WMI_GROUP_BODY, &err), err);
    t = wmi_tensor_of_param(p, 1, WMI_ST_F64, theta);
    assert_string_equal(t.name, "b");
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.dim[0], 2);
    assert_int_equal(t.dim[1], 3);
    assert_true(*(const double *)t.data == (double)wmi_params_entry(p, 1)->offset);
    t = wmi_tensor_of_param(p, 1, WMI_ST_F32, theta);
    assert_int_equal((const char *)t.data - (const char *)theta,
                     4 * wmi_params_entry(p, 1)->offset);
    wmi_params_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),  cmocka_unit_test(reals),   cmocka_unit_test(words),
        cmocka_unit_test(formats), cmocka_unit_test(tensors), cmocka_unit_test(parameters),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
