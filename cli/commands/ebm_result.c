/* ebm_result.c - summary and tables of a model that `waymark ebm` has fitted. */
#include "commands/ebm_result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "commands/ebm_run.h"
#include "commands/estimate.h"
#include "commands/show_checks.h"

#define NAME(name, text) text,
const char *const ebm_noise_names[] = {WM_EBM_NOISES(NAME) NULL};
#undef NAME
const char *const ebm_stage_names[WM_STAGES] = {"noise", "heads", "bridges"};

static const check_advice advice[] = {
    {"chasm", "See --bridges and --spacing.", WM_CHECK_OK},
    {"normaliser", "See --check-steps.", WM_CHECK_NOT_KNOWN},
    {"normaliser", "See --iterations and --bridges.", WM_CHECK_DOUBT},
    {0},
};

/* ---- summary ---- */

void ebm_result_summary(cli_call *call, const ebm_result *r)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;
    char text[64];

    WM_PUT(s, WM_INTEGER("n_train", info->n_train), WM_INTEGER("n_test", info->n_valid),
           WM_INTEGER("dim", info->dim), WM_INTEGER("discrete_columns", info->discrete),
           WM_INTEGER("whole_columns", info->whole),
           WM_INTEGER("constant_columns", info->columns - info->dim),
           WM_TEXT("model", wm_ebm_model_text(info->model, text, sizeof text)),
           WM_TEXT("noise", ebm_noise_names[info->noise]));
    ebm_summary_loglik(call, "noise_loglik", info, info->noise_loglik, NAN);
    ebm_summary_loglik(call, "direct", info, info->direct, NAN);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_bridge b;

        wm_ebm_get_bridge(r->model, k, &b);
        summary_bridge(s, k, &b, unit);
    }
    for (int i = 0; i < WM_STAGES; i++) {
        wm_summary *row = wm_summary_row(s, "stages");

        WM_PUT(row, WM_TEXT("stage", ebm_stage_names[i]), WM_INTEGER("steps", info->steps[i]),
               WM_REAL("seconds", info->seconds[i]));
    }
    if (r->has_ais) {
        WM_PUT(s, WM_REAL("log_z", r->ais.log_z * unit), WM_REAL("log_z_se", r->ais.se * unit),
               WM_REAL("log_z_ess", r->ais.ess));
    }
    wm_summary_text(s, "units", units_name(call));
    summary_checks(call, &r->checks, advice);
}

/* ---- tables ---- */

wm_status ebm_result_print(const cli_call *call, const ebm_result *r, wm_error *err)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    wm_bridge b[WM_ALPHAS_MAX];
    char text[64];
    wm_status st;

    printf("log-likelihood of %" PRId64 " held-out rows, mean, %s (bits per dimension):\n",
           info->n_valid, units_name(call));
    printf("  noise alone  %12.4f  (%.4f)\n", info->noise_loglik * unit,
           ebm_bits(info, info->noise_loglik));
    printf("  direct       %12.4f  (%.4f), taking Z as 1\n\n", info->direct * unit,
           ebm_bits(info, info->direct));
    if (info->discrete + info->whole > 0)
        printf("%" PRId64 " of %" PRId64 " columns are discrete: these are lower bounds, in "
               "expectation, of log-probabilities.\n\n",
               info->discrete + info->whole, info->dim);
    for (int64_t k = 0; k < info->bridges; k++)
        wm_ebm_get_bridge(r->model, k, &b[k]);
    st = print_bridges(call, wm_ebm_model_text(info->model, text, sizeof text), b, info->bridges,
                       NULL, err);
    print_checks(call, &r->checks, advice);
    return st;
}
