/* cmd_loglik.c - `waymark loglik RUN DATA`: the log-likelihood of rows under an energy-based model:
 * direct, and between RAISE from below and AIS from above. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "commands.h"
#include "ebm_run.h"
#include "waymark/generators.h"

typedef struct loglik_opts {
    const char *method;
    walk_flags walk;
    double tolerance;
    read_flags read;
} loglik_opts;

static const opt_row rows[] = {
    {.kind = OPT_TEXT,
     .name = "method",
     .at = offsetof(loglik_opts, method),
     .arg = "LIST",
     .help = "any of direct, ais, raise; ais and raise bracket the truth"},
    {.kind = OPT_REAL,
     .name = "tolerance",
     .at = offsetof(loglik_opts, tolerance),
     .arg = "BITS",
     .help = "the bracket is closed when it is narrower, in bits per dimension",
     .lo = 0,
     .hi = 100},
    WALK_ROWS(loglik_opts, walk),
    FILE_ROWS(loglik_opts, read),
    {0},
};

static void defaults(void *opts)
{
    loglik_opts *o = opts;

    *o = (loglik_opts){.method = "direct,ais,raise", .tolerance = 0.01};
    walk_flags_init(&o->walk);
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
    double mean_q, mean_phi, se_phi, se_q;
    wm_ais ais;
    wm_raise raise;
    wm_bracket bracket;
} result;

static void mean_se(const double *x, int64_t n, double *mean, double *se)
{
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - sum) * (x[i] - sum);
    *mean = sum;
    *se = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : NAN;
}

static wm_status walk_all(result *r, const wm_ebm *e, const wm_ebm_info *info, const wm_data *data,
                          cli_call *call, wm_error *err)
{
    const loglik_opts *o = call->opts;
    wm_ebm_chains *up = NULL;
    wm_ebm_walk walk;
    wm_status st = WM_OK;

    if (r->methods & AIS && (!(st = walk_opts(&walk, &o->walk, call, "ais.safetensors", err))))
        st = wm_ebm_ais(&r->ais, &up, e, &walk, err);
    if (!st && r->methods & RAISE &&
        !(st = walk_opts(&walk, &o->walk, call, "raise.safetensors", err)))
        st = wm_ebm_raise(&r->raise, NULL, e, data, r->log_phi, (uint64_t)call->common->seed,
                          up ? up->table : NULL, &walk, err);
    if (!st && r->methods & AIS && r->methods & RAISE)
        r->bracket = wm_bracket_make(&r->ais, &r->raise, r->log_phi, r->n,
                                     o->tolerance * (double)info->dim * log(2));
    wm_ebm_chains_free(up);
    return st;
}

static void add_summary(cli_call *call, const result *r, const wm_ebm_info *info)
{
    const char *meaning = r->bracket.closed    ? "AIS and RAISE agree: the bracket is closed."
                          : r->bracket.crossed ? "RAISE is above AIS: one of the runs is wrong, "
                                                 "raise --steps."
                                               : "AIS and RAISE do not agree yet: raise --steps.";
    wm_check c = {.name = "bracket",
                  .value = r->bracket.gap,
                  .limit = r->bracket.tolerance + 2 * r->bracket.gap_se,
                  .ok = r->bracket.closed};
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;

    wm_summary_integer(s, "n_test", r->n);
    wm_summary_integer(s, "dim", info->dim);
    ebm_summary_loglik(call, "noise_loglik", info, r->mean_q, r->se_q);
    if (r->methods & DIRECT)
        ebm_summary_loglik(call, "direct", info, r->mean_phi, r->se_phi);
    if (r->methods & AIS) {
        wm_summary_real(s, "log_z", r->ais.log_z * unit);
        wm_summary_real(s, "log_z_se", r->ais.se * unit);
        wm_summary_real(s, "log_z_ess", r->ais.ess);
        wm_summary_real(s, "log_z_spread", r->ais.spread * unit);
        wm_summary_integer(s, "ais_failed", r->ais.failed);
        ebm_summary_loglik(call, "ais", info, r->mean_phi - r->ais.log_z,
                           hypot(r->se_phi, r->ais.se));
    }
    if (r->methods & RAISE) {
        ebm_summary_loglik(call, "raise", info, r->raise.loglik, r->raise.se);
        wm_summary_real(s, "raise_spread", r->raise.spread * unit);
        wm_summary_bool(s, "raise_controlled", r->raise.controlled);
        wm_summary_integer(s, "raise_failed", r->raise.failed);
    }
    wm_summary_text(s, "units", units_name(call));
    if (!(r->methods & AIS && r->methods & RAISE))
        return;
    wm_summary_real(s, "gap", r->bracket.gap * unit);
    wm_summary_real(s, "gap_bpd", -ebm_bits(info, r->bracket.gap));
    snprintf(c.meaning, sizeof c.meaning, "%s", meaning);
    summary_checks(s, &c, 1);
    wm_summary_text(s, "verdict", r->bracket.closed ? "trust" : "doubt");
    wm_summary_text(s, "reason", meaning);
    call->doubt = !r->bracket.closed;
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
    line(call, "noise", info, r->mean_q, r->se_q, NULL);
    if (r->methods & DIRECT)
        line(call, "direct", info, r->mean_phi, r->se_phi, "Z taken as 1");
    if (r->methods & RAISE) {
        snprintf(note, sizeof note, "a lower bound, from %" PRId64 " chains%s", r->raise.used,
                 r->raise.controlled ? ", with control variate" : "");
        line(call, "raise", info, r->raise.loglik, r->raise.se, note);
    }
    if (r->methods & AIS) {
        snprintf(note, sizeof note, "log Z %.2f +- %.2f, effective chains %.1f of %" PRId64,
                 r->ais.log_z * unit, r->ais.se * unit, r->ais.ess, r->ais.used);
        line(call, "ais", info, r->mean_phi - r->ais.log_z, hypot(r->se_phi, r->ais.se), note);
    }
    if (r->methods & AIS && r->methods & RAISE)
        printf("bracket: AIS minus RAISE is %.3f +- %.3f %s (%.4f bits/dim): %s\n",
               r->bracket.gap * unit, r->bracket.gap_se * unit, units_name(call),
               -ebm_bits(info, r->bracket.gap),
               r->bracket.closed    ? "closed"
               : r->bracket.crossed ? "crossed, one of the two is wrong: raise --steps"
                                    : "open, raise --steps");
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
    wm_data *data = NULL;
    wm_ebm *e = NULL;
    wm_ebm_info info;
    result r = {0};
    wm_status st;

    if ((st = take_methods(&r.methods, o->method, call, err)) ||
        (st = ebm_open(&e, call->args[0], err)) ||
        (st = ebm_read(&data, call->args[1], &o->read, call, err)))
        goto done;
    wm_ebm_get_info(e, &info);
    if (wm_data_dim(data) != info.dim) {
        st = opt_fail(err, "%.100s has %" PRId64 " columns, the model of %.80s has %" PRId64,
                      call->args[1], wm_data_dim(data), call->args[0], info.dim);
        goto done;
    }
    r.n = wm_data_count(data);
    r.log_q = malloc(sizeof *r.log_q * (size_t)r.n);
    r.log_phi = malloc(sizeof *r.log_phi * (size_t)r.n);
    if (!r.log_q || !r.log_phi) {
        st = WM_ENOMEM;
        goto done;
    }
    if ((st = wm_ebm_log_density(e, data, (uint64_t)call->common->seed, r.log_q, r.log_phi, err)))
        goto done;
    mean_se(r.log_q, r.n, &r.mean_q, &r.se_q);
    mean_se(r.log_phi, r.n, &r.mean_phi, &r.se_phi);
    if ((st = walk_all(&r, e, &info, data, call, err)))
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
    wm_ebm_free(e);
    return st;
}

const cli_command cmd_loglik = {
    .name = "loglik",
    .about = "log-likelihood under an energy-based model, bracketed by RAISE and AIS",
    .arguments = "RUN DATA",
    .min_args = 2,
    .max_args = 2,
    .details =
        "RUN is what `waymark ebm` made. Direct takes the normaliser Z as 1; AIS estimates it "
        "from\n"
        "chains that go from noise to model; RAISE walks back from rows of DATA and errs "
        "downward.",
    .examples = "waymark loglik run test.csv\n"
                "waymark loglik run test.csv --method direct\n"
                "waymark loglik mnist-run mnist/test.npy --chains 50 --steps 2000 -o mnist-loglik",
    .common = (CLI_ALL & ~(unsigned)CLI_TIME) | CLI_TIMER,
    .rows = rows,
    .opts_size = sizeof(loglik_opts),
    .defaults = defaults,
    .run = run,
};
