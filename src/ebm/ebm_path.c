/* ebm_path.c - the path from the noise to a model, as samplers walk it: in z-space, where the noise
 * is N(0, I), log f_w(z) = log N(z) + sum_k w_k log r_k(F(z)). The map F does not change the ratio
 * of two densities, so that Z is the one of phi.
 *
 * Bridges come in from the noise's side. A program for the last few of them costs less than one for
 * all: there are some, for different numbers of bridges, compiled when they are first needed. Of a
 * model of levels f_k, sum_k w_k (f_k - f_{k+1}) is a sum over levels with weights w_k - w_{k-1};
 * they share their network, and one program is all that it takes. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/comm.h"
#include "ebm/ebm_impl.h"

enum { MOST_ROWS = 128, N_SUFFIXES = 5 };

/* Multiplications of a round, about, from which on ranks share it: below, the network is slower. */
static const double WORTH_SHARING = 5e7;

/* `count` bridges from `first` on, or all levels. */
typedef struct part {
    int64_t first, count, rows;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *z, *scores; /* (rows, dim), (count, rows) */
    float *z_in, *w_in;   /* the program's inputs */
} part;

struct wmi_ebm_path {
    const wm_ebm *e;
    wmi_params *params; /* of noise and bridges */
    float *theta;
    int64_t n_parts;
    part *parts;   /* suffixes: first falls, the noise's side comes first */
    wm_comm *comm; /* of ranks that share the rows; NULL: each does all, the same everywhere */
    const volatile sig_atomic_t *stop; /* this rank's */
    const wm_sink *sink;               /* whose clock it is */
    double until;                      /* when time is up; infinite: never */
    volatile sig_atomic_t stopped;     /* asked to, or out of time: any rank, known to all */
};

/* Both tables have names of their own. */
static void fill_theta(wmi_ebm_path *p)
{
    const wm_ebm *e = p->e;

    for (int64_t i = 0; i < wmi_params_entries(p->params); i++) {
        const wmi_param_entry *to = wmi_params_entry(p->params, i),
                              *noise = wmi_params_find(e->noise_params, to->name);
        const int64_t n = wmi_shape_count(&to->shape);

        if (!noise)
            memcpy(p->theta + to->offset, e->theta + wmi_params_find(e->params, to->name)->offset,
                   (size_t)n * sizeof *p->theta);
        for (int64_t j = 0; noise && j < n; j++)
            p->theta[to->offset + j] = (float)e->noise_theta[noise->offset + j];
    }
}

static void build(part *p, const wm_ebm *e, wmi_node **loss)
{
    wmi_graph *g = p->graph;
    const int64_t z[] = {p->rows, e->info.dim}, w[] = {p->count, p->rows};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED, .first = p->first, .count = p->count};

    p->z = wmi_input(g, "z", 2, z);
    in.x = wmi_noise_to_x(g, WMI_EBM_NOISE, &e->noise, p->z, NULL);
    wmi_model_constants(g, &e->net, &in);
    p->scores = e->net.levels ? wmi_model_levels(g, "", &e->net, &in)
                              : wmi_model_build(g, "", &e->net, &in);
    *loss = wmi_sum(g, wmi_mul(g, p->scores, wmi_input(g, "w", 2, w)), WMI_ALL_AXES);
}

static wm_status open_part(part *a, const wmi_ebm_path *p, wm_error *err)
{
    const wm_ebm *e = p->e;
    wmi_node *loss;
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&a->graph, WMI_F32, p->params, err)))
        return st;
    build(a, e, &loss);
    if ((st = wmi_compile(&a->program, a->graph,
                          &(wmi_compile_opts){.outputs = &a->scores,
                                              .n_outputs = 1,
                                              .loss = loss,
                                              .grad_inputs = &a->z,
                                              .n_grad_inputs = 1},
                          err)))
        return st;
    wmi_program_bind(a->program, p->theta, NULL);
    if ((st = wmi_model_fill(a->program, &e->net, e->knots, e->filter, err)))
        return st;
    if ((st = wmi_program_input(a->program, "z", &at, err)))
        return st;
    a->z_in = at;
    if ((st = wmi_program_input(a->program, "w", &at, err)))
        return st;
    a->w_in = at;
    return WM_OK;
}

static void close_part(part *p)
{
    wmi_program_free(p->program);
    wmi_graph_free(p->graph);
    *p = (part){.first = p->first, .count = p->count, .rows = p->rows};
}

static void list_parts(wmi_ebm_path *p, int64_t rows)
{
    const int64_t m = p->e->info.bridges;

    for (int i = 1; i <= N_SUFFIXES; i++) { /* 1/5 of the bridges, 2/5, ... all */
        const int64_t count = p->e->net.levels ? m : (m * i + N_SUFFIXES - 1) / N_SUFFIXES;

        if (p->n_parts == 0 || count > p->parts[p->n_parts - 1].count)
            p->parts[p->n_parts++] = (part){.first = m - count, .count = count, .rows = rows};
    }
}

/* A convolution uses each of its weights at many places of an image. */
static double cost_of(const wm_ebm *e, int64_t chains)
{
    const double places = e->net.terms & WM_EBM_RESNET ? (double)e->info.dim / 16 : 1;

    return (double)wmi_params_count(e->params) * places * (double)chains;
}

static bool is_over(const wmi_ebm_path *p)
{
    return (p->stop && *p->stop) || wm_clock(p->sink) >= p->until;
}

wm_status wmi_ebm_path_new(wmi_ebm_path **out, const wm_ebm *e, int64_t chains,
                           const wm_fit_control *control, wm_error *err)
{
    int64_t rows;
    wmi_ebm_path *p = NULL;
    wm_status st = wmi_alloc(&p, 1, sizeof *p, "path", err);

    *out = NULL;
    if (st)
        return st;
    p->e = e;
    p->comm = cost_of(e, chains) > WORTH_SHARING ? control->comm : NULL;
    p->stop = control->stop;
    p->sink = control->sink;
    p->until = control->time_limit > 0 ? wm_clock(p->sink) + control->time_limit : INFINITY;
    p->stopped = is_over(p);
    rows = (chains + wm_comm_size(p->comm) - 1) / wm_comm_size(p->comm);
    rows = rows < MOST_ROWS ? rows : MOST_ROWS;
    if ((st = wmi_alloc(&p->parts, N_SUFFIXES, sizeof *p->parts, "path", err)) ||
        (st = wmi_params_new(&p->params, err)) ||
        (st = wmi_noise_declare(p->params, WMI_EBM_NOISE, &e->noise, err)) ||
        (st = wmi_model_declare(p->params, "", &e->net, err)) ||
        (st = wmi_alloc(&p->theta, wmi_params_count(p->params), sizeof *p->theta, "parameters",
                        err))) {
        wmi_ebm_path_free(p);
        return st;
    }
    fill_theta(p);
    list_parts(p, rows);
    *out = p;
    return WM_OK;
}

void wmi_ebm_path_free(wmi_ebm_path *p)
{
    if (!p)
        return;
    for (int64_t i = 0; i < p->n_parts; i++)
        close_part(&p->parts[i]);
    wmi_params_free(p->params);
    wmi_free(p->theta);
    wmi_free(p->parts);
    wmi_free(p);
}

/* ---- which part ---- */

/* The first bridge with a weight, or m. */
static int64_t first_weight(int64_t m, const double *w)
{
    int64_t k = 0;

    while (k < m && w[k] == 0)
        k++;
    return k;
}

/* The smallest part that serves all points, NULL for the noise alone. */
static part *choose_part(const wmi_ebm_path *p, int64_t n, const double *weights)
{
    const int64_t m = p->e->info.bridges;
    int64_t first = m;

    for (int64_t i = 0; i < n; i++) {
        const int64_t k = first_weight(m, weights + i * m);

        first = k < first ? k : first;
    }
    for (int64_t i = 0; i < p->n_parts && first < m; i++)
        if (p->parts[i].first <= first)
            return &p->parts[i];
    return NULL;
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
static bool leave_out(const wmi_ebm_path *p, part *a, int64_t first, int64_t n, double *log_f)
{
    const float *s = wmi_program_value(a->program, a->scores);
    const int64_t dim = p->e->info.dim;
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        bool good = true;

        for (int64_t k = 0; k < a->count; k++)
            good = good && isfinite(s[k * a->rows + i]);
        if (good)
            continue;
        any = true;
        log_f[first + i] = NAN;
        memset(a->z_in + i * dim, 0, (size_t)dim * sizeof *a->z_in);
        for (int64_t k = 0; k < a->count; k++)
            a->w_in[k * a->rows + i] = 0;
    }
    return any;
}

/* Weight of bridge, or level, k, where w are the weights of bridges. */
static double weight_of(const wmi_ebm_path *p, const double *w, int64_t k)
{
    return p->e->net.levels && k > 0 ? w[k] - w[k - 1] : w[k];
}

/* log r_k of row i, where the part has it; else NaN. */
static double term_of(const wmi_ebm_path *p, const part *a, const float *s, int64_t i, int64_t k)
{
    const int64_t m = p->e->info.bridges, at = k - a->first;
    const bool ends = k + 1 == m;

    if (at < 0 || at + (p->e->net.levels && !ends) >= a->count)
        return NAN;
    return (double)s[at * a->rows + i] -
           (p->e->net.levels && !ends ? (double)s[(at + 1) * a->rows + i] : 0);
}

/* n points from `first` on through one program; what it gives is added to the base. */
static wm_status run_part(wmi_ebm_path *p, part *a, int64_t first, int64_t n, const double *x,
                          const double *weights, double *log_f, double *grad, double *terms,
                          wm_error *err)
{
    const int64_t m = p->e->info.bridges, dim = p->e->info.dim;
    const float *s, *g;
    wm_status st;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < dim; j++)
            a->z_in[i * dim + j] = (float)x[(first + i) * dim + j];
    memset(a->z_in + n * dim, 0, (size_t)((a->rows - n) * dim) * sizeof *a->z_in);
    for (int64_t k = 0; k < a->count; k++)
        for (int64_t i = 0; i < a->rows; i++)
            a->w_in[k * a->rows + i] =
                i < n ? (float)weight_of(p, weights + (first + i) * m, a->first + k) : 0;
    st = grad ? wmi_program_backward(a->program, err) : wmi_program_forward(a->program, err);
    if (st == WM_EDIVERGED && leave_out(p, a, first, n, log_f)) /* gradients were not made */
        st = wmi_program_backward(a->program, err);
    if (st)
        return st;
    s = wmi_program_value(a->program, a->scores);
    g = grad ? wmi_program_grad(a->program, a->z) : NULL;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = first + i;
        const double *w = weights + at * m;
        const bool lost = isnan(log_f[at]);

        for (int64_t k = 0; k < a->count && !lost; k++)
            if (weight_of(p, w, a->first + k) != 0)
                log_f[at] += weight_of(p, w, a->first + k) * (double)s[k * a->rows + i];
        for (int64_t k = a->first; terms && k < m; k++)
            terms[at * m + k] = lost ? NAN : term_of(p, a, s, i, k);
        for (int64_t j = 0; g && j < dim; j++)
            grad[at * dim + j] += (double)g[i * dim + j];
    }
    return WM_OK;
}

/* All ranks have what each has done, and know whether one is to stop. */
static wm_status join(wmi_ebm_path *p, int64_t n, double *log_f, double *grad, double *terms,
                      wm_error *err)
{
    const size_t real = sizeof(double);
    bool stop = is_over(p);
    wm_status st;

    if (p->comm &&
        ((st = wmi_comm_fill(p->comm, n, real, log_f, err)) ||
         (grad && (st = wmi_comm_fill(p->comm, n, (size_t)p->e->info.dim * real, grad, err))) ||
         (terms &&
          (st = wmi_comm_fill(p->comm, n, (size_t)p->e->info.bridges * real, terms, err))) ||
         (st = wmi_comm_any(p->comm, &stop, err))))
        return st;
    p->stopped = stop;
    return WM_OK;
}

/* The points that this rank does of n; all ranks choose the part that serves all. */
static wm_status eval(void *ctx, int64_t n, const double *x, const double *weights, double *log_f,
                      double *grad, double *terms, wm_error *err)
{
    wmi_ebm_path *p = ctx;
    const int64_t rank = wm_comm_rank(p->comm), begin = wmi_comm_part(p->comm, n, rank),
                  end = wmi_comm_part(p->comm, n, rank + 1);
    part *a;
    wm_status st;

    base_density(n, p->e->info.dim, x, log_f, grad);
    a = choose_part(p, n, weights);
    if (a && !a->program && (st = open_part(a, p, err))) {
        close_part(a);
        return st;
    }
    for (int64_t first = begin; a && first < end; first += a->rows) {
        const int64_t count = end - first < a->rows ? end - first : a->rows;

        if ((st = run_part(p, a, first, count, x, weights, log_f, grad, terms, err)))
            return st;
    }
    return join(p, n, log_f, grad, terms, err);
}

const volatile sig_atomic_t *wmi_ebm_path_stop(const wmi_ebm_path *p)
{
    return &p->stopped;
}

wm_path wmi_ebm_path_get(wmi_ebm_path *p)
{
    return (wm_path){.dim = p->e->info.dim, .bridges = p->e->info.bridges, .eval = eval, .ctx = p};
}
