/* ratio_eval.c - log-ratios at new points, in double: sums over bridges reach hundreds of nats, of
 * which the last tenth must be right.
 *
 * Rows are cut into batches; a batch goes through a program that one thread has for itself, with
 * kernels that run on that thread alone. No kernel mixes rows, so that a row's value depends
 * neither on the threads nor on the rows that it came with. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/ops.h"
#include "engine/program.h"
#include "ratio/ratio_mixture.h"

enum { BATCH = 128 }; /* rows in one run: half the memory of 256, and as fast */

static const double FAR = 10; /* standard deviations from the mean of the samples */

/* What a thread has for itself. */
typedef struct worker {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *out;  /* (m, BATCH) */
    double *in;     /* (BATCH, encoder.dim) the program's input */
    double *plain;  /* (BATCH, encoder.dim) rows before they are mixed, or NULL */
    double *mean;   /* (m, BATCH) over members */
    int64_t far;    /* rows so far */
    int64_t failed; /* the first batch that did; -1: none */
    wm_status st;   /* of that batch */
    wm_error err;
} worker;

struct wm_scorer {
    const wm_ratio *ratio;
    wmi_mixture_scorer *mixture; /* or NULL: the workers' programs */
    double *lo, *hi;             /* (encoder.raw) values beyond are far from the samples */
    int64_t n_workers;
    worker *workers;
};

/* ---- making one ---- */

static wm_status compile(worker *w, const wm_ratio *r, wm_error *err)
{
    const int64_t dim[] = {BATCH, r->encoder.dim}, knots[] = {r->encoder.dim, r->net.bases + 4};
    void *in, *at;
    wm_status st;

    if ((st = wmi_alloc(&w->mean, r->info.bridges * BATCH, sizeof *w->mean, "scores", err)) ||
        ((r->mix || r->model & WM_RATIO_MIXTURE) &&
         (st = wmi_alloc(&w->plain, dim[0] * dim[1], sizeof *w->plain, "rows", err))) ||
        r->model & WM_RATIO_MIXTURE || /* has no program */
        (st = wmi_graph_new(&w->graph, WMI_F64, r->params, err)))
        return st;
    w->out = wmi_model_build(
        w->graph, "", &r->net,
        &(wmi_model_inputs){.layout = WMI_ROWS_SHARED,
                            .x = wmi_input(w->graph, "x", 2, dim),
                            .knots = r->knots ? wmi_input(w->graph, "knots", 2, knots) : NULL});
    if ((st = wmi_compile(&w->program, w->graph,
                          &(wmi_compile_opts){.outputs = &w->out, .n_outputs = 1}, err)) ||
        (st = wmi_program_input(w->program, "x", &in, err)) ||
        (r->knots && (st = wmi_program_input(w->program, "knots", &at, err))))
        return st;
    w->in = in;
    for (int64_t i = 0; r->knots && i < knots[0] * knots[1]; i++)
        ((double *)at)[i] = (double)r->knots[i];
    wmi_program_bind(w->program, r->theta, NULL);
    return WM_OK;
}

/* A program takes as many threads as there are when it is compiled, and memory for each of them.
 * In a region of its own the number can be set to one for nobody else. */
static wm_status compile_for_one_thread(worker *w, const wm_ratio *r, wm_error *err)
{
    wm_status st = WM_OK;

#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1);
        st = compile(w, r, err);
    }
    return st;
}

/* The samples' own range of values, widely taken. */
static void find_range(wm_scorer *s)
{
    const wmi_encoder *e = &s->ratio->encoder;

    for (int64_t j = 0; j < e->raw; j++) {
        const int64_t f = e->first[j], ranked = e->ranked[j];

        s->lo[j] = -INFINITY;
        s->hi[j] = INFINITY;
        if (e->first[j] == e->first[j + 1])
            continue;
        if (e->how[j] == WMI_ENCODE_SCALE && !(e->shift[f] == 0 && e->scale[f] == 1)) {
            s->lo[j] = e->shift[f] - FAR * e->scale[f];
            s->hi[j] = e->shift[f] + FAR * e->scale[f];
        } else if (ranked >= 0) { /* sorted samples, or some of them with the outermost */
            const int64_t knots = wmi_rank_knots(e->rank);
            const double *v = wmi_rank_values(e->rank) + ranked * knots;

            s->lo[j] = 2 * v[0] - v[knots - 1];
            s->hi[j] = 2 * v[knots - 1] - v[0];
        }
    }
}

/* workers: at least 1. */
static wm_status new_scorer(wm_scorer **out, const wm_ratio *r, int64_t workers, wm_error *err)
{
    wm_scorer *s = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&s, 1, sizeof *s, "scorer", err)))
        return st;
    s->ratio = r;
    if ((st = wmi_alloc(&s->lo, r->encoder.raw, sizeof *s->lo, "columns", err)) ||
        (st = wmi_alloc(&s->hi, r->encoder.raw, sizeof *s->hi, "columns", err)) ||
        (st = wmi_alloc(&s->workers, workers, sizeof *s->workers, "scorer", err)))
        goto failed;
    find_range(s);
    if (r->model & WM_RATIO_MIXTURE && (st = wmi_mixture_scorer_new(&s->mixture, r, err)))
        goto failed;
    for (; s->n_workers < workers; s->n_workers++)
        if ((st = compile_for_one_thread(&s->workers[s->n_workers], r, err))) {
            s->n_workers++; /* what there is of it is freed too */
            goto failed;
        }
    *out = s;
    return WM_OK;
failed:
    wm_scorer_free(s);
    return st;
}

/* Threads that n rows can use here. */
static int64_t workers_for(int64_t n)
{
    const int64_t batches = (n + BATCH - 1) / BATCH;
    const int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads();

    return batches < 1 ? 1 : batches < threads ? batches : threads;
}

wm_status wm_scorer_new(wm_scorer **out, const wm_ratio *r, wm_error *err)
{
    return new_scorer(out, r, workers_for(INT64_MAX - BATCH), err);
}

void wm_scorer_free(wm_scorer *s)
{
    if (!s)
        return;
    for (int64_t i = 0; i < s->n_workers; i++) {
        wmi_program_free(s->workers[i].program);
        wmi_graph_free(s->workers[i].graph);
        wmi_free(s->workers[i].plain);
        wmi_free(s->workers[i].mean);
    }
    wmi_mixture_scorer_free(s->mixture);
    wmi_free(s->workers);
    wmi_free(s->lo);
    wmi_free(s->hi);
    wmi_free(s);
}

/* ---- running it ---- */

/* Rows, and where their scores go: either of the two may be NULL. */
typedef struct job {
    int64_t n;
    const double *x; /* (n, encoder.raw), or with encoded (n, encoder.dim) */
    bool encoded;
    double *each; /* (m, n) bridges */
    double *sum;  /* (n) over bridges */
} job;

static int64_t count_far(const wm_scorer *s, int64_t n, const double *x)
{
    const int64_t raw = s->ratio->encoder.raw;
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        int far = 0;

        for (int64_t j = 0; j < raw; j++)
            far |= (x[i * raw + j] < s->lo[j]) | (x[i * raw + j] > s->hi[j]);
        count += far;
    }
    return count;
}

/* in = plain mix, row by row: what a row becomes does not depend on the others. */
static void mix_rows(const worker *w, int64_t n, int64_t d, const double *mix)
{
    memset(w->in, 0, (size_t)(n * d) * sizeof *w->in);
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < d; l++) {
            const double x = w->plain[i * d + l];

            for (int64_t j = 0; j < d; j++)
                w->in[i * d + j] += x * mix[l * d + j];
        }
}

/* n rows into the program's input; those that are missing in a batch are zero. */
static wm_status load(const wm_scorer *s, worker *w, const job *j, int64_t first, int64_t n,
                      wm_error *err)
{
    const wmi_encoder *e = &s->ratio->encoder;
    double *to = w->plain ? w->plain : w->in;
    wm_status st = WM_OK;

    if (n < BATCH && w->in)
        memset(w->in + n * e->dim, 0, (size_t)((BATCH - n) * e->dim) * sizeof *w->in);
    if (j->encoded) {
        memcpy(to, j->x + first * e->dim, (size_t)(n * e->dim) * sizeof *to);
    } else {
        w->far += count_far(s, n, j->x + first * e->raw);
        st = wmi_encoder_apply(e, n, j->x + first * e->raw, to, err);
    }
    if (!st && s->ratio->mix)
        mix_rows(w, n, e->dim, s->ratio->mix);
    return st;
}

static void score_mixture(const wm_scorer *s, const worker *w, const job *j, int64_t first,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double *x = w->plain + i * s->ratio->encoder.dim;

        if (j->each)
            wmi_mixture_scorer_bridges(s->mixture, x, j->n, j->each + first + i);
        if (j->sum)
            j->sum[first + i] = wmi_mixture_scorer_sum(s->mixture, x);
    }
}

static wm_status score_batch(const wm_scorer *s, worker *w, const job *j, int64_t first,
                             wm_error *err)
{
    const wm_ratio *r = s->ratio;
    const int64_t n = j->n - first < BATCH ? j->n - first : BATCH;
    const int64_t m = r->info.bridges, count = wmi_params_count(r->params);
    wm_status st;

    if ((st = load(s, w, j, first, n, err)))
        return st;
    if (s->mixture) {
        score_mixture(s, w, j, first, n);
        return WM_OK;
    }
    memset(w->mean, 0, (size_t)(m * BATCH) * sizeof *w->mean);
    for (int64_t i = 0; i < r->members; i++) {
        const double *score, members = (double)r->members;

        if (r->members > 1)
            wmi_program_bind(w->program, r->theta + i * count, NULL); /* only read */
        if ((st = wmi_program_forward(w->program, err)))
            return st;
        score = wmi_program_value(w->program, w->out);
        for (int64_t k = 0; k < m * BATCH; k++)
            w->mean[k] += score[k] / members;
    }
    for (int64_t k = 0; k < m; k++) {
        const double *mean = w->mean + k * BATCH;

        if (j->each)
            memcpy(j->each + k * j->n + first, mean, (size_t)n * sizeof *mean);
        for (int64_t i = 0; j->sum && i < n; i++)
            j->sum[first + i] = (k ? j->sum[first + i] : 0) + mean[i];
    }
    return WM_OK;
}

static wm_status score(wm_scorer *s, const job *j, wm_error *err)
{
    const int64_t batches = (j->n + BATCH - 1) / BATCH, wanted = workers_for(j->n);
    const int64_t threads = wanted < s->n_workers ? wanted : s->n_workers;
    const worker *first = NULL;

    for (int64_t i = 0; i < s->n_workers; i++)
        s->workers[i].failed = -1;
#pragma omp parallel num_threads((int)threads) if (threads > 1)
    {
        worker *w = &s->workers[omp_get_thread_num()];

#pragma omp for schedule(static)
        for (int64_t b = 0; b < batches; b++) {
            if (w->failed < 0 && (w->st = score_batch(s, w, j, b * BATCH, &w->err)))
                w->failed = b;
        }
    }
    for (int64_t i = 0; i < s->n_workers; i++) /* the lowest row's failure is reported */
        if (s->workers[i].failed >= 0 && (!first || s->workers[i].failed < first->failed))
            first = &s->workers[i];
    if (first && err)
        *err = first->err;
    return first ? first->st : WM_OK;
}

wm_status wm_scorer_log(wm_scorer *s, int64_t n, const double *rows, double *log_r, wm_error *err)
{
    return score(s, &(job){.n = n, .x = rows, .sum = log_r}, err);
}

int64_t wm_scorer_far(const wm_scorer *s)
{
    int64_t far = 0;

    for (int64_t i = 0; i < s->n_workers; i++)
        far += s->workers[i].far;
    return far;
}

/* ---- once ---- */

static wm_status score_once(const wm_ratio *r, const job *j, wm_error *err)
{
    wm_scorer *s;
    wm_status st = new_scorer(&s, r, workers_for(j->n), err);

    if (!st)
        st = score(s, j, err);
    wm_scorer_free(s);
    return st;
}

wm_status wmi_ratio_scores(const wm_ratio *r, int64_t n, const double *x, double *scores,
                           wm_error *err)
{
    return score_once(r, &(job){.n = n, .x = x, .encoded = true, .each = scores}, err);
}

static wm_status check_width(const wm_ratio *r, const wm_data *x, wm_error *err)
{
    if (wm_data_dim(x) != r->encoder.raw)
        return wmi_fail(err, WM_ESHAPE, "the points have %" PRId64 " columns, the model %" PRId64,
                        wm_data_dim(x), r->encoder.raw);
    return WM_OK;
}

wm_status wm_ratio_log_bridges(const wm_ratio *r, const wm_data *x, double *log_r, wm_error *err)
{
    const wm_status st = check_width(r, x, err);

    if (st)
        return st;
    return score_once(r, &(job){.n = wm_data_count(x), .x = wm_data_rows(x), .each = log_r}, err);
}

wm_status wm_ratio_log(const wm_ratio *r, const wm_data *x, double *log_r, wm_error *err)
{
    const wm_status st = check_width(r, x, err);

    if (st)
        return st;
    return score_once(r, &(job){.n = wm_data_count(x), .x = wm_data_rows(x), .sum = log_r}, err);
}
