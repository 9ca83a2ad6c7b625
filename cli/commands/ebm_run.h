/* ebm_run.h - what the commands about energy-based models share: reading rows, finding the model of
 * a run, how log-likelihoods are said. */
#ifndef WM_CLI_EBM_RUN_H
#define WM_CLI_EBM_RUN_H

#include "commands/estimate.h"
#include "options/fitting.h"
#include "waymark/ebm.h"

/* Rows of a file; numbers: every column is one. */
WM_MUST_CHECK wm_status ebm_read(wm_data **out, wm_schema *schema, const char *path, bool numbers,
                                 const read_flags *read, const cli_call *call, wm_error *err);
/* The columns that a model was fitted to, or an empty schema where it was told none. */
WM_MUST_CHECK wm_status ebm_open_schema(wm_schema **out, const wm_ebm *e, wm_error *err);
/* The model of a run folder, or a model file. */
WM_MUST_CHECK wm_status ebm_open(wm_ebm **out, const char *given, wm_error *err);

/* Whether chains, or rows, of a model that was opened got numbers; where they did not
 * (WM_EDIVERGED), the model is named, since it is what is to be doubted. */
WM_MUST_CHECK wm_status ebm_blame(wm_status st, const char *given, wm_error *err);

/* With a run folder and a model of two columns of numbers, figures/density: log phi over the range
 * of rows x (n, 2), and up to 400 of them, which are called name (ebm_figure.c). The summary comes
 * before it.
 */
WM_MUST_CHECK wm_status ebm_draw_plane(const cli_call *call, const wm_ebm *e, const char *name,
                                       const double *x, int64_t n, wm_error *err);
/* Bits per dimension of a mean log-likelihood in nats. */
double ebm_bits(const wm_ebm_info *info, double loglik);
/* "name" and "name_se" of a mean log-likelihood in nats, or bits with --bits, and "name_bpd"; se
 * may be NaN. */
void ebm_summary_loglik(cli_call *call, const char *name, const wm_ebm_info *info, double loglik,
                        double se);

/* How chains walk: a wm_ebm_walk, which a command brings to its call. */
extern const opt_row walk_rows[];

#endif
