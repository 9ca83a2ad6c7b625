/* ebm_run.c - shared parts of the commands ebm, loglik and sample. */
#include "commands/ebm_run.h"

#include <math.h>
#include <stdio.h>

#include "waymark/read.h"

static const char *const kernel_names[] = WM_KERNEL_NAMES;

#define OPTS wm_ebm_walk

const opt_row walk_rows[] = {
    HEADING("Chains"),
    INTEGER(chains, "chains", "N", 1, 1e6, "chains side by side",
            .unset = "auto, 4, 100 for images, or as many as draws where these are below 16"),
    INTEGER(steps, "steps", "N", 1, 1e8,
            "densities between noise and model, one transition at each"),
    CHOICE(kernel, "kernel", "NAME", kernel_names, "how chains move"),
    INTEGER(max_depth, "depth", "N", 1, 20,
            "of nuts' trees while annealing: up to 2^N - 1 gradients"),
    REAL(target_accept, "target", "A", 0.01, 0.99,
         "acceptance that step sizes are adapted to, while annealing"),
    CHECKPOINT_ROW(control.checkpoint_seconds),
    {0},
};

wm_status ebm_read(wm_data **out, wm_schema *schema, const char *path, bool numbers,
                   const read_flags *read, const cli_call *call, wm_error *err)
{
    wm_read_opts o = read_opts(read, call->sink);

    if (numbers)
        o.continuous = "all";
    return wm_data_read(out, path, schema, &o, err);
}

wm_status ebm_open_schema(wm_schema **out, const wm_ebm *e, wm_error *err)
{
    return wm_ebm_schema(e) ? wm_schema_parse(out, wm_ebm_schema(e), err) : wm_schema_new(out, err);
}

wm_status ebm_open(wm_ebm **out, const char *given, wm_error *err)
{
    char path[CLI_PATH_SIZE];
    wm_status st;

    *out = NULL;
    if ((st = cli_model_path(path, given, "ebm DATA", err)))
        return st;
    return wm_ebm_load(out, path, err);
}

wm_status ebm_blame(wm_status st, const char *given, wm_error *err)
{
    char path[CLI_PATH_SIZE];
    const wm_error why = *err;

    if (st != WM_EDIVERGED || cli_model_path(path, given, "ebm DATA", NULL))
        return st;
    return WM_FAIL(err, st, "%.100s: this model gives no numbers here: %.140s", path, why.text);
}

double ebm_bits(const wm_ebm_info *info, double loglik)
{
    return -loglik / ((double)info->dim * log(2));
}

void ebm_summary_loglik(cli_call *call, const char *name, const wm_ebm_info *info, double loglik,
                        double se)
{
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;
    char key[64];

    wm_summary_real(s, name, loglik * unit);
    snprintf(key, sizeof key, "%s_se", name);
    wm_summary_real(s, key, se * unit);
    snprintf(key, sizeof key, "%s_bpd", name);
    wm_summary_real(s, key, ebm_bits(info, loglik));
}
