/* problem.c - the table of problems, and what they share: parameters, blocks of rows, scratch. */
#include "problems/problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define BLOCK 1024 /* rows that one thread draws at a time */

static const wmi_problem_type *const families[] = {wmi_problems_columns, wmi_problems_normals,
                                                   wmi_problems_pairs, wmi_problems_levels};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* --- the table ---------------------------------------------------------------------------------*/

static const wmi_problem_type *type_at(int i)
{
    for (int f = 0; f < N_FAMILIES; f++)
        for (const wmi_problem_type *t = families[f]; t->info.name; t++)
            if (i-- == 0)
                return t;
    return NULL;
}

static const wmi_problem_type *type_find(const char *name)
{
    const wmi_problem_type *t;

    for (int i = 0; (t = type_at(i)); i++)
        if (strcmp(t->info.name, name) == 0)
            return t;
    return NULL;
}

int wm_problem_count(void)
{
    int n = 0;

    while (type_at(n))
        n++;
    return n;
}

const wm_problem_info *wm_problem_at(int i)
{
    const wmi_problem_type *t = i < 0 ? NULL : type_at(i);

    return t ? &t->info : NULL;
}

const wm_problem_info *wm_problem_find(const char *name)
{
    const wmi_problem_type *t = type_find(name);

    return t ? &t->info : NULL;
}

/* --- parameters --------------------------------------------------------------------------------*/

static int param_index(const wm_problem_info *info, const char *name)
{
    for (int i = 0; i < info->n_params; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return i;
    return -1;
}

double *wmi_problem_param(wm_problem *p, const char *name)
{
    const int i = param_index(&p->type->info, name);

    return i < 0 ? NULL : &p->value[i];
}

double wmi_problem_get(const wm_problem *p, const char *name, double otherwise)
{
    const int i = param_index(&p->type->info, name);

    return i < 0 ? otherwise : p->value[i];
}

bool wmi_problem_given(const wm_problem *p, const char *name)
{
    const int i = param_index(&p->type->info, name);

    return i >= 0 && p->given[i];
}

/* "dim, kl" */
static const char *list_params(char *out, size_t size, const wm_problem_info *info)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < info->n_params && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", info->params[i].name);
    return out;
}

static wm_status set_param(wm_problem *p, const wm_problem_setting *s, wm_error *err)
{
    const wm_problem_info *info = &p->type->info;
    const int i = param_index(info, s->name);
    const wm_problem_param *row = i < 0 ? NULL : &info->params[i];
    char all[160];

    if (!row)
        return wmi_fail(err, WM_EINVAL, "%s has no parameter '%.40s'; it has %s", info->name,
                        s->name, list_params(all, sizeof all, info));
    if (!(s->value >= row->lo && s->value <= row->hi) ||
        (row->whole && s->value != floor(s->value)))
        return wmi_fail(err, WM_EINVAL, "%s: %s is %g, must be a%s number from %g to %g",
                        info->name, row->name, s->value, row->whole ? " whole" : "", row->lo,
                        row->hi);
    p->value[i] = s->value;
    p->given[i] = true;
    return WM_OK;
}

/* --- one problem -------------------------------------------------------------------------------*/

wm_status wm_problem_new(wm_problem **out, const char *name, const wm_problem_setting *settings,
                         int n, uint64_t seed, wm_error *err)
{
    const wmi_problem_type *type = type_find(name);
    const wmi_rng rng = wmi_rng_make(seed, "problem");
    wm_problem *p = NULL;
    wm_status st;

    *out = NULL;
    if (!type)
        return wmi_fail(err, WM_EINVAL, "no problem '%.60s'", name);
    if ((st = wmi_alloc(&p, 1, sizeof *p, "problem", err)))
        return st;
    p->type = type;
    p->truth = (wm_problem_truth){NAN, NAN, NAN, 0};
    for (int i = 0; i < type->info.n_params; i++)
        p->value[i] = type->info.params[i].standard;
    for (int i = 0; i < n && !st; i++)
        st = set_param(p, &settings[i], err);
    if (!st)
        st = type->start(p, &rng, err);
    if (st) {
        wm_problem_free(p);
        return st;
    }
    *out = p;
    return WM_OK;
}

void wm_problem_free(wm_problem *p)
{
    if (!p)
        return;
    wmi_free(p->own);
    wmi_free(p);
}

const wm_problem_info *wm_problem_about(const wm_problem *p)
{
    return &p->type->info;
}

double wm_problem_value(const wm_problem *p, int i)
{
    return i < 0 || i >= p->type->info.n_params ? NAN : p->value[i];
}

wm_problem_truth wm_problem_answer(const wm_problem *p)
{
    return p->truth;
}

int64_t wm_problem_dim(const wm_problem *p, int table)
{
    return p->dim[table ? 1 : 0];
}

/* --- samples -----------------------------------------------------------------------------------*/

/* n rows of a, of b, or of both, a block at a time. */
static void fill(const wm_problem *p, const wmi_rng *rng, int64_t n, double *a, double *b)
{
    const int64_t blocks = (n + BLOCK - 1) / BLOCK;

#pragma omp parallel for schedule(static) if (blocks > 1)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t first = k * BLOCK, rows = n - first < BLOCK ? n - first : BLOCK;

        p->type->draw(p, rng, first, rows, a ? a + first * p->dim[0] : NULL,
                      b ? b + first * p->dim[1] : NULL);
    }
}

wm_status wm_problem_draw(wm_data **a, wm_data **b, const wm_problem *p, int64_t n_a, int64_t n_b,
                          uint64_t seed, const char *stream, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, stream);
    wm_status st;

    *a = *b = NULL;
    if (p->type->info.kind == WM_PROBLEM_MI && n_a != n_b)
        return wmi_fail(err, WM_EINVAL,
                        "%s: %" PRId64 " rows of u and %" PRId64
                        " of v: pairs need the same number",
                        p->type->info.name, n_a, n_b);
    if ((st = wm_data_new(a, n_a, p->dim[0], NULL, err)))
        return st;
    if ((st = wm_data_new(b, n_b, p->dim[1], NULL, err))) {
        wm_data_free(*a);
        *a = NULL;
        return st;
    }
    if (p->type->info.kind == WM_PROBLEM_MI) {
        fill(p, &rng, n_a, wm_data_rows_mut(*a), wm_data_rows_mut(*b));
    } else {
        fill(p, &rng, n_a, wm_data_rows_mut(*a), NULL);
        fill(p, &rng, n_b, NULL, wm_data_rows_mut(*b));
    }
    return WM_OK;
}

static wm_status check_points(const wm_problem *p, const wm_data *a, const wm_data *b,
                              wm_error *err)
{
    const char *name = p->type->info.name;
    const bool pairs = p->type->info.kind == WM_PROBLEM_MI;

    if (pairs != (b != NULL))
        return wmi_fail(err, WM_EINVAL, "%s: its log-ratio takes %s", name,
                        pairs ? "u and v" : "one table of points");
    if (wm_data_dim(a) != p->dim[0] || (b && wm_data_dim(b) != p->dim[1]))
        return wmi_fail(err, WM_ESHAPE, "%s: points of %" PRId64 " columns, it has %" PRId64, name,
                        wm_data_dim(a) != p->dim[0] ? wm_data_dim(a) : wm_data_dim(b),
                        wm_data_dim(a) != p->dim[0] ? p->dim[0] : p->dim[1]);
    if (b && wm_data_count(a) != wm_data_count(b))
        return wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " rows of u and %" PRId64 " of v", name,
                        wm_data_count(a), wm_data_count(b));
    return WM_OK;
}

wm_status wm_problem_log_ratio(const wm_problem *p, const wm_data *a, const wm_data *b, double *out,
                               wm_error *err)
{
    const int64_t da = p->dim[0], db = b ? p->dim[1] : 0;
    double *row = NULL; /* (da + db), overwritten by the problem */
    wm_status st;

    if ((st = check_points(p, a, b, err)) ||
        (st = wmi_alloc(&row, da + db, sizeof *row, "point", err)))
        return st;
    for (int64_t i = 0; i < wm_data_count(a); i++) {
        memcpy(row, wm_data_rows(a) + i * da, (size_t)da * sizeof *row);
        if (b)
            memcpy(row + da, wm_data_rows(b) + i * db, (size_t)db * sizeof *row);
        out[i] = p->type->log_ratio(p, row, b ? row + da : NULL);
    }
    wmi_free(row);
    return WM_OK;
}
