/* fuzz_reader.c - any bytes as a file of the format FUZZ_FORMAT (a text; none: the format is looked
 * for, gzip included). Beyond not crashing and not leaking it must hold that
 *   a table that was read is finite, with levels that its schema has;
 *   the same bytes from a pipe give the same table, or the same refusal for formats that can;
 *   the table streamed in pieces is the table. */
#include <math.h>
#include <string.h>

#include "data/formats/reader.h"
#include "must.h"

#ifdef FUZZ_FORMAT
static const char *const format = FUZZ_FORMAT;
#else
static const char *const format = NULL;
#endif

/* ---- a pipe ---- */

typedef struct drip {
    const uint8_t *data;
    size_t n, at;
} drip;

static wm_status drip_read(void *ctx, void *buf, size_t n, size_t *got, wm_error *err)
{
    drip *d = ctx;
    size_t k = d->at % 7 + 1;

    (void)err;
    k = k < n ? k : n;
    k = k < d->n - d->at ? k : d->n - d->at;
    memcpy(buf, d->data + d->at, k);
    d->at += k;
    *got = k;
    return WM_OK;
}

static void drip_close(void *ctx)
{
    (void)ctx;
}

/* ---- what must hold ---- */

static void check_table(const wm_data *d, const wm_schema *s)
{
    const int64_t n = wm_data_count(d), dim = wm_data_dim(d);
    wm_error none = {0};

    must(n >= 1 && dim >= 1 && dim == wm_schema_dim(s), "shape", &none);
    for (int64_t i = 0; i < n * dim; i++) {
        const double x = wm_data_rows(d)[i];
        const int64_t j = i % dim;

        must(isfinite(x), "a value is not finite", &none);
        if (wm_schema_kind(s, j) == WM_KIND_CATEGORICAL)
            must(x >= 0 && x < (double)wm_schema_levels(s, j) && x == floor(x), "no level", &none);
    }
}

static bool same(const wm_data *a, const wm_data *b)
{
    return wm_data_count(a) == wm_data_count(b) && wm_data_dim(a) == wm_data_dim(b) &&
           memcmp(wm_data_rows(a), wm_data_rows(b),
                  (size_t)(wm_data_count(a) * wm_data_dim(a)) * sizeof(double)) == 0;
}

/* A new schema and the table, or NULL with the schema freed. piped: as from a pipe. */
static wm_data *load(const uint8_t *data, size_t size, bool piped, const wm_read_opts *opts,
                     wm_schema **s, wm_error *err)
{
    static const wmi_bytes_stream stream = {drip_read, NULL, drip_close};
    drip ctx = {data, size, 0};
    wmi_bytes *b = NULL;
    wm_data *d = NULL;
    wm_status st;

    if (wm_schema_new(s, err))
        abort();
    st = piped ? wmi_bytes_from(&b, "fuzz", &stream, &ctx, -1, err)
               : wmi_bytes_memory(&b, "fuzz", data, size, err);
    if (!st)
        st = wmi_data_read_bytes(&d, b, "fuzz", *s, opts, err);
    must(!st == (d != NULL), "status and table differ", err);
    must(!st || (err->code == st && *err->text), "no message", err);
    if (d)
        check_table(d, *s);
    else
        wm_schema_free(*s);
    return d;
}

/* d, read again in pieces of max rows with the schema it taught. */
static void check_stream(const uint8_t *data, size_t size, const wm_data *d, const wm_schema *s,
                         const wm_read_opts *opts, int64_t max)
{
    const int64_t dim = wm_data_dim(d);
    int64_t got = 1, n = 0;
    double *rows = malloc((size_t)(max * dim) * sizeof *rows);
    wm_reader *r = NULL;
    wmi_bytes *b = NULL;
    wm_error err = {0};

    must(!wmi_bytes_memory(&b, "fuzz", data, size, &err), "bytes", &err);
    must(!wmi_reader_open_bytes(&r, b, "fuzz", s, opts, &err), "a stream does not open", &err);
    must(wm_reader_dim(r) == dim, "another width", &err);
    while (rows && got) {
        must(!wm_reader_next(r, max, rows, &got, NULL, &err), "a stream ends early", &err);
        must(got <= max && n + got <= wm_data_count(d), "a stream has more rows", &err);
        must(!memcmp(rows, wm_data_rows(d) + n * dim, (size_t)(got * dim) * sizeof *rows),
             "a stream has other rows", &err);
        n += got;
    }
    must(!rows || n == wm_data_count(d), "a stream has fewer rows", &err);
    wm_reader_close(r);
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0}, piped = {0};
    wm_schema *s, *t;
    wm_read_opts opts;
    wm_data *d, *e;
    bool gzip;

    wm_read_opts_init(&opts);
    opts.format = format;
    for (int missing = WM_MISSING_REFUSE; missing <= WM_MISSING_MEAN; missing++) {
        opts.missing = (wm_missing)missing;
        opts.categorical = missing == WM_MISSING_MEAN ? "1" : NULL;
        if (!(d = load(data, size, false, &opts, &s, &err)))
            continue;
        if (missing != WM_MISSING_MEAN) {
            opts.categorical = NULL;
            check_stream(data, size, d, s, &opts, 3);
        }
        /* Zip and safetensors want a file; what begins as gzip is decoded only when opened. */
        gzip = size > 2 && memcmp(data, "\x1f\x8b\x08", 3) == 0;
        e = gzip ? NULL : load(data, size, true, &opts, &t, &piped);
        must(e || gzip || piped.code == WM_EUNSUPPORTED, "not from a pipe", &piped);
        if (e) {
            must(same(d, e), "a pipe gives another table", &piped);
            wm_data_free(e);
            wm_schema_free(t);
        }
        wm_data_free(d);
        wm_schema_free(s);
    }
    must(wmi_alloc_live() == live, "blocks were not freed", &err);
    return 0;
}
