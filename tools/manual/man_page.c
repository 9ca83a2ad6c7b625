/* man_page.c - pages for man(1). */
#include <string.h>

#include "manual.h"
#include "waymark/version.h"

/* Text of ours as roff wants it: backslashes, hyphens of options, and dots at the start of a line.
 */
static void put(FILE *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 && (*text == '.' || *text == '\''))
            fputs("\\&", f);
        if (text[i] == '\\')
            fputs("\\e", f);
        else if (text[i] == '-')
            fputs("\\-", f);
        else
            fputc(text[i], f);
    }
}

static void put_text(FILE *f, const char *text)
{
    put(f, text, strlen(text));
}

static void put_line(FILE *f, const char *text)
{
    put_text(f, text);
    fputs("\n", f);
}

static void head(FILE *f, const char *name, const char *about)
{
    fputs(".TH \"", f);
    for (const char *p = name; *p; p++)
        fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, f);
    fprintf(f, "\" 1 \"\" \"waymark %s\" \"Waymark\"\n.SH NAME\n", wm_version());
    put_text(f, name);
    fputs(" \\- ", f);
    put_line(f, about);
}

static void see_option(void *ctx, const opt_entry *e)
{
    FILE *f = ctx;
    char name[64], text[1024];

    if (e->row->kind == OPT_HEADING) {
        fputs(".SS ", f);
        put_line(f, e->row->help);
        return;
    }
    opt_row_name(name, sizeof name, e);
    opt_row_text(text, sizeof text, e);
    fputs(".TP\n", f);
    if (e->row->letter)
        fprintf(f, "\\fB\\-%c\\fR, ", e->row->letter);
    fputs("\\fB", f);
    put_text(f, name);
    fputs("\\fR", f);
    if (e->row->arg) {
        fputs(" \\fI", f);
        put_text(f, e->row->arg);
        fputs("\\fR", f);
    }
    fputs("\n", f);
    put_line(f, text);
}

/* Lines of the text, each by itself (before = ".PP") or as they stand. */
static void put_lines(FILE *f, const char *text, const char *before)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");

        fputs(before, f);
        put(f, text, n);
        fputs("\n", f);
        text += n + (text[n] == '\n');
    }
}

bool man_write_command(FILE *f, const cli_command *c)
{
    char name[64], page[80];

    snprintf(page, sizeof page, "waymark-%s", manual_name(name, c, '-'));
    head(f, page, c->about);
    fputs(".SH SYNOPSIS\n.B waymark ", f);
    put_line(f, c->name);
    if (c->arguments)
        put_line(f, c->arguments);
    fputs("[options]\n", f);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", f);
        put_lines(f, c->details, ".PP\n");
    }
    fputs(".SH OPTIONS\n", f);
    if (!cli_see_options(c, see_option, f))
        return false;
    if (c->examples) {
        fputs(".SH EXAMPLES\n.nf\n", f);
        put_lines(f, c->examples, "");
        fputs(".fi\n", f);
    }
    fputs(".SH SEE ALSO\n.BR waymark (1)\n", f);
    return true;
}

void man_write_all(FILE *f, const cli_command *const *table)
{
    char name[64];

    head(f, "waymark", "density ratios, mutual information and energy-based models from samples");
    fputs(".SH SYNOPSIS\n.B waymark\n.I COMMAND\n[options]\n.SH DESCRIPTION\n"
          "Estimates the ratio of two densities from samples, also where the two are so far apart "
          "that "
          "a single classifier cannot tell how far: by a chain of waymark distributions between "
          "them, whose small ratios are learned and multiplied. Every answer has checks and a "
          "verdict.\n.SH COMMANDS\n",
          f);
    for (int i = 0; table[i]; i++) {
        fputs(".TP\n.BR waymark\\-", f);
        put_text(f, manual_name(name, table[i], '-'));
        fputs(" (1)\n", f);
        put_line(f, table[i]->about);
    }
    fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 done but a check failed and "
          "\\-\\-strict was given.\n",
          f);
}
