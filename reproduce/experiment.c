/* experiment.c - what the experiments share: presets, checks, clearing up. */
#include "experiment.h"

#include <stdio.h>
#include <string.h>

#include "waymark/check.h"

const void *reproduce_preset_of(const void *presets, size_t size,
                                const reproduce_settings *settings, wm_error *err)
{
    static const char *const names[REPRODUCE_PRESETS] = {"smoke", "laptop", "paper", "night"};

    for (size_t i = 0; i < REPRODUCE_PRESETS; i++)
        if (strcmp(names[i], settings->preset) == 0)
            return (const char *)presets + i * size;
    wm_error_set(err, WM_EINVAL, __FILE__, __LINE__,
                 "preset '%s': smoke, laptop and paper are known, for mnist night too",
                 settings->preset);
    return NULL;
}

void reproduce_check(reproduce_result *out, const char *name, double value, double limit,
                     const char *meaning)
{
    const bool ok = value <= limit;

    WM_PUT(wm_summary_row(out->summary, "checks"), WM_TEXT("name", name), WM_REAL("value", value),
           WM_REAL("limit", limit), WM_BOOL("ok", ok),
           WM_TEXT("outcome", wm_outcome_text(ok ? WM_CHECK_OK : WM_CHECK_DOUBT)),
           WM_TEXT("meaning", meaning));
    out->doubt = out->doubt || !ok;
}

void reproduce_verdict(const reproduce_result *out)
{
    wm_summary_text(out->summary, "verdict", out->doubt ? "doubt" : "trust");
}

wm_figure *reproduce_figure(reproduce_result *out, const char *name, const char *title)
{
    return out->figures[out->n_figures++] = wm_figure_new(name, title);
}

static bool is_word(const char *name, const char *word, size_t n)
{
    return n > 0 && strlen(name) == n && strncmp(name, word, n) == 0;
}

wm_status reproduce_choose(bool *wanted, const reproduce_names *names, int n, const char *only,
                           const char *known, wm_error *err)
{
    for (int i = 0; i < n; i++)
        wanted[i] = !only;
    for (const char *word = only; word;) {
        const size_t len = strcspn(word, ",");
        bool any = false;

        for (int i = 0; i < n; i++)
            if (is_word(names[i].row, word, len) || is_word(names[i].first, word, len) ||
                is_word(names[i].second, word, len))
                any = wanted[i] = true;
        if (!any)
            return WM_FAIL(err, WM_EINVAL, "--only '%.60s': %s", only, known);
        word = word[len] ? word + len + 1 : NULL;
    }
    return WM_OK;
}

void reproduce_announce(const wm_sink *sink, int i, int n, const char *name)
{
    wm_say(sink, WM_LOG_INFO, "%d of %d: %s", i + 1, n, name);
}

void reproduce_result_clear(reproduce_result *result)
{
    wm_text_table_free(result->table);
    result->table = NULL;
    while (result->n_figures > 0)
        wm_figure_free(result->figures[--result->n_figures]);
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
