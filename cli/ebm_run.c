/* ebm_run.c - shared parts of the commands ebm, loglik and sample. */
#include "ebm_run.h"

#include <math.h>
#include <stdio.h>

#include "waymark/read.h"

const char *const walk_kernel_names[] = {"nuts", "hmc", "mala", NULL};

wm_status ebm_read(wm_data **out, const char *path, const read_flags *read, const cli_call *call,
                   wm_error *err)
{
    wm_read_opts o = read_opts(read, call->sink);
    wm_schema *schema = NULL;
    wm_status st;

    *out = NULL;
    o.continuous = "all";
    if (!(st = wm_schema_new(&schema, err)))
        st = wm_data_read(out, path, schema, &o, err);
    wm_schema_free(schema);
    return st;
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

void walk_flags_init(walk_flags *f)
{
    wm_ebm_walk o;

    wm_ebm_walk_init(&o);
    *f = (walk_flags){.chains = o.chains,
                      .steps = o.steps,
                      .depth = o.max_depth,
                      .target = o.target_accept,
                      .checkpoint = o.checkpoint_seconds};
}

wm_status walk_opts(wm_ebm_walk *out, const walk_flags *f, cli_call *call, const char *checkpoint,
                    wm_error *err)
{
    static const wm_kernel kernels[] = {WM_KERNEL_NUTS, WM_KERNEL_HMC, WM_KERNEL_MALA};

    wm_ebm_walk_init(out);
    out->chains = f->chains;
    out->steps = f->steps;
    out->kernel = kernels[f->kernel];
    out->max_depth = f->depth;
    out->target_accept = f->target;
    out->checkpoint_seconds = f->checkpoint;
    out->seed = (uint64_t)call->common->seed;
    out->resume = call->common->resume;
    out->sink = call->sink;
    out->stop = call->stop;
    return wm_run_folder_path(&out->checkpoint, call->run, checkpoint, err);
}
