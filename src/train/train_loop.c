/* train_loop.c - the one loop of training (train_loop.h). */
#include "train/train_loop.h"

#include <inttypes.h>

#include "base/speak.h"

wm_status wmi_train_loop_resume(const wmi_train_loop *l, wm_error *err)
{
    bool found = false;
    wm_status st;

    if (!l->resume || !l->checkpoint)
        return WM_OK;
    if ((st = wmi_checkpoint_load(l->checkpoint, l->state, l->settings, &found, err)) || !found)
        return st;
    wmi_say(l->sink, WM_LOG_INFO, "resumed at step %" PRId64, l->state->step);
    l->resumed(l->ctx, l->state->step);
    return WM_OK;
}

static wm_status take_step(const wmi_train_loop *l, wm_error *err)
{
    wmi_train_state *s = l->state;
    wm_status st;

    if ((st = l->draw(l->ctx, s->step, err)))
        return st;
    wmi_program_step(l->program, l->seed, (uint64_t)s->step, true);
    if ((st = wmi_program_backward(l->program, err)) ||
        (st = wmi_adam_step_f32(s->adam, wmi_lr_at(&l->schedule, s->step), l->grad, s->theta, err)))
        return st;
    wmi_train_state_average(s, l->rates);
    s->train_sum += wmi_program_scalar(l->program, l->loss);
    s->train_steps++;
    s->step++;
    return WM_OK;
}

/* Whether this step was the last, and why. */
static bool is_over(const wmi_train_loop *l, double elapsed, wmi_loop_end *end)
{
    if (l->state->step >= l->iterations)
        *end = WMI_LOOP_DONE;
    else if (l->ended(l->ctx))
        *end = WMI_LOOP_ENDED;
    else if (l->stop && *l->stop)
        *end = WMI_LOOP_ASKED;
    else if (l->time_limit > 0 && elapsed >= l->time_limit)
        *end = WMI_LOOP_TIME;
    else
        return false;
    return true;
}

wm_status wmi_train_loop_run(const wmi_train_loop *l, wmi_loop_end *end, wm_error *err)
{
    wmi_train_state *s = l->state;
    const double start = wmi_clock(l->sink), before = s->seconds;
    double saved = start;
    bool over = s->step >= l->iterations || l->ended(l->ctx);
    char text[WMI_LOOP_TEXT];
    wmi_progress progress;
    wm_status st;

    wmi_progress_start(&progress, l->sink, "steps", s->step, l->iterations);
    *end = s->step >= l->iterations ? WMI_LOOP_DONE : WMI_LOOP_ENDED;
    while (!over) {
        double now;

        if ((st = take_step(l, err)))
            return st;
        if ((s->step % l->eval_every == 0 || s->step == l->iterations) &&
            (st = l->evaluate(l->ctx, err)))
            return st;
        now = wmi_clock(l->sink);
        s->seconds = before + now - start;
        over = is_over(l, now - start, end);
        if (l->checkpoint && (over || now - saved >= l->checkpoint_seconds)) {
            if ((st = wmi_checkpoint_save(l->checkpoint, s, l->settings, err)))
                return st;
            saved = now;
        }
        l->speak(l->ctx, now - start, text, sizeof text);
        if (over)
            wmi_progress_finish(&progress, s->step, "%s", text);
        else
            wmi_progress_update(&progress, s->step, "%s", text);
    }
    return WM_OK;
}
