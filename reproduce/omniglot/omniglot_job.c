/* omniglot_job.c - one row of the experiment: separable bridges are fitted to pairs of grids, the
 * mutual information is read off test pairs, and linear probes read the characters off g(u). */
#include <math.h>
#include <stdlib.h>

#include "omniglot.h"

enum { DRAWN_AT_ONCE = 500 }; /* grids in memory: a picture of 9 cells is 28 KB */

const char *const omniglot_method_names[] = {"tre", "single", "infonce"};

/* ---- fitting ---- */

static wm_status fit(wm_embed **out, double *seconds, const omniglot_job *job,
                     const wm_grid_pairs *pairs, const char *name, const reproduce_settings *s,
                     wm_error *err)
{
    const char *const stages[WM_STAGES] = {[WM_STAGE_BRIDGES] = name};
    wm_metrics metrics = {.folder = s->folder,
                          .stages = stages,
                          .estimate = "mi",
                          .per_nat = 1,
                          .bridges = WM_METRICS_SUM};
    const char *model;
    wm_embed_info info;
    wm_embed_opts o;
    wm_status st;

    wm_embed_opts_init(&o);
    o.objective = job->method == OMNIGLOT_INFONCE ? WM_EMBED_INFONCE : WM_EMBED_LOGISTIC;
    o.bridges = job->method == OMNIGLOT_TRE ? WM_AUTO : 1; /* not set: one for each cell */
    o.network = job->size->network[job->side - 1];
    o.adam = job->adam;
    o.valid = job->size->valid;
    o.control = s->control;
    o.control.on_eval = wm_metrics_eval;
    o.control.ctx = &metrics;
    if ((st = reproduce_path(&o.control.checkpoint, name, "-state.safetensors", s, err)) ||
        (st = reproduce_path(&model, name, ".safetensors", s, err)))
        return st;
    if (s->control.resume && reproduce_has(model)) { /* fitted before the run was stopped */
        *seconds = NAN;                              /* which a model does not tell */
        return wm_embed_load(out, model, err);
    }
    if ((st = wm_embed_fit_grid(out, pairs, &o, err)))
        return st;
    if (s->control.stop && *s->control.stop) /* the checkpoint has it: --resume goes on */
        return WM_FAIL(err, WM_EINTERRUPTED, "stopped while fitting %s", name);
    if ((st = wm_metrics_done(&metrics, err)))
        return st;
    wm_embed_get_info(*out, &info);
    *seconds = info.seconds;
    return model ? wm_embed_save(*out, model, err) : WM_OK;
}

/* ---- judging ---- */

/* Rows of a split with their representation g (n, features) and labels (n, cells), drawn and passed
 * through the network some at a time. */
static wm_status represent(const wm_embed *e, const wm_grid_pairs *pairs, wm_split split, int64_t n,
                           float *g, int32_t *labels, wm_error *err)
{
    const int64_t cells = wm_grid_pairs_cells(pairs);
    const int64_t pixels = wm_grid_pairs_height(pairs) * wm_grid_pairs_width(pairs);
    float *u = malloc(sizeof *u * (size_t)(DRAWN_AT_ONCE * pixels));
    uint8_t *z = malloc((size_t)(DRAWN_AT_ONCE * cells));
    wm_embed_info info;
    wm_status st = u && z ? WM_OK : WM_ENOMEM;

    wm_embed_get_info(e, &info);
    for (int64_t at = 0; !st && at < n; at += DRAWN_AT_ONCE) {
        const int64_t take = n - at < DRAWN_AT_ONCE ? n - at : DRAWN_AT_ONCE;

        if ((st = wm_grid_pairs_draw(pairs, split, at, take, u, NULL, z, err)) ||
            (st = wm_embed_rows(e, take, u, g + at * info.features, NULL, err)))
            break;
        for (int64_t i = 0; i < take * cells; i++)
            labels[at * cells + i] = z[i];
    }
    free(u);
    free(z);
    return st;
}

/* n pairs of a split from row `first` on; *owned is for free(), also after a failure. */
static wm_status draw_pairs(wm_pair_rows *out, float **owned, const wm_grid_pairs *pairs,
                            wm_split split, int64_t first, int64_t n, wm_error *err)
{
    const int64_t pixels = wm_grid_pairs_height(pairs) * wm_grid_pairs_width(pairs);

    if (!(*owned = malloc(2 * sizeof **owned * (size_t)(n * pixels))))
        return WM_ENOMEM;
    *out = (wm_pair_rows){
        .n = n, .dim_u = pixels, .dim_v = pixels, .u = *owned, .v = *owned + n * pixels};
    return wm_grid_pairs_draw(pairs, split, first, n, *owned, *owned + n * pixels, NULL, err);
}

/* Calibration has validation pairs that training has not looked at. */
static wm_status judge_information(omniglot_outcome *out, const wm_embed *e,
                                   const wm_grid_pairs *pairs, const omniglot_job *job,
                                   const reproduce_settings *s, wm_error *err)
{
    float *owned[2] = {NULL, NULL};
    wm_pair_rows test, held_out;
    wm_status st;

    if ((st = draw_pairs(&test, &owned[0], pairs, WM_SPLIT_TEST, 0, job->size->test, err)) ||
        (st = wm_embed_mi(e, &test, &out->mi_scores, NULL, s->control.stop, err)))
        goto done;
    out->mi = out->mi_scores;
    if (job->method == OMNIGLOT_INFONCE)
        goto done;
    if (!(st = draw_pairs(&held_out, &owned[1], pairs, WM_SPLIT_VALID, 2 * job->size->valid,
                          job->size->calibration, err)))
        st = wm_embed_mi_calibrated(e, &held_out, job->partners, &test, s->control.sink, &out->mi,
                                    s->control.stop, err);
done:
    free(owned[0]);
    free(owned[1]);
    return st;
}

static wm_status judge_probes(omniglot_outcome *out, const wm_embed *e, const wm_grid_pairs *pairs,
                              const wm_alphabets *alphabets, const omniglot_job *job,
                              const reproduce_settings *s, wm_error *err)
{
    const int64_t cells = wm_grid_pairs_cells(pairs), features = out->info.features;
    const int64_t most =
        job->size->probe_train > job->size->test ? job->size->probe_train : job->size->test;
    float *g = malloc(sizeof *g * (size_t)(most * features));
    int32_t *labels = malloc(sizeof *labels * (size_t)(most * cells));
    int64_t classes[OMNIGLOT_MAX_CELLS];
    wm_share each[OMNIGLOT_MAX_CELLS];
    wm_probe *probe = NULL;
    wm_probe_opts o;
    wm_status st = WM_ENOMEM;

    wm_probe_opts_init(&o);
    o.iterations = job->size->probe_passes;
    o.control = s->control;
    for (int64_t c = 0; c < cells; c++)
        classes[c] = wm_alphabets_size(alphabets, c);
    if (!g || !labels ||
        (st = represent(e, pairs, WM_SPLIT_TRAIN, job->size->probe_train, g, labels, err)) ||
        (st = wm_probe_fit(&probe, job->size->probe_train, features, g, cells, labels, classes, &o,
                           err)) ||
        (st = represent(e, pairs, WM_SPLIT_TEST, job->size->test, g, labels, err)) ||
        (st = wm_probe_score(probe, job->size->test, g, labels, each, &out->probe, NULL, err)))
        goto done;
    out->worst_cell = 1;
    for (int64_t c = 0; c < cells; c++)
        out->worst_cell = fmin(out->worst_cell, each[c].value);
    if (job->size->held_out > 0 &&
        !(st = represent(e, pairs, WM_SPLIT_UNSEEN, job->size->test, g, labels, err)))
        st = wm_probe_score(probe, job->size->test, g, labels, each, &out->probe_unseen, NULL, err);
done:
    wm_probe_free(probe);
    free(labels);
    free(g);
    return st;
}

wm_status omniglot_run(omniglot_outcome *out, const omniglot_job *job,
                       const wm_alphabets *alphabets, const char *name, const reproduce_settings *s,
                       wm_error *err)
{
    wm_grid_pairs_opts grid;
    wm_grid_pairs *pairs = NULL;
    wm_embed *e = NULL;
    double started;
    wm_status st;

    *out = (omniglot_outcome){.worst_cell = NAN};
    wm_grid_pairs_opts_init(&grid);
    grid.rows = grid.columns = job->side;
    grid.held_out = job->size->held_out;
    grid.distort = job->size->distort;
    grid.seed = s->control.seed;
    if ((st = wm_grid_pairs_new(&pairs, alphabets, &grid, err)) ||
        (st = fit(&e, &out->seconds, job, pairs, name, s, err)))
        goto done;
    started = wm_clock(NULL);
    wm_embed_get_info(e, &out->info);
    out->truth = wm_grid_pairs_mi(pairs);
    for (int64_t k = 0; k < out->info.bridges; k++)
        out->mi_own += wm_embed_get_bridge(e, k).mean_log_ratio;
    if ((st = judge_information(out, e, pairs, job, s, err)) ||
        (st = judge_probes(out, e, pairs, alphabets, job, s, err)))
        goto done;
    out->seconds_judging = wm_clock(NULL) - started;
done:
    wm_embed_free(e);
    wm_grid_pairs_free(pairs);
    return st;
}
