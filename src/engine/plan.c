/* plan.c - from a graph to memory: which nodes live, which gradients are wanted, and one offset for
 * every buffer in one block.
 *
 * Time runs over the n live nodes forward (node i at time i) and back again (node i at 2n - 1 - i).
 * A value lives from its forward call to its last reader, which is a backward call only where
 * op->keep says so; a gradient lives from its first writer to the backward call of its own node.
 * Buffers whose times do not meet share memory: the largest is placed first, each at the lowest
 * offset that is free at its time. */
#include "engine/plan.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/op_table.h"

typedef struct buffer {
    size_t bytes, offset;
    int64_t first, last; /* times, both included; last < first: not used */
    int64_t shared_with; /* index of the buffer whose memory this one uses, or -1 */
    void **at;           /* where the address goes in the end */
} buffer;

enum { VALUE, GRAD, SAVED, SCRATCH_FORWARD, SCRATCH_BACKWARD, KINDS };

typedef struct planner {
    wmi_program *p;
    const wmi_compile_opts *opts;
    int64_t n_nodes;
    int64_t *index; /* by node id: position among the live ones, or -1 */
    bool *on_path;  /* by node id: an ancestor of the loss */
    bool *written;  /* by node id of the root: its gradient has been written */
    buffer *buf;    /* KINDS for each live node */
    int64_t n_buf;
} planner;

wmi_node *wmi_plan_root(wmi_node *nd)
{
    while (nd->op->flags & WMI_OP_ALIAS)
        nd = nd->in[0];
    return nd;
}

static bool is_leaf(const wmi_node *nd)
{
    return nd->op->flags & WMI_OP_LEAF;
}

static bool is_param(const wmi_node *nd)
{
    return is_leaf(nd) && strcmp(nd->op->name, "param") == 0;
}

/* Marks all that the marked nodes are computed from or, with by_gradient, only what their gradients
 * flow to: not labels. Iterative by ids: inputs always have smaller ids. */
static void mark_ancestors(const planner *pl, bool *mark, bool by_gradient)
{
    for (int64_t id = pl->n_nodes - 1; id >= 0; id--) {
        const wmi_node *nd = wmi_graph_node(pl->p->graph, id);

        for (int i = 0; mark[id] && i < nd->n_in; i++)
            if (!by_gradient || !(nd->op->no_grad >> i & 1))
                mark[nd->in[i]->id] = true;
    }
}

static wm_status find_live(planner *pl, wm_error *err)
{
    wmi_program *p = pl->p;
    const wmi_compile_opts *o = pl->opts;
    bool *live = NULL;
    wm_status st = wmi_alloc(&live, pl->n_nodes, sizeof *live, "plan", err);

    if (st)
        return st;
    if (o->loss) {
        pl->on_path[o->loss->id] = true;
        mark_ancestors(pl, pl->on_path, true);
        memcpy(live, pl->on_path, (size_t)pl->n_nodes * sizeof *live);
    }
    for (int i = 0; i < o->n_outputs; i++)
        live[o->outputs[i]->id] = true;
    for (int i = 0; i < o->n_grad_inputs; i++)
        live[o->grad_inputs[i]->id] = true;
    mark_ancestors(pl, live, false);
    for (int64_t id = 0; id < pl->n_nodes; id++) {
        pl->index[id] = live[id] ? p->n_steps : -1;
        p->n_steps += live[id];
    }
    wmi_free(live);
    if ((st = wmi_alloc(&p->steps, p->n_steps, sizeof *p->steps, "program", err)))
        return st;
    for (int64_t id = 0; id < pl->n_nodes; id++)
        if (pl->index[id] >= 0)
            p->steps[pl->index[id]].nd = wmi_graph_node(p->graph, id);
    return WM_OK;
}

static void find_wanted_gradients(const planner *pl)
{
    const wmi_program *p = pl->p;

    for (int64_t s = 0; s < p->n_steps; s++) {
        wmi_node *nd = p->steps[s].nd;

        nd->wants_grad =
            is_param(nd) && p->param_grads && !wmi_param_is_under(nd->name, pl->opts->frozen);
        for (int i = 0; i < pl->opts->n_grad_inputs; i++)
            nd->wants_grad |= nd == pl->opts->grad_inputs[i];
        for (int i = 0; i < nd->n_in; i++)
            nd->wants_grad |= nd->in[i]->wants_grad && !(nd->op->no_grad >> i & 1);
        nd->wants_grad &= pl->on_path[nd->id];
    }
}

static buffer *buffer_of(const planner *pl, const wmi_node *nd, int kind)
{
    return &pl->buf[pl->index[nd->id] * KINDS + kind];
}

static void extend(buffer *b, int64_t time)
{
    if (b->last < b->first) {
        b->first = b->last = time;
        return;
    }
    b->first = time < b->first ? time : b->first;
    b->last = time > b->last ? time : b->last;
}

static unsigned kept_values(const wmi_node *nd)
{
    return nd->op->keeps ? nd->op->keeps(nd) : nd->op->keep;
}

static void find_lifetimes(const planner *pl)
{
    const wmi_program *p = pl->p;
    const int64_t n = p->n_steps, end = 2 * n;

    for (int64_t s = 0; s < n; s++) {
        wmi_node *nd = p->steps[s].nd;
        const int64_t forward = s, backward = 2 * n - 1 - s;
        const unsigned kept = nd->wants_grad && wmi_plan_calls(nd) ? kept_values(nd) : 0;
        wmi_node *root = wmi_plan_root(nd);

        if (is_leaf(nd) && !is_param(nd)) { /* written by the caller, and still there after a run */
            extend(buffer_of(pl, nd, VALUE), 0);
            extend(buffer_of(pl, nd, VALUE), end);
        }
        if (!wmi_plan_calls(nd))
            continue;
        extend(buffer_of(pl, nd, VALUE), forward);
        if (kept & WMI_KEEP_OUT)
            extend(buffer_of(pl, root, VALUE), backward);
        for (int i = 0; i < nd->n_in; i++) {
            wmi_node *in = wmi_plan_root(nd->in[i]);

            if (is_param(in))
                continue;
            extend(buffer_of(pl, in, VALUE), forward);
            if (kept & WMI_KEEP_IN(i))
                extend(buffer_of(pl, in, VALUE), backward);
        }
        if (nd->wants_grad) {
            extend(buffer_of(pl, nd, GRAD), backward);
            for (int i = 0; i < nd->n_in; i++) {
                wmi_node *in = wmi_plan_root(nd->in[i]);

                if (nd->in[i]->wants_grad && !(nd->op->no_grad >> i & 1) && !is_param(in))
                    extend(buffer_of(pl, in, GRAD), backward);
            }
        }
    }
    for (int i = 0; i < pl->opts->n_outputs; i++) {
        wmi_node *root = wmi_plan_root(pl->opts->outputs[i]);

        if (!is_param(root))
            extend(buffer_of(pl, root, VALUE), end);
    }
    if (p->loss) {
        wmi_node *root = wmi_plan_root(p->loss);

        if (!is_param(root))
            extend(buffer_of(pl, root, VALUE), end);
        if (root->wants_grad && !is_param(root))
            extend(buffer_of(pl, root, GRAD), n); /* seeded with ones before the backward pass */
    }
    for (int i = 0; i < pl->opts->n_grad_inputs; i++) {
        buffer *b = buffer_of(pl, pl->opts->grad_inputs[i], GRAD);

        extend(b, end);
        if (!pl->opts->grad_inputs[i]->wants_grad)
            extend(b, 0); /* the loss does not depend on it: zeros, for ever */
    }
}

/* For any number of threads that may come to serve it: fewer may each want more. */
static size_t scratch_of(const planner *pl, const wmi_node *nd, wmi_phase phase)
{
    wmi_program *p = pl->p;
    size_t most = 0;

    for (p->run.threads = 1; nd->op->scratch && p->run.threads <= p->threads; p->run.threads++) {
        const size_t bytes = nd->op->scratch(nd, phase);

        most = bytes > most ? bytes : most;
    }
    p->run.threads = p->threads;
    return most;
}

static void find_sizes(const planner *pl)
{
    for (int64_t s = 0; s < pl->p->n_steps; s++) {
        wmi_step *step = &pl->p->steps[s];
        wmi_node *nd = step->nd;
        const int64_t forward = s, backward = 2 * pl->p->n_steps - 1 - s;
        buffer *b = &pl->buf[s * KINDS];

        for (int k = 0; k < KINDS; k++)
            b[k].bytes = k <= GRAD ? (size_t)nd->n * wmi_dtype_size(nd->dtype) : 0;
        b[VALUE].at = &nd->val;
        b[GRAD].at = &nd->grad;
        b[SAVED].at = &nd->saved;
        b[SCRATCH_FORWARD].at = &step->scratch[WMI_FORWARD];
        b[SCRATCH_BACKWARD].at = &step->scratch[WMI_BACKWARD];
        if (!wmi_plan_calls(nd))
            continue;
        if ((b[SCRATCH_FORWARD].bytes = scratch_of(pl, nd, WMI_FORWARD)))
            extend(&b[SCRATCH_FORWARD], forward);
        if (nd->wants_grad && (b[SCRATCH_BACKWARD].bytes = scratch_of(pl, nd, WMI_BACKWARD)))
            extend(&b[SCRATCH_BACKWARD], backward);
        if (nd->op->saved && nd->wants_grad && (b[SAVED].bytes = nd->op->saved(nd))) {
            extend(&b[SAVED], forward);
            extend(&b[SAVED], backward);
        }
    }
}

/* Lets b use the memory of its neighbour in time, whose last moment is b's first (or the reverse).
 */
static void share(planner *pl, buffer *b, buffer *owner)
{
    b->shared_with = owner - pl->buf;
    extend(owner, b->first);
    extend(owner, b->last);
}

static buffer *owner_of(const planner *pl, buffer *b)
{
    while (b->shared_with >= 0)
        b = &pl->buf[b->shared_with];
    return b;
}

/* An op that may work in place does so when its first input ends its life there. */
static void share_in_place(planner *pl)
{
    const int64_t n = pl->p->n_steps;

    for (int64_t s = 0; s < n; s++) {
        wmi_node *nd = pl->p->steps[s].nd, *in;
        bool alone = true;

        if (!wmi_plan_calls(nd) || !(nd->op->flags & WMI_OP_INPLACE) || nd->n_in == 0)
            continue;
        in = wmi_plan_root(nd->in[0]);
        for (int i = 1; i < nd->n_in; i++)
            alone &= wmi_plan_root(nd->in[i]) != in;
        if (alone && !is_leaf(in) && in->n == nd->n) {
            buffer *from = owner_of(pl, buffer_of(pl, in, VALUE));

            if (from->last == s)
                share(pl, buffer_of(pl, nd, VALUE), from);
        }
    }
    for (int64_t s = n - 1; s >= 0; s--) {
        wmi_node *nd = pl->p->steps[s].nd, *in;
        bool alone = true;

        if (!wmi_plan_calls(nd) || !nd->wants_grad || !(nd->op->flags & WMI_OP_INPLACE_GRAD) ||
            nd->n_in == 0 || !nd->in[0]->wants_grad || !(nd->fresh & 1))
            continue;
        in = wmi_plan_root(nd->in[0]);
        for (int i = 1; i < nd->n_in; i++)
            alone &= wmi_plan_root(nd->in[i]) != in;
        if (alone && !is_leaf(in) && in->n == nd->n) {
            buffer *from = owner_of(pl, buffer_of(pl, nd, GRAD));

            if (from->last == 2 * n - 1 - s)
                share(pl, buffer_of(pl, in, GRAD), from);
        }
    }
}

/* Which gradient writes are the first to their buffer. Runs backward, as the program will. */
static void find_fresh(const planner *pl)
{
    wmi_program *p = pl->p;

    if (p->loss)
        pl->written[wmi_plan_root(p->loss)->id] = true;
    for (int64_t s = p->n_steps - 1; s >= 0; s--) {
        wmi_step *step = &p->steps[s];
        wmi_node *nd = step->nd;

        nd->fresh = 0;
        if (!wmi_plan_calls(nd) || !nd->wants_grad)
            continue;
        for (int i = 0; i < nd->n_in; i++) {
            wmi_node *in = wmi_plan_root(nd->in[i]);

            if (!nd->in[i]->wants_grad || nd->op->no_grad >> i & 1)
                continue;
            nd->fresh |= (unsigned)!pl->written[in->id] << i;
            pl->written[in->id] = true;
        }
        step->zero = nd->op->flags & WMI_OP_WRITES_FRESH ? 0 : nd->fresh;
    }
}

static int by_size(const void *a, const void *b)
{
    const buffer *x = *(buffer *const *)a, *y = *(buffer *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y; /* the same plan every time */
}

static int by_offset(const void *a, const void *b)
{
    const buffer *x = *(buffer *const *)a, *y = *(buffer *const *)b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool meet(const buffer *a, const buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static wm_status place(planner *pl, wm_error *err)
{
    buffer **order = NULL, **near = NULL;
    int64_t n = 0;
    wm_status st;

    if ((st = wmi_alloc(&order, pl->n_buf, sizeof *order, "plan", err)) ||
        (st = wmi_alloc(&near, pl->n_buf, sizeof *near, "plan", err)))
        goto done;
    for (int64_t i = 0; i < pl->n_buf; i++) {
        buffer *b = &pl->buf[i];

        if (b->bytes > SIZE_MAX / 4) {
            st = wmi_fail(err, WM_ENOMEM, "program: one buffer would take %zu bytes", b->bytes);
            goto done;
        }
        b->bytes = (b->bytes + WMI_ALIGN - 1) / WMI_ALIGN * WMI_ALIGN;
        if (b->last >= b->first && b->shared_with < 0)
            order[n++] = b;
    }
    qsort(order, (size_t)n, sizeof *order, by_size);
    for (int64_t i = 0; i < n; i++) {
        size_t at = 0;
        int64_t k = 0;

        for (int64_t j = 0; j < i; j++)
            if (meet(order[i], order[j]))
                near[k++] = order[j];
        qsort(near, (size_t)k, sizeof *near, by_offset);
        for (int64_t j = 0; j < k; j++) {
            if (at + order[i]->bytes <= near[j]->offset)
                break;
            if (near[j]->offset + near[j]->bytes > at)
                at = near[j]->offset + near[j]->bytes;
        }
        order[i]->offset = at;
        if (at + order[i]->bytes > pl->p->bytes)
            pl->p->bytes = at + order[i]->bytes;
    }
    st = wmi_alloc(&pl->p->block, (int64_t)pl->p->bytes, 1, "program memory", err);
done:
    wmi_free(near);
    wmi_free(order);
    return st;
}

/* Addresses into nodes and steps; parameters get theirs when vectors are bound. */
static void assign(const planner *pl)
{
    wmi_program *p = pl->p;

    for (int64_t i = 0; i < pl->n_buf; i++)
        if (pl->buf[i].last >= pl->buf[i].first)
            *pl->buf[i].at = p->block + owner_of(pl, &pl->buf[i])->offset;
    for (int64_t s = 0; s < p->n_steps; s++) {
        wmi_node *nd = p->steps[s].nd, *root = wmi_plan_root(nd);

        nd->run = &p->run;
        nd->val = root->val;
        nd->grad = root->grad;
        if (is_param(nd) && nd->wants_grad)
            p->reached[wmi_params_find(wmi_graph_params(p->graph), nd->name) -
                       wmi_params_entry(wmi_graph_params(p->graph), 0)] = true;
    }
}

static wm_status prepare_ops(wmi_program *p, wm_error *err)
{
    for (int64_t s = 0; s < p->n_steps; s++) {
        wmi_node *nd = p->steps[s].nd;
        wm_status st;

        nd->run = &p->run;
        if (nd->op->prepare && (st = nd->op->prepare(nd, err)))
            return st;
    }
    return WM_OK;
}

wm_status wmi_plan(wmi_program *p, const wmi_compile_opts *opts, wm_error *err)
{
    const wmi_params *params = wmi_graph_params(p->graph);
    planner pl = {.p = p, .opts = opts, .n_nodes = wmi_graph_size(p->graph)};
    wm_status st;

    /* Inside a parallel region the tasks are spread already: kernels are serial there. */
    p->threads = p->run.threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    if ((st = wmi_alloc(&pl.index, pl.n_nodes, sizeof *pl.index, "plan", err)) ||
        (st = wmi_alloc(&pl.on_path, pl.n_nodes, sizeof *pl.on_path, "plan", err)) ||
        (st = wmi_alloc(&pl.written, pl.n_nodes, sizeof *pl.written, "plan", err)) ||
        (st = wmi_alloc(&p->reached, params ? wmi_params_entries(params) : 0, sizeof *p->reached,
                        "program", err)) ||
        (st = find_live(&pl, err)))
        goto done;
    find_wanted_gradients(&pl);
    if ((st = prepare_ops(p, err)))
        goto done;
    pl.n_buf = p->n_steps * KINDS;
    if ((st = wmi_alloc(&pl.buf, pl.n_buf, sizeof *pl.buf, "plan", err)))
        goto done;
    for (int64_t i = 0; i < pl.n_buf; i++)
        pl.buf[i] = (buffer){.first = 0, .last = -1, .shared_with = -1};
    find_lifetimes(&pl);
    find_sizes(&pl);
    find_fresh(&pl);
    share_in_place(&pl);
    if ((st = place(&pl, err)))
        goto done;
    assign(&pl);
done:
    wmi_free(pl.buf);
    wmi_free(pl.written);
    wmi_free(pl.on_path);
    wmi_free(pl.index);
    return st;
}
