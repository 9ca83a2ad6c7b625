/* test_omniglot.c - packed arrays in any order of rows, and everything that can be wrong with
 * them. */
#include "alphabets_memory.h"
#include "scratch.h"

#include "base/alloc.h"
#include "base/file.h"
#include "images/alphabets.h"
#include "images/u8_files.h"

enum { SIZE = 28 * 28, ALPHABETS = 4, VERSIONS = 3, ROWS = (3 + 2 + 4 + 3) * VERSIONS };

static const int sizes[ALPHABETS] = {3, 2, 4, 3};
static const char list[] = "Zeta\t3\tbackground\nBeta\t2\tbackground\r\nGamma\t4\tevaluation\n"
                           "Alpha\t3\tbackground\n";

typedef struct arrays {
    uint8_t images[ROWS * SIZE], alphabet[ROWS], character[ROWS], version[ROWS];
    int rows;
    const char *list;
} arrays;

/* What every pixel of a drawing is. */
static uint8_t code(int a, int c, int v)
{
    return (uint8_t)(60 * a + 12 * c + 3 * v + 1);
}

static void fill_arrays(arrays *x)
{
    int row = 0;

    for (int a = 0; a < ALPHABETS; a++)
        for (int c = 0; c < sizes[a]; c++)
            for (int v = 0; v < VERSIONS; v++) {
                const int at = row++ * 5 % ROWS; /* 5 and 36 share no factor: a permutation */

                x->alphabet[at] = (uint8_t)a;
                x->character[at] = (uint8_t)c;
                x->version[at] = (uint8_t)v;
                memset(x->images + at * SIZE, code(a, c, v), SIZE);
            }
    assert_int_equal(row, ROWS);
    x->rows = ROWS;
    x->list = list;
}

static wm_status copy(const wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to, wm_error *err)
{
    const int64_t width = file->rank == 3 ? SIZE : 1;

    (void)err;
    memcpy(to, (const uint8_t *)file->ctx + first * width, (size_t)(n * width));
    return WM_OK;
}

static void write_arrays(const arrays *x, const char *folder)
{
    const wmi_u8_file files[4] = {
        {.name = "omniglot_28x28",
         .rank = 3,
         .dim = {x->rows, 28, 28},
         .fill = copy,
         .ctx = x->images},
        {.name = "alphabet", .rank = 1, .dim = {x->rows}, .fill = copy, .ctx = x->alphabet},
        {.name = "character", .rank = 1, .dim = {x->rows}, .fill = copy, .ctx = x->character},
        {.name = "version", .rank = 1, .dim = {x->rows}, .fill = copy, .ctx = x->version},
    };
    char name[100];
    wm_error err;

    assert_ok(wmi_u8_files_write(files, 4, scratch(folder), true, &err), err);
    snprintf(name, sizeof name, "%s/alphabets.txt", folder);
    assert_ok(wmi_file_write(scratch(name), x->list, strlen(x->list), &err), err);
}

static void check_alphabet(const wm_alphabets *a, int at, int from, const char *name)
{
    assert_string_equal(wm_alphabets_name(a, at), name);
    assert_int_equal(wm_alphabets_size(a, at), sizes[from]);
    for (int c = 0; c < sizes[from]; c++)
        for (int v = 0; v < VERSIONS; v++)
            for (int k = 0; k < SIZE; k++)
                assert_int_equal(wm_alphabets_drawing(a, at, c, v)[k], code(from, c, v));
}

static void largest_comes_first(void **state)
{
    static arrays x;
    wm_alphabets *a;
    wm_error err = {0};

    (void)state;
    fill_arrays(&x);
    write_arrays(&x, "good");
    assert_ok(wm_alphabets_open(&a, scratch("good"), NULL, &err), err);
    assert_int_equal(wm_alphabets_count(a), 4);
    assert_int_equal(wm_alphabets_drawings(a), VERSIONS);
    check_alphabet(a, 0, 2, "Gamma");
    check_alphabet(a, 1, 3, "Alpha"); /* ties by name */
    check_alphabet(a, 2, 0, "Zeta");
    check_alphabet(a, 3, 1, "Beta");
    wm_alphabets_free(a);
    assert_ok(wmi_alphabets_open_packed(&a, scratch("good"), "background", &err), err);
    assert_int_equal(wm_alphabets_count(a), 3);
    check_alphabet(a, 0, 3, "Alpha");
    wm_alphabets_free(a);
    assert_ok(wmi_alphabets_open_packed(&a, scratch("good"), "evaluation", &err), err);
    assert_int_equal(wm_alphabets_count(a), 1);
    check_alphabet(a, 0, 2, "Gamma");
    wm_alphabets_free(a);
}

static void refused(const arrays *x, const char *part, wm_status want, const char *words)
{
    const int64_t live = wmi_alloc_live();
    wm_alphabets *a = (wm_alphabets *)&live;
    wm_error err = {0};

    write_arrays(x, "bad");
    assert_int_equal(wm_alphabets_open(&a, scratch("bad"), part, &err), want);
    assert_null(a);
    if (!strstr(err.text, words))
        fail_msg("said '%s', expected '%s'", err.text, words);
    assert_int_equal(wmi_alloc_live(), live);
}

static void what_is_wrong_is_named(void **state)
{
    static arrays x;

    (void)state;
    fill_arrays(&x);
    refused(&x, "foreground", WM_EINVAL, "alphabets.txt: has no alphabet of the part 'foreground'");
    x.alphabet[7] = 4;
    refused(&x, NULL, WM_EFORMAT,
            "bad/alphabet.npy: row 8 is alphabet 4, from 0; alphabets.txt lists 4");
    fill_arrays(&x);
    x.character[0] = 3; /* row 1 is Zeta's, which has three */
    refused(&x, NULL, WM_EFORMAT, "bad/character.npy: row 1 is character 3, from 0; 'Zeta' has 3");
    fill_arrays(&x);
    x.version[0] = 3;
    refused(&x, NULL, WM_EFORMAT,
            "bad/version.npy: row 1 is drawing 3, from 0; each character has 3");
    fill_arrays(&x);
    x.version[0] = 1;
    refused(&x, NULL, WM_EFORMAT, "is drawing 1 of character 0 of 'Zeta' a second time");
    fill_arrays(&x);
    x.character[0] = 1;
    refused(&x, NULL, WM_EFORMAT, "character 0, from 0, of 'Zeta' has 2 drawings, others have 4");
    fill_arrays(&x);
    for (int i = 0; i < ROWS; i++)
        if (x.alphabet[i] == 1) { /* Beta's two become Gamma's: too many there, none here */
            x.alphabet[i] = 2;
        }
    refused(&x, NULL, WM_EFORMAT, "no image of the alphabet 'Beta', which alphabets.txt lists");
    fill_arrays(&x);
    x.list = "Zeta\t3\tbackground\nBeta 2 background\n";
    refused(&x, NULL, WM_EFORMAT, "alphabets.txt:2: expected name, tab");
    x.list = "Zeta\t0\tbackground\n";
    refused(&x, NULL, WM_EFORMAT, "alphabets.txt:1: '0' characters, expected 1 to 256");
    x.list = "Zeta\t3x\tbackground\n";
    refused(&x, NULL, WM_EFORMAT, "'3x' characters");
    x.list = "\n";
    refused(&x, NULL, WM_EFORMAT, "lists no alphabet");
}

static void files_that_do_not_fit_are_named(void **state)
{
    static arrays x;
    const wmi_u8_file shorter = {
        .name = "version", .rank = 1, .dim = {ROWS - 1}, .fill = copy, .ctx = x.version};
    const wmi_u8_file narrow = {
        .name = "omniglot_28x28", .rank = 3, .dim = {ROWS, 28, 27}, .fill = copy, .ctx = x.images};
    wm_alphabets *a;
    wm_error err = {0};

    (void)state;
    fill_arrays(&x);
    write_arrays(&x, "bad");
    assert_ok(wmi_u8_files_write(&shorter, 1, scratch("bad"), true, &err), err);
    assert_int_equal(wm_alphabets_open(&a, scratch("bad"), NULL, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "version.npy: 35 labels for 36 images"));
    remove(scratch("bad/version.npy"));
    assert_int_equal(wm_alphabets_open(&a, scratch("bad"), NULL, &err), WM_EIO);
    assert_non_null(strstr(err.text, "version.npy"));
    assert_ok(wmi_u8_files_write(&narrow, 1, scratch("bad"), true, &err), err);
    assert_int_equal(wm_alphabets_open(&a, scratch("bad"), NULL, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "rows of 756 values, expected 784"));
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    open_without_memory(scratch("good"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_comes_first),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(files_that_do_not_fit_are_named),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
