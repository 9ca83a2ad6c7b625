/* metrics.c - evaluations of a fit as lines of metrics.jsonl. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "report/run/run_folder.h"

enum { NAME = 96 }; /* bytes */

/* What the line is of: a stage of its fit, or a model in a round of a study. */
static const char *name_of(const wm_metrics *m, const wm_evaluation *e, char buf[NAME])
{
    char model[64];

    if (!m->model_text)
        return m->stages[e->stage];
    snprintf(buf, NAME, "%s, round %" PRId64, m->model_text(e->model, model, sizeof model),
             e->round + 1);
    return buf;
}

static const char *key_of(const wm_metrics *m)
{
    return m->model_text ? "model" : "stage";
}

static void add_rows(const wm_metrics *m, const wm_evaluation *e, wm_summary *line)
{
    for (int64_t k = 0; k < e->n_bridges; k++) {
        wm_summary *row = wm_summary_row(line, "bridges");

        wm_summary_integer(row, "k", k);
        wm_summary_real(row, "loss", e->bridges[k].loss);
        wm_summary_real(row, "accuracy", e->bridges[k].accuracy);
        wm_summary_real(row, "mean_log_ratio", e->bridges[k].mean_log_ratio * m->per_nat);
    }
}

static wm_status add_losses(const wm_evaluation *e, wm_summary *line, wm_error *err)
{
    double *loss = NULL;
    wm_status st = wmi_alloc(&loss, e->n_bridges, sizeof *loss, "losses", err);

    for (int64_t k = 0; !st && k < e->n_bridges; k++)
        loss[k] = e->bridges[k].loss;
    if (!st)
        wm_summary_reals(line, "bridge", loss, e->n_bridges);
    wmi_free(loss);
    return st;
}

static void add_sum(const wm_metrics *m, const wm_evaluation *e, wm_summary *line)
{
    char key[64];
    double sum = 0;

    for (int64_t k = 0; k < e->n_bridges; k++)
        sum += e->bridges[k].mean_log_ratio;
    snprintf(key, sizeof key, "%s_own_waymarks", m->estimate);
    wm_summary_real(line, key, sum * m->per_nat);
}

static wm_status fill(wm_metrics *m, const wm_evaluation *e, wm_summary *line, wm_error *err)
{
    const bool noise = e->stage == WM_STAGE_NOISE;
    const double sign = noise ? -1 : 1; /* losses of noise are minus log-likelihoods */
    char name[NAME];

    wm_summary_text(line, key_of(m), name_of(m, e, name));
    wm_summary_integer(line, "step", e->step);
    wm_summary_real(line, noise ? "train_loglik" : "train_loss", sign * e->train_loss);
    wm_summary_real(line, noise ? "valid_loglik" : "valid_loss", sign * e->valid_loss);
    if (!noise)
        wm_summary_real(line, m->estimate, e->estimate * m->per_nat);
    if (m->seconds)
        wm_summary_real(line, "seconds", e->seconds);
    switch (m->bridges) {
    case WM_METRICS_ROWS:
        add_rows(m, e, line);
        break;
    case WM_METRICS_LOSSES:
        return add_losses(e, line, err);
    case WM_METRICS_SUM:
        add_sum(m, e, line);
        break;
    }
    return WM_OK;
}

/* A run that was killed may have written lines for steps after its last checkpoint, and one that
 * has ended has written all of them. */
static wm_status begin(wm_metrics *m, const wm_evaluation *e, wm_error *err)
{
    char name[NAME];

    return wmi_run_lines_begin(m->folder, key_of(m), name_of(m, e, name), e->step, err);
}

int wm_metrics_eval(void *ctx, const wm_evaluation *e)
{
    wm_metrics *m = ctx;
    wm_summary *line = NULL;

    if (!m->folder || m->status)
        return 0;
    if (!(m->status = begin(m, e, &m->error)) && !(m->status = wm_summary_new(&line, &m->error)) &&
        !(m->status = fill(m, e, line, &m->error)))
        m->status = wm_run_folder_metrics(m->folder, line, &m->error);
    wm_summary_free(line);
    return 0;
}

wm_status wm_metrics_done(const wm_metrics *m, wm_error *err)
{
    if (m->status && err)
        *err = m->error;
    return m->status;
}
