/* train_loop.c - the one loop of training (train_loop.h). */
#include "train/train_loop.h"

#include <inttypes.h>
#include <math.h>

#include "optim/lr_schedule.h"
#include "waymark/sink.h"

wm_status wmi_train_loop_resume(wmi_train_loop *l, wm_error *err)
{
    const wm_fit_control *c = l->control;
    bool found = false;
    wm_status st;

    l->started = wm_clock(c->sink);
    l->asked = false;
    if (!c->resume || !c->checkpoint)
        return WM_OK;
    if ((st = wmi_checkpoint_load(c->checkpoint, l->state, l->settings, &found, err)) || !found)
        return st;
    wm_say(c->sink, WM_LOG_INFO, "resumed at step %" PRId64, l->state->step);
    if (c->on_resume)
        c->on_resume(c->ctx, l->stage, l->state->step);
    return WM_OK;
}

wm_status wmi_train_loop_evaluate(wmi_train_loop *l, wm_error *err)
{
    const wm_fit_control *c = l->control;
    wmi_train_state *s = l->state;
    const bool swap = s->average && s->average->count > 0;
    wm_evaluation e = {.stage = l->stage,
                       .step = s->step,
                       .train_loss =
                           s->train_steps ? s->train_sum / (double)s->train_steps : (double)NAN,
                       .valid_loss = NAN,
                       .estimate = NAN};
    wm_status st;

    if (swap)
        wmi_average_swap_in_f32(s->average, s->theta);
    st = l->evaluate(l->ctx, &e, err);
    if (swap)
        wmi_average_swap_out_f32(s->average, s->theta);
    if (st)
        return st;
    s->train_sum = 0;
    s->train_steps = 0;
    e.seconds = wm_clock(c->sink) - l->started;
    if (c->on_eval && c->on_eval(c->ctx, &e))
        l->asked = true;
    return WM_OK;
}

static bool is_asked(const wmi_train_loop *l)
{
    return l->asked || (l->control->stop && *l->control->stop);
}

static bool is_late(const wmi_train_loop *l, double elapsed)
{
    return l->control->time_limit > 0 && elapsed >= l->control->time_limit;
}

/* One batch through the program. */
static wm_status run_batch(const wmi_train_loop *l, int64_t batch, wm_error *err)
{
    const wm_status st = l->draw(l->ctx, batch, err);

    if (st)
        return st;
    wmi_program_step(l->program, l->control->seed, (uint64_t)batch, true);
    return wmi_program_backward(l->program, err);
}

/* The pieces of this rank, and the mean of all. A loss that is no number goes to all ranks as such:
 * they fail together. */
static wm_status run_pieces(wmi_train_loop *l, double elapsed, const float **grad, double *loss,
                            wm_error *err)
{
    wmi_pieces *p = &l->shared;
    const int64_t n = l->state->n;
    wm_status st = WM_OK, diverged = WM_OK;

    for (int64_t i = 0; i < p->own; i++) {
        float extra[WMI_PIECE_EXTRAS] = {0};

        st = run_batch(l, l->state->step * p->pieces + p->first + i, err);
        if (st && st != WM_EDIVERGED)
            return st;
        diverged = diverged ? diverged : st;
        extra[WMI_PIECE_LOSS] = st ? NAN : (float)wmi_program_scalar(l->program, l->loss);
        extra[WMI_PIECE_ASKED] = i == 0 && is_asked(l);
        extra[WMI_PIECE_TIME] = i == 0 && is_late(l, elapsed);
        wmi_pieces_add(p, i, l->grad, extra);
    }
    if ((st = wmi_pieces_mean(p, grad, err)))
        return st;
    if (diverged)
        return diverged;
    *loss = (double)(*grad)[n + WMI_PIECE_LOSS];
    l->over_asked = (*grad)[n + WMI_PIECE_ASKED] > 0;
    l->over_time = (*grad)[n + WMI_PIECE_TIME] > 0;
    return isfinite(*loss) ? WM_OK
                           : wmi_fail(err, WM_EDIVERGED,
                                      "the loss of step %" PRId64 " is not finite", l->state->step);
}

static wm_status take_step(wmi_train_loop *l, double elapsed, wm_error *err)
{
    const wmi_lr_schedule rate = {l->adam->constant_lr ? WMI_LR_CONSTANT : WMI_LR_COSINE,
                                  l->adam->lr, l->adam->iterations, l->adam->warmup};
    wmi_train_state *s = l->state;
    const float *grad = l->grad;
    double loss = 0;
    wm_status st;

    if ((st = l->pieces ? run_pieces(l, elapsed, &grad, &loss, err) : run_batch(l, s->step, err)) ||
        (st = wmi_adam_step_f32(s->adam, wmi_lr_at(&rate, s->step), grad, s->theta, err)))
        return st;
    wmi_train_state_average(s, l->adam);
    s->train_sum += l->pieces ? loss : wmi_program_scalar(l->program, l->loss);
    s->train_steps++;
    s->step++;
    return WM_OK;
}

/* Whether this step was the last, and why. */
static bool is_over(const wmi_train_loop *l, double elapsed, wmi_loop_end *end)
{
    const bool agreed = l->pieces && l->control->comm; /* else each rank is on its own */

    if (l->state->step >= l->adam->iterations)
        *end = WMI_LOOP_DONE;
    else if (l->ended(l->ctx))
        *end = WMI_LOOP_ENDED;
    else if (agreed ? l->over_asked : is_asked(l))
        *end = WMI_LOOP_ASKED;
    else if (agreed ? l->over_time : is_late(l, elapsed))
        *end = WMI_LOOP_TIME;
    else
        return false;
    return true;
}

static wm_status run_loop(wmi_train_loop *l, wmi_loop_end *end, wm_error *err)
{
    const wm_fit_control *c = l->control;
    const int64_t iterations = l->adam->iterations,
                  eval_every = l->adam->eval_every > 0 ? l->adam->eval_every : l->epoch;
    wmi_train_state *s = l->state;
    const double start = wm_clock(c->sink), before = s->seconds;
    double saved = start;
    bool over = s->step >= iterations || l->ended(l->ctx);
    char text[WMI_LOOP_TEXT];
    wm_task progress;
    wm_status st;

    wm_task_start(&progress, c->sink, "steps", s->step, iterations);
    *end = s->step >= iterations ? WMI_LOOP_DONE : WMI_LOOP_ENDED;
    while (!over) {
        double now;

        wmi_pace_begin(&l->pace);
        st = take_step(l, wm_clock(c->sink) - start, err);
        wmi_pace_end(&l->pace);
        if (st)
            return st;
        if ((s->step % eval_every == 0 || s->step == iterations) &&
            (st = wmi_train_loop_evaluate(l, err)))
            return st;
        now = wm_clock(c->sink);
        s->seconds = before + now - start;
        over = is_over(l, now - start, end);
        if (c->checkpoint && wm_comm_rank(c->comm) == 0 &&
            (over || now - saved >= c->checkpoint_seconds)) {
            if ((st = wmi_checkpoint_save(c->checkpoint, s, l->settings, err)))
                return st;
            saved = now;
        }
        l->speak(l->ctx, now - start, text, sizeof text);
        if (over)
            wm_task_finish(&progress, s->step, "%s", text);
        else
            wm_task_update(&progress, s->step, "%s", text);
    }
    return WM_OK;
}

wm_status wmi_train_loop_run(wmi_train_loop *l, wmi_loop_end *end, wm_error *err)
{
    wm_status st = WM_OK;

    if (l->pieces)
        st = wmi_pieces_open(&l->shared, l->control->comm, l->pieces, l->state->n, err);
    if (!st)
        st = run_loop(l, end, err);
    wmi_pieces_close(&l->shared);
    return st;
}
