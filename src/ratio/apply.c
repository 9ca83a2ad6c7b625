/* apply.c - a ratio at the rows of a file. Blocks of rows are read, scored and written. What needs
 * a second look at the log-ratios (weights), or has to know their number first (the head of an npy
 * from a CSV), keeps them in a file that has no name any more, so that nothing is left of it. */
#include "waymark/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/opts.h"
#include "base/sums.h"
#include "data/table/column_file.h"
#include "ratio/ratio_impl.h"
#include "waymark/sink.h"

enum {
    BLOCK_NUMBERS = 1 << 20, /* of the input in memory: 8 MiB */
    BLOCK_ROWS = 1 << 16,
    LEAST_ROWS = 512, /* in a block: a few for each thread */
};
static const double BLOCK_WORK = 2e9;                 /* multiply-adds: some tenths of a second */
static const double MANY_FAR = 1e-3;                  /* share of rows that is spoken of */
static const double PER_NAT = 1.44269504088896340736; /* bits */

typedef struct task {
    const wm_ratio *ratio;
    wm_apply_opts opts;
    const char *path, *out, *label; /* label: of the input, for messages */
    wmi_column_format format;
    wm_schema *schema; /* of the model, or NULL */
    wm_reader *reader;
    wm_scorer *scorer;
    wm_weights *weights; /* NULL: their number is not known yet, or none follow */
    bool useless;        /* a log-ratio is NaN or inf: no weights follow */
    wm_weights_opts weights_opts;
    int64_t block;
    double *rows;      /* (block, dim) */
    double *log_r;     /* (block) */
    int64_t *number;   /* (block) of the rows in the file; NULL: none is dropped */
    FILE *kept;        /* log-ratios of all rows, or NULL */
    FILE *kept_number; /* their numbers, where a CSV needs them; or NULL */
    FILE *kept_text;   /* columns that are copied, with a NUL after each line; or NULL */
    wm_read_opts read;
    wmi_column_file *file;
    wmi_running_sum sum;
    wm_apply_info info;
} task;

void wm_apply_opts_init(wm_apply_opts *opts)
{
    *opts = (wm_apply_opts){.struct_size = sizeof *opts};
}

/* ---- before the first row ---- */

static bool ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);

    return n > k && strcmp(path + n - k, end) == 0;
}

/* A device or a pipe. */
static bool is_special(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static wm_status choose_format(task *t, wm_error *err)
{
    static const struct {
        const char *end;
        wmi_column_format format;
    } endings[] = {{".npy", WMI_COLUMN_NPY}, {".csv", WMI_COLUMN_CSV}, {".txt", WMI_COLUMN_TEXT}};

    if (t->opts.format != WM_APPLY_BY_NAME) {
        t->format = t->opts.format == WM_APPLY_NPY   ? WMI_COLUMN_NPY
                    : t->opts.format == WM_APPLY_CSV ? WMI_COLUMN_CSV
                                                     : WMI_COLUMN_TEXT;
        return WM_OK;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(t->out, endings[i].end)) {
            t->format = endings[i].format;
            return WM_OK;
        }
    t->format = WMI_COLUMN_TEXT;
    if (strcmp(t->out, "-") == 0 || is_special(t->out))
        return WM_OK;
    return wmi_fail(err, WM_EINVAL, "%s: the name must end in .npy, .csv or .txt, or be -",
                    wmi_path_tail(t->out));
}

/* Weights are looked over here: a wrong setting must not come to light after hours. */
static wm_status check_opts(task *t, wm_error *err)
{
    wm_weights *any;
    wm_status st;

    wm_weights_opts_init(&t->weights_opts);
    if ((st = wmi_opts_take(&t->weights_opts, sizeof t->weights_opts, t->opts.weights,
                            "wm_weights_opts_init", err)) ||
        (st = wm_weights_new(&any, 1, &t->weights_opts, err)))
        return st;
    wm_weights_free(any);
    wm_read_opts_init(&t->read);
    if ((st = wmi_opts_take(&t->read, sizeof t->read, t->opts.read, "wm_read_opts_init", err)))
        return st;
    t->read.unseen = true;
    if ((st = choose_format(t, err)) || !t->read.keep || t->format == WMI_COLUMN_CSV)
        return st;
    return wmi_fail(err, WM_EINVAL, "columns can be kept in a .csv only, not in %s",
                    wmi_path_tail(t->out));
}

static wm_status open_input(task *t, wm_error *err)
{
    const int64_t raw = t->ratio->encoder.raw;
    wm_status st;

    if (t->ratio->schema) {
        if ((st = wm_schema_parse(&t->schema, t->ratio->schema, err)))
            return st;
        if (wm_schema_dim(t->schema) != raw)
            return wmi_fail(err, WM_EFORMAT,
                            "the model has %" PRId64 " columns, its schema %" PRId64, raw,
                            wm_schema_dim(t->schema));
    }
    if ((st = wm_reader_open(&t->reader, t->path, t->schema, &t->read, err)))
        return st;
    if (wm_reader_dim(t->reader) != raw)
        return wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " columns, the model was fitted on %" PRId64,
                        t->label, wm_reader_dim(t->reader), raw);
    t->info.dim = raw;
    return WM_OK;
}

static bool drops(const task *t)
{
    return t->read.missing == WM_MISSING_DROP;
}

/* The number of rows is known before they are read. */
static bool is_counted(const task *t)
{
    return !drops(t) && wm_reader_count(t->reader) >= 0;
}

/* A block is read, scored and written in some tenths of a second, for progress and Ctrl-C. */
static int64_t block_rows(const wm_ratio *r)
{
    const double bridges = r->model & WM_RATIO_TRAINED ? (double)r->info.bridges : 1;
    const double work = (double)r->members * (double)wmi_params_count(r->params) * bridges;
    const int64_t by_size = BLOCK_NUMBERS / r->encoder.raw;
    int64_t rows = (int64_t)fmin(BLOCK_WORK / work, BLOCK_ROWS);

    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
    rows = rows > by_size ? by_size : rows;
    return rows < 1 ? 1 : rows;
}

/* A file without a name, beside the output or where temporary files go. */
static wm_status open_kept(FILE **kept, const char *out, wm_error *err)
{
    const char *slash = strrchr(out, '/'), *temp = getenv("TMPDIR"), *folder = ".";
    char *path = NULL;
    wm_status st;
    int fd, n;

    if (strcmp(out, "-") == 0 || is_special(out))
        folder = temp && *temp ? temp : "/tmp";
    else if (slash)
        folder = out;
    n = folder == out ? (int)(slash - out + 1) : (int)strlen(folder);
    if ((st = wmi_alloc(&path, n + 64, 1, "path", err)))
        return st;
    snprintf(path, (size_t)n + 64, "%.*s/apply" WMI_TEMP_MARK "XXXXXX", n, folder);
    fd = mkstemp(path);
    if (fd >= 0) {
        unlink(path);
        *kept = fdopen(fd, "w+b");
        if (!*kept)
            close(fd);
    }
    if (!*kept)
        st = wmi_fail(err, WM_EIO, "%.*s: cannot make a temporary file for the log-ratios: %s",
                      n < 100 ? n : 100, folder, strerror(errno));
    wmi_free(path);
    return st;
}

static wm_status prepare(task *t, wm_error *err)
{
    wm_status st;

    if ((st = check_opts(t, err)) || (st = open_input(t, err)) ||
        (st = wmi_column_file_check(t->out, err)) ||
        (st = wm_scorer_new(&t->scorer, t->ratio, err)))
        return st;
    t->block = block_rows(t->ratio);
    if ((st = wmi_alloc(&t->rows, t->block * t->info.dim, sizeof *t->rows, "rows", err)) ||
        (st = wmi_alloc(&t->log_r, t->block, sizeof *t->log_r, "log-ratios", err)))
        return st;
    if (drops(t) &&
        ((st = wmi_alloc(&t->number, t->block, sizeof *t->number, "rows", err)) ||
         (t->format == WMI_COLUMN_CSV && (st = open_kept(&t->kept_number, t->out, err)))))
        return st;
    if (t->read.keep && (st = open_kept(&t->kept_text, t->out, err)))
        return st;
    if (is_counted(t) && wm_reader_count(t->reader) > 0 &&
        (st = wm_weights_new(&t->weights, wm_reader_count(t->reader), &t->weights_opts, err)))
        return st;
    return is_counted(t) && !t->opts.weights && !t->kept_text ? WM_OK
                                                              : open_kept(&t->kept, t->out, err);
}

/* ---- all rows, once ---- */

/* What went wrong with the file that has no name. */
static wm_status refuse_kept(const task *t, const char *what, wm_error *err)
{
    return wmi_fail(err, WM_EIO, "%s: its temporary file of log-ratios: cannot %s: %s",
                    strcmp(t->out, "-") == 0 ? "standard output" : wmi_path_tail(t->out), what,
                    strerror(errno ? errno : EIO));
}

static wm_status keep(const task *t, FILE *f, const void *x, size_t width, int64_t n, wm_error *err)
{
    errno = 0;
    return fwrite(x, width, (size_t)n, f) == (size_t)n ? WM_OK : refuse_kept(t, "write", err);
}

/* The columns that are copied, of rows that were just read. */
static wm_status keep_texts(const task *t, int64_t first, int64_t n, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t i = 0; i < n && !st; i++) {
        const char *line = wm_reader_kept(t->reader, first + i);

        st = keep(t, t->kept_text, line, 1, (int64_t)strlen(line) + 1, err);
    }
    return st;
}

/* The next rows, as many as a block takes: the reader may give them in pieces. */
static wm_status read_block(task *t, int64_t *n, bool *end, wm_error *err)
{
    *n = 0;
    *end = false;
    while (*n < t->block) {
        int64_t got, first;
        wm_status st =
            wm_reader_next(t->reader, t->block - *n, t->rows + *n * t->info.dim, &got, &first, err);

        if (st)
            return st;
        if (!got) { /* first is then one past the last row */
            t->info.rows = first;
            *end = true;
            return WM_OK;
        }
        for (int64_t i = 0; t->number && i < got; i++)
            t->number[*n + i] = first + i;
        if (t->kept_text && (st = keep_texts(t, first, got, err)))
            return st;
        *n += got;
    }
    return WM_OK;
}

/* What is to be known of the n log-ratios of a block. */
static wm_status look(task *t, int64_t n, wm_error *err)
{
    wm_apply_info *info = &t->info;

    for (int64_t i = 0; i < n; i++) {
        const double l = t->log_r[i];

        if (isfinite(l)) {
            wmi_sum_add(&t->sum, l);
            info->least = l < info->least ? l : info->least;
            info->largest = l > info->largest ? l : info->largest;
            continue;
        }
        info->not_finite++;
        if (l == -INFINITY)
            continue; /* a weight of 0 */
        if (t->opts.weights)
            return wmi_fail(err, WM_EINVAL,
                            "%s: the log-ratio of row %" PRId64
                            " is %s: no weight follows from it; are its values in order?",
                            t->label, (t->number ? t->number[i] : info->n + i) + 1,
                            isnan(l) ? "NaN" : "inf");
        t->useless = true;
    }
    return WM_OK;
}

static const char *column_name(const task *t)
{
    return !t->opts.weights ? "log_ratio" : t->weights_opts.logs ? "log_weight" : "weight";
}

static wm_status open_output(task *t, int64_t n, wm_error *err)
{
    if (t->file)
        return WM_OK;
    return wmi_column_file_open(
        &t->file, t->out, t->format, column_name(t), n,
        t->kept_text ? &(wmi_column_beside){wm_reader_kept(t->reader, -1), t->kept_text} : NULL,
        err);
}

/* n numbers of t->log_r go out as they are, in the unit that was asked for. */
static wm_status write_out(task *t, int64_t n, wm_error *err)
{
    if (t->opts.bits && (!t->opts.weights || t->weights_opts.logs))
        for (int64_t i = 0; i < n; i++)
            t->log_r[i] *= PER_NAT;
    return wmi_column_file_write(t->file, t->log_r, t->number, n, err);
}

static wm_status take_block(task *t, int64_t n, wm_error *err)
{
    wm_status st;

    if ((st = wm_scorer_log(t->scorer, n, t->rows, t->log_r, err)) || (st = look(t, n, err)) ||
        (t->weights && !t->useless && (st = wm_weights_scan(t->weights, t->log_r, n, err))))
        return st;
    t->info.n += n;
    if (t->kept_number && (st = keep(t, t->kept_number, t->number, sizeof *t->number, n, err)))
        return st;
    if (t->kept)
        return keep(t, t->kept, t->log_r, sizeof *t->log_r, n, err);
    if ((st = open_output(t, wm_reader_count(t->reader), err)))
        return st;
    return write_out(t, n, err);
}

static wm_status stopped(const task *t, wm_error *err)
{
    if (t->opts.stop && *t->opts.stop)
        return wmi_fail(err, WM_EINTERRUPTED, "no file was written");
    return WM_OK;
}

static wm_status first_pass(task *t, wm_error *err)
{
    const int64_t count = wm_reader_count(t->reader);
    wm_task progress;
    bool end = false;
    wm_status st;

    wm_task_start(&progress, t->opts.sink, "rows", 0, count > 0 ? count : 0);
    t->info.least = INFINITY;
    t->info.largest = -INFINITY;
    while (!end) {
        int64_t n;

        if ((st = stopped(t, err)) || (st = read_block(t, &n, &end, err)) ||
            (n > 0 && (st = take_block(t, n, err))))
            return st;
        wm_task_update(&progress, t->info.n, "%s", t->label);
    }
    wm_task_finish(&progress, t->info.n, "%s", t->label);
    if (is_counted(t) && t->info.n != count)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " rows, it announces %" PRId64, t->label,
                        t->info.n, count);
    if (t->info.n == t->info.not_finite)
        t->info.mean = t->info.least = t->info.largest = NAN;
    else
        t->info.mean = wmi_sum_value(&t->sum) / (double)(t->info.n - t->info.not_finite);
    t->info.far = wm_scorer_far(t->scorer);
    t->info.unseen = wm_reader_unseen(t->reader);
    return WM_OK;
}

/* ---- and once more ---- */

/* Up to a block of what is kept, with the numbers of its rows; *n = 0 at the end. */
static wm_status read_kept(task *t, int64_t *n, wm_error *err)
{
    errno = 0;
    *n = (int64_t)fread(t->log_r, sizeof *t->log_r, (size_t)t->block, t->kept);
    if (ferror(t->kept) ||
        (*n && t->kept_number &&
         fread(t->number, sizeof *t->number, (size_t)*n, t->kept_number) != (size_t)*n))
        return refuse_kept(t, "read", err);
    return WM_OK;
}

static wm_status rewind_kept(const task *t, wm_error *err)
{
    errno = 0;
    for (int i = 0; i < 3; i++) {
        FILE *f = i == 0 ? t->kept : i == 1 ? t->kept_number : t->kept_text;

        if (f && (fflush(f) || fseek(f, 0, SEEK_SET)))
            return refuse_kept(t, "write", err);
    }
    return WM_OK;
}

/* With all rows read their number is known. */
static wm_status scan_kept(task *t, wm_error *err)
{
    int64_t n;
    wm_status st;

    if ((st = wm_weights_new(&t->weights, t->info.n, &t->weights_opts, err)) ||
        (st = rewind_kept(t, err)))
        return st;
    do {
        if ((st = stopped(t, err)) || (st = read_kept(t, &n, err)) ||
            (st = wm_weights_scan(t->weights, t->log_r, n, err)))
            return st;
    } while (n);
    return WM_OK;
}

/* How good the log-ratios are as weights; needed for weights, else told where it can be. */
static wm_status settle(task *t, wm_error *err)
{
    const bool none = isnan(t->info.mean); /* no rows, or all -inf */
    wm_status st = WM_OK;

    t->info.weights = (wm_weights_info){t->info.n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN};
    if (none && t->opts.weights)
        return wmi_fail(err, WM_EINVAL, "%s: %s: no weights follow", t->label,
                        t->info.n ? "every log-ratio is -inf" : "no rows");
    if (none || t->useless)
        return WM_OK;
    if (!t->weights)
        st = scan_kept(t, err);
    return st ? st : wm_weights_settle(t->weights, &t->info.weights, err);
}

static wm_status second_pass(task *t, wm_error *err)
{
    wm_task progress;
    int64_t n, done = 0;
    wm_status st;

    if ((st = open_output(t, t->info.n, err)))
        return st;
    if (!t->kept)
        return WM_OK;
    if ((st = rewind_kept(t, err)))
        return st;
    wm_task_start(&progress, t->opts.sink, "rows", 0, t->info.n);
    do {
        if ((st = stopped(t, err)) || (st = read_kept(t, &n, err)))
            return st;
        if (t->opts.weights)
            wm_weights_apply(t->weights, t->log_r, n, t->log_r);
        if ((st = write_out(t, n, err)))
            return st;
        done += n;
        wm_task_update(&progress, done, "writing %s", wmi_path_tail(t->out));
    } while (n);
    return WM_OK;
}

/* ---- words ---- */

static void warn(const task *t)
{
    const wm_apply_info *i = &t->info;
    const wm_sink *sink = t->opts.sink;

    if (i->rows > i->n)
        wm_say(sink, WM_LOG_WARN,
               "%s: %" PRId64 " of %" PRId64 " rows have a missing value and were left out",
               t->label, i->rows - i->n, i->rows);
    if ((double)i->far > MANY_FAR * (double)i->n)
        wm_say(sink, WM_LOG_WARN,
               "%s: %" PRId64 " of %" PRId64
               " rows (%.2g %%) have a value far outside of the samples that the model was fitted "
               "on: what it says of them is a guess",
               t->label, i->far, i->n, 100 * (double)i->far / (double)i->n);
    if (i->unseen)
        wm_say(sink, WM_LOG_WARN,
               "%s: %" PRId64 " values are categories that the model does not know: they are taken "
               "for average ones",
               t->label, i->unseen);
    if (i->not_finite)
        wm_say(sink, WM_LOG_WARN, "%s: %" PRId64 " log-ratios are not finite", t->label,
               i->not_finite);
    if (t->opts.weights && i->weights.pareto_k > i->weights.pareto_limit)
        wm_say(sink, WM_LOG_WARN,
               "the tail of the weights is heavy (Pareto k %.2f, at most %.2f is good): a few rows "
               "decide any sum over them, whatever is done to the largest",
               i->weights.pareto_k, i->weights.pareto_limit);
}

static void close_task(task *t)
{
    wmi_column_file_abandon(t->file);
    if (t->kept)
        fclose(t->kept);
    if (t->kept_number)
        fclose(t->kept_number);
    if (t->kept_text)
        fclose(t->kept_text);
    wmi_free(t->number);
    wmi_free(t->log_r);
    wmi_free(t->rows);
    wm_weights_free(t->weights);
    wm_scorer_free(t->scorer);
    wm_reader_close(t->reader);
    wm_schema_free(t->schema);
}

wm_status wm_ratio_apply(wm_apply_info *info, const wm_ratio *r, const char *path, const char *out,
                         const wm_apply_opts *opts, wm_error *err)
{
    task t = {.ratio = r, .path = path, .out = out};
    wm_status st;

    wm_apply_opts_init(&t.opts);
    if ((st = wmi_opts_take(&t.opts, sizeof t.opts, opts, "wm_apply_opts_init", err)))
        return st;
    t.label = strcmp(path, "-") == 0 ? "standard input" : wmi_path_tail(path);
    if ((st = prepare(&t, err)) || (st = first_pass(&t, err)) || (st = settle(&t, err)) ||
        (st = second_pass(&t, err)))
        goto done;
    st = wmi_column_file_commit(t.file, err);
    t.file = NULL; /* gone either way */
    if (st)
        goto done;
    warn(&t);
    if (info)
        *info = t.info;
done:
    close_task(&t);
    return st;
}
