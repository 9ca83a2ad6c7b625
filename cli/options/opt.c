/* opt.c - option tables: popt splits the words, the rows say what they mean. */
#include "options/opt.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <popt.h>

#include "waymark/fit.h"

#define WIDTH 92  /* columns of the help */
#define INDENT 28 /* where its right half begins */

struct opt_kept {
    struct opt_kept *next;
    max_align_t data[];
};

/* --- rows and their fields ---------------------------------------------------------------------*/

static void add_entries(opt_set *s, const opt_row *rows, void *values)
{
    for (const opt_row *r = rows; r->kind; r++) {
        void *at = (char *)values + r->at;

        if (r->kind == OPT_ROWS) {
            add_entries(s, r->rows, at);
            continue;
        }
        assert(s->n_entries < OPT_MAX_ENTRIES);
        s->entry[s->n_entries++] = (opt_entry){r, at};
    }
}

static const opt_entry *find_entry(const opt_set *s, const char *name)
{
    for (int i = 0; i < s->n_entries; i++)
        if (s->entry[i].row->name && strcmp(s->entry[i].row->name, name) == 0)
            return &s->entry[i];
    return NULL;
}

const opt_row *opt_find(const opt_set *s, const char *name)
{
    const opt_entry *e = find_entry(s, name);

    return e ? e->row : NULL;
}

static void *keep(opt_set *s, size_t bytes, wm_error *err)
{
    struct opt_kept *k = malloc(sizeof *k + bytes);

    if (!k) {
        if (err)
            *err = (wm_error){.code = WM_ENOMEM, .file = __FILE__, .text = "no memory for options"};
        return NULL;
    }
    k->next = s->kept;
    s->kept = k;
    return k->data;
}

static char *keep_text(opt_set *s, const char *text, wm_error *err)
{
    const size_t n = strlen(text) + 1;
    char *copy = keep(s, n, err);

    if (copy)
        memcpy(copy, text, n);
    return copy;
}

void opt_free(opt_set *s)
{
    while (s->kept) {
        struct opt_kept *next = s->kept->next;

        free(s->kept);
        s->kept = next;
    }
    s->args = NULL;
    s->n_args = 0;
}

/* --- values from text --------------------------------------------------------------------------*/

/* "smoke, laptop or paper" */
static void list_choices(char *out, size_t size, const char *const *choices)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; choices[i] && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s",
                              i == 0           ? ""
                              : choices[i + 1] ? ", "
                                               : " or ",
                              choices[i]);
}

static wm_status set_choice(const opt_row *row, int *out, const char *text, wm_error *err)
{
    char all[160];

    for (int i = 0; row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0) {
            *out = i;
            return WM_OK;
        }
    list_choices(all, sizeof all, row->choices);
    return opt_fail(err, "--%s %.40s: must be %s", row->name, text, all);
}

static wm_status set_value(opt_set *s, const opt_entry *e, const char *text, wm_error *err)
{
    const opt_row *row = e->row;
    void *to = e->field;
    char *copy;

    if (row->unset && strncmp(row->unset, "auto", 4) == 0 && strcmp(text, "auto") == 0) {
        if (row->kind == OPT_INTEGER)
            *(int64_t *)to = WM_AUTO;
        else
            *(double *)to = WM_UNSET;
        return WM_OK;
    }
    switch (row->kind) {
    case OPT_INTEGER:
        return opt_integer(to, row, text, err);
    case OPT_REAL:
        return opt_real(to, row, text, err);
    case OPT_DURATION:
        return opt_duration(to, row, text, err);
    case OPT_CHOICE:
        return set_choice(row, to, text, err);
    case OPT_TEXT:
        if (!*text)
            return opt_fail(err, "--%s: its value is empty", row->name);
        if (!(copy = keep_text(s, text, err)))
            return WM_ENOMEM;
        *(const char **)to = copy;
        return WM_OK;
    default:
        return opt_fail(err, "--%s takes no value", row->name);
    }
}

/* --- config files ------------------------------------------------------------------------------*/

/* A JSON scalar as the text that the command line would have. */
static wm_status json_text(char *out, size_t size, const char *name, const json_t *v, wm_error *err)
{
    if (json_is_string(v)) {
        const size_t n = json_string_length(v);

        if (n >= size)
            return opt_fail(err, "%s: a text of %zu bytes", name, n);
        memcpy(out, json_string_value(v), n + 1);
    } else if (json_is_integer(v)) {
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    } else if (json_is_real(v)) {
        snprintf(out, size, "%.17g", json_real_value(v));
    } else {
        return opt_fail(err, "%s: neither text nor number", name);
    }
    return WM_OK;
}

static wm_status unknown_option(const opt_set *s, const char *name, wm_error *err)
{
    const char *names[OPT_MAX_ENTRIES + 2], *near;
    int n = 0;

    for (int i = 0; i < s->n_entries; i++)
        if (s->entry[i].row->name)
            names[n++] = s->entry[i].row->name;
    names[n++] = "help";
    names[n] = NULL;
    near = opt_nearest(name, names);
    if (near)
        return opt_fail(err, "no option --%.60s; did you mean --%s?", name, near);
    return opt_fail(err, "no option --%.60s", name);
}

static wm_status set_from_json(opt_set *s, const char *name, const json_t *v, wm_error *err)
{
    const opt_entry *e = find_entry(s, name);
    char text[8192] = "";
    wm_status st;

    if (!e)
        return unknown_option(s, name, err);
    if (json_is_null(v)) /* not set: the default */
        return WM_OK;
    if (e->row->kind == OPT_FLAG) {
        if (!json_is_boolean(v))
            return opt_fail(err, "--%s: must be true or false", name);
        *(bool *)e->field = json_is_true(v);
        return WM_OK;
    }
    if ((st = json_text(text, sizeof text, name, v, err)))
        return st;
    return set_value(s, e, text, err);
}

static wm_status set_args(opt_set *s, const char *const *args, int n, wm_error *err)
{
    s->args = keep(s, ((size_t)n + 1) * sizeof *s->args, err);
    if (!s->args)
        return WM_ENOMEM;
    for (int i = 0; i < n; i++)
        if (!(s->args[i] = keep_text(s, args[i], err)))
            return WM_ENOMEM;
    s->args[n] = NULL;
    s->n_args = n;
    return WM_OK;
}

static wm_status load_config(json_t **out, const opt_set *s, const char *path, wm_error *err)
{
    json_error_t why;
    const char *command;

    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!*out && why.line < 1)
        return opt_fail(err, "%.220s", why.text); /* "unable to open x.json: No such file ..." */
    if (!*out)
        return opt_fail(err, "%.120s:%d: %.100s", path, why.line, why.text);
    command = json_string_value(json_object_get(*out, "command"));
    if (!json_is_object(*out))
        return opt_fail(err, "%.160s: not an object of options and values", path);
    if (command && s->command && strcmp(command, s->command) != 0)
        return opt_fail(err, "%.160s: the config of '%.30s', not of '%s'", path, command,
                        s->command);
    return WM_OK;
}

static wm_status apply_config(opt_set *s, json_t *config, const char *path, wm_error *err)
{
    for (void *i = json_object_iter(config); i; i = json_object_iter_next(config, i)) {
        const char *name = json_object_iter_key(i);
        const json_t *v = json_object_iter_value(i);
        wm_error inner = {0};
        wm_status st = WM_OK;

        if (strcmp(name, "arguments") == 0) {
            const char *args[64];
            int n = 0;

            for (size_t k = 0; k < json_array_size(v) && n < 64; k++)
                if (json_is_string(json_array_get(v, k)))
                    args[n++] = json_string_value(json_array_get(v, k));
            st = set_args(s, args, n, &inner);
        } else if (strcmp(name, "command") != 0 && strcmp(name, "version") != 0) {
            st = set_from_json(s, name, v, &inner);
        }
        if (st)
            return opt_fail(err, "%.100s: %.150s", path, inner.text);
    }
    return WM_OK;
}

/* --- the command line --------------------------------------------------------------------------*/

enum { VAL_HELP = 1, VAL_ENTRY = 2 }; /* popt's val: two for each entry, the second of --no- */

typedef struct words {
    struct poptOption option[2 * OPT_MAX_ENTRIES + 2];
    char negated[OPT_MAX_ENTRIES][64];
} words;

static void make_words(words *w, const opt_set *s)
{
    struct poptOption *o = w->option;

    *o++ = (struct poptOption){"help", 'h', POPT_ARG_NONE, NULL, VAL_HELP, NULL, NULL};
    for (int i = 0; i < s->n_entries; i++) {
        const opt_row *r = s->entry[i].row;
        const bool flag = r->kind == OPT_FLAG;
        const int val = VAL_ENTRY + 2 * i;

        if (r->kind == OPT_HEADING)
            continue;
        *o++ = (struct poptOption){
            r->name, r->letter, flag ? POPT_ARG_NONE : POPT_ARG_STRING, NULL, val, NULL, NULL};
        if (flag) {
            snprintf(w->negated[i], sizeof w->negated[i], "no-%s", r->name);
            *o++ = (struct poptOption){w->negated[i], 0, POPT_ARG_NONE, NULL, val + 1, NULL, NULL};
        }
    }
    *o = (struct poptOption){NULL, 0, 0, NULL, 0, NULL, NULL};
}

static wm_status read_argv(opt_set *s, const words *w, int argc, const char *const *argv,
                           wm_error *err)
{
    const char **all = calloc((size_t)argc + 2, sizeof *all), **left;
    poptContext context = NULL;
    wm_status st = WM_OK;
    int val = 0, n = 0;

    if (!all)
        return opt_fail(err, "no memory for options");
    all[0] = "waymark";
    for (int i = 0; i < argc; i++)
        all[i + 1] = argv[i];
    context = poptGetContext("waymark", argc + 1, all, w->option, 0);
    while (context && !st && (val = poptGetNextOpt(context)) > 0) {
        const opt_entry *e = &s->entry[(val - VAL_ENTRY) / 2];
        char *text;

        if (val == VAL_HELP) {
            s->help = true;
            continue;
        }
        text = poptGetOptArg(context);
        if (e->row->kind == OPT_FLAG)
            *(bool *)e->field = (val - VAL_ENTRY) % 2 == 0;
        else
            st = set_value(s, e, text ? text : "", err);
        free(text);
    }
    if (!st && !s->help && (!context || val < -1)) {
        const char *bad = context ? poptBadOption(context, POPT_BADOPTION_NOALIAS) : "";

        if (val == POPT_ERROR_BADOPT && strncmp(bad, "--", 2) == 0)
            st = unknown_option(s, bad + 2, err);
        else if (val == POPT_ERROR_BADOPT)
            st = opt_fail(err, "no option %.60s", bad);
        else if (val == POPT_ERROR_NOARG)
            st = opt_fail(err, "%.60s: needs a value", bad);
        else
            st = opt_fail(err, "%.60s: %s", bad, poptStrerror(val));
    }
    if (!st && (left = poptGetArgs(context)) && left[0]) {
        while (left[n])
            n++;
        st = set_args(s, left, n, err); /* arguments of a config file are replaced as a whole */
    }
    poptFreeContext(context);
    free(all);
    return st;
}

/* The value of --name in argv: the config file must be known before the parse. */
static const char *peek(const char *name, int argc, const char *const *argv)
{
    const size_t n = strlen(name);

    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, n) == 0) {
            if (argv[i][2 + n] == '=')
                return argv[i] + 3 + n;
            if (!argv[i][2 + n])
                return i + 1 < argc ? argv[i + 1] : "";
        }
    }
    return NULL;
}

wm_status opt_parse(opt_set *s, int argc, const char *const *argv, const char *config,
                    wm_error *err)
{
    const char *path = peek("config", argc, argv);
    json_t *settings = NULL;
    wm_status st = WM_OK;
    words w = {0};

    s->n_entries = 0;
    for (int g = 0; g < s->n_groups; g++)
        add_entries(s, s->group[g].rows, s->group[g].values);
    make_words(&w, s);
    if (!path)
        path = config;
    if (path && *path && (st = load_config(&settings, s, path, err)))
        goto done;
    if (settings && (st = apply_config(s, settings, path, err)))
        goto done;
    st = read_argv(s, &w, argc, argv, err);
done:
    json_decref(settings);
    return st;
}

/* --- help and config.json ----------------------------------------------------------------------*/

/* As it is given. */
static int64_t integer_of(const opt_row *row, const void *at)
{
    return row->none && *(const int64_t *)at == 0 ? -1 : *(const int64_t *)at;
}

/* What could not have been given is not set: null in a config file. */
static bool is_unset(const opt_row *row, const void *at)
{
    switch (row->kind) {
    case OPT_INTEGER:
        return row->none ? *(const int64_t *)at == WM_AUTO
                         : row->unset && !opt_in_range(row, (double)*(const int64_t *)at);
    case OPT_REAL:
    case OPT_DURATION:
        return !isfinite(*(const double *)at) ||
               (row->unset && !opt_in_range(row, *(const double *)at));
    case OPT_TEXT:
        return !*(const char *const *)at;
    default:
        return false;
    }
}

/* The value as help shows it, empty if there is nothing to say. */
static void show_value(char *out, size_t size, const opt_entry *e)
{
    const opt_row *row = e->row;
    const void *at = e->field;
    char duration[48];

    out[0] = '\0';
    if (is_unset(row, at)) {
        snprintf(out, size, "%s", row->unset ? row->unset : "");
        return;
    }
    switch (row->kind) {
    case OPT_INTEGER:
        snprintf(out, size, "%" PRId64, integer_of(row, at));
        break;
    case OPT_REAL:
        snprintf(out, size, "%.10g", *(const double *)at);
        break;
    case OPT_DURATION:
        snprintf(out, size, "%s", opt_duration_text(duration, *(const double *)at));
        break;
    case OPT_CHOICE:
        snprintf(out, size, "%s", row->choices[*(const int *)at]);
        break;
    case OPT_TEXT:
        snprintf(out, size, "%s", *(const char *const *)at);
        break;
    default:
        break;
    }
}

void opt_print_wrapped(const char *text, int indent, int column, FILE *f)
{
    if (column > 0 && column >= indent) {
        fputs("\n", f);
        column = 0;
    }
    fprintf(f, "%*s", indent - column, "");
    column = indent;
    while (*text && *text != '\n') {
        const int n = (int)strcspn(text, " \n");

        if (column > indent && column + 1 + n > WIDTH) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(f, "%s%.*s", column > indent ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputs("\n", f);
}

static bool is_on(const opt_entry *e)
{
    return e->row->kind == OPT_FLAG && *(const bool *)e->field;
}

void opt_row_text(char *out, size_t size, const opt_entry *e)
{
    const opt_row *row = e->row;
    char value[256], choices[400] = "";

    show_value(value, sizeof value, e);
    if (row->choices)
        list_choices(choices, sizeof choices, row->choices);
    snprintf(out, size, "%s%s%s%s%s%s%s", is_on(e) ? "do not: " : "", row->help,
             *choices ? ": " : "", choices, *value ? " (default: " : "", value, *value ? ")" : "");
}

void opt_row_name(char *out, size_t size, const opt_entry *e)
{
    snprintf(out, size, "--%s%s", is_on(e) ? "no-" : "", e->row->name);
}

static void print_row(const opt_entry *e, FILE *f)
{
    const opt_row *row = e->row;
    char text[1024], name[64];
    int column;

    opt_row_name(name, sizeof name, e);
    opt_row_text(text, sizeof text, e);
    column = row->letter ? fprintf(f, "  -%c, ", row->letter) : fprintf(f, "      ");
    column += fprintf(f, "%s%s%s", name, row->arg ? " " : "", row->arg ? row->arg : "");
    opt_print_wrapped(text, INDENT, column, f);
}

void opt_print_help(const opt_set *s, FILE *f)
{
    for (int i = 0; i < s->n_entries; i++)
        if (s->entry[i].row->kind == OPT_HEADING)
            fprintf(f, "\n%s\n", s->entry[i].row->help);
        else
            print_row(&s->entry[i], f);
    fputs("  -h, --help", f);
    opt_print_wrapped("show this and stop", INDENT, 12, f);
}

static void write_value(const opt_row *r, const void *at, wm_summary *out)
{
    if (is_unset(r, at)) {
        wm_summary_null(out, r->name);
        return;
    }
    switch (r->kind) {
    case OPT_FLAG:
        wm_summary_bool(out, r->name, *(const bool *)at);
        break;
    case OPT_INTEGER:
        wm_summary_integer(out, r->name, integer_of(r, at));
        break;
    case OPT_TEXT:
        wm_summary_text(out, r->name, *(const char *const *)at);
        break;
    case OPT_CHOICE:
        wm_summary_text(out, r->name, r->choices[*(const int *)at]);
        break;
    default:
        wm_summary_real(out, r->name, *(const double *)at);
    }
}

void opt_write_config(const opt_set *s, wm_summary *out)
{
    if (s->n_args)
        wm_summary_texts(out, "arguments", s->args, s->n_args);
    for (int i = 0; i < s->n_entries; i++)
        if (s->entry[i].row->kind != OPT_HEADING && !s->entry[i].row->transient)
            write_value(s->entry[i].row, s->entry[i].field, out);
}
