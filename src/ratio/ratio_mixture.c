/* ratio_mixture.c - a wm_ratio whose ends are mixtures of Gaussians: bridges are the log-ratios of
 * the waymarks between them (moments/mixture.h), and nothing is fitted but the ends. */
#include "ratio/ratio_mixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ratio/held_out.h"
#include "waymark/sink.h"

static const char *const sides[] = {"p", "q"};

wm_status wmi_ratio_declare_mixture(wm_ratio *r, wm_error *err)
{
    const wmi_init zero = {.kind = WMI_INIT_CONST};
    wm_status st =
        wmi_params_add(r->params, "c", 1, &r->alphas.bridges, zero, WMI_GROUP_CONSTANT, err);

    for (int t = 0; t < 2 && !st; t++) {
        const int64_t dim[] = {r->components[t], r->encoder.dim, r->encoder.dim};
        static const char *const parts[] = {"weight", "mean", "root"};

        for (int rank = 1; rank <= 3 && !st; rank++) {
            char name[32];

            snprintf(name, sizeof name, "mixture/%s/%s", sides[t], parts[rank - 1]);
            st = wmi_params_add(r->params, name, rank, dim, zero, WMI_GROUP_BODY, err);
        }
    }
    return st;
}

wmi_mixture wmi_ratio_mixture(const wm_ratio *r, int64_t member, int side)
{
    double *theta = r->theta + member * wmi_params_count(r->params);
    const int64_t first = 1 + 3 * side; /* after c, in the order in which they were declared */

    return (wmi_mixture){
        .k = r->components[side],
        .d = r->encoder.dim,
        .weight = theta + wmi_params_entry(r->params, first)->offset,
        .mean = theta + wmi_params_entry(r->params, first + 1)->offset,
        .root = theta + wmi_params_entry(r->params, first + 2)->offset,
    };
}

/* ---- scores ---- */

struct wmi_mixture_scorer {
    const wm_ratio *ratio;
    wmi_gaussians *waymark; /* (members, m + 1) */
};

wm_status wmi_mixture_scorer_new(wmi_mixture_scorer **out, const wm_ratio *r, wm_error *err)
{
    const int64_t m = r->info.bridges;
    wmi_mixture_scorer *s = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&s, 1, sizeof *s, "scorer", err)) ||
        (st = wmi_alloc(&s->waymark, r->members * (m + 1), sizeof *s->waymark, "scorer", err)))
        goto failed;
    s->ratio = r;
    for (int64_t i = 0; i < r->members; i++) {
        const wmi_mixture p = wmi_ratio_mixture(r, i, 0), q = wmi_ratio_mixture(r, i, 1);

        for (int64_t k = 0; k <= m; k++)
            if ((st = wmi_gaussians_between(&s->waymark[i * (m + 1) + k], &p, &q,
                                            r->alphas.alpha[k], err)))
                goto failed;
    }
    *out = s;
    return WM_OK;
failed:
    wmi_mixture_scorer_free(s);
    return st;
}

void wmi_mixture_scorer_free(wmi_mixture_scorer *s)
{
    if (!s)
        return;
    for (int64_t i = 0;
         s->waymark && s->ratio && i < s->ratio->members * (s->ratio->info.bridges + 1); i++)
        wmi_gaussians_free(&s->waymark[i]);
    wmi_free(s->waymark);
    wmi_free(s);
}

void wmi_mixture_scorer_bridges(const wmi_mixture_scorer *s, const double *x, int64_t stride,
                                double *out)
{
    const wm_ratio *r = s->ratio;
    const int64_t m = r->info.bridges, count = wmi_params_count(r->params);
    const int64_t c = wmi_params_find(r->params, "c")->offset;

    for (int64_t k = 0; k < m; k++)
        out[k * stride] = 0;
    for (int64_t i = 0; i < r->members; i++) {
        const wmi_gaussians *g = s->waymark + i * (m + 1);
        double before = wmi_gaussians_log(&g[0], x, NULL);

        for (int64_t k = 0; k < m; k++) {
            const double next = wmi_gaussians_log(&g[k + 1], x, NULL);

            out[k * stride] += (before - next - r->theta[i * count + c + k]) / (double)r->members;
            before = next;
        }
    }
}

double wmi_mixture_scorer_sum(const wmi_mixture_scorer *s, const double *x)
{
    const wm_ratio *r = s->ratio;
    const int64_t m = r->info.bridges, count = wmi_params_count(r->params);
    const int64_t c = wmi_params_find(r->params, "c")->offset;
    double sum = 0;

    for (int64_t i = 0; i < r->members; i++) { /* what lies between the ends cancels */
        const wmi_gaussians *g = s->waymark + i * (m + 1);
        double one = wmi_gaussians_log(&g[0], x, NULL) - wmi_gaussians_log(&g[m], x, NULL);

        for (int64_t k = 0; k < m; k++)
            one -= r->theta[i * count + c + k];
        sum += one / (double)r->members;
    }
    return sum;
}

/* ---- fitting ---- */

wm_status wmi_ratio_choose_components(wm_ratio *r, const wmi_ratio_rows *rows,
                                      const wm_ratio_opts *opts, wm_error *err)
{
    wm_status st = WM_OK;

    for (int t = 0; t < 2 && !st; t++) {
        double gain;

        r->components[t] = opts->components[t];
        if (r->components[t] == WM_AUTO)
            st = wmi_mixture_choose(&r->components[t], &gain, rows->n_train[t], rows->dim,
                                    rows->train[t], opts->control.seed, opts->control.stop, err);
    }
    return st;
}

wm_status wmi_ratio_check_mixture(bool two_tables, int64_t dim, const int64_t *columns,
                                  wm_error *err)
{
    if (!two_tables)
        return wmi_fail(err, WM_EINVAL, "mixtures are fitted to two tables: choose another model");
    for (int64_t j = 0; j < dim; j++)
        if (columns[j] != WM_COLUMN_LINEAR)
            return wmi_fail(err, WM_EINVAL,
                            "mixtures of Gaussians have continuous columns only: choose additive "
                            "for a table with categories or whole numbers");
    return WM_OK;
}

wm_status wmi_ratio_fit_mixture(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                                wm_error *err)
{
    const double clock = wm_clock(opts->control.sink);
    wmi_ends ends = {0};
    wmi_held_out held = {0};
    wm_status st;

    if ((st = wmi_ratio_check_mixture(!rows->pairs && !rows->normal_q, rows->dim, r->columns,
                                      err)) ||
        (st = wmi_ratio_ends(&ends, rows, opts->all_rows, err)))
        goto done;
    for (int t = 0; t < 2 && !st; t++) {
        wmi_mixture m = wmi_ratio_mixture(r, 0, t);

        st = wmi_mixture_fit(&m, ends.n[t], ends.x[t], m.weight[0] > 0, opts->control.seed,
                             opts->control.stop, err);
    }
    if (st)
        goto done;
    r->info.convex = true;
    r->info.finished = true;
    for (int t = 0; t < 2; t++) /* of the larger one: each table has its own */
        r->info.numbers =
            fmax(r->info.numbers,
                 (double)(r->components[t] * (rows->dim + 1) * (rows->dim + 2) / 2 - 1));
    r->info.seconds = wm_clock(opts->control.sink) - clock;
    if (!(st = wmi_held_out_score(&held, r, rows, err)))
        wmi_held_out_evaluate(r, &held);
done:
    wmi_held_out_free(&held);
    wmi_ends_free(&ends);
    return st;
}
