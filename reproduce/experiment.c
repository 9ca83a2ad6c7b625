/* experiment.c - what the experiments share: presets, checks, failing, progress, clearing up. */
#include "experiment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

wm_status(reproduce_fail)(wm_error *err, wm_status code, const char *file, int line,
                          const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    *err = (wm_error){.code = code, .file = file, .line = line};
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return code;
}

wm_status reproduce_preset_find(reproduce_preset *out, const char *name, wm_error *err)
{
    static const char *const names[] = {"smoke", "laptop", "paper"};

    for (int i = 0; i < REPRODUCE_PRESETS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (reproduce_preset)i;
            return WM_OK;
        }
    return reproduce_fail(err, WM_EINVAL, "preset '%s': smoke, laptop and paper are known", name);
}

void reproduce_check(reproduce_result *out, const char *name, double value, double limit,
                     const char *meaning)
{
    wm_summary *check = wm_summary_row(out->summary, "checks");
    const bool ok = value <= limit;

    wm_summary_text(check, "name", name);
    wm_summary_real(check, "value", value);
    wm_summary_real(check, "limit", limit);
    wm_summary_bool(check, "ok", ok);
    wm_summary_text(check, "meaning", meaning);
    out->doubt = out->doubt || !ok;
}

void reproduce_verdict(const reproduce_result *out)
{
    wm_summary_text(out->summary, "verdict", out->doubt ? "doubt" : "trust");
}

void reproduce_cell(wm_table *t, double x, int digits)
{
    if (isnan(x))
        wm_table_text(t, "");
    else
        wm_table_real(t, x, digits);
}

void reproduce_announce(const wm_sink *sink, int i, int n, const char *name)
{
    char line[96];

    if (!sink || !sink->log)
        return;
    snprintf(line, sizeof line, "%d of %d: %s", i + 1, n, name);
    sink->log(sink->ctx, WM_LOG_INFO, line);
}

void reproduce_result_clear(reproduce_result *result)
{
    wm_table_free(result->table);
    result->table = NULL;
    while (result->n_figures > 0)
        wm_figure_free(result->figures[--result->n_figures]);
}

double reproduce_clock(const wm_sink *sink)
{
    struct timespec t;

    if (sink && sink->clock)
        return sink->clock(sink->ctx);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void reproduce_progress_start(reproduce_progress *p, const wm_sink *sink, const char *unit,
                              int64_t total)
{
    *p = (reproduce_progress){
        .sink = sink, .unit = unit, .total = total, .started = reproduce_clock(sink)};
    p->spoke = p->started;
}

void reproduce_progress_update(reproduce_progress *p, int64_t done, const char *message)
{
    const double time = reproduce_clock(p->sink), elapsed = time - p->started;
    wm_progress say = {.done = done, .total = p->total, .unit = p->unit, .message = message};

    if (!p->sink || !p->sink->progress || (done < p->total && time - p->spoke < p->sink->interval))
        return;
    p->spoke = time;
    say.elapsed = elapsed;
    say.rate = elapsed > 0 ? (double)done / elapsed : 0;
    say.eta = say.rate > 0 ? (double)(p->total - done) / say.rate : NAN;
    p->sink->progress(p->sink->ctx, &say);
}

wm_status reproduce_path(const char **out, const char *name, const char *suffix,
                         const reproduce_settings *settings, wm_error *err)
{
    char file[128];

    snprintf(file, sizeof file, "%s%s", name, suffix);
    return wm_run_folder_path(out, settings->folder, file, err);
}

bool reproduce_has(const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;

    if (f)
        fclose(f);
    return f != NULL;
}
