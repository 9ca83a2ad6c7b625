/* figure_plan.c - see figure_plan.h. A script may have been changed by hand: a line that cannot be
 * read is passed over, and a layout that makes no sense is no layout. */
#include "report/figure_plan.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

/* The text after `head` in a line, in gnuplot's single quotes, or NULL with *st untouched if the
 * line is another one. */
static const char *quoted(const char *line, const char *head, wmi_arena *a, wm_status *st,
                          wm_error *err)
{
    const size_t n = strlen(head);
    const char *from = line + n;
    char *copy, *to;

    if (strncmp(line, head, n) != 0 || *from != '\'')
        return NULL;
    from++;
    copy = to = wmi_arena_alloc(a, strcspn(from, "\n") + 1, err);
    if (!copy) {
        *st = WM_ENOMEM;
        return NULL;
    }
    for (; *from && *from != '\n'; from++) {
        if (*from == '\'' && *++from != '\'') /* a single one ends it, two are one */
            break;
        *to++ = *from;
    }
    *to = '\0';
    copy = wmi_text_clean(a, copy, err);
    if (!copy)
        *st = WM_ENOMEM;
    return copy;
}

static wm_status read_key(wmi_plan *out, const char *line, wmi_arena *a, wm_error *err)
{
    char *name;
    int used = 0, k = out->n_keys;
    size_t n;

    if (k == WMI_PLAN_KEYS ||
        sscanf(line, "# Legend: %7[#0-9A-Fa-f] %d %7[a-z] %n", out->key[k].colour,
               &out->key[k].point, out->key[k].style, &used) != 3 ||
        !used)
        return WM_OK;
    n = strcspn(line + used, "\n");
    if (!(name = wmi_arena_alloc(a, n + 1, err)))
        return WM_ENOMEM;
    memcpy(name, line + used, n);
    if (!(out->key[k].name = wmi_text_clean(a, name, err)))
        return WM_ENOMEM;
    out->n_keys++;
    return WM_OK;
}

static void read_layout(wmi_plan *p, const char *line)
{
    const bool good =
        sscanf(line,
               "# Panels: %d in rows of %d, %d x %d each, %d of title above, %d of legend below",
               &p->n_panels, &p->columns, &p->width, &p->height, &p->top, &p->legend) == 6 &&
        p->n_panels > 0 && p->n_panels <= WMI_PLAN_PANELS && p->columns > 0 &&
        p->columns <= p->n_panels && p->width > 0 && p->width < 10000 && p->height > 0 &&
        p->height < 10000 && p->top >= 0 && p->top < p->height && p->legend >= 0 &&
        p->legend < 10000;

    if (!good)
        p->n_panels = 0;
}

wm_status wmi_plan_read(wmi_plan *out, const char *script, wmi_arena *a, wm_error *err)
{
    int panel = -1;
    wm_status st = WM_OK;

    *out = (wmi_plan){.title = ""};
    for (int i = 0; i < WMI_PLAN_PANELS; i++)
        out->panel[i].title = out->panel[i].x = out->panel[i].y = out->panel[i].z = "";
    for (const char *line = script; *line && !st;) {
        const char *text;

        if (strncmp(line, "# Panels:", 9) == 0) {
            read_layout(out, line);
        } else if (strncmp(line, "# Legend:", 9) == 0) {
            st = read_key(out, line, a, err);
        } else if (strncmp(line, "# Panel ", 8) == 0 && sscanf(line, "# Panel %d.", &panel) == 1) {
            panel = panel >= 1 && panel <= WMI_PLAN_PANELS ? panel - 1 : -1;
        } else if ((text = quoted(line, "set multiplot title ", a, &st, err))) {
            out->title = text;
        } else if (panel >= 0) {
            if ((text = quoted(line, "set title ", a, &st, err)))
                out->panel[panel].title = text;
            else if ((text = quoted(line, "set xlabel ", a, &st, err)))
                out->panel[panel].x = text;
            else if ((text = quoted(line, "set ylabel ", a, &st, err)))
                out->panel[panel].y = text;
            else if ((text = quoted(line, "set cblabel ", a, &st, err)))
                out->panel[panel].z = text;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return st;
}
