/* completion.c - completions for bash and zsh: commands, options, the choices of an option, else
 * files. */
#include <string.h>

#include "manual.h"

/* ---- bash ---- */

typedef struct bash_state {
    FILE *f;
    bool choices; /* list choices, not names */
} bash_state;

static void see_bash(void *ctx, const opt_entry *e)
{
    const bash_state *s = ctx;
    const opt_row *r = e->row;
    char name[64];

    if (r->kind == OPT_HEADING)
        return;
    opt_row_name(name, sizeof name, e);
    if (!s->choices) {
        fprintf(s->f, " %s", name);
    } else if (r->choices) {
        fprintf(s->f, "        ' %s') words='", name);
        for (int i = 0; r->choices[i]; i++)
            fprintf(s->f, "%s%s", i ? " " : "", r->choices[i]);
        fputs("' ;;\n", s->f);
    }
}

static void first_words(FILE *f, const cli_command *const *table)
{
    for (int i = 0; table[i]; i++) {
        const size_t n = strcspn(table[i]->name, " ");
        bool said = false;

        for (int j = 0; j < i; j++)
            said = said || (strcspn(table[j]->name, " ") == n &&
                            strncmp(table[j]->name, table[i]->name, n) == 0);
        if (!said)
            fprintf(f, " %.*s", (int)n, table[i]->name);
    }
}

/* Second words of commands that begin with the first word of this one, if it stands for them all.
 */
static void second_words(FILE *f, const cli_command *const *table, const char *first, size_t n)
{
    for (int i = 0; table[i]; i++)
        if (strncmp(table[i]->name, first, n) == 0 && table[i]->name[n] == ' ')
            fprintf(f, " %s", table[i]->name + n + 1);
}

static bool bash_command(FILE *f, const cli_command *const *table, const cli_command *c)
{
    bash_state s = {f, false};

    fprintf(f, "    '%s')\n        words='--help", c->name);
    if (!cli_see_options(c, see_bash, &s))
        return false;
    if (!strchr(c->name, ' '))
        second_words(f, table, c->name, strlen(c->name));
    fputs("'\n        case \" $previous\" in\n", f);
    s.choices = true;
    if (!cli_see_options(c, see_bash, &s))
        return false;
    fputs("        esac\n        ;;\n", f);
    return true;
}

bool completion_write_bash(FILE *f, const cli_command *const *table)
{
    fputs("# bash completion of waymark; made from the tables that --help prints\n"
          "_waymark() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words=\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "        COMPREPLY=($(compgen -W 'help",
          f);
    first_words(f, table);
    fputs("' -- \"$word\"))\n        return\n    fi\n    case $command in\n", f);
    for (int i = 0; table[i]; i++) {
        const size_t n = strcspn(table[i]->name, " ");

        if (table[i]->name[n])
            fprintf(f,
                    "    %.*s) [ \"${COMP_WORDS[2]}\" = %s ] && [ \"$COMP_CWORD\" -gt 2 ] && "
                    "command='%s' ;;&\n",
                    (int)n, table[i]->name, table[i]->name + n + 1, table[i]->name);
    }
    fputs("    esac\n    case $command in\n", f);
    for (int i = 0; table[i]; i++)
        if (!bash_command(f, table, table[i]))
            return false;
    fputs("    reproduce) words='", f);
    second_words(f, table, "reproduce", strlen("reproduce"));
    fputs("' ;;\n    help) words='", f);
    first_words(f, table);
    fputs("' ;;\n    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    case $word in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$word\")) ;; esac\n"
          "}\n"
          "complete -o filenames -F _waymark waymark\n",
          f);
    return true;
}

/* ---- zsh ---- */

/* Within single quotes and the brackets of _arguments. */
static void quoted(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", f);
        else if (strchr("[]:\\", *text))
            fprintf(f, "\\%c", *text);
        else
            fputc(*text, f);
}

static void see_zsh(void *ctx, const opt_entry *e)
{
    const opt_row *r = e->row;
    FILE *f = ctx;
    char name[64];

    if (r->kind == OPT_HEADING)
        return;
    opt_row_name(name, sizeof name, e);
    fprintf(f, " \\\n            '%s[", name);
    quoted(f, r->help);
    fputs("]", f);
    if (r->arg) {
        fputs(":", f);
        quoted(f, r->arg);
        fputs(":", f);
        if (!r->choices)
            fputs(strcmp(r->arg, "DIR") == 0 ? "_files -/" : "_files", f);
        for (int i = 0; r->choices && r->choices[i]; i++)
            fprintf(f, "%s%s", i ? " " : "(", r->choices[i]);
        fputs(r->choices ? ")" : "", f);
    }
    fputs("'", f);
}

bool completion_write_zsh(FILE *f, const cli_command *const *table)
{
    fputs("#compdef waymark\n"
          "# made from the tables that --help prints\n"
          "_waymark() {\n    local -a commands=(\n",
          f);
    for (int i = 0; table[i]; i++)
        if (!strchr(table[i]->name, ' ')) {
            fprintf(f, "        '%s:", table[i]->name);
            quoted(f, table[i]->about);
            fputs("'\n", f);
        }
    fputs("        'reproduce:the experiments of the paper'\n        'help:what a command takes'\n "
          "   )\n"
          "    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n   "
          " fi\n"
          "    local command=$words[2]\n"
          "    case \"$words[2] $words[3]\" in\n",
          f);
    for (int i = 0; table[i]; i++)
        if (strchr(table[i]->name, ' '))
            fprintf(f, "    '%s') command='%s' ;;\n", table[i]->name, table[i]->name);
    fputs("    esac\n    case $command in\n", f);
    for (int i = 0; table[i]; i++) {
        fprintf(f, "    '%s')\n        _arguments -S", table[i]->name);
        if (!cli_see_options(table[i], see_zsh, f))
            return false;
        fputs(" \\\n            '*:file:_files'\n        ;;\n", f);
    }
    fputs("    esac\n}\n_waymark \"$@\"\n", f);
    return true;
}
