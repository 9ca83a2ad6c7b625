/* flow_start.c - the parameters of a flow before training: rotations for the linear maps, and
 * actnorms set by the data, layer after layer, so that what reaches every layer has mean 0 and
 * deviation 1. And after training: the inverse matrices that the way back reads. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "engine/program.h"
#include "noise/flow.h"

enum { FIRST_ROWS = 512 }; /* that the actnorms are set by */

static bool is_under(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);

    return n == 0 || (strncmp(name, prefix, n) == 0 && name[n] == '/');
}

/* Where the parameter `path/name` lies in theta; path may be followed by anything after its len
 * bytes. NULL if there is none. */
static double *at(const wmi_params *params, double *theta, const char *path, size_t len,
                  const char *name)
{
    const wmi_param_entry *e;
    char full[2 * WMI_NET_PATH];

    snprintf(full, sizeof full, "%.*s/%s", (int)len, path, name);
    e = wmi_params_find(params, full);
    return e ? theta + e->offset : NULL;
}

/* A linear map under the prefix: its numbers in theta. */
typedef struct map {
    int64_t d;
    const char *name;                                        /* of its parameter "order" */
    double *order, *inverse, *lu, *log_diag, *sign, *norm_s; /* lu NULL: a permutation alone */
} map;

/* The map of entry i, if there is one. */
static bool map_of(const wmi_params *params, const char *prefix, int64_t i, double *theta, map *m)
{
    const wmi_param_entry *e = wmi_params_entry(params, i);
    const char *last = strrchr(e->name, '/');
    size_t len;

    if (!last || strcmp(last, "/order") != 0 || !is_under(e->name, prefix))
        return false;
    len = (size_t)(last - e->name);
    *m = (map){.d = e->count,
               .name = e->name,
               .order = theta + e->offset,
               .inverse = at(params, theta, e->name, len, "inverse"),
               .lu = at(params, theta, e->name, len, "lu"),
               .log_diag = at(params, theta, e->name, len, "log_diag"),
               .sign = at(params, theta, e->name, len, "sign"),
               .norm_s = at(params, theta, e->name, len, "norm/s")};
    return m->inverse && (!m->lu || (m->log_diag && m->sign));
}

/* ---- small dense matrices, (d, d), row-major ---- */

/* The orthogonal factor of a, in place: Gram-Schmidt on rows, twice for the sake of rounding. */
static void orthogonalise(int64_t d, double *a)
{
    for (int64_t i = 0; i < d; i++) {
        double norm = 0;

        for (int times = 0; times < 2; times++)
            for (int64_t k = 0; k < i; k++) {
                double dot = 0;

                for (int64_t j = 0; j < d; j++)
                    dot += a[i * d + j] * a[k * d + j];
                for (int64_t j = 0; j < d; j++)
                    a[i * d + j] -= dot * a[k * d + j];
            }
        for (int64_t j = 0; j < d; j++)
            norm += a[i * d + j] * a[i * d + j];
        for (int64_t j = 0; j < d; j++)
            a[i * d + j] /= sqrt(norm);
    }
}

static void swap_rows(int64_t d, double *a, int64_t i, int64_t k)
{
    for (int64_t j = 0; j < d && i != k; j++) {
        const double t = a[i * d + j];

        a[i * d + j] = a[k * d + j];
        a[k * d + j] = t;
    }
}

static int64_t pivot_row(int64_t d, const double *a, int64_t col)
{
    int64_t best = col;

    for (int64_t i = col + 1; i < d; i++)
        if (fabs(a[i * d + col]) > fabs(a[best * d + col]))
            best = i;
    return best;
}

/* a = P L U in place: L below and U from the diagonal on; row i of L U was row order[i] of a. */
static void factorise(int64_t d, double *a, double *order)
{
    for (int64_t i = 0; i < d; i++)
        order[i] = (double)i;
    for (int64_t col = 0; col < d; col++) {
        const int64_t p = pivot_row(d, a, col);
        const double t = order[col];

        swap_rows(d, a, col, p);
        order[col] = order[p];
        order[p] = t;
        for (int64_t i = col + 1; i < d; i++) {
            const double f = a[i * d + col] /= a[col * d + col];

            for (int64_t j = col + 1; j < d; j++)
                a[i * d + j] -= f * a[col * d + j];
        }
    }
}

static void turn_order(int64_t d, const double *order, double *inverse)
{
    for (int64_t i = 0; i < d; i++)
        inverse[(int64_t)order[i]] = (double)i;
}

/* inverse = a^-1 by Gauss and Jordan; a is spoilt. False where a is singular. */
static bool invert(int64_t d, double *a, double *inverse)
{
    for (int64_t i = 0; i < d * d; i++)
        inverse[i] = i % (d + 1) == 0;
    for (int64_t col = 0; col < d; col++) {
        const int64_t p = pivot_row(d, a, col);
        const double pivot = a[p * d + col];

        if (!(fabs(pivot) > 0 && isfinite(pivot)))
            return false;
        swap_rows(d, a, col, p);
        swap_rows(d, inverse, col, p);
        for (int64_t j = 0; j < d; j++) {
            a[col * d + j] /= pivot;
            inverse[col * d + j] /= pivot;
        }
        for (int64_t i = 0; i < d; i++) {
            const double f = a[i * d + col];

            for (int64_t j = 0; j < d && i != col && f != 0; j++) {
                a[i * d + j] -= f * a[col * d + j];
                inverse[i * d + j] -= f * inverse[col * d + j];
            }
        }
    }
    return true;
}

/* ---- linear maps at the start and at the end ---- */

/* W = P L (U + diag(sign exp(log_diag))) is the rotation of a random matrix. */
static void start_map(const map *m, uint64_t seed, double *spare) /* spare: d numbers */
{
    const int64_t d = m->d;
    const wmi_rng rng = wmi_rng_make(seed, m->name);

    if (!m->lu) {
        for (int64_t i = 0; i < d; i++)
            m->order[i] = (double)i;
        for (int64_t i = d - 1; i > 0; i--) {
            const int64_t k = wmi_rng_below(&rng, (uint64_t)i, i + 1);
            const double t = m->order[i];

            m->order[i] = m->order[k];
            m->order[k] = t;
        }
        return;
    }
    wmi_rng_uniform_f64(&rng, 0, d * d, m->lu);
    orthogonalise(d, m->lu);
    factorise(d, m->lu, spare);
    turn_order(d, spare, m->order);
    for (int64_t i = 0; i < d; i++) {
        const double diag = m->lu[i * (d + 1)];

        m->sign[i] = diag < 0 ? -1 : 1;
        m->log_diag[i] = log(fabs(diag));
        m->lu[i * (d + 1)] = 0;
    }
}

/* The matrix diag(exp(s)) P L D, as the op lu_matrix makes it. */
static void multiply_out(const map *m, double *w)
{
    const int64_t d = m->d;

    memset(w, 0, (size_t)(d * d) * sizeof *w);
    for (int64_t i = 0; i < d; i++) {
        const int64_t r = (int64_t)floor(m->order[i] + 0.5);
        const double f = m->norm_s ? exp(m->norm_s[i]) : 1;

        for (int64_t k = 0; k <= r; k++) {
            const double l = f * (k < r ? m->lu[r * d + k] : 1);

            w[i * d + k] += l * m->sign[k] * exp(m->log_diag[k]);
            for (int64_t j = k + 1; j < d; j++)
                w[i * d + j] += l * m->lu[k * d + j];
        }
    }
}

wm_status wmi_flow_finish(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                          double *theta, wm_error *err)
{
    double *w = NULL;
    wm_status st = WM_OK;
    map m;

    (void)opts; /* the table says it all */
    for (int64_t i = 0; i < wmi_params_entries(params) && !st; i++) {
        if (!map_of(params, prefix, i, theta, &m))
            continue;
        if (!m.lu) {
            turn_order(m.d, m.order, m.inverse);
            continue;
        }
        if ((st = wmi_alloc(&w, m.d * m.d, sizeof *w, "matrix of a flow", err)))
            break;
        multiply_out(&m, w);
        if (!invert(m.d, w, m.inverse))
            st = wmi_fail(err, WM_EDIVERGED, "the matrix of '%s' (%" PRId64 " columns) is singular",
                          m.name, m.d);
        wmi_free(w);
        w = NULL;
    }
    return st;
}

/* ---- actnorms by data ---- */

/* b and s of one actnorm, of the values v (count, c) that it will see. */
static void set_norm(int64_t count, int64_t c, const double *v, double *b, double *s)
{
    memset(b, 0, (size_t)c * sizeof *b);
    memset(s, 0, (size_t)c * sizeof *s);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < c; j++)
            b[j] -= v[i * c + j] / (double)count;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < c; j++)
            s[j] += (v[i * c + j] + b[j]) * (v[i * c + j] + b[j]);
    for (int64_t j = 0; j < c; j++)
        s[j] = -log(sqrt(s[j] / (double)count) + 1e-6);
}

/* A stage on its own. */
typedef struct piece {
    wmi_flow flow;
    wmi_program *program;
    wmi_node *out;
    void *in;
} piece;

static void piece_close(piece *p)
{
    wmi_program_free(p->program);
    wmi_graph_free(p->flow.net.graph);
}

static wm_status piece_open(piece *p, const wmi_noise_opts *o, const char *prefix,
                            const wmi_params *params, int64_t i, int64_t rows, wmi_value *x,
                            wm_error *err)
{
    const int64_t dim[] = {rows, x->h, x->w, x->c}, flat[] = {rows, x->c};
    wmi_node *outputs[WMI_FLOW_NORMS + 1];
    wmi_compile_opts opts = {.outputs = outputs};
    wmi_graph *g = NULL;
    wm_status st;

    *p = (piece){0};
    if ((st = wmi_graph_new(&g, WMI_F64, params, err)))
        return st;
    p->flow = (wmi_flow){.net = wmi_net_build(g, prefix, 1), .opts = o, .rows = rows};
    x->node = wmi_input(g, "x", x->h ? 4 : 2, x->h ? dim : flat);
    *x = x->h ? wmi_flow_image_stage(&p->flow, i, *x) : wmi_flow_table_stage(&p->flow, i, *x);
    p->out = x->node;
    for (int k = 0; k < p->flow.n_norms; k++)
        outputs[opts.n_outputs++] = p->flow.norm[k].node;
    outputs[opts.n_outputs++] = p->out;
    if ((st = wmi_compile(&p->program, g, &opts, err)))
        return st;
    return wmi_program_input(p->program, "x", &p->in, err);
}

/* Sets the actnorms of a stage one after the other, each by what those before it let through; then
 * v (rows, dim) becomes what leaves the stage. */
static wm_status start_stage(piece *p, const wmi_params *params, double *theta, double *v,
                             int64_t count, wm_error *err)
{
    wm_status st;

    wmi_program_bind(p->program, theta, NULL);
    memcpy(p->in, v, (size_t)count * sizeof *v);
    for (int k = 0; k < p->flow.n_norms; k++) {
        const wmi_flow_norm *norm = &p->flow.norm[k];
        const wmi_shape *shape = &norm->node->shape;
        const int64_t c = shape->dim[shape->rank - 1];
        const size_t len = strlen(norm->path);

        if ((st = wmi_program_forward(p->program, err)))
            return st;
        set_norm(norm->node->n / c, c, wmi_program_value(p->program, norm->node),
                 at(params, theta, norm->path, len, "b"), at(params, theta, norm->path, len, "s"));
    }
    if ((st = wmi_program_forward(p->program, err)))
        return st;
    memcpy(v, wmi_program_value(p->program, p->out), (size_t)count * sizeof *v);
    return WM_OK;
}

/* The entries under prefix as their inits say; the others keep their values. */
static wm_status draw(const wmi_params *params, const char *prefix, uint64_t seed, double *theta,
                      wm_error *err)
{
    double *all = NULL;
    wm_status st = wmi_alloc(&all, wmi_params_count(params), sizeof *all, "parameters", err);

    if (st)
        return st;
    wmi_params_init(params, seed, WMI_F64, all);
    for (int64_t i = 0; i < wmi_params_entries(params); i++) {
        const wmi_param_entry *e = wmi_params_entry(params, i);

        if (is_under(e->name, prefix))
            memcpy(theta + e->offset, all + e->offset, (size_t)e->count * sizeof *all);
    }
    wmi_free(all);
    return WM_OK;
}

wm_status wmi_flow_start(const wmi_noise_opts *o, const char *prefix, const wmi_params *params,
                         int64_t n, const double *x, uint64_t seed, double *theta, wm_error *err)
{
    const int64_t rows = n < FIRST_ROWS ? n : FIRST_ROWS, count = rows * o->dim;
    wmi_value at_x = {.h = o->height, .w = o->width, .c = o->height ? o->channels : o->dim};
    double *v = NULL, *spare = NULL;
    wm_status st;
    piece p;
    map m;

    if ((st = draw(params, prefix, seed, theta, err)) ||
        (st = wmi_alloc(&v, count, sizeof *v, "start of a flow", err)) ||
        (st = wmi_alloc(&spare, o->dim, sizeof *spare, "start of a flow", err)))
        goto done;
    for (int64_t i = 0; i < wmi_params_entries(params); i++)
        if (map_of(params, prefix, i, theta, &m))
            start_map(&m, seed, spare);
    memcpy(v, x, (size_t)count * sizeof *v);
    for (int64_t i = 0; i < wmi_flow_stages(o) && !st; i++) {
        st = piece_open(&p, o, prefix, params, i, rows, &at_x, err);
        if (!st)
            st = start_stage(&p, params, theta, v, count, err);
        piece_close(&p);
    }
    if (!st)
        st = wmi_flow_finish(o, prefix, params, theta, err);
done:
    wmi_free(spare);
    wmi_free(v);
    return st;
}
