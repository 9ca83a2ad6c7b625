/* anneal_opts.c - defaults and checks of the settings of annealing. */
#include <inttypes.h>
#include <math.h>

#include "base/opts.h"
#include "sample/anneal_impl.h"

void wm_anneal_opts_init(wm_anneal_opts *opts)
{
    *opts = (wm_anneal_opts){.struct_size = sizeof *opts,
                             .way = WM_ANNEAL_AIS,
                             .steps = 1000,
                             .max_depth = 6,
                             .pilot_chains = 8,
                             .pilot_steps = 20,
                             .seed = 1,
                             .save = {.seconds = 60}};
    wmi_moves_init(&opts->moves);
}

static wm_status check_pilot(const wm_anneal_opts *o, wm_error *err)
{
    if (o->pilot_chains < 1 || o->pilot_steps < 4)
        return wmi_fail(err, WM_EINVAL,
                        "a pilot of %" PRId64 " chains and %" PRId64 " transitions a stage: at "
                        "least 1 and 4",
                        o->pilot_chains, o->pilot_steps);
    if (o->way == WM_ANNEAL_RAISE && !o->pilot_start)
        return wmi_fail(
            err, WM_EINVAL,
            "RAISE needs step sizes: give the table of an AIS run, or draws of the base "
            "for a pilot");
    return WM_OK;
}

wm_status wmi_anneal_opts_settle(wm_anneal_opts *out, wm_moves *moves, const wm_anneal_opts *in,
                                 const wm_path *path, int64_t chains, bool has_log_f, wm_error *err)
{
    wm_status st;

    wm_anneal_opts_init(out);
    if ((st = wmi_opts_take(out, sizeof *out, in, "wm_anneal_opts_init", err)))
        return st;
    if ((unsigned)out->way > WM_ANNEAL_RAISE)
        return wmi_fail(err, WM_EINVAL, "way %d of annealing: no such way", (int)out->way);
    if (path->bridges < 1)
        return wmi_fail(err, WM_EINVAL, "a path without bridges leads nowhere");
    if (out->steps < path->bridges || out->steps > INT64_C(1) << 40)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " steps of annealing for %" PRId64 " bridges: at least one each",
                        out->steps, path->bridges);
    if (out->max_depth < 1 || out->max_depth > WMI_MAX_DEPTH)
        return wmi_fail(err, WM_EINVAL, "tree depth %" PRId64 ": must be 1 to %d", out->max_depth,
                        WMI_MAX_DEPTH);
    if (has_log_f != (out->way == WM_ANNEAL_RAISE))
        return wmi_fail(err, WM_EINVAL, "%s",
                        has_log_f ? "AIS starts with weights of 1: no log f is wanted"
                                  : "RAISE wants log f of its starting points");
    for (int64_t k = 0; out->shares && k < path->bridges; k++)
        if (!(out->shares[k] >= 0 && isfinite(out->shares[k])))
            return wmi_fail(err, WM_EINVAL, "the share of bridge %" PRId64 " in the steps is %g", k,
                            out->shares[k]);
    for (int64_t k = 0; out->table && k <= path->bridges; k++)
        if (!(out->table[k] > 0 && isfinite(out->table[k])))
            return wmi_fail(err, WM_EINVAL, "step size %" PRId64 " of the table is %g", k,
                            out->table[k]);
    if (!out->table && (st = check_pilot(out, err)))
        return st;
    if (!out->pilot_start && out->pilot_chains > chains)
        out->pilot_chains = chains;
    return wmi_moves_settle(moves, &out->moves, path->dim, err);
}

int64_t wmi_anneal_counts(int64_t m, int64_t steps, const double *shares, int64_t *count)
{
    double all = 0, sum = 0;
    int64_t given = 0;

    for (int64_t k = 0; shares && k < m; k++)
        all += shares[k];
    if (!shares || !(all > 0)) {
        for (int64_t k = 0; k < m; k++)
            count[k] = steps / m;
        return steps / m * m;
    }
    for (int64_t k = 0; k < m; k++) { /* what is left of the steps, rounded as a sum */
        const int64_t before = given;

        sum += shares[k] / all;
        given = k + 1 < m ? (int64_t)(fmin(sum, 1) * (double)(steps - m) + 0.5) : steps - m;
        count[k] = 1 + given - before;
    }
    return steps;
}

wmi_change wmi_anneal_change(wm_anneal_way way, int64_t m, const int64_t *count, int64_t t)
{
    const bool up = way == WM_ANNEAL_AIS;
    int64_t k = up ? m - 1 : 0;

    for (; t >= count[k]; k += up ? -1 : 1)
        t -= count[k];
    return (wmi_change){k, (double)(up ? t + 1 : count[k] - t - 1) / (double)count[k]};
}
