/* study_data.c - the samples of a study: checked, encoded, put in random order. */
#include "study/study_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/repeats.h"
#include "columns/smooths.h"

enum {
    LABEL = 96,           /* bytes of a column's name in a message */
    LEAST_ROWS = 10,      /* of a table: below, nothing can be held out */
    MIXTURE_ROWS = 20000, /* that the mixture is fitted to from which fits start */
};

static wm_status check_tables(const wm_data *const table[2], const wm_schema *schema,
                              const wm_study_opts *o, wm_error *err)
{
    static const char *const names[] = {"p", "q"};
    const int64_t least = 2 * o->folds > LEAST_ROWS ? 2 * o->folds : LEAST_ROWS;
    wm_status st;

    if (!table[0] || (!table[1] && !o->pairs))
        return wmi_fail(err, WM_EINVAL, "samples of p and of q are needed");
    if (table[1] && o->pairs)
        return wmi_fail(err, WM_EINVAL, "q is given, but pairs says that it is made from p");
    if (o->pairs < 0 || o->pairs >= wm_data_dim(table[0]))
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " of %" PRId64 " columns are u: at least one of each of u and v "
                        "is needed",
                        o->pairs, wm_data_dim(table[0]));
    for (int t = 0; t < 2 && table[t]; t++) {
        if (wm_data_count(table[t]) < least)
            return wmi_fail(err, WM_EINVAL,
                            "%s has %" PRId64 " row%s: with %" PRId64 " folds at least %" PRId64
                            " are needed",
                            o->pairs ? "the table" : names[t], wm_data_count(table[t]),
                            wm_data_count(table[t]) == 1 ? "" : "s", o->folds, least);
        if ((st = wm_data_check_finite(table[t], names[t], err)))
            return st;
    }
    if (table[1] && wm_data_dim(table[0]) != wm_data_dim(table[1]))
        return wmi_fail(err, WM_ESHAPE,
                        "p has %" PRId64 " columns and q %" PRId64 ": they must have the same ones",
                        wm_data_dim(table[0]), wm_data_dim(table[1]));
    if (schema && wm_schema_dim(schema) != wm_data_dim(table[0]))
        return wmi_fail(err, WM_ESHAPE, "the schema has %" PRId64 " columns, the tables %" PRId64,
                        wm_schema_dim(schema), wm_data_dim(table[0]));
    return WM_OK;
}

/* Kinds, levels and labels of the schema, for the encoder. */
typedef struct described {
    wm_kind *kind;
    int64_t *levels;
    const char **label;
    char *text; /* (raw, LABEL) */
} described;

/* Of pairs a column is one of u or of v, as the user has them. */
static const char *name_column(char text[LABEL], const wm_schema *schema, int64_t j, int64_t pairs)
{
    const char *name = wm_schema_name(schema, j);

    if (pairs == 0)
        return wm_schema_describe(schema, j, text, LABEL);
    snprintf(text, LABEL, "column %" PRId64 " of %s%s%.40s%s", 1 + (j < pairs ? j : j - pairs),
             j < pairs ? "u" : "v", name ? " ('" : "", name ? name : "", name ? "')" : "");
    return text;
}

static wm_status describe(described *d, int64_t raw, const wm_schema *schema, int64_t pairs,
                          wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&d->kind, raw, sizeof *d->kind, "columns", err)) ||
        (st = wmi_alloc(&d->levels, raw, sizeof *d->levels, "columns", err)) ||
        (st = wmi_alloc(&d->label, raw, sizeof(const char *), "columns", err)) ||
        (st = wmi_alloc(&d->text, raw * LABEL, 1, "columns", err)))
        return st;
    for (int64_t j = 0; j < raw; j++) {
        d->kind[j] = wm_schema_kind(schema, j);
        d->levels[j] = wm_schema_levels(schema, j);
        d->label[j] = name_column(d->text + j * LABEL, schema, j, pairs);
    }
    return WM_OK;
}

/* Indicators, and numbers of few values, have straight effects; their ridge counts a level as it
 * is, not as it is scaled. */
static wm_status set_straight(wmi_study_data *data, wm_error *err)
{
    const wmi_encoder *e = &data->encoder;
    wm_status st;

    if (!data->found.raw)
        return WM_OK;
    if ((st = wmi_alloc(&data->straight, data->dim, sizeof *data->straight, "columns", err)))
        return st;
    for (int64_t j = 0; j < e->raw; j++)
        for (int64_t f = e->first[j]; f < e->first[j + 1]; f++)
            data->straight[f] = !isnan(e->level[f])     ? 1 / (e->scale[f] * e->scale[f])
                                : data->found.curved[j] ? 0
                                                        : WMI_STRAIGHT;
    return WM_OK;
}

/* Whether every value of every column is that of the first row of p. */
static bool is_constant(int64_t raw, const int64_t n[2], const double *const x[2])
{
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < n[t] * raw; i++)
            if (x[t][i] != x[0][i % raw])
                return false;
    return true;
}

static wm_status fit_encoder(wmi_study_data *data, const wm_data *const table[2],
                             const wm_schema *schema, const wm_study_opts *o, wm_error *err)
{
    const int64_t raw = wm_data_dim(table[0]);
    const int64_t n[2] = {wm_data_count(table[0]), table[1] ? wm_data_count(table[1]) : 0};
    const double *const x[2] = {wm_data_rows(table[0]), table[1] ? wm_data_rows(table[1]) : NULL};
    wmi_encode_opts e = {
        .standardize = o->standardize, .by_rank = o->by_rank, .stop = o->control.stop};
    described d = {0};
    wm_status st = WM_OK;

    if (schema) {
        if ((st = describe(&d, raw, schema, o->pairs, err)))
            goto done;
        e.kind = d.kind;
        e.levels = d.levels;
        e.label = d.label;
    }
    if (!o->pairs) {
        if ((st = wmi_discover(&data->found, raw, n, x, e.kind, err)))
            goto done;
        e.found = &data->found;
        e.by_rank = e.by_rank || data->found.mixed; /* numbers of ordinary tables are skewed */
        e.bend = true;
    }
    if ((st = wmi_encoder_fit(&data->encoder, raw, n, x, &e, err)))
        goto done;
    data->dim = data->encoder.dim;
    if (data->dim < 1) {
        st = wmi_fail(err, WM_EINVAL,
                      is_constant(raw, n, x)
                          ? "all columns are constant, and the same in p and q"
                          : "no level of a column that tells rows apart is in both p and q: they "
                            "have nothing in common, and both divergences are infinite");
        goto done;
    }
    if ((st = set_straight(data, err)))
        goto done;
    if ((st = wmi_alloc(&data->columns, data->dim, sizeof *data->columns, "columns", err)))
        goto done;
    data->blocks = wmi_encoder_columns(&data->encoder, o->pairs, data->columns);
    for (int64_t j = 0; j < data->dim; j++)
        data->linear = data->linear || data->columns[j] == WM_COLUMN_LINEAR;
done:
    wmi_free(d.text);
    wmi_free(d.label);
    wmi_free(d.levels);
    wmi_free(d.kind);
    return st;
}

/* Weights in the new order, of mean one; those that are all the same are none. */
static wm_status take_weights(wmi_study_data *data, int which, const double *w, wm_error *err)
{
    const int64_t n = data->n[which];
    bool differ = false;
    double sum = 0;
    wm_status st;

    if (!w)
        return WM_OK;
    for (int64_t i = 0; i < n; i++) {
        if (!(w[i] >= 0) || !isfinite(w[i]))
            return wmi_fail(err, WM_EINVAL,
                            "weight %" PRId64 " of %s is %g: weights must be finite and not "
                            "negative",
                            i + 1, which ? "q" : "p", w[i]);
        sum += w[i];
        differ = differ || w[i] != w[0];
    }
    if (!(sum > 0))
        return wmi_fail(err, WM_EINVAL, "all weights of %s are 0", which ? "q" : "p");
    if (!differ)
        return WM_OK;
    if ((st = wmi_alloc(&data->weight[which], n, sizeof *w, "weights", err)))
        return st;
    for (int64_t i = 0; i < n; i++)
        data->weight[which][i] = w[data->order[which][i]] * (double)n / sum;
    return WM_OK;
}

static wm_status shuffle_table(wmi_study_data *data, int which, const wm_data *table, uint64_t seed,
                               wm_error *err)
{
    const int64_t n = wm_data_count(table), raw = wm_data_dim(table);
    const wmi_rng rng = wmi_rng_make(seed, which ? "folds/q" : "folds/p");
    double *ordered = NULL;
    wm_status st;

    data->n[which] = n;
    if ((st = wmi_alloc(&data->order[which], n, sizeof *data->order[which], "order", err)) ||
        (st = wmi_alloc(&ordered, n * raw, sizeof *ordered, "rows", err)) ||
        (st = wmi_alloc(&data->x[which], n * data->dim, sizeof *data->x[which], "rows", err)))
        goto done;
    wmi_rng_permutation(&rng, n, data->order[which]);
    for (int64_t i = 0; i < n; i++)
        memcpy(ordered + i * raw, wm_data_rows(table) + data->order[which][i] * raw,
               (size_t)raw * sizeof *ordered);
    st = wmi_encoder_apply(&data->encoder, n, ordered, data->x[which], err);
done:
    wmi_free(ordered);
    return st;
}

/* Indicators stay as they are: a mixture of categories is none. */
static wm_status find_whitening(wmi_study_data *data, const wm_study_opts *o, wm_error *err)
{
    const wmi_encoder *e = &data->encoder;
    const wmi_whiten_end end[] = {{data->n[0], data->x[0], data->weight[0]},
                                  {data->n[1], data->x[1], data->weight[1]}};
    bool *takes = NULL;
    wm_status st;

    if (o->whiten == WM_CHOICE_NO)
        return WM_OK;
    if ((st = wmi_alloc(&takes, data->dim, sizeof *takes, "columns", err)))
        return st;
    for (int64_t j = 0; j < e->raw; j++)
        if (e->kind[j] == WM_KIND_CONTINUOUS)
            takes[e->first[j]] = true;
    st = wmi_whitening_of(&data->whitening, data->dim, takes, o->pairs ? e->first[o->pairs] : 0,
                          end, err);
    wmi_free(takes);
    return st;
}

wm_status wmi_study_data_mixtures(wmi_study_data *data, uint64_t seed, wmi_stop stop, wm_error *err)
{
    const int64_t most = wmi_mixture_count(WMI_MIXTURE_MOST, data->dim);
    wm_status st;

    if ((st = wmi_alloc(&data->mixture_store, 2 * most, sizeof *data->mixture_store, "mixtures",
                        err)))
        return st;
    for (int t = 0; t < 2; t++) {
        const int64_t n = data->n[t] < MIXTURE_ROWS ? data->n[t] : MIXTURE_ROWS;
        double gain;
        int64_t k;

        if ((st = wmi_mixture_choose(&k, &gain, n, data->dim, data->x[t], seed, stop, err)))
            return st;
        wmi_mixture_place(&data->mixture[t], k, data->dim, data->mixture_store + t * most);
        data->mixture_gain = fmax(data->mixture_gain, gain);
        if ((st = wmi_mixture_fit(&data->mixture[t], n, data->x[t], false, seed, stop, err)))
            return st;
    }
    return WM_OK;
}

wm_status wmi_study_data_new(wmi_study_data *data, const wm_data *p, const wm_data *q,
                             const wm_schema *schema, const wm_study_opts *opts, wm_error *err)
{
    const wm_data *const table[2] = {p, q};
    char *text = NULL;
    wm_status st;

    if ((st = check_tables(table, schema, opts, err)) ||
        (st = fit_encoder(data, table, schema, opts, err)))
        return st;
    for (int t = 0; t < 2 && table[t]; t++)
        if ((st = shuffle_table(data, t, table[t], opts->control.seed, err)) ||
            (st = take_weights(data, t, opts->weights[t], err)))
            return st;
    if ((opts->pairs && (st = wmi_study_find_levels(data, p, opts->pairs, err))) ||
        (st = find_whitening(data, opts, err)) ||
        (st = wmi_repeated_rows(&data->repeated, p, q, schema, err)) || !schema)
        return st;
    if (!(st = wm_schema_write(schema, &text, err)))
        st = wmi_alloc_text(&data->schema, text, "schema", err);
    wm_text_free(text);
    return st;
}

void wmi_study_data_free(wmi_study_data *data)
{
    for (int t = 0; t < 2; t++) {
        wmi_free(data->x[t]);
        wmi_free(data->weight[t]);
        wmi_free(data->order[t]);
        wmi_free(data->level[t]);
    }
    wmi_encoder_free(&data->encoder);
    wmi_whitening_free(&data->whitening);
    wmi_found_free(&data->found);
    wmi_free(data->mixture_store);
    wmi_free(data->straight);
    wmi_free(data->columns);
    wmi_free(data->schema);
    *data = (wmi_study_data){0};
}
