/* trainer_impl.h - one run of wmi_train(): made and fed by trainer_open.c, driven by trainer.c. */
#ifndef WMI_TRAIN_TRAINER_IMPL_H
#define WMI_TRAIN_TRAINER_IMPL_H

#include "engine/program.h"
#include "train/cell_mixer.h"
#include "train/denoiser.h"
#include "train/train_loop.h"
#include "train/train_state.h"
#include "train/trainer.h"

enum { WMI_KL_ROWS = 256 }; /* held-out rows of a batch on which log r is watched */

/* The whole ratio at rows of p0, compiled apart: training sees every bridge at its own rows only.
 */
typedef struct wmi_whole_ratio {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *parts; /* (., WMI_KL_ROWS), whose sum it is */
    float *x, *work; /* the program's input; (2, WMI_KL_ROWS, dim) for the source */
    float *u;        /* the other input, or NULL */
} wmi_whole_ratio;

/* The step of denoising with chains, in place of the other from own.from on. */
typedef struct wmi_own_step {
    wmi_graph *graph;
    wmi_program *program; /* NULL: there is none */
    wmi_node *loss;
    wmi_denoise_inputs in;
} wmi_own_step;

/* One training run: the compiled step and what it changes. */
typedef struct wmi_trainer {
    wmi_train_opts opts; /* the caller's, filled in */
    const wmi_source *source;
    const wmi_params *params;
    const wm_chain *chain;
    bool apart;      /* bridges share no parameter, and the objective judges them one by one */
    int64_t m, rows; /* bridges; trajectories of a bridge in a step */
    wmi_batcher *batcher;
    wmi_cell_mixer *mixer;  /* or NULL: rows are waymarks */
    wmi_denoiser *denoiser; /* of that objective, in place of the batcher; else NULL */
    wmi_denoise_inputs denoised;
    wmi_own_step late; /* the steps in which chains of the model's own have a share */
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *scores, *loss;
    float *x;   /* the program's input */
    float *u;   /* the other one, (rows, dim_u), where the source has a u; else NULL */
    float *mix; /* the third one, with a mixer; else NULL */
    float *grad;
    wmi_whole_ratio whole;
    wmi_train_state state;
    int64_t first_step; /* of this process */
    wmi_train_loop *loop;
    wm_bridge *eval; /* (m) of the last evaluation */
    char *settings;
} wmi_trainer;

static inline bool wmi_is_multinomial(const wmi_trainer *t)
{
    return t->opts.objective == WMI_MULTINOMIAL;
}

/* Scores are those of all bridges at the rows of all waymarks, with labels. */
static inline bool wmi_is_softmax(const wmi_trainer *t)
{
    return wmi_is_multinomial(t) || t->opts.objective == WMI_DENOISE;
}

static inline bool wmi_is_infonce(const wmi_trainer *t)
{
    return t->opts.objective == WMI_INFONCE;
}

static inline bool wmi_is_denoising(const wmi_trainer *t)
{
    return t->opts.objective == WMI_DENOISE;
}

/* Checks the options, compiles the step and binds it to the first parameters. The caller has set
 * opts, source, m and rows, the rest being zero; to be closed after a failure too. */
WM_MUST_CHECK wm_status wmi_trainer_open(wmi_trainer *t, const wmi_model *model,
                                         const wmi_params *params, const wm_chain *chain,
                                         wm_error *err);
void wmi_trainer_close(wmi_trainer *t);

/* The rows of a training step, or of validation batch i, into the program. */
WM_MUST_CHECK wm_status wmi_trainer_draw(wmi_trainer *t, int64_t step, wm_error *err);
WM_MUST_CHECK wm_status wmi_trainer_draw_valid(wmi_trainer *t, int64_t i, wm_error *err);
int64_t wmi_trainer_valid_batches(const wmi_trainer *t); /* at least 1 */

#endif
