/* fitting.c - shared parts of the commands that fit by many steps (fitting.h). */
#include "fitting.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "waymark/read.h"

bool image_parse(int64_t shape[3], const char *text)
{
    long long h = 0, w = 0, c = 1;
    int used = 0;

    if (sscanf(text, "%lldx%lld%n", &h, &w, &used) < 2 ||
        (text[used] && (sscanf(text, "%lldx%lldx%lld%n", &h, &w, &c, &used) < 3 || text[used])) ||
        h < 1 || w < 1 || c < 1 || h > 65536 || w > 65536 || c > 65536)
        return false;
    shape[0] = h;
    shape[1] = w;
    shape[2] = c;
    return true;
}

wm_status image_find(bool *found, int64_t shape[3], const char *path, wm_error *err)
{
    wm_reader *r = NULL;
    struct stat info;
    wm_status st;

    *found = false;
    /* What is no file on the disk can be read only once. "FILE:ARRAY" is none by its name. */
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return WM_OK;
    if ((st = wm_reader_open(&r, path, NULL, NULL, err)))
        return st;
    *found = wm_reader_shape(r, shape) >= 2;
    wm_reader_close(r);
    return WM_OK;
}

wm_status take_spacing(wm_spacing *out, int64_t *bridges, const char *text, cli_call *call,
                       wm_error *err)
{
    wm_alphas alphas;
    wm_error why = {0};

    if (wm_spacing_parse(out, text, &why))
        return cli_usage(call, err, "--spacing: %s", why.text);
    if (out->kind != WM_SPACING_LIST)
        return WM_OK;
    if (wm_spacing_alphas(&alphas, out, *bridges, &why))
        return cli_usage(call, err, "--spacing: %s", why.text);
    *bridges = alphas.bridges;
    return WM_OK;
}

wm_summary *metrics_line(metrics *m, const char *stage, int64_t step)
{
    wm_summary *line = NULL;

    if (m->st || !m->call->run)
        return NULL;
    /* A run that was killed may have said more than its checkpoint knows. */
    if (!m->stage || strcmp(m->stage, stage) != 0)
        m->st = wm_run_folder_rewind(m->call->run, stage, step - 1, &m->err);
    m->stage = stage;
    if (m->st || (m->st = wm_summary_new(&line, &m->err)))
        return NULL;
    wm_summary_text(line, "stage", stage);
    wm_summary_integer(line, "step", step);
    return line;
}

void metrics_bridge(wm_summary *line, int64_t k, double loss, double accuracy,
                    double mean_log_ratio)
{
    wm_summary *row = wm_summary_row(line, "bridges");

    wm_summary_integer(row, "k", k);
    wm_summary_real(row, "loss", loss);
    wm_summary_real(row, "accuracy", accuracy);
    wm_summary_real(row, "mean_log_ratio", mean_log_ratio);
}

void metrics_write(metrics *m, wm_summary *line)
{
    m->st = wm_run_folder_metrics(m->call->run, line, &m->err);
    wm_summary_free(line);
}

wm_status metrics_done(const metrics *m, wm_error *err)
{
    if (m->st)
        *err = m->err;
    return m->st;
}

wm_status fit_interrupted(const cli_call *call, bool finished, const char *model, wm_error *err)
{
    if (finished || !*call->stop)
        return WM_OK;
    opt_fail(err, "%s",
             model ? "--resume goes on; model.safetensors has what was learned so far"
                   : "without -o nothing is kept");
    return WM_EINTERRUPTED;
}
