/* denoiser.h - the denoising objective of bridges.
 *
 * Where the noise is N(0, I) and waymarks are z_k = s z_0 + a e, s = sqrt(1 - a^2), e ~ N(0, I),
 * the gradient of f_k = log p_k / p_m at z_k is the mean of z_k - e / a over what z_0 and e can
 * have been: a regression, dim numbers a row where a classifier gets one. In units of a the
 * residual is t = s^2 e - a s z_0 + a grad f_k(z_k), and half of its mean square, less what it is
 * at f = 0, integrated over the log of the signal-to-noise ratio s^2 / a^2 is minus the
 * Kullback-Leibler divergence of p_0 from the noise, if f is right. That integral, as a sum over
 * levels, is the loss. The gradients know nothing of how far f rises from one mode to the next, nor
 * of its constants: one softmax over all levels and the noise, of which a row must find its own,
 * with a small weight, fixes them.
 *
 * No second derivatives. With v = d loss / d grad f the gradient for the parameters is that of
 * v . grad f(z), which is (f(z + h u) - f(z - h u)) |v| / (2 h |u|), u along v, up to h^2: so a
 * step is one gradient for the rows, and one for the parameters at two rows for each, whose mean is
 * f(z) for the softmax, up to h^2 too. That surrogate is what is compiled; it is given the loss's
 * value too. All levels are evaluated at every row: they share their network. */
#ifndef WMI_TRAIN_DENOISER_H
#define WMI_TRAIN_DENOISER_H

#include "nn/bridge_model.h"
#include "train/batcher.h"
#include "train/own_draws.h"

/* Rows of a step: of each level and of the noise. */
typedef struct wmi_denoise_shape {
    int64_t levels, rows, dim;
    int64_t own; /* chains of each level; 0: none */
} wmi_denoise_shape;

/* Rows that the network sees: z + h u of all levels, z - h u of all, those of the
 * noise, and where chains are and where they started. */
static inline int64_t wmi_denoise_rows(const wmi_denoise_shape *s)
{
    return (2 * s->levels + 1) * s->rows + 2 * s->levels * s->own;
}

/* The surrogate on inputs "x" (wmi_denoise_rows, dim), "slope" (levels, 2 levels rows), which is
 * not 0 at rows of the level only, "rest" (1) and "label" (levels + 1, rows), the level of each
 * row; scores (levels, (levels + 1) rows) are all bridges at the rows of all levels and the noise.
 * in: the model's constants. classify: weight of the softmax, a mean over rows. */
wmi_node *wmi_denoise_build(wmi_graph *g, const wmi_model *model, wmi_model_inputs in,
                            const wmi_denoise_shape *shape, double classify, wmi_node **scores);

/* One level, and its share of the loss. */
typedef struct wmi_denoise_level {
    double alpha;
    double weight; /* of half a mean square, over all its rows */
    double reach;  /* h */
} wmi_denoise_level;
/* Levels of a chain, (m): weights are steps of the log of the signal-to-noise ratio, over dim.
 * WM_EINVAL where the chain begins at 0, or columns are not all linear. */
WM_MUST_CHECK wm_status wmi_denoise_levels(const wm_chain *chain, wmi_denoise_level *level,
                                           wm_error *err);

/* Rows of one level, (rows, dim) each: from the ends z0 and e and the gradient g of f at the
 * waymark to plus and minus, and slope (rows) of plus. Gives their loss; *known is what the
 * surrogate without its rest comes to. */
double wmi_denoise_rows_f64(const wmi_denoise_level *level, int64_t rows, int64_t dim,
                            const double *z0, const double *e, const double *g, double *plus,
                            double *minus, double *slope, double *known);
double wmi_denoise_rows_f32(const wmi_denoise_level *level, int64_t rows, int64_t dim,
                            const float *z0, const float *e, const float *g, float *plus,
                            float *minus, float *slope, double *known);

/* What fills the surrogate's inputs: it asks the model for its gradients. */
typedef struct wmi_denoiser wmi_denoiser;

/* Inputs of the compiled surrogate but for the labels, which stay. */
typedef struct wmi_denoise_inputs {
    float *x, *slope, *rest, *pull; /* pull: NULL without chains */
} wmi_denoise_inputs;

/* The ends of the source are in the space where the noise is N(0, I). source, theta, knots and
 * filter (trainer.h) are kept. */
WM_MUST_CHECK wm_status wmi_denoiser_new(wmi_denoiser **out, const wmi_model *model,
                                         const wmi_params *params, const wm_chain *chain,
                                         const wmi_source *source, int64_t rows, float *theta,
                                         const float *knots, const float *filter,
                                         const wmi_own_opts *own, uint64_t seed, wm_error *err);
void wmi_denoiser_free(wmi_denoiser *d);
const wmi_denoise_shape *wmi_denoiser_shape(const wmi_denoiser *d);
int64_t wmi_denoiser_valid_batches(const wmi_denoiser *d);

/* The state of chains, where there are any, else NULL. */
float *wmi_denoiser_state(wmi_denoiser *d, int64_t *size);
/* After the rows of a step: its chains, to the inputs of a surrogate that has them. */
WM_MUST_CHECK wm_status wmi_denoiser_own(wmi_denoiser *d, int64_t step,
                                         const wmi_denoise_inputs *to, wm_error *err);

/* Every row has a trajectory of its own. */
WM_MUST_CHECK wm_status wmi_denoiser_train(wmi_denoiser *d, int64_t step,
                                           const wmi_denoise_inputs *to, wm_error *err);
WM_MUST_CHECK wm_status wmi_denoiser_valid(wmi_denoiser *d, int64_t i, const wmi_denoise_inputs *to,
                                           wm_error *err);

#endif
