/* test_safetensors.c - round trips, an independent reader, and files that must be refused. */
#define _XOPEN_SOURCE 700 /* truncate */

#include "asserts.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/safetensors.h"
#include "scratch.h"

static const uint8_t bytes[3] = {1, 2, 255};
static const double reals[6] = {1.5, -0.0, 1e-300, 0.1, 3, 4};
static const float floats[2] = {0.25F, -7};
static const int64_t longs[1] = {INT64_MIN};
static const uint64_t words[1] = {UINT64_MAX};
static const int32_t ints[4] = {-1, 2, -3, 4};

static const wmi_st_tensor tensors[] = {
    {"bytes", WMI_ST_U8, 1, {3}, bytes},      {"w/\xce\xb8", WMI_ST_F64, 2, {2, 3}, reals},
    {"floats", WMI_ST_F32, 1, {2}, floats},   {"long", WMI_ST_I64, 0, {0}, longs},
    {"none", WMI_ST_F32, 2, {0, 5}, NULL},    {"word", WMI_ST_U64, 1, {1}, words},
    {"ints", WMI_ST_I32, 3, {2, 1, 2}, ints},
};
#define N_TENSORS ((int64_t)(sizeof tensors / sizeof *tensors))
static const wmi_st_pair meta[] = {{"schema", "1"}, {"columns", "[\"a\", \"\xc3\xa9\"]"}};

static void write_example(const char *path)
{
    wm_error err;

    assert_ok(wmi_safetensors_write(path, tensors, N_TENSORS, meta, 2, &err), err);
}

static void what_is_written_is_read(void **state)
{
    const int64_t live = wmi_alloc_live();
    wmi_safetensors *s;
    wmi_st_pair pairs[2];
    wm_error err;

    (void)state;
    write_example(scratch("m.safetensors"));
    assert_ok(wmi_safetensors_open(&s, scratch("m.safetensors"), &err), err);
    assert_int_equal(wmi_safetensors_count(s), N_TENSORS);
    for (int64_t i = 0; i < N_TENSORS; i++) {
        const wmi_st_tensor *t = wmi_safetensors_find(s, tensors[i].name);
        int64_t n = 1;

        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->rank, tensors[i].rank);
        for (int k = 0; k < t->rank; k++) {
            assert_int_equal(t->dim[k], tensors[i].dim[k]);
            n *= t->dim[k];
        }
        assert_int_equal((uintptr_t)t->data % 64, 0);
        if (n)
            assert_memory_equal(t->data, tensors[i].data, (size_t)n * wmi_st_dtype_size(t->dtype));
    }
    assert_string_equal(wmi_safetensors_at(s, 0)->name, "w/\xce\xb8"); /* the widest come first */
    assert_string_equal(wmi_safetensors_at(s, N_TENSORS - 1)->name, "bytes");
    assert_string_equal(wmi_safetensors_meta(s, "schema"), "1");
    assert_string_equal(wmi_safetensors_meta(s, "columns"), meta[1].value);
    assert_null(wmi_safetensors_meta(s, "none"));
    assert_int_equal(wmi_safetensors_pairs(s, NULL), 2);
    assert_int_equal(wmi_safetensors_pairs(s, pairs), 2);
    assert_string_equal(pairs[1].key, "columns");
    assert_string_equal(pairs[1].value, meta[1].value);
    assert_null(wmi_safetensors_find(s, "__metadata__"));
    wmi_safetensors_close(s);
    wmi_safetensors_close(NULL);

    assert_ok(wmi_safetensors_write(scratch("e"), NULL, 0, NULL, 0, &err), err);
    assert_ok(wmi_safetensors_open(&s, scratch("e"), &err), err);
    assert_int_equal(wmi_safetensors_count(s), 0);
    assert_null(wmi_safetensors_meta(s, "schema"));
    wmi_safetensors_close(s);
    assert_int_equal(wmi_alloc_live(), live);
}

static void the_same_content_gives_the_same_bytes(void **state)
{
    wm_error err;
    char *a, *b;
    size_t na, nb;

    (void)state;
    write_example(scratch("a"));
    write_example(scratch("b"));
    assert_ok(wmi_file_read(&a, &na, scratch("a"), 1 << 20, &err), err);
    assert_ok(wmi_file_read(&b, &nb, scratch("b"), 1 << 20, &err), err);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    wmi_free(a);
    wmi_free(b);
}

static void an_independent_reader_agrees(void **state)
{
    static const char expected[] = "columns=[\"a\", \"\xc3\xa9\"]\nschema=1\n"
                                   "w/\xce\xb8 F64 [2, 3] 0 [1.5, -0.0, 1e-300, 0.1, 3.0, 4.0]\n"
                                   "long I64 [] 48 [-9223372036854775808]\n"
                                   "word U64 [1] 56 [18446744073709551615]\n"
                                   "floats F32 [2] 0 [0.25, -7.0]\n"
                                   "none F32 [0, 5] 8 []\n"
                                   "ints I32 [2, 1, 2] 8 [-1, 2, -3, 4]\n"
                                   "bytes U8 [3] 24 [1, 2, 255]\n";
    char command[2048], said[2048];
    size_t n;
    FILE *f;

    (void)state;
    write_example(scratch("m.safetensors"));
    snprintf(command, sizeof command,
             "PYTHONIOENCODING=utf-8 python3 read_safetensors.py '%s' 2>&1",
             scratch("m.safetensors"));
    f = popen(command, "r"); /* NOLINT: a command of our own */
    assert_non_null(f);
    n = fread(said, 1, sizeof said - 1, f);
    said[n] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_string_equal(said, expected);
}

/* A file of this header and n zero bytes. */
static const char *make_file(const char *header, int n)
{
    char *path = scratch("bad.safetensors");
    const size_t length = strlen(header);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    for (int i = 0; i < 8; i++)
        putc((int)((length >> (8 * i)) & 0xff), f);
    fputs(header, f);
    for (int i = 0; i < n; i++)
        putc(0, f);
    fclose(f);
    return path;
}

#define A(shape, from, to)                                                                         \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static void malformed_files_are_refused(void **state)
{
    static const struct {
        const char *header;
        int data;
        wm_status st;
        const char *says;
    } cases[] = {
        {"{\"a\":" A("[2]", "0", "8") ",\"a\":" A("[2]", "0", "8") "}", 8, WM_EFORMAT,
         "duplicate object key"},
        {"{\"a\":" A("[2]", "0", "8") ",\"b\":" A("[2]", "4", "12") "}", 12, WM_EFORMAT,
         "tensor 'b': its bytes overlap"},
        {"{\"a\":" A("[2]", "0", "8") ",\"b\":" A("[2]", "0", "8") "}", 8, WM_EFORMAT,
         "its bytes overlap"},
        {"{\"a\":" A("[2]", "0", "8") ",\"b\":" A("[2]", "12", "20") "}", 20, WM_EFORMAT,
         "tensor 'b': bytes before it belong to no tensor"},
        {"{\"a\":" A("[2]", "4", "12") "}", 12, WM_EFORMAT, "tensor 'a': bytes before it"},
        {"{\"a\":" A("[2]", "0", "8") "}", 9, WM_EFORMAT, "1 bytes after the last tensor"},
        {"{}", 1, WM_EFORMAT, "1 bytes after the last tensor"},
        {"{\"a\":" A("[2]", "0", "8") "}", 7, WM_EFORMAT, "tensor 'a': ends at byte 8 of 7"},
        {"{\"a\":" A("[3]", "0", "8") "}", 8, WM_EFORMAT, "tensor 'a': 8 bytes for F32 [3]"},
        {"{\"a\":" A("[-2]", "0", "8") "}", 8, WM_EFORMAT, "tensor 'a': its shape is not made of"},
        {"{\"a\":" A("[2.0]", "0", "8") "}", 8, WM_EFORMAT, "tensor 'a': its shape is not made of"},
        {"{\"a\":" A("[4611686018427387904,4]", "0", "8") "}", 8, WM_EFORMAT,
         "tensor 'a': its shape is too large"},
        {"{\"a\":" A("[9223372036854775808]", "0", "8") "}", 8, WM_EFORMAT, "too big"},
        {"{\"a\":" A("[1,1,1,1,1,1,1,1,2]", "0", "8") "}", 8, WM_EFORMAT, "more than 8 dimensions"},
        {"{\"a\":" A("[2]", "8", "0") "}", 8, WM_EFORMAT, "data_offsets do not increase"},
        {"{\"a\":" A("[2]", "-8", "0") "}", 8, WM_EFORMAT, "data_offsets do not increase"},
        {"{\"a\":" A("[2]", "0", "\"8\"") "}", 8, WM_EFORMAT, "data_offsets are not two integers"},
        {"{\"a\":" A("[2]", "0", "4, 8") "}", 8, WM_EFORMAT, "data_offsets are not two integers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, WM_EFORMAT, "tensor 'a': needs exactly"},
        {"{\"a\":7}", 0, WM_EFORMAT, "tensor 'a': needs exactly"},
        {"{\"\":" A("[2]", "0", "8") "}", 8, WM_EFORMAT, "its name is empty"},
        {"{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, WM_EUNSUPPORTED,
         "tensor 'a': type C64 is not supported"},
        {"{\"__metadata__\":[]}", 0, WM_EFORMAT, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, WM_EFORMAT, "__metadata__ 'k' is not a text"},
        {"{\"a\":", 0, WM_EFORMAT, "header, byte "},
        {"{} x", 0, WM_EFORMAT, "header, byte "},
        {"[]", 0, WM_EFORMAT, "does not begin with '{'"},
        {" {}", 0, WM_EFORMAT, "does not begin with '{'"},
        {"", 0, WM_EFORMAT, "does not begin with '{'"},
    };
    const int64_t live = wmi_alloc_live();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = make_file(cases[i].header, cases[i].data);
        wmi_safetensors *s = (wmi_safetensors *)&path;
        wm_error err = {0};

        if (wmi_safetensors_open(&s, path, &err) != cases[i].st || s ||
            !strstr(err.text, cases[i].says) || !strstr(err.text, "bad.safetensors: "))
            fail_msg("%s: said '%s'", cases[i].header, err.text);
    }
    assert_int_equal(wmi_alloc_live(), live);
}

/* Header lengths that lie: nothing may be allocated for them. */
static void put_byte(const char *path, size_t at, int byte)
{
    FILE *f = fopen(path, "r+b");

    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    putc(byte, f);
    assert_int_equal(fclose(f), 0);
}

/* Whatever bit changes, the file is refused by name, or holds what it held: spaces after the header
 * may change as long as they are spaces to a reader of JSON. */
static void every_damaged_bit_is_found(void **state)
{
    const char *path = scratch("m.safetensors");
    char *whole, *text;
    size_t n;
    wm_error err = {0};

    (void)state;
    write_example(path);
    assert_ok(wmi_file_read(&whole, &n, path, 1 << 20, &err), err);
    text = strchr(whole + 8, '}');
    for (size_t i = 0; i < 8 * n; i++) {
        const bool padding = whole[i / 8] == ' ' && whole + i / 8 > text;
        wmi_safetensors *s = NULL;
        wm_status st;

        put_byte(path, i / 8, whole[i / 8] ^ (1 << i % 8));
        if (!(st = wmi_safetensors_open(&s, path, &err)))
            st = wmi_safetensors_own(s, &err);
        assert_true(st || padding);
        assert_true(!st || strstr(err.text, "m.safetensors: "));
        wmi_safetensors_close(s);
        put_byte(path, i / 8, whole[i / 8]);
    }
    assert_ok(wmi_safetensors_write(path, tensors, N_TENSORS, NULL, 0, &err), err);
    {
        wmi_safetensors *s = NULL;

        assert_ok(wmi_safetensors_open(&s, path, &err), err); /* without metadata, as others do */
        assert_int_equal(wmi_safetensors_own(s, &err), WM_EFORMAT);
        wmi_safetensors_close(s);
    }
    wmi_free(whole);
}

static void numbers_that_are_none_are_found(void **state)
{
    const double x[2] = {1, NAN};
    const wmi_st_tensor t[] = {{"good", WMI_ST_F64, 1, {1}, x}, {"bad", WMI_ST_F64, 1, {2}, x}};
    wmi_safetensors *s;
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_safetensors_write(scratch("m"), t, 2, meta, 2, &err), err);
    assert_ok(wmi_safetensors_open(&s, scratch("m"), &err), err);
    assert_ok(wmi_safetensors_own(s, &err), err);
    assert_ok(wmi_safetensors_finite(s, "good", &err), err);
    assert_int_equal(wmi_safetensors_finite(s, "bad", &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "m: tensor 'bad' has 1 numbers that are not finite"));
    wmi_safetensors_close(s);
}

static void lengths_that_lie_are_refused(void **state)
{
    static const struct {
        const char *content;
        size_t n;
        const char *says;
    } cases[] = {
        {"", 0, "0 bytes, too short"},
        {"\x02\0\0\0\0\0\0", 7, "7 bytes, too short"},
        {"\x10\0\0\0\0\0\0\0{}", 10, "cut short: a header of 16 bytes in a file of 10"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10,
         "says its header has 18446744073709551615 bytes"},
        {"\x01\xe1\xf5\x05\0\0\0\0{}", 10, "says its header has 100000001 bytes"},
        {"\0\xe1\xf5\x05\0\0\0\0{}", 10, "cut short"}, /* 100 MB, the most that is allowed */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wmi_safetensors *s;
        wm_error err = {0};
        int64_t calls;

        assert_ok(wmi_file_write(scratch("lie"), cases[i].content, cases[i].n, &err), err);
        calls = wmi_alloc_count();
        assert_int_equal(wmi_safetensors_open(&s, scratch("lie"), &err), WM_EFORMAT);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_int_equal(wmi_alloc_count(), calls + 4); /* two records with their paths */
    }
}

static void every_truncation_is_refused(void **state)
{
    wmi_safetensors *s;
    struct stat info;
    wm_error err;

    (void)state;
    write_example(scratch("m"));
    assert_int_equal(stat(scratch("m"), &info), 0);
    for (off_t k = info.st_size - 1; k >= 0; k--) {
        assert_int_equal(truncate(scratch("m"), k), 0);
        assert_int_equal(wmi_safetensors_open(&s, scratch("m"), &err), WM_EFORMAT);
    }
    assert_int_equal(wmi_safetensors_open(&s, scratch("nowhere"), &err), WM_EIO);
    assert_int_equal(wmi_safetensors_open(&s, scratch_folder, &err), WM_EIO);
}

static void a_needed_tensor_must_fit(void **state)
{
    const wmi_st_tensor *t;
    wmi_safetensors *s;
    wm_error err = {0};

    (void)state;
    write_example(scratch("m"));
    assert_ok(wmi_safetensors_open(&s, scratch("m"), &err), err);
    assert_ok(wmi_safetensors_need(&t, s, "floats", WMI_ST_F32, 1, (int64_t[]){2}, &err), err);
    assert_true(((const float *)t->data)[1] == -7);
    assert_ok(wmi_safetensors_need(&t, s, "ints", WMI_ST_I32, 3, (int64_t[]){2, -1, 2}, &err), err);
    assert_int_equal(wmi_safetensors_need(&t, s, "x", WMI_ST_F32, 1, (int64_t[]){2}, &err),
                     WM_EFORMAT);
    assert_non_null(strstr(err.text, "m: tensor 'x' is missing"));
    assert_int_equal(wmi_safetensors_need(&t, s, "ints", WMI_ST_F64, 2, (int64_t[]){-1, 3}, &err),
                     WM_ESHAPE);
    assert_null(t);
    assert_non_null(strstr(err.text, "tensor 'ints' is I32 [2, 1, 2], expected F64 [any, 3]"));
    wmi_safetensors_close(s);
}

static void misuse_of_the_writer_is_refused(void **state)
{
    const wmi_st_tensor twice[] = {{"a", WMI_ST_U8, 1, {3}, bytes},
                                   {"a", WMI_ST_F32, 0, {0}, floats}};
    const wmi_st_tensor wrong[] = {
        {"", WMI_ST_U8, 1, {3}, bytes},       {"__metadata__", WMI_ST_U8, 1, {3}, bytes},
        {"rank", WMI_ST_U8, 9, {3}, bytes},   {"negative", WMI_ST_U8, 1, {-3}, bytes},
        {"nothing", WMI_ST_U8, 1, {3}, NULL}, {"\xff", WMI_ST_U8, 1, {3}, bytes}};
    const wmi_st_pair not_text = {"k", "\xff"};
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_safetensors_write(scratch("w"), twice, 2, NULL, 0, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "tensor 'a' is there twice"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(wmi_safetensors_write(scratch("w"), &wrong[i], 1, NULL, 0, &err),
                         WM_EINVAL);
    assert_int_equal(wmi_safetensors_write(scratch("w"), twice, 1, &not_text, 1, &err), WM_EINVAL);
    assert_false(wmi_file_exists(scratch("w")));
    assert_int_equal(wmi_safetensors_write(scratch("no/w"), twice, 1, NULL, 0, &err), WM_EIO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),      TEST(the_same_content_gives_the_same_bytes),
        TEST(an_independent_reader_agrees), TEST(malformed_files_are_refused),
        TEST(lengths_that_lie_are_refused), TEST(every_truncation_is_refused),
        TEST(every_damaged_bit_is_found),   TEST(numbers_that_are_none_are_found),
        TEST(a_needed_tensor_must_fit),     TEST(misuse_of_the_writer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
