/* ebm_run.h - what the commands about energy-based models share: reading rows, finding the model of
 * a run, how log-likelihoods are said. */
#ifndef WM_CLI_EBM_RUN_H
#define WM_CLI_EBM_RUN_H

#include "estimate.h"
#include "fitting.h"
#include "waymark/ebm.h"

/* Rows of a file, every column a number. */
WM_MUST_CHECK wm_status ebm_read(wm_data **out, const char *path, const read_flags *read,
                                 const cli_call *call, wm_error *err);
/* The model of a run folder, or a model file. */
WM_MUST_CHECK wm_status ebm_open(wm_ebm **out, const char *given, wm_error *err);

/* With a run folder and a model of two columns, figures/density: log phi over the range of rows x
 * (n, 2), and up to 400 of them, which are called name (ebm_figure.c). The summary comes before it.
 */
WM_MUST_CHECK wm_status ebm_draw_plane(const cli_call *call, const wm_ebm *e, const char *name,
                                       const double *x, int64_t n, wm_error *err);
/* Bits per dimension of a mean log-likelihood in nats. */
double ebm_bits(const wm_ebm_info *info, double loglik);
/* "name" and "name_se" of a mean log-likelihood in nats, or bits with --bits, and "name_bpd"; se
 * may be NaN. */
void ebm_summary_loglik(cli_call *call, const char *name, const wm_ebm_info *info, double loglik,
                        double se);

/* How chains walk; rows of an option table. */
typedef struct walk_flags {
    int64_t chains, steps, depth;
    int kernel; /* choice */
    double target, checkpoint;
} walk_flags;
extern const char *const walk_kernel_names[];
void walk_flags_init(walk_flags *f);
/* checkpoint: name of a file in the run folder. */
WM_MUST_CHECK wm_status walk_opts(wm_ebm_walk *out, const walk_flags *f, cli_call *call,
                                  const char *checkpoint, wm_error *err);

#define WALK_ROWS(T, F)                                                                            \
    {.kind = OPT_HEADING, .help = "Chains"},                                                       \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "chains",                                                                         \
         .at = offsetof(T, F.chains),                                                              \
         .arg = "N",                                                                               \
         .help = "chains side by side",                                                            \
         .lo = 1,                                                                                  \
         .hi = 1e6},                                                                               \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "steps",                                                                          \
         .at = offsetof(T, F.steps),                                                               \
         .arg = "N",                                                                               \
         .help = "densities between noise and model, one transition at each",                      \
         .lo = 1,                                                                                  \
         .hi = 1e8},                                                                               \
        {.kind = OPT_CHOICE,                                                                       \
         .name = "kernel",                                                                         \
         .at = offsetof(T, F.kernel),                                                              \
         .arg = "NAME",                                                                            \
         .help = "how chains move",                                                                \
         .choices = walk_kernel_names},                                                            \
        {.kind = OPT_INTEGER,                                                                      \
         .name = "depth",                                                                          \
         .at = offsetof(T, F.depth),                                                               \
         .arg = "N",                                                                               \
         .help = "of nuts' trees while annealing: up to 2^N - 1 gradients",                        \
         .lo = 1,                                                                                  \
         .hi = 20},                                                                                \
        {.kind = OPT_REAL,                                                                         \
         .name = "target",                                                                         \
         .at = offsetof(T, F.target),                                                              \
         .arg = "A",                                                                               \
         .help = "acceptance that step sizes are adapted to",                                      \
         .lo = 0.01,                                                                               \
         .hi = 0.99},                                                                              \
        CHECKPOINT_ROW(T, F.checkpoint)

#endif
