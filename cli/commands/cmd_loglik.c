/* cmd_loglik.c - `waymark loglik RUN DATA`: the log-likelihood of rows under an energy-based model:
 * direct, and between RAISE from below and AIS from above. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/ebm_run.h"
#include "commands/show_checks.h"
#include "frame/commands.h"
#include "waymark/generators.h"
#include "waymark/write.h"

typedef struct loglik_opts {
    const char *method;
    wm_ebm_walk walk;
    double tolerance;
    read_flags read;
} loglik_opts;

#define OPTS loglik_opts

static const opt_row rows[] = {
    TEXT(method, "method", "LIST", "any of direct, ais, raise; ais and raise bracket the truth"),
    REAL(tolerance, "tolerance", "BITS", 0, 100,
         "the bracket is closed when it is narrower, in bits per dimension"),
    ROWS(walk, walk_rows),
    ROWS(read, read_file_options),
    {0},
};

static void defaults(void *opts)
{
    loglik_opts *o = opts;

    *o = (loglik_opts){.method = "direct,ais,raise", .tolerance = 0.01};
    wm_ebm_walk_init(&o->walk);
}

enum { DIRECT = 1, AIS = 2, RAISE = 4 };

static wm_status take_methods(unsigned *out, const char *text, cli_call *call, wm_error *err)
{
    static const char *const names[] = {"direct", "ais", "raise"};

    *out = 0;
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, ",");
        int i = 0;

        while (i < 3 && (strlen(names[i]) != n || strncmp(p, names[i], n) != 0))
            i++;
        if (i == 3)
            return cli_usage(call, err, "--method '%.40s': direct, ais and raise are known", text);
        *out |= 1u << i;
        p += n + (p[n] == ',');
    }
    return *out ? WM_OK : cli_usage(call, err, "--method names none of direct, ais, raise");
}

/* All that a run finds. */
typedef struct result {
    unsigned methods;
    int64_t n;
    double *log_q, *log_phi; /* (n) */
    wm_estimate q, phi;      /* their means */
    wm_ais ais;
    wm_raise raise;
    wm_bracket bracket;
    wm_checks checks;
} result;

static wm_status walk_all(result *r, const wm_ebm *e, const wm_ebm_info *info, const wm_data *data,
                          cli_call *call, wm_error *err)
{
    loglik_opts *o = call->opts;
    wm_fit_control *control = &o->walk.control;
    wm_ebm_chains *up = NULL;
    wm_status st = WM_OK;

    if (r->methods & AIS && !(st = cli_steer(control, call, "ais.safetensors", err)))
        st = wm_ebm_ais(&r->ais, &up, e, &o->walk, err);
    if (!st && r->methods & RAISE && !(st = cli_steer(control, call, "raise.safetensors", err)))
        st = wm_ebm_raise(&r->raise, NULL, e, data, r->log_phi, (uint64_t)call->common->seed,
                          up ? up->table : NULL, &o->walk, err);
    if (!st && r->methods & AIS && r->methods & RAISE) {
        r->bracket = wm_bracket_make(&r->ais, &r->raise, r->log_phi, r->n,
                                     o->tolerance * (double)info->dim * log(2));
        wm_bracket_check(&r->bracket, &r->checks);
    }
    wm_ebm_chains_free(up);
    return st;
}

static const check_advice advice[] = {{"bracket", "For that raise --steps.", WM_CHECK_OK}, {0}};

static void add_summary(cli_call *call, const result *r, const wm_ebm_info *info)
{
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;

    wm_summary_integer(s, "n_test", r->n);
    wm_summary_integer(s, "dim", info->dim);
    ebm_summary_loglik(call, "noise_loglik", info, r->q.value, r->q.se);
    if (r->methods & DIRECT)
        ebm_summary_loglik(call, "direct", info, r->phi.value, r->phi.se);
    if (r->methods & AIS) {
        WM_PUT(s, WM_REAL("log_z", r->ais.log_z * unit), WM_REAL("log_z_se", r->ais.se * unit),
               WM_REAL("log_z_ess", r->ais.ess), WM_REAL("log_z_spread", r->ais.spread * unit),
               WM_INTEGER("ais_failed", r->ais.failed));
        ebm_summary_loglik(call, "ais", info, r->phi.value - r->ais.log_z,
                           hypot(r->phi.se, r->ais.se));
    }
    if (r->methods & RAISE) {
        ebm_summary_loglik(call, "raise", info, r->raise.loglik, r->raise.se);
        WM_PUT(s, WM_REAL("raise_spread", r->raise.spread * unit),
               WM_BOOL("raise_controlled", r->raise.controlled),
               WM_INTEGER("raise_failed", r->raise.failed));
    }
    wm_summary_text(s, "units", units_name(call));
    if (!(r->methods & AIS && r->methods & RAISE))
        return;
    wm_summary_real(s, "gap", r->bracket.gap * unit);
    wm_summary_real(s, "gap_bpd", -ebm_bits(info, r->bracket.gap));
    summary_checks(call, &r->checks, advice);
}

static void line(const cli_call *call, const char *name, const wm_ebm_info *info, double loglik,
                 double se, const char *note)
{
    const double unit = units_per_nat(call);

    printf("  %-8s %12.3f +- %-8.3f %8.4f%s%s\n", name, loglik * unit, se * unit,
           ebm_bits(info, loglik), note ? "  " : "", note ? note : "");
}

static void print_result(const cli_call *call, const result *r, const wm_ebm_info *info)
{
    const double unit = units_per_nat(call);
    char note[160];

    printf("mean log-likelihood of %" PRId64 " rows\n", r->n);
    printf("  %-8s %12s    %-8s %8s\n", "method", units_name(call), "", "bits/dim");
    line(call, "noise", info, r->q.value, r->q.se, NULL);
    if (r->methods & DIRECT)
        line(call, "direct", info, r->phi.value, r->phi.se, "Z taken as 1");
    if (r->methods & RAISE) {
        snprintf(note, sizeof note, "a lower bound, from %" PRId64 " chains%s", r->raise.used,
                 r->raise.controlled ? ", with control variate" : "");
        line(call, "raise", info, r->raise.loglik, r->raise.se, note);
    }
    if (r->methods & AIS) {
        snprintf(note, sizeof note, "log Z %.2f +- %.2f, effective chains %.1f of %" PRId64,
                 r->ais.log_z * unit, r->ais.se * unit, r->ais.ess, r->ais.used);
        line(call, "ais", info, r->phi.value - r->ais.log_z, hypot(r->phi.se, r->ais.se), note);
    }
    if (!(r->methods & AIS && r->methods & RAISE))
        return;
    printf("bracket: AIS minus RAISE is %.3f +- %.3f %s (%.4f bits/dim): %s\n",
           r->bracket.gap * unit, r->bracket.gap_se * unit, units_name(call),
           -ebm_bits(info, r->bracket.gap),
           r->bracket.closed    ? "closed"
           : r->bracket.crossed ? "crossed, one of the two is wrong: raise --steps"
                                : "open, raise --steps");
    print_checks(call, &r->checks, advice);
}

/* log phi and log q of every row, beside the summary. */
static wm_status write_rows(cli_call *call, const result *r, wm_error *err)
{
    const char *path;
    wm_data *d = NULL;
    wm_status st;

    if (!call->run)
        return WM_OK;
    if ((st = wm_data_new(&d, r->n, 2, NULL, err)))
        return st;
    for (int64_t i = 0; i < r->n; i++) {
        wm_data_rows_mut(d)[2 * i] = r->log_q[i];
        wm_data_rows_mut(d)[2 * i + 1] = r->log_phi[i];
    }
    if (!(st = wm_run_folder_path(&path, call->run, "log_q_and_phi.npy", err)))
        st = wm_data_write_npy(d, path, err);
    wm_data_free(d);
    return st;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const loglik_opts *o = call->opts;
    wm_schema *schema = NULL;
    wm_data *data = NULL;
    wm_ebm *e = NULL;
    wm_ebm_info info;
    result r = {0};
    wm_status st;

    if ((st = take_methods(&r.methods, o->method, call, err)) ||
        (st = ebm_open(&e, call->args[0], err)) || (st = ebm_open_schema(&schema, e, err)) ||
        (st = ebm_read(&data, schema, call->args[1], !wm_ebm_schema(e), &o->read, call, err)))
        goto done;
    wm_ebm_get_info(e, &info);
    if (wm_data_dim(data) != info.columns) {
        st = opt_fail(err, "%.100s has %" PRId64 " columns, the model of %.80s has %" PRId64,
                      call->args[1], wm_data_dim(data), call->args[0], info.columns);
        goto done;
    }
    r.n = wm_data_count(data);
    r.log_q = malloc(sizeof *r.log_q * (size_t)r.n);
    r.log_phi = malloc(sizeof *r.log_phi * (size_t)r.n);
    st = WM_ENOMEM;
    if (!r.log_q || !r.log_phi ||
        (st = ebm_blame(wm_ebm_log_density(e, data, (uint64_t)call->common->seed, r.log_q,
                                           r.log_phi, call->stop, err),
                        call->args[0], err)))
        goto done;
    r.q = wm_mean(r.log_q, r.n);
    r.phi = wm_mean(r.log_phi, r.n);
    if (!isfinite(r.phi.value))
        wm_say(call->sink, WM_LOG_WARN,
               "rows that the model gives no density: their mean log-likelihood is not finite");
    if ((st = ebm_blame(walk_all(&r, e, &info, data, call, err), call->args[0], err)) ||
        call->helper)
        goto done;
    add_summary(call, &r, &info);
    if (cli_shows_tables(call))
        print_result(call, &r, &info);
    if (!(st = write_rows(call, &r, err)) && !(st = cli_publish(call, err)))
        st = ebm_draw_plane(call, e, "rows of the data", wm_data_rows(data), r.n, err);
done:
    free(r.log_q);
    free(r.log_phi);
    wm_data_free(data);
    wm_schema_free(schema);
    wm_ebm_free(e);
    return st;
}

const cli_command cmd_loglik = {
    .name = "loglik",
    .about = "log-likelihood under an energy-based model, bracketed by RAISE and AIS",
    .arguments = "RUN DATA",
    .details =
        "RUN is what `waymark ebm` made. Direct takes the normaliser Z as 1; AIS estimates it from "
        "chains that go from noise to model; RAISE walks back from rows of DATA and errs downward.",
    .examples = "waymark loglik run test.csv\n"
                "waymark loglik run test.csv --method direct\n"
                "waymark loglik mnist-run mnist/test.npy --chains 50 --steps 2000 -o mnist-loglik",
    .common = (CLI_ALL & ~(unsigned)CLI_TIME) | CLI_TIMER | CLI_RANKS,
    CLI_OPTIONS(rows, loglik_opts, defaults),
    .run = run,
};
