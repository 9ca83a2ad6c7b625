/* mixed_study.h - a small study of a number and a category, from a file in scratch.h's folder. */
#ifndef WM_TESTS_MIXED_STUDY_H
#define WM_TESTS_MIXED_STUDY_H

#include "asserts.h"
#include "scratch.h"
#include "waymark/read.h"
#include "waymark/study.h"

/* 200 rows, the same as p and as q: numbers from 0.5 to 100.5, and the three letters of `levels`
 * in turn. head is the line of names. */
static inline wm_study *mixed_study(const char *head, const char levels[4], bool by_rank)
{
    FILE *f = fopen(scratch("t.csv"), "w");
    wm_study *study = NULL;
    wm_schema *schema = NULL;
    wm_data *t = NULL;
    wm_study_opts o;
    wm_error err;

    assert_non_null(f);
    fprintf(f, "%s\n", head);
    for (int i = 0; i < 200; i++)
        fprintf(f, "%d.5,%c\n", (i * 37) % 101, levels[i % 3]);
    fclose(f);
    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&t, scratch("t.csv"), schema, NULL, &err), err);
    wm_study_opts_init(&o);
    o.models[0] = WM_RATIO_LINEAR;
    o.n_models = 1;
    o.bridges = 2;
    o.folds = 2;
    o.by_rank = by_rank;
    assert_ok(wm_study_run(&study, t, t, schema, &o, &err), err);
    wm_data_free(t);
    wm_schema_free(schema);
    return study;
}

#endif
