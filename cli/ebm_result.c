/* ebm_result.c - checks, summary and tables of a model that `waymark ebm` has fitted. */
#include "ebm_result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ebm_run.h"
#include "estimate.h"

const char *const ebm_noise_names[] = {"gaussian", "copula", "flow", NULL};
const char *const ebm_stage_names[WM_EBM_STAGES] = {"noise", "heads", "bridges"};

/* ---- checks ---- */

static wm_check easiest_bridge_check(const ebm_result *r)
{
    double least = 2 * log(2); /* chance */
    int64_t at = 0;

    for (int64_t k = 0; k < r->info.bridges; k++) {
        wm_ratio_bridge b;

        wm_ebm_get_bridge(r->model, k, &b);
        if (b.loss < least) {
            least = b.loss;
            at = k;
        }
    }
    return check_chasm(least, at, "bridges");
}

/* Whether log Z is 0 within what AIS can tell, if its weights tell anything. */
static wm_check normaliser_check(const wm_ais *ais)
{
    const double limit = fmax(0.5, 3 * ais->se), least_ess = 5;
    wm_check c = {.name = "normaliser",
                  .value = ais->log_z,
                  .limit = limit,
                  .ok = fabs(ais->log_z) <= limit && ais->ess >= least_ess};

    if (ais->ess < least_ess)
        snprintf(c.meaning, sizeof c.meaning,
                 "The weights of AIS rest on %.1f of %" PRId64
                 " chains, so log Z is not known: raise --check-steps.",
                 ais->ess, ais->used);
    else
        snprintf(c.meaning, sizeof c.meaning,
                 c.ok ? "By AIS log Z of phi is %.2f +- %.2f nats: direct likelihoods hold to that."
                      : "By AIS log Z of phi is %.2f +- %.2f nats, not 0: direct likelihoods are "
                        "off by that; more steps or bridges may help.",
                 ais->log_z, ais->se);
    return c;
}

void ebm_result_check(ebm_result *r)
{
    r->n_checks = 0;
    r->check[r->n_checks++] = easiest_bridge_check(r);
    r->check[r->n_checks++] = check_finished(r->info.finished);
    if (r->has_ais)
        r->check[r->n_checks++] = normaliser_check(&r->ais);
}

/* ---- summary ---- */

void ebm_result_summary(cli_call *call, const ebm_result *r)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;
    char text[64];

    wm_summary_integer(s, "n_train", info->n_train);
    wm_summary_integer(s, "n_test", info->n_valid);
    wm_summary_integer(s, "dim", info->dim);
    wm_summary_text(s, "model", wm_ebm_model_text(info->model, text, sizeof text));
    wm_summary_text(s, "noise", ebm_noise_names[info->noise]);
    ebm_summary_loglik(call, "noise_loglik", info, info->noise_loglik, NAN);
    ebm_summary_loglik(call, "direct", info, info->direct, NAN);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_ratio_bridge b;

        wm_ebm_get_bridge(r->model, k, &b);
        summary_bridge(s, k, &b, unit);
    }
    for (int i = 0; i < WM_EBM_STAGES; i++) {
        wm_summary *row = wm_summary_row(s, "stages");

        wm_summary_text(row, "stage", ebm_stage_names[i]);
        wm_summary_integer(row, "steps", info->steps[i]);
        wm_summary_real(row, "seconds", info->seconds[i]);
    }
    if (r->has_ais) {
        wm_summary_real(s, "log_z", r->ais.log_z * unit);
        wm_summary_real(s, "log_z_se", r->ais.se * unit);
        wm_summary_real(s, "log_z_ess", r->ais.ess);
    }
    summary_checks(s, r->check, r->n_checks);
    wm_summary_text(s, "units", units_name(call));
    summary_verdict(call, r->check, r->n_checks);
}

/* ---- tables ---- */

wm_status ebm_result_print(const cli_call *call, const ebm_result *r, wm_error *err)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    char title[160], text[64];
    wm_table *t;
    wm_status st;

    printf("log-likelihood of %" PRId64 " held-out rows, mean, %s (bits per dimension):\n",
           info->n_valid, units_name(call));
    printf("  noise alone  %12.4f  (%.4f)\n", info->noise_loglik * unit,
           ebm_bits(info, info->noise_loglik));
    printf("  direct       %12.4f  (%.4f), taking Z as 1\n\n", info->direct * unit,
           ebm_bits(info, info->direct));
    snprintf(title, sizeof title, "%" PRId64 " bridge%s, %s", info->bridges,
             info->bridges == 1 ? "" : "s", wm_ebm_model_text(info->model, text, sizeof text));
    if ((st = wm_table_new(&t, title, err)))
        return st;
    wm_table_column(t, "bridge", WM_ALIGN_RIGHT);
    wm_table_column(t, "alpha", WM_ALIGN_RIGHT);
    wm_table_column(t, "to", WM_ALIGN_RIGHT);
    wm_table_column(t, "loss", WM_ALIGN_RIGHT);
    wm_table_column(t, "accuracy", WM_ALIGN_RIGHT);
    wm_table_column(t, "mean log-ratio", WM_ALIGN_RIGHT);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_ratio_bridge b;

        wm_ebm_get_bridge(r->model, k, &b);
        wm_table_integer(t, k);
        wm_table_real(t, b.alpha_from, 4);
        wm_table_real(t, b.alpha_to, 4);
        wm_table_real(t, b.loss, 4);
        wm_table_real(t, b.accuracy, 3);
        wm_table_real(t, b.mean_log_ratio * unit, 3);
    }
    st = wm_table_print(t, stdout, err);
    wm_table_free(t);
    printf("\n");
    print_checks(r->check, r->n_checks);
    return st;
}
