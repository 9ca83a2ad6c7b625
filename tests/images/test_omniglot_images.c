/* test_omniglot_images.c - image folders and zip files in the form of Omniglot's, made by
 * omniglot_files.py. */
#include "alphabets_memory.h"
#include "scratch.h"

#include "base/alloc.h"
#include "waymark/images.h"

static int make_files(void **state)
{
    char command[2048];

    if (scratch_make(state))
        return -1;
    snprintf(command, sizeof command, "python3 -B omniglot_files.py '%s'", scratch_folder);
    return system(command); /* NOLINT: a command of our own */
}

/* Every drawing of alphabet `from` of the script stands at `at`. */
static void check_alphabet(const wm_alphabets *a, int at, int from, const char *name, int size)
{
    assert_string_equal(wm_alphabets_name(a, at), name);
    assert_int_equal(wm_alphabets_size(a, at), size);
    for (int c = 0; c < size; c++)
        for (int v = 0; v < 2; v++)
            for (int k = 0; k < 28 * 28; k++)
                assert_int_equal(wm_alphabets_drawing(a, at, c, v)[k],
                                 60 * from + 12 * c + 3 * v + 1);
}

static void folders_and_zips_hold_the_same(void **state)
{
    static const char *const paths[] = {"tree", "tree.zip", "bare"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        wm_alphabets *a;
        wm_error err = {0};

        assert_ok(wm_alphabets_open(&a, scratch(paths[i]), "background", &err), err);
        assert_int_equal(wm_alphabets_count(a), 2);
        assert_int_equal(wm_alphabets_drawings(a), 2);
        check_alphabet(a, 0, 1, "Pi", 3);
        check_alphabet(a, 1, 0, "Tau", 2);
        wm_alphabets_free(a);
        if (i == 2)
            continue;
        assert_ok(wm_alphabets_open(&a, scratch(paths[i]), NULL, &err), err);
        assert_int_equal(wm_alphabets_count(a), 3);
        check_alphabet(a, 1, 2, "Mu", 2);
        wm_alphabets_free(a);
    }
}

static void drawings_are_averaged_over_areas(void **state)
{
    wm_alphabets *a;
    wm_error err = {0};
    char *at = NULL;

    (void)state;
    assert_ok(wm_alphabets_open(&a, scratch("real"), NULL, &err), err);
    for (int k = 0; k < 28 * 28; k++) {
        const long want = strtol(k ? at : scratch_read(scratch("ink.txt")), &at, 10);

        assert_int_equal(wm_alphabets_drawing(a, 0, 0, 0)[k], want);
    }
    wm_alphabets_free(a);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *path, *part;
        wm_status want;
        const char *words;
    } cases[] = {
        {"cut", NULL, WM_EFORMAT, "character02/0101_02.png: cut short: ends after"},
        {"cut.zip", NULL, WM_EFORMAT, "character02/0101_02.png: cut short: ends after 60 bytes"},
        {"cut", "evaluation", WM_OK, ""}, /* what is not asked for is not read */
        {"fewer", NULL, WM_EFORMAT, "Pi/character02: 1 drawings, other characters have 2"},
        {"empty", NULL, WM_EFORMAT, "images_background/Rho: no PNG images in this folder"},
        {"flat", NULL, WM_EFORMAT, "no images as ALPHABET/CHARACTER/NAME.png"},
        {"words", NULL, WM_EFORMAT, "words: no PNG images in this folder"},
        {"words.zip", NULL, WM_EFORMAT, "words.zip: no PNG images in this zip file"},
        {"short.zip", NULL, WM_EFORMAT, "short.zip: not a zip file, or cut short"},
        {"sum.zip", NULL, WM_EFORMAT, "damaged: "},
        {"ink.txt", NULL, WM_EFORMAT, "ink.txt: not a zip file"},
        {"tree", "foreground", WM_EINVAL, "tree: has no images_foreground"},
        {"nowhere", NULL, WM_EIO, "nowhere: No such file or directory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t live = wmi_alloc_live();
        wm_alphabets *a = NULL;
        wm_error err = {0};

        assert_int_equal(wm_alphabets_open(&a, scratch(cases[i].path), cases[i].part, &err),
                         cases[i].want);
        assert_true((a == NULL) == (cases[i].want != WM_OK));
        if (!strstr(err.text, cases[i].words))
            fail_msg("%s: said '%s', expected '%s'", cases[i].path, err.text, cases[i].words);
        wm_alphabets_free(a);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    static const char *const paths[] = {"tree", "tree.zip"};

    (void)state;
    for (int i = 0; i < 2; i++)
        open_without_memory(scratch(paths[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_and_zips_hold_the_same),
        cmocka_unit_test(drawings_are_averaged_over_areas),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, make_files, scratch_remove);
}
