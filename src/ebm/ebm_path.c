/* ebm_path.c - the path from the noise to a model, as samplers walk it: in z-space, where the noise
 * is N(0, I), log f_w(z) = log N(z) + sum_k w_k log r_k(F(z)). The map F does not change the ratio
 * of two densities, so that Z is the one of phi.
 *
 * Bridges come in from the noise's side. A program for the last few of them costs less than one for
 * all: there are some, for different numbers of bridges, compiled when they are first needed. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/comm.h"
#include "ebm/ebm_impl.h"

enum { MOST_ROWS = 128, N_PARTS = 5 };

/* Multiplications of a round, about, from which on ranks share it: below, the network is slower. */
static const double WORTH_SHARING = 5e7;

/* All bridges from `first` on. */
typedef struct part {
    int64_t first, bridges;
    wmi_model net;
    wmi_params *params;
    float *theta;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *z, *scores; /* (rows, dim), (bridges, rows) */
    float *z_in, *w_in;   /* the program's inputs */
} part;

struct wmi_ebm_path {
    const wm_ebm *e;
    int64_t rows; /* of a program */
    int n_parts;
    part parts[N_PARTS]; /* first falls: the noise's side comes first */
    wm_comm *comm; /* of ranks that share the rows; NULL: each does all, the same everywhere */
    const volatile sig_atomic_t *stop; /* this rank's */
    volatile sig_atomic_t stopped;     /* any rank's, known to all */
};

/* Parameters of the bridges from `first` on out of those of all: tables that have a row for every
 * bridge are cut, others are the same. The noise has names of its own. */
static void cut_theta(part *p, const wm_ebm *e)
{
    for (int64_t i = 0; i < wmi_params_entries(p->params); i++) {
        const wmi_param_entry *to = wmi_params_entry(p->params, i),
                              *noise = wmi_params_find(e->noise_params, to->name),
                              *from = wmi_params_find(e->params, to->name);
        const int64_t n = wmi_shape_count(&to->shape);

        if (noise) {
            for (int64_t j = 0; j < n; j++)
                p->theta[to->offset + j] = (float)e->noise_theta[noise->offset + j];
            continue;
        }
        const int64_t skip = wmi_shape_count(&from->shape) == n ? 0 : n / p->bridges * p->first;

        memcpy(p->theta + to->offset, e->theta + from->offset + skip, (size_t)n * sizeof *p->theta);
    }
}

static void build(part *p, const wm_ebm *e, int64_t rows, wmi_node **loss)
{
    wmi_graph *g = p->graph;
    const int64_t dim = e->info.dim, z[] = {rows, dim}, w[] = {p->bridges, rows};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};

    p->z = wmi_input(g, "z", 2, z);
    in.x = wmi_noise_to_x(g, WMI_EBM_NOISE, &e->noise, p->z, NULL);
    wmi_model_constants(g, &p->net, &in);
    p->scores = wmi_model_build(g, "", &p->net, &in);
    *loss = wmi_sum(g, wmi_mul(g, p->scores, wmi_input(g, "w", 2, w)), WMI_ALL_AXES);
}

static wm_status open_part(part *p, const wm_ebm *e, int64_t rows, wm_error *err)
{
    wmi_node *loss;
    void *at;
    wm_status st;

    p->net = e->net;
    p->net.bridges = p->bridges;
    if ((st = wmi_params_new(&p->params, err)) ||
        (st = wmi_noise_declare(p->params, WMI_EBM_NOISE, &e->noise, err)) ||
        (st = wmi_model_declare(p->params, "", &p->net, err)) ||
        (st = wmi_alloc(&p->theta, wmi_params_count(p->params), sizeof *p->theta, "parameters",
                        err)) ||
        (st = wmi_graph_new(&p->graph, WMI_F32, p->params, err)))
        return st;
    cut_theta(p, e);
    build(p, e, rows, &loss);
    if ((st = wmi_compile(&p->program, p->graph,
                          &(wmi_compile_opts){.outputs = &p->scores,
                                              .n_outputs = 1,
                                              .loss = loss,
                                              .grad_inputs = &p->z,
                                              .n_grad_inputs = 1},
                          err)))
        return st;
    wmi_program_bind(p->program, p->theta, NULL);
    if ((st = wmi_model_fill(p->program, &p->net, e->knots, e->filter, err)))
        return st;
    if ((st = wmi_program_input(p->program, "z", &at, err)))
        return st;
    p->z_in = at;
    if ((st = wmi_program_input(p->program, "w", &at, err)))
        return st;
    p->w_in = at;
    return WM_OK;
}

static void close_part(part *p)
{
    wmi_program_free(p->program);
    wmi_graph_free(p->graph);
    wmi_params_free(p->params);
    wmi_free(p->theta);
    *p = (part){.first = p->first, .bridges = p->bridges};
}

/* A convolution uses each of its weights at many places of an image. */
static double cost_of(const wm_ebm *e, int64_t chains)
{
    const double places = e->net.terms & WM_EBM_RESNET ? (double)e->info.dim / 16 : 1;

    return (double)wmi_params_count(e->params) * places * (double)chains;
}

wm_status wmi_ebm_path_new(wmi_ebm_path **out, const wm_ebm *e, int64_t chains,
                           const wm_fit_control *control, wm_error *err)
{
    const int64_t m = e->info.bridges;
    wmi_ebm_path *p = NULL;
    wm_status st = wmi_alloc(&p, 1, sizeof *p, "path", err);

    *out = NULL;
    if (st)
        return st;
    p->e = e;
    p->comm = cost_of(e, chains) > WORTH_SHARING ? control->comm : NULL;
    p->stop = control->stop;
    chains = (chains + wm_comm_size(p->comm) - 1) / wm_comm_size(p->comm);
    p->rows = chains < MOST_ROWS ? chains : MOST_ROWS;
    for (int i = 1; i <= N_PARTS; i++) { /* 1/5 of the bridges, 2/5, ... all */
        const int64_t bridges = (m * i + N_PARTS - 1) / N_PARTS;

        if (p->n_parts == 0 || bridges > p->parts[p->n_parts - 1].bridges)
            p->parts[p->n_parts++] = (part){.first = m - bridges, .bridges = bridges};
    }
    *out = p;
    return WM_OK;
}

void wmi_ebm_path_free(wmi_ebm_path *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_parts; i++)
        close_part(&p->parts[i]);
    wmi_free(p);
}

/* The smallest part with every bridge that has a weight; NULL in *out where none has. */
static wm_status part_for(wmi_ebm_path *p, int64_t n, const double *weights, part **out,
                          wm_error *err)
{
    const int64_t m = p->e->info.bridges;
    int64_t first = m;
    wm_status st;

    *out = NULL;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < first; k++)
            if (weights[i * m + k] != 0)
                first = k;
    for (int i = 0; i < p->n_parts && first < m; i++)
        if (p->parts[i].first <= first) {
            if (!p->parts[i].program && (st = open_part(&p->parts[i], p->e, p->rows, err))) {
                close_part(&p->parts[i]);
                return st;
            }
            *out = &p->parts[i];
            return WM_OK;
        }
    return WM_OK;
}

static void base_density(int64_t n, int64_t dim, const double *x, double *log_f, double *grad)
{
    const double log_two_pi = 1.8378770664093454836;

    for (int64_t i = 0; i < n; i++) {
        double sum = 0;

        for (int64_t j = 0; j < dim; j++) {
            sum += x[i * dim + j] * x[i * dim + j];
            if (grad)
                grad[i * dim + j] = -x[i * dim + j];
        }
        log_f[i] = -0.5 * sum - 0.5 * (double)dim * log_two_pi;
    }
}

/* A chain that ran away, to where the bridges are no numbers, must not take the others with it: its
 * point becomes the origin with no weight, its log_f NaN. Whether there was one. */
static bool leave_out(const wmi_ebm_path *p, part *a, int64_t n, double *log_f)
{
    const float *s = wmi_program_value(a->program, a->scores);
    const int64_t dim = p->e->info.dim;
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        bool good = true;

        for (int64_t k = 0; k < a->bridges; k++)
            good = good && isfinite(s[k * p->rows + i]);
        if (good)
            continue;
        any = true;
        log_f[i] = NAN;
        memset(a->z_in + i * dim, 0, (size_t)dim * sizeof *a->z_in);
        for (int64_t k = 0; k < a->bridges; k++)
            a->w_in[k * p->rows + i] = 0;
    }
    return any;
}

/* Up to rows points through one program; what it gives is added to the base. */
static wm_status run_part(const wmi_ebm_path *p, part *a, int64_t n, const double *x,
                          const double *weights, double *log_f, double *grad, double *terms,
                          wm_error *err)
{
    const int64_t m = p->e->info.bridges, dim = p->e->info.dim;
    const float *s, *g;
    wm_status st;

    for (int64_t i = 0; i < n * dim; i++)
        a->z_in[i] = (float)x[i];
    memset(a->z_in + n * dim, 0, (size_t)((p->rows - n) * dim) * sizeof *a->z_in);
    for (int64_t k = 0; k < a->bridges; k++)
        for (int64_t i = 0; i < p->rows; i++)
            a->w_in[k * p->rows + i] = i < n ? (float)weights[i * m + a->first + k] : 0;
    st = grad ? wmi_program_backward(a->program, err) : wmi_program_forward(a->program, err);
    if (st == WM_EDIVERGED && leave_out(p, a, n, log_f)) /* gradients were not made */
        st = wmi_program_backward(a->program, err);
    if (st)
        return st;
    s = wmi_program_value(a->program, a->scores);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < a->bridges; k++) {
            const double w = weights[i * m + a->first + k],
                         r = isnan(log_f[i]) ? NAN : (double)s[k * p->rows + i];

            if (terms)
                terms[i * m + a->first + k] = r;
            if (w != 0 && !isnan(log_f[i]))
                log_f[i] += w * r;
        }
    if (grad) {
        g = wmi_program_grad(a->program, a->z);
        for (int64_t i = 0; i < n * dim; i++)
            grad[i] += (double)g[i];
    }
    return WM_OK;
}

/* All ranks have what each has done, and know whether one is asked to stop. */
static wm_status join(wmi_ebm_path *p, int64_t n, double *log_f, double *grad, double *terms,
                      wm_error *err)
{
    const size_t real = sizeof(double);
    bool stop = p->stop && *p->stop;
    wm_status st;

    if (!p->comm)
        return WM_OK;
    if ((st = wmi_comm_fill(p->comm, n, real, log_f, err)) ||
        (grad && (st = wmi_comm_fill(p->comm, n, (size_t)p->e->info.dim * real, grad, err))) ||
        (terms &&
         (st = wmi_comm_fill(p->comm, n, (size_t)p->e->info.bridges * real, terms, err))) ||
        (st = wmi_comm_any(p->comm, &stop, err)))
        return st;
    p->stopped = stop;
    return WM_OK;
}

static wm_status eval(void *ctx, int64_t n, const double *x, const double *weights, double *log_f,
                      double *grad, double *terms, wm_error *err)
{
    wmi_ebm_path *p = ctx;
    const int64_t m = p->e->info.bridges, dim = p->e->info.dim;
    part *a;
    wm_status st;

    base_density(n, dim, x, log_f, grad);
    if ((st = part_for(p, n, weights, &a, err)) || !a)
        return st;
    const int64_t rank = wm_comm_rank(p->comm), last = wmi_comm_part(p->comm, n, rank + 1);

    for (int64_t i = wmi_comm_part(p->comm, n, rank); i < last; i += p->rows) {
        const int64_t count = last - i < p->rows ? last - i : p->rows;

        if ((st = run_part(p, a, count, x + i * dim, weights + i * m, log_f + i,
                           grad ? grad + i * dim : NULL, terms ? terms + i * m : NULL, err)))
            return st;
    }
    return join(p, n, log_f, grad, terms, err);
}

const volatile sig_atomic_t *wmi_ebm_path_stop(const wmi_ebm_path *p)
{
    return p->comm ? &p->stopped : p->stop;
}

wm_path wmi_ebm_path_get(wmi_ebm_path *p)
{
    return (wm_path){.dim = p->e->info.dim, .bridges = p->e->info.bridges, .eval = eval, .ctx = p};
}
