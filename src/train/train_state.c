/* train_state.c - arrays, optimiser and weight average of a training run. */
#include "train/train_state.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Runs of entries with one learning rate, in order, gaps included: what Adam wants. */
static wm_status make_adam(wmi_train_state *s, const wmi_params *params, const wm_adam_opts *adam,
                           const wmi_train_tune *tune, wm_error *err)
{
    const int64_t entries = wmi_params_entries(params);
    wmi_adam_group *groups = NULL;
    wmi_adam_opts opts;
    int64_t n = 0;
    wm_status st = wmi_alloc(&groups, entries, sizeof *groups, "parameter groups", err);

    if (st)
        return st;
    for (int64_t i = 0; i < entries; i++) {
        const wmi_param_entry *e = wmi_params_entry(params, i);
        const int64_t end =
            i + 1 < entries ? wmi_params_entry(params, i + 1)->offset : wmi_params_count(params);
        const bool constant = e->group == WMI_GROUP_CONSTANT,
                   frozen = wmi_param_is_under(e->name, tune->frozen);
        const double mult = frozen                         ? 0
                            : constant                     ? adam->lr_constants
                            : e->group == WMI_GROUP_SPLINE ? tune->splines
                                                           : 1;
        const double decay = frozen || constant ? 0 : adam->weight_decay;

        if (n && groups[n - 1].lr_mult == mult && groups[n - 1].decay == decay)
            groups[n - 1].count = end - groups[n - 1].first;
        else
            groups[n++] = (wmi_adam_group){e->offset, end - e->offset, mult, decay};
    }
    wmi_adam_opts_init(&opts);
    opts.clip = adam->clip;
    if (tune->beta2 > 0)
        opts.beta2 = tune->beta2;
    st = wmi_adam_new(&s->adam, s->n, 32, groups, n, &opts, err);
    wmi_free(groups);
    return st;
}

/* Neighbouring steps differ little: every 8th is enough for an average over 100 steps or more, and
 * costs an eighth. Its decay is that of so many steps. */
static int64_t steps_per_average(double decay)
{
    const double memory = decay < 1 ? 1 / (1 - decay) : 1; /* steps */

    return memory >= 128 ? 8 : memory >= 16 ? (int64_t)(memory / 16) : 1;
}

wm_status wmi_train_state_open(wmi_train_state *s, const wmi_params *params, int64_t n_bridges,
                               const wm_adam_opts *adam, const wmi_train_tune *tune, wm_error *err)
{
    wm_status st;

    *s = (wmi_train_state){
        .n = wmi_params_count(params), .n_bridges = n_bridges, .best_loss = INFINITY};
    if ((st = wmi_alloc(&s->theta, s->n, sizeof *s->theta, "parameters", err)) ||
        (st = wmi_alloc(&s->best, s->n, sizeof *s->best, "best parameters", err)) ||
        (st = wmi_alloc(&s->best_eval, 3 * n_bridges, sizeof *s->best_eval, "evaluation", err)) ||
        (st = wmi_alloc(&s->saturated, n_bridges, sizeof *s->saturated, "evaluation", err)) ||
        (st = make_adam(s, params, adam, tune, err)))
        return st;
    if (adam->average > 0)
        st = wmi_average_new(&s->average, s->n,
                             pow(adam->average, (double)steps_per_average(adam->average)),
                             WMI_AVERAGE_CORRECTED, err);
    return st;
}

void wmi_train_state_close(wmi_train_state *s)
{
    wmi_adam_free(s->adam);
    wmi_average_free(s->average);
    wmi_free(s->theta);
    wmi_free(s->best);
    wmi_free(s->best_eval);
    wmi_free(s->saturated);
    *s = (wmi_train_state){0};
}

void wmi_train_state_average(wmi_train_state *s, const wm_adam_opts *adam)
{
    if (s->average && s->step % steps_per_average(adam->average) == 0) /* the first is in it */
        wmi_average_update_f32(s->average, s->theta);
}

uint64_t wmi_hash(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

uint64_t wmi_hash_params(uint64_t h, const wmi_params *params)
{
    for (int64_t i = 0; i < wmi_params_entries(params); i++) {
        const wmi_param_entry *e = wmi_params_entry(params, i);

        h = wmi_hash(h, e->name, strlen(e->name));
        h = wmi_hash(h, e->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim);
    }
    return h;
}
