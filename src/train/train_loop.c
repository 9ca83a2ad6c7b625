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

static wm_status take_step(const wmi_train_loop *l, wm_error *err)
{
    const wmi_lr_schedule rate = {l->adam->constant_lr ? WMI_LR_CONSTANT : WMI_LR_COSINE,
                                  l->adam->lr, l->adam->iterations, l->adam->warmup};
    wmi_train_state *s = l->state;
    wm_status st;

    if ((st = l->draw(l->ctx, s->step, err)))
        return st;
    wmi_program_step(l->program, l->control->seed, (uint64_t)s->step, true);
    if ((st = wmi_program_backward(l->program, err)) ||
        (st = wmi_adam_step_f32(s->adam, wmi_lr_at(&rate, s->step), l->grad, s->theta, err)))
        return st;
    wmi_train_state_average(s, l->adam);
    s->train_sum += wmi_program_scalar(l->program, l->loss);
    s->train_steps++;
    s->step++;
    return WM_OK;
}

/* Whether this step was the last, and why. */
static bool is_over(const wmi_train_loop *l, double elapsed, wmi_loop_end *end)
{
    const wm_fit_control *c = l->control;

    if (l->state->step >= l->adam->iterations)
        *end = WMI_LOOP_DONE;
    else if (l->ended(l->ctx))
        *end = WMI_LOOP_ENDED;
    else if (l->asked || (c->stop && *c->stop))
        *end = WMI_LOOP_ASKED;
    else if (c->time_limit > 0 && elapsed >= c->time_limit)
        *end = WMI_LOOP_TIME;
    else
        return false;
    return true;
}

wm_status wmi_train_loop_run(wmi_train_loop *l, wmi_loop_end *end, wm_error *err)
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

        if ((st = take_step(l, err)))
            return st;
        if ((s->step % eval_every == 0 || s->step == iterations) &&
            (st = wmi_train_loop_evaluate(l, err)))
            return st;
        now = wm_clock(c->sink);
        s->seconds = before + now - start;
        over = is_over(l, now - start, end);
        if (c->checkpoint && (over || now - saved >= c->checkpoint_seconds)) {
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
