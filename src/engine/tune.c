/* tune.c - the table of measured choices, and the measuring. */
#include "engine/tune.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/speak.h"

enum { REPEATS = 3 }; /* of each algorithm, the best counts; the first is the warm-up's too */

typedef struct choice {
    wmi_conv_shape shape;
    unsigned passes; /* WMI_CONV_* that the node runs */
    wmi_conv_algo algo;
} choice;

struct wmi_tuning {
    choice *rows;
    int64_t n, capacity;
};

wm_status wmi_tuning_new(wmi_tuning **out, wm_error *err)
{
    return wmi_alloc(out, 1, sizeof **out, "tuning", err);
}

void wmi_tuning_free(wmi_tuning *t)
{
    if (!t)
        return;
    wmi_free(t->rows);
    wmi_free(t);
}

int64_t wmi_tuning_count(const wmi_tuning *t)
{
    return t->n;
}

/* Padding follows from the rest. */
static bool same(const choice *a, const choice *b)
{
    const wmi_conv_shape *s = &a->shape, *t = &b->shape;

    return s->n == t->n && s->h == t->h && s->w == t->w && s->ci == t->ci && s->co == t->co &&
           s->kh == t->kh && s->kw == t->kw && s->stride == t->stride && a->passes == b->passes;
}

static const choice *find(const wmi_tuning *t, const choice *like)
{
    for (int64_t i = 0; i < t->n; i++)
        if (same(&t->rows[i], like))
            return &t->rows[i];
    return NULL;
}

static wm_status add(wmi_tuning *t, const choice *c, wm_error *err)
{
    if (t->n == t->capacity) {
        const int64_t capacity = t->capacity ? 2 * t->capacity : 16;
        choice *rows;
        wm_status st = wmi_alloc(&rows, capacity, sizeof *rows, "tuning", err);

        if (st)
            return st;
        if (t->n)
            memcpy(rows, t->rows, (size_t)t->n * sizeof *rows);
        wmi_free(t->rows);
        t->rows = rows;
        t->capacity = capacity;
    }
    t->rows[t->n++] = *c;
    return WM_OK;
}

void wmi_tuning_print(const wmi_tuning *t, FILE *f)
{
    for (int64_t i = 0; i < t->n; i++) {
        const wmi_conv_shape *s = &t->rows[i].shape;

        fprintf(f,
                "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                " %" PRId64 " %u %s\n",
                s->n, s->h, s->w, s->ci, s->co, s->kh, s->kw, s->stride, t->rows[i].passes,
                wmi_conv_algo_name(t->rows[i].algo));
    }
}

static bool find_algo(const char *name, wmi_conv_algo *out)
{
    for (int a = 0; a < WMI_CONV_ALGO_COUNT; a++)
        if (strcmp(name, wmi_conv_algo_name((wmi_conv_algo)a)) == 0) {
            *out = (wmi_conv_algo)a;
            return true;
        }
    return false;
}

wm_status wmi_tuning_read(wmi_tuning *t, const char *text, wm_error *err)
{
    for (int line = 1; *text; line++) {
        const size_t length = strcspn(text, "\n");
        choice c = {.algo = WMI_CONV_DIRECT};
        wmi_conv_shape *s = &c.shape;
        char name[16];
        int used = 0;
        wm_status st;

        if (sscanf(text,
                   "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                   " %" SCNd64 " %" SCNd64 " %u %15s%n",
                   &s->n, &s->h, &s->w, &s->ci, &s->co, &s->kh, &s->kw, &s->stride, &c.passes, name,
                   &used) != 10 ||
            (size_t)used != length || !find_algo(name, &c.algo))
            return wmi_fail(err, WM_EFORMAT, "tuning, line %d: '%.*s'", line,
                            length < 100 ? (int)length : 100, text);
        if (!find(t, &c) && (st = add(t, &c, err)))
            return st;
        text += length + (text[length] == '\n');
    }
    return WM_OK;
}

/* The node with memory of its own, to be run outside of a program. */
typedef struct bench {
    wmi_node nd, x, w;
    void *memory[6];
} bench;

static void bench_free(bench *b)
{
    for (int i = 0; i < 6; i++)
        wmi_free(b->memory[i]);
}

static wm_status bench_new(bench *b, const wmi_node *nd, wm_error *err)
{
    const int64_t size = nd->dtype == WMI_F32 ? sizeof(float) : sizeof(double);
    wmi_node *const nodes[] = {&b->nd, &b->x, &b->w};

    *b = (bench){.nd = *nd, .x = *nd->in[0], .w = *nd->in[1]};
    b->nd.in[0] = &b->x;
    b->nd.in[1] = &b->w;
    b->nd.fresh = 3;
    for (int i = 0; i < 3; i++) {
        wm_status st;

        if ((st = wmi_alloc(&b->memory[2 * i], nodes[i]->n * size, 1, "tuning", err)) ||
            (nodes[i]->wants_grad &&
             (st = wmi_alloc(&b->memory[2 * i + 1], nodes[i]->n * size, 1, "tuning", err))))
            return st;
        nodes[i]->val = b->memory[2 * i];
        nodes[i]->grad = b->memory[2 * i + 1];
    }
    return WM_OK;
}

/* Seconds of one forward and, where wanted, backward call of the node as it is set. */
static wm_status measure(bench *b, double *seconds, wm_error *err)
{
    const wmi_op_def *op = b->nd.op;
    size_t bytes = op->scratch(&b->nd, WMI_FORWARD);
    void *scratch = NULL;
    wm_status st;

    if (b->nd.wants_grad && op->scratch(&b->nd, WMI_BACKWARD) > bytes)
        bytes = op->scratch(&b->nd, WMI_BACKWARD);
    if ((st = wmi_alloc(&scratch, (int64_t)bytes, 1, "tuning", err)))
        return st;
    b->nd.scratch = scratch;
    for (int r = 0; r < REPEATS; r++) {
        const double start = wmi_clock(NULL);

        op->forward(&b->nd);
        if (b->nd.wants_grad)
            op->backward(&b->nd);
        if (r == 0 || wmi_clock(NULL) - start < *seconds)
            *seconds = wmi_clock(NULL) - start;
    }
    wmi_free(scratch);
    return WM_OK;
}

/* Every algorithm of ours that can do the shape, but for the plain loops, which are a yardstick. */
static wm_status fastest(wmi_node *nd, wmi_conv_algo *out, wm_error *err)
{
    const wmi_conv_state *state = nd->state;
    double best = 0, seconds;
    bool any = false;
    bench b;
    wm_status st = bench_new(&b, nd, err);

    for (int a = WMI_CONV_DIRECT + 1; !st && a < WMI_CONV_ALGO_COUNT; a++) {
        if (!wmi_conv_supports((wmi_conv_algo)a, &state->shape, nd->dtype))
            continue;
        if ((st = wmi_conv_use(nd, (wmi_conv_algo)a, err)) || (st = measure(&b, &seconds, err)))
            break;
        if (!any || seconds < best) {
            best = seconds;
            *out = (wmi_conv_algo)a;
            any = true;
        }
    }
    bench_free(&b);
    return st;
}

wm_status wmi_tune_node(wmi_tuning *t, wmi_node *nd, wm_error *err)
{
    const wmi_conv_state *state = nd->state;
    const choice *known;
    choice c;
    wm_status st;

    if (strcmp(nd->op->name, "conv2d") != 0)
        return WM_OK;
    c = (choice){.shape = state->shape, .passes = WMI_CONV_FORWARD, .algo = state->algo};
    if (nd->in[0]->wants_grad)
        c.passes |= WMI_CONV_GRAD_X;
    if (nd->in[1]->wants_grad)
        c.passes |= WMI_CONV_GRAD_W;
    known = find(t, &c);
    if (known)
        return wmi_conv_use(nd, known->algo, err);
    if ((st = fastest(nd, &c.algo, err)) || (st = wmi_conv_use(nd, c.algo, err)))
        return st;
    return add(t, &c, err);
}
