/* estimate_columns.c - which columns differ: the `columns` of a summary, and a table of those that
 * matter most. */
#include "commands/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SHOWN = 8 }; /* rows of the table */

/* What decides the order: the share of the answer, or where that is not known the column's own
 * divergence. Those with an infinite one come first. */
static double weight_of(const wm_study_column *c)
{
    return isfinite(c->share) && isfinite(c->kl) ? c->share : c->kl;
}

/* Whether column a comes before b. */
static bool is_before(const wm_study *study, int64_t a, int64_t b)
{
    const double x = weight_of(wm_study_column_at(study, a)),
                 y = weight_of(wm_study_column_at(study, b));

    return x > y || (x == y && a < b);
}

/* The first of n columns after column `last` in that order; -1: the first of all. */
static int64_t next_column(const wm_study *study, int64_t n, int64_t last)
{
    int64_t best = -1;

    for (int64_t j = 0; j < n; j++)
        if ((last < 0 || is_before(study, last, j)) && (best < 0 || is_before(study, j, best)))
            best = j;
    return best;
}

void summary_columns(cli_call *call, const wm_study *study)
{
    const double unit = units_per_nat(call);
    const wm_study_column *c;

    for (int64_t j = 0; (c = wm_study_column_at(study, j)); j++) {
        wm_summary *row = wm_summary_row(call->summary, "columns");

        WM_PUT(row, WM_TEXT("name", c->name),
               WM_TEXT("kind", c->discrete ? "discrete" : "continuous"), WM_REAL("share", c->share),
               WM_REAL("kl", c->kl * unit));
        if (c->edges)
            wm_summary_reals(row, "edges", c->edges, c->n + 1);
        else
            wm_summary_texts(row, "levels", c->level, c->n);
        wm_summary_reals(row, "p", c->p, c->n);
        wm_summary_reals(row, "q", c->q, c->n);
        if (c->aside)
            wm_summary_text(row, "note", c->aside);
        else if (isinf(c->kl))
            wm_summary_text(row, "note",
                            "p has levels of it that q lacks: KL(p, q) is infinite, or "
                            "cannot be told");
    }
}

wm_status print_columns(const cli_call *call, const wm_study *study, wm_error *err)
{
    const double unit = units_per_nat(call);
    wm_study_info info;
    int64_t last = -1;
    wm_text_table *t;
    char headers[64];
    wm_status st;

    wm_study_get_info(study, &info);
    if (info.dim < 2 || !wm_study_column_at(study, 0) || call->common->quiet)
        return WM_OK;
    snprintf(headers, sizeof headers, "<column|<kind|share of KL|its own KL, %s", units_name(call));
    t = wm_text_table_new("Which columns differ", headers);
    for (int64_t i = 0; i < info.dim && i < SHOWN; i++) {
        const wm_study_column *c =
            wm_study_column_at(study, last = next_column(study, info.dim, last));
        char share[16] = "-";

        if (isfinite(c->share) && !c->aside)
            snprintf(share, sizeof share, "%.0f %%", round(100 * c->share) + 0.0); /* never -0 */
        WM_ROW(t, WM_CELL_TEXT(c->name),
               WM_CELL_TEXT(c->aside      ? "left out"
                            : c->discrete ? "discrete"
                                          : "continuous"),
               WM_CELL_TEXT(share), WM_CELL_REAL(c->kl * unit, 3));
    }
    st = wm_text_table_finish(t, stdout, err);
    if (!st && info.dim > SHOWN)
        printf("and %" PRId64 " column%s less.\n", info.dim - SHOWN,
               info.dim == SHOWN + 1 ? " that matters" : "s that matter");
    printf("\n");
    return st;
}
