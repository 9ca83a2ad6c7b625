/* test_mnist.c - the four IDX files, found, checked and written as npy. */
#include "asserts.h"

#include "base/alloc.h"
#include "data/read_help.h"
#include "waymark/images.h"

enum { TRAIN = 20, TEST = 5, H = 3, W = 4 };

/* Pixel k of image i of a part. */
static uint8_t pixel(int part, int i, int k)
{
    return (uint8_t)(part * 100 + i * 7 + k * 3);
}

static void put_size(uint8_t *to, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> (24 - 8 * i));
}

/* An IDX file of rank 1 or 3 that says n images of h x w, with `bytes` values. */
static void make_idx(const char *name, int rank, uint32_t n, uint32_t h, uint32_t w,
                     const uint8_t *values, size_t bytes)
{
    uint8_t file[4096] = {0, 0, 8, (uint8_t)rank};
    const size_t head = 4 + 4 * (size_t)rank;
    wm_error err;

    put_size(file + 4, n);
    if (rank == 3) {
        put_size(file + 8, h);
        put_size(file + 12, w);
    }
    memcpy(file + head, values, bytes);
    assert_ok(wmi_file_write(scratch(name), file, head + bytes, &err), err);
}

static void make_four(const char *folder)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    wm_error err;

    assert_ok(wmi_folder_make(scratch(folder), &err), err);
    for (int part = 0; part < 2; part++) {
        const int n = part ? TEST : TRAIN;
        uint8_t values[TRAIN * H * W] = {0}, labels[TRAIN] = {0};
        char name[200];

        for (int i = 0; i < n; i++) {
            labels[i] = (uint8_t)(i % 10);
            for (int k = 0; k < H * W; k++)
                values[i * H * W + k] = pixel(part, i, k);
        }
        snprintf(name, sizeof name, "%s/%s", folder, names[part][0]);
        make_idx(name, 3, (uint32_t)n, H, W, values, (size_t)n * H * W);
        snprintf(name, sizeof name, "%s/%s", folder, names[part][1]);
        make_idx(name, 1, (uint32_t)n, 0, 0, labels, (size_t)n);
    }
}

static void check_set(const wm_image_set *s)
{
    const int64_t first[3] = {0, TRAIN - 6, 0};
    const int64_t count[3] = {TRAIN - 6, 6, TEST};

    assert_int_equal(wm_image_set_height(s), H);
    assert_int_equal(wm_image_set_width(s), W);
    for (int part = 0; part < 3; part++) {
        const wm_image_part p = wm_image_set_part(s, (wm_split)part);

        assert_int_equal(p.n, count[part]);
        for (int i = 0; i < p.n; i++) {
            assert_int_equal(p.labels[i], (first[part] + i) % 10);
            for (int k = 0; k < H * W; k++)
                assert_int_equal(p.pixels[i * H * W + k],
                                 pixel(part == 2, (int)first[part] + i, k));
        }
    }
    assert_int_equal(wm_image_set_part(s, WM_SPLIT_UNSEEN).n, 0);
}

static void parts_are_as_they_should_be(void **state)
{
    wm_image_set *s;
    wm_error err = {0};
    char command[4096];

    (void)state;
    make_four("a/deep/raw");
    assert_ok(wm_image_set_open(&s, scratch("a"), 6, &err), err);
    assert_string_equal(wm_image_set_folder(s), scratch("a/deep/raw"));
    check_set(s);
    wm_image_set_free(s);
    snprintf(command, sizeof command, "gzip -f '%s'/*", scratch("a/deep/raw"));
    assert_int_equal(system(command), 0); /* NOLINT: a command of our own */
    assert_ok(wm_image_set_open(&s, scratch("a/deep/raw"), 6, &err), err);
    check_set(s);
    wm_image_set_free(s);
}

static void npy_files_hold_the_same(void **state)
{
    const char *program =
        "python3 -c \"import numpy, sys\nfor n, d in (('train', 16), ('valid', 4), ('test', 5)):\n"
        "  x = numpy.load(sys.argv[1] + '/' + n + '.npy')\n"
        "  y = numpy.load(sys.argv[1] + '/' + n + '_labels.npy')\n"
        "  assert x.dtype == y.dtype == numpy.uint8 and x.shape == (d, 2, 2) and y.shape == (d,)\"";
    uint8_t values[20 * 4], labels[20];
    wm_image_set *s, *again;
    wm_error err = {0};
    char command[4096];
    wm_data *d;

    (void)state;
    for (int i = 0; i < 80; i++)
        values[i] = (uint8_t)(3 * i);
    for (int i = 0; i < 20; i++)
        labels[i] = (uint8_t)(19 - i);
    assert_ok(wmi_folder_make(scratch("sq"), &err), err);
    make_idx("sq/train-images-idx3-ubyte", 3, 20, 2, 2, values, 80);
    make_idx("sq/train-labels-idx1-ubyte", 1, 20, 0, 0, labels, 20);
    make_idx("sq/t10k-images-idx3-ubyte", 3, 5, 2, 2, values, 20);
    make_idx("sq/t10k-labels-idx1-ubyte", 1, 5, 0, 0, labels, 5);
    assert_ok(wm_image_set_open(&s, scratch("sq"), 4, &err), err);
    assert_ok(wm_image_set_write(s, scratch("out/npy"), false, &err), err);
    assert_int_equal(scratch_count(scratch("out/npy")), 6);
    assert_int_equal(wm_image_set_write(s, scratch("out/npy"), false, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "train.npy: is there already"));
    assert_ok(wm_image_set_write(s, scratch("out/npy"), true, &err), err);
    assert_ok(wm_image_set_open(&again, scratch("out"), 0, &err), err); /* valid is as written */
    for (int part = 0; part < 3; part++) {
        const wm_image_part p = wm_image_set_part(s, (wm_split)part),
                            q = wm_image_set_part(again, (wm_split)part);

        assert_int_equal(p.n, q.n);
        assert_memory_equal(p.pixels, q.pixels, (size_t)(p.n * 4));
        assert_memory_equal(p.labels, q.labels, (size_t)p.n);
    }
    wm_image_set_free(again);
    wm_image_set_free(s);
    d = read_table(scratch("out/npy/valid.npy"), NULL, NULL); /* as all other commands see it */
    assert_int_equal(wm_data_count(d), 4);
    assert_int_equal(wm_data_dim(d), 4);
    assert_true(wm_data_rows(d)[5] == values[16 * 4 + 5]);
    wm_data_free(d);
    snprintf(command, sizeof command, "%s '%s'", program, scratch("out/npy"));
    if (system("python3 -c 'import numpy' 2>/dev/null") == 0) /* NOLINT: a command of our own */
        assert_int_equal(system(command), 0);                 /* NOLINT: a command of our own */
}

static void expect(const char *folder, int64_t valid, wm_status want, const char *words)
{
    const int64_t live = wmi_alloc_live();
    wm_image_set *s = (wm_image_set *)&live;
    wm_error err = {0};

    assert_int_equal(wm_image_set_open(&s, scratch(folder), valid, &err), want);
    assert_null(s);
    if (!strstr(err.text, words))
        fail_msg("said '%s', expected '%s'", err.text, words);
    assert_int_equal(wmi_alloc_live(), live);
}

static void bad_files_are_named(void **state)
{
    uint8_t values[TRAIN * H * W] = {0};
    wm_error err = {0};
    char command[4096];

    (void)state;
    expect("nowhere", 6, WM_EIO, "nowhere: No such file");
    assert_ok(wmi_folder_make(scratch("bad/empty"), &err), err);
    expect("bad/empty", 6, WM_EIO, "has no train-images-idx3-ubyte");
    make_four("bad/x");
    expect("bad/x", TRAIN, WM_EINVAL, "20 images of 20 for validation");
    expect("bad/x", -1, WM_EINVAL, "-1 images of 20");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, TEST, H, W, values, TEST * H * W - 1);
    expect("bad/x", 6, WM_EFORMAT,
           "t10k-images-idx3-ubyte: cut short: 59 values are there, its "
           "header says 60");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, TEST, H, W, values, TEST * H * W + 1);
    expect("bad/x", 6, WM_EFORMAT, "more values than the 60 of its header");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, TEST, W, H, values, TEST * H * W);
    expect("bad/x", 6, WM_ESHAPE, "images of 4 x 3, those of train have 3 x 4");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, 4, H, W, values, 4 * H * W);
    expect("bad/x", 6, WM_ESHAPE, "t10k-labels-idx1-ubyte: 5 labels for 4 images");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, 0, H, W, values, 0);
    expect("bad/x", 6, WM_EFORMAT, "0 images of 3 x 4");
    make_idx("bad/x/t10k-images-idx3-ubyte", 1, TEST, 0, 0, values, 60);
    expect("bad/x", 6, WM_EFORMAT, "does not begin as an IDX file of bytes with 3 axes");
    make_idx("bad/x/t10k-images-idx3-ubyte", 3, 0xffffffffU, 1024, 1024, values, 60);
    expect("bad/x", 6, WM_EFORMAT, "cut short");
    snprintf(command, sizeof command, "gzip -f '%s'", scratch("bad/x/t10k-images-idx3-ubyte"));
    assert_int_equal(system(command), 0); /* NOLINT: a command of our own */
    expect("bad/x", 6, WM_EFORMAT, "cut short: 60 values are there"); /* and not 4 TB of memory */
    remove(scratch("bad/x/t10k-images-idx3-ubyte.gz"));
    expect("bad/x", 6, WM_EIO, "has no t10k-images-idx3-ubyte, nor one with .gz");
    make_four("bad/x");
    make_four("bad/y");
    expect("bad", 6, WM_EINVAL, "bad/y both hold such images: name one of them");
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    wm_status st = WM_ENOMEM;

    (void)state;
    make_four("m");
    for (int64_t k = 1; st; k++) {
        const int64_t live = wmi_alloc_live();
        wm_image_set *s = NULL;
        wm_error err;

        wmi_alloc_fail_at(k);
        st = wm_image_set_open(&s, scratch("m"), 6, &err);
        if (!st)
            st = wm_image_set_write(s, scratch("m-out"), true, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        wm_image_set_free(s);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_as_they_should_be),
        cmocka_unit_test(npy_files_hold_the_same),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
