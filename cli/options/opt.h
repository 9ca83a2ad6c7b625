/* opt.h - the options of a command as one table that parses them, checks them, prints the help with
 * the defaults that are in force, reads them from a config file and writes them back as one. */
#ifndef WM_CLI_OPT_H
#define WM_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "waymark/report.h"
#include "waymark/status.h"

typedef enum opt_kind {
    OPT_END,      /* last row of a table: {0} */
    OPT_HEADING,  /* .help starts a section of the help */
    OPT_FLAG,     /* bool; --name and --no-name */
    OPT_INTEGER,  /* int64_t */
    OPT_REAL,     /* double */
    OPT_TEXT,     /* const char *, kept by the opt_set */
    OPT_CHOICE,   /* int, an index into choices */
    OPT_DURATION, /* double, seconds: 45, 45s, 30m, 1h30m, 2d */
    OPT_ROWS,     /* .rows of another struct, which is a field of this one */
} opt_kind;

typedef struct opt_row {
    opt_kind kind;
    char letter;                /* 'o' for -o, or 0 */
    bool above;                 /* lo itself is not allowed */
    bool transient;             /* not part of what repeats a run: stays out of config.json */
    bool none;                  /* -1 is how one says none, which is 0 in the struct; 0 cannot be
                                   given, since people mean different things by it */
    const char *name;           /* without dashes */
    size_t at;                  /* offsetof(the command's struct, the field) */
    const char *arg;            /* what help calls the value: "N", "DIR" */
    const char *help;           /* lower case, no full stop */
    double lo, hi;              /* least and largest number; both 0: any finite one */
    const char *const *choices; /* ends with NULL */
    const char *
        unset; /* what help shows for NULL or a number that could not be given: "all cores". Numbers
                  for which it begins with "auto" can be given as that word: WM_AUTO, or WM_UNSET */
    const struct opt_row *rows;
} opt_row;

/* Rows in short, for the struct that the file has named by `#define OPTS`. The last argument is the
 * help, and members that are seldom set may follow it: .unset = "all". Numbers have their least and
 * largest value before it. A field of another type does not compile. */
#define OPT_FIELD(TYPE, FIELD) .at = _Generic(((OPTS *)0)->FIELD, TYPE : offsetof(OPTS, FIELD))
#define OPT_ROW(KIND, ...)                                                                         \
    {                                                                                              \
        .kind = (KIND), __VA_ARGS__                                                                \
    }
#define OPT_NUMBER(KIND, TYPE, FIELD, NAME, ARG, LO, HI, ...)                                      \
    OPT_ROW(KIND, .name = (NAME), .arg = (ARG), .lo = (LO), .hi = (HI), OPT_FIELD(TYPE, FIELD),    \
            .help = __VA_ARGS__)
#define INTEGER(FIELD, ...) OPT_NUMBER(OPT_INTEGER, int64_t, FIELD, __VA_ARGS__)
#define REAL(FIELD, ...) OPT_NUMBER(OPT_REAL, double, FIELD, __VA_ARGS__)
#define DURATION(FIELD, ...) OPT_NUMBER(OPT_DURATION, double, FIELD, __VA_ARGS__)
#define FLAG(FIELD, NAME, ...)                                                                     \
    OPT_ROW(OPT_FLAG, .name = (NAME), OPT_FIELD(bool, FIELD), .help = __VA_ARGS__)
#define TEXT(FIELD, NAME, ARG, ...)                                                                \
    OPT_ROW(OPT_TEXT, .name = (NAME), .arg = (ARG), OPT_FIELD(const char *, FIELD),                \
            .help = __VA_ARGS__)
#define CHOICE(FIELD, NAME, ARG, CHOICES, ...) /* an int or an enum */                             \
    OPT_ROW(OPT_CHOICE, .name = (NAME), .arg = (ARG), .choices = (CHOICES),                        \
            .at = offsetof(OPTS, FIELD), .help = __VA_ARGS__)
#define HEADING(WORDS) OPT_ROW(OPT_HEADING, .help = (WORDS))
#define ROWS(FIELD, TABLE) OPT_ROW(OPT_ROWS, .rows = (TABLE), .at = offsetof(OPTS, FIELD))

/* A row with the field that it fills. */
typedef struct opt_entry {
    const opt_row *row;
    void *field;
} opt_entry;

enum { OPT_MAX_GROUPS = 2, OPT_MAX_ENTRIES = 128 };

/* Tables with the structs that they fill, and what a parse leaves. Start from {0} and set the
 * groups; the structs hold the defaults. */
typedef struct opt_set {
    const char *command; /* as config.json says it */
    struct {
        const opt_row *rows;
        void *values;
    } group[OPT_MAX_GROUPS];
    int n_groups;
    /* results */
    opt_entry entry[OPT_MAX_ENTRIES]; /* (n_entries), all rows in their order */
    int n_entries;
    const char **args; /* what is not an option, (n_args), kept until opt_free */
    int n_args;
    bool help;             /* --help was given; nothing after it was checked */
    struct opt_kept *kept; /* memory of texts */
} opt_set;

/* Parse argv (argc), which has no program name. Settings come from, each winning over those before:
 * the struct, the file `config` or that of the option "config" (NULL: none), argv.
 * WM_EINVAL with option, value and what is allowed, or what reading the file failed with. */
WM_MUST_CHECK wm_status opt_parse(opt_set *s, int argc, const char *const *argv, const char *config,
                                  wm_error *err);
void opt_free(opt_set *s);
/* The row of an option, or NULL. */
const opt_row *opt_find(const opt_set *s, const char *name);

/* The rows with their present values as defaults; after a parse, as is the next. */
void opt_print_help(const opt_set *s, FILE *f);
/* What help says of a row that is no heading: its name, "--no-figures" for a flag that is on, and
 * its words with choices and default. */
void opt_row_name(char *out, size_t size, const opt_entry *e);
void opt_row_text(char *out, size_t size, const opt_entry *e);
/* A paragraph, broken into lines, to the right of indent; the cursor is at column. */
void opt_print_wrapped(const char *text, int indent, int column, FILE *f);
/* All settings but the transient ones, and the arguments, as config files have them. */
void opt_write_config(const opt_set *s, wm_summary *out);

/* Text to numbers: the whole text must be one, within the row's range. what names it in errors. */
WM_MUST_CHECK wm_status opt_integer(int64_t *out, const opt_row *row, const char *text,
                                    wm_error *err);
WM_MUST_CHECK wm_status opt_real(double *out, const opt_row *row, const char *text, wm_error *err);
WM_MUST_CHECK wm_status opt_duration(double *out, const opt_row *row, const char *text,
                                     wm_error *err);
/* Whether a number may be given to the option. */
bool opt_in_range(const opt_row *row, double x);
/* A duration as one would say it: "1h30m", "45s", "0.5s". */
const char *opt_duration_text(char out[48], double seconds);

/* The name in a NULL-ended list that is nearest to word, or NULL if none is near. */
const char *opt_nearest(const char *word, const char *const *names);

/* Records a failure of usage and gives WM_EINVAL. */
#define opt_fail(err, ...) WM_FAIL((err), WM_EINVAL, __VA_ARGS__)

#endif
