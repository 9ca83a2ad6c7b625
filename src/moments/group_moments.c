/* group_moments.c - moments of tables that pass by once (group_moments.h). Sums are taken about the
 * mean of the first block, so that they keep their digits whatever the columns' origins are. */
#include "moments/group_moments.h"

#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "data/formats/paths.h"
#include "engine/backend/linalg.h"

enum {
    GROUPS = 50,
    FEW_GROUPS = 10, /* where covariances are large */
    WIDE = 320,      /* columns */
    BLOCK = 1 << 19, /* numbers read at a time */
    LEAST_BLOCK = 64 /* rows */
};

wm_status wmi_moments_new(wm_moments **out, int64_t dim, wm_error *err)
{
    wm_moments *m = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&m, 1, sizeof *m, "moments", err)))
        return st;
    m->dim = dim;
    m->groups = dim > WIDE ? FEW_GROUPS : GROUPS;
    if ((st = wmi_alloc(&m->group, m->groups, sizeof *m->group, "moments", err)) ||
        (st =
             wmi_alloc(&m->store, m->groups * dim * (dim + 1), sizeof *m->store, "moments", err))) {
        wm_moments_free(m);
        return st;
    }
    for (int64_t g = 0; g < m->groups; g++) {
        m->group[g].mean = m->store + g * dim * (dim + 1);
        m->group[g].scatter = m->group[g].mean + dim;
    }
    *out = m;
    return WM_OK;
}

void wm_moments_free(wm_moments *m)
{
    if (!m)
        return;
    wmi_free(m->group);
    wmi_free(m->store);
    wmi_free(m);
}

int64_t wm_moments_count(const wm_moments *m)
{
    return m->n;
}

static wm_status make_room(wmi_moments_work *w, int64_t n, int64_t d, const double *x,
                           wm_error *err)
{
    wm_status st = WM_OK;

    if (!w->shift) {
        if ((st = wmi_alloc(&w->shift, d, sizeof *w->shift, "moments", err)) ||
            (st = wmi_alloc(&w->part, d * d, sizeof *w->part, "moments", err)))
            return st;
        wmi_column_means(n, d, x, w->shift);
    }
    if (n > w->room) {
        wmi_free(w->sorted);
        wmi_free(w->which);
        w->sorted = NULL;
        w->which = NULL;
        w->room = 0;
        if (!(st = wmi_alloc(&w->sorted, n * d, sizeof *w->sorted, "moments", err)) &&
            !(st = wmi_alloc(&w->which, n, sizeof *w->which, "moments", err)))
            w->room = n;
    }
    return st;
}

/* Rows by group: those of group g are first[g] .. first[g + 1] - 1 in w->sorted. */
static void sort_rows(const wm_moments *m, const wmi_moments_work *w, int64_t n, const double *x,
                      int64_t first[GROUPS + 1])
{
    const wmi_rng rng = wmi_rng_make(0, "groups");
    const int64_t d = m->dim;
    int64_t at[GROUPS];

    for (int64_t i = 0; i < n; i++) {
        w->which[i] = wmi_rng_below(&rng, (uint64_t)(m->n + i), m->groups);
        first[w->which[i] + 1]++;
    }
    for (int64_t g = 0; g < m->groups; g++) {
        first[g + 1] += first[g];
        at[g] = first[g];
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(w->sorted + d * at[w->which[i]]++, x + i * d, (size_t)d * sizeof *x);
}

wm_status wmi_moments_add(wm_moments *m, wmi_moments_work *w, int64_t n, const double *x,
                          wm_error *err)
{
    const int64_t d = m->dim;
    int64_t first[GROUPS + 1] = {0};
    wm_status st;

    if (n < 1)
        return WM_OK;
    if ((st = make_room(w, n, d, x, err)))
        return st;
    sort_rows(m, w, n, x, first);
    for (int64_t g = 0; g < m->groups && !st; g++) {
        const int64_t count = first[g + 1] - first[g];
        const double *own = w->sorted + first[g] * d;

        if (!count)
            continue;
        st = wmi_scatter(count, d, own, w->shift, w->part, err);
        m->group[g].n += (double)count;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < d; j++)
                m->group[g].mean[j] += own[i * d + j] - w->shift[j];
        for (int64_t j = 0; j < d * d; j++)
            m->group[g].scatter[j] += w->part[j];
    }
    m->n += n;
    return st;
}

void wmi_moments_finish(wm_moments *m, wmi_moments_work *w)
{
    const int64_t d = m->dim;

    for (int64_t g = 0; g < m->groups; g++) {
        wmi_row_moments *own = &m->group[g];

        for (int64_t j = 0; own->n > 0 && j < d; j++)
            own->mean[j] /= own->n;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                own->scatter[i * d + j] -= own->n * own->mean[i] * own->mean[j];
        for (int64_t j = 0; w->shift && j < d; j++)
            own->mean[j] += w->shift[j];
    }
    wmi_free(w->shift);
    wmi_free(w->part);
    wmi_free(w->sorted);
    wmi_free(w->which);
    *w = (wmi_moments_work){0};
}

/* n S = n_a S_a + n_b S_b + (n_a n_b / n) e e' with e the difference of the means. */
void wmi_moments_join(wmi_row_moments *out, const wm_moments *m, int64_t from, int64_t to)
{
    const int64_t d = m->dim;

    out->n = 0;
    memset(out->mean, 0, (size_t)d * sizeof *out->mean);
    memset(out->scatter, 0, (size_t)(d * d) * sizeof *out->scatter);
    for (int64_t g = from; g < to; g++) {
        const wmi_row_moments *more = &m->group[g];
        const double n = out->n + more->n, scale = n > 0 ? out->n * more->n / n : 0;

        if (!(more->n > 0))
            continue;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                out->scatter[i * d + j] +=
                    more->scatter[i * d + j] +
                    scale * (out->mean[i] - more->mean[i]) * (out->mean[j] - more->mean[j]);
        for (int64_t j = 0; j < d; j++)
            out->mean[j] += (more->mean[j] - out->mean[j]) * more->n / n;
        out->n = n;
    }
}

wm_status wmi_moments_scaled(wm_moments **out, const wm_moments *m, int64_t dim,
                             const int64_t *column, const double *shift, const double *scale,
                             wm_error *err)
{
    wm_moments *made = NULL;
    wm_status st = wmi_moments_new(&made, dim, err);

    *out = NULL;
    if (st)
        return st;
    made->groups = m->groups; /* no more columns than m has */
    made->n = m->n;
    for (int64_t g = 0; g < m->groups; g++) {
        const wmi_row_moments *from = &m->group[g];
        wmi_row_moments *to = &made->group[g];

        to->n = from->n;
        for (int64_t i = 0; i < dim; i++) {
            to->mean[i] = (from->mean[column[i]] - shift[i]) / scale[i];
            for (int64_t j = 0; j < dim; j++)
                to->scatter[i * dim + j] =
                    from->scatter[column[i] * m->dim + column[j]] / (scale[i] * scale[j]);
        }
    }
    *out = made;
    return WM_OK;
}

/* ---- files ---- */

static wm_status read_file(wm_moments **m, wmi_moments_work *w, const char *path,
                           const wm_schema *schema, const wm_read_opts *opts, wm_error *err)
{
    wm_reader *r = NULL;
    double *x = NULL;
    int64_t dim, block, got = 1;
    wm_status st;

    if ((st = wm_reader_open(&r, path, schema, opts, err)))
        return st;
    dim = wm_reader_dim(r);
    block = BLOCK / dim > LEAST_BLOCK ? BLOCK / dim : LEAST_BLOCK;
    if (!*m)
        st = wmi_moments_new(m, dim, err);
    if (!st)
        st = wmi_alloc(&x, block * dim, sizeof *x, "rows", err);
    while (!st && got > 0)
        if (!(st = wm_reader_next(r, block, x, &got, NULL, err)))
            st = wmi_moments_add(*m, w, got, x, err);
    wmi_free(x);
    wm_reader_close(r);
    return st;
}

wm_status wm_moments_read(wm_moments **out, const char *path, const wm_schema *schema,
                          const wm_read_opts *opts, wm_error *err)
{
    WMI_NEED(err, out && path && schema);
    wmi_moments_work w = {0};
    wmi_paths files = {0};
    wm_moments *m = NULL;
    wm_status st;

    *out = NULL;
    st = wmi_paths_find(&files, path, err);
    for (int i = 0; i < files.n && !st; i++)
        st = read_file(&m, &w, files.path[i], schema, opts, err);
    if (m)
        wmi_moments_finish(m, &w);
    if (st)
        wm_moments_free(m);
    else
        *out = m;
    wmi_paths_free(&files);
    return st;
}
