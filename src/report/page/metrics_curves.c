/* metrics_curves.c - see metrics_curves.h. What a run writes into metrics.jsonl is up to its
 * command, so only the few keys that name the others are known here. */
#include "report/page/metrics_curves.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "report/json.h"

static const char *const x_keys[] = {"step", "iteration", "epoch"};
static const char *const group_keys[] = {"bridge", "fold", "member"};
static const char *const silent_keys[] = {"seconds", "time", "seed"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool among(const char *key, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, list[i]) == 0)
            return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static void plain_words(char *text)
{
    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : *p;
}

static wm_status grow(wmi_curve *c, wm_error *err)
{
    const int64_t room = c->room ? 2 * c->room : 64;
    double *x = NULL, *y = NULL;
    wm_status st;

    if ((st = wmi_alloc(&x, room, sizeof *x, "curve", err)) ||
        (st = wmi_alloc(&y, room, sizeof *y, "curve", err))) {
        wmi_free(x);
        return st;
    }
    if (c->n) {
        memcpy(x, c->x, (size_t)c->n * sizeof *x);
        memcpy(y, c->y, (size_t)c->n * sizeof *y);
    }
    wmi_free(c->x);
    wmi_free(c->y);
    c->x = x;
    c->y = y;
    c->room = room;
    return WM_OK;
}

static wm_status add(wmi_curves *all, const char *of, const char *name, double x, double y,
                     wm_error *err)
{
    wmi_curve *c = all->curve;
    char chart[2 * WMI_CURVE_NAME];
    wm_status st;

    snprintf(chart, sizeof chart, "%s%s%.60s", all->stage, *all->stage ? ": " : "", of);
    while (c < all->curve + all->n && (strncmp(c->name, name, WMI_CURVE_NAME - 1) != 0 ||
                                       strncmp(c->chart, chart, WMI_CURVE_NAME - 1) != 0))
        c++;
    if (c == all->curve + WMI_CURVES) {
        all->left_out++;
        return WM_OK;
    }
    if (c == all->curve + all->n) {
        all->n++;
        snprintf(c->chart, sizeof c->chart, "%.63s", chart);
        snprintf(c->name, sizeof c->name, "%.63s", name);
    }
    if (c->n == c->room && (st = grow(c, err)))
        return st;
    c->x[c->n] = fabs(x) < 1e150 ? x : NAN; /* differences of them must stay finite */
    c->y[c->n++] = fabs(y) < 1e150 ? y : NAN;
    return WM_OK;
}

/* A value found under a path of keys: chart "bridges loss", name "bridge 3" ("widths 3" of any
 * other list) with the group's name before it. */
static wm_status add_value(wmi_curves *all, const json_t *v, const char *path, int64_t index,
                           const char *group, double x, wm_error *err)
{
    const char *shared = index >= 0                  ? path
                         : ends_with(path, "loss")   ? "loss"
                         : ends_with(path, "loglik") ? "log-likelihood"
                                                     : path;
    char name[3 * WMI_CURVE_NAME], number[24] = "";

    if (!json_is_number(v))
        return WM_OK;
    if (index >= 0)
        snprintf(number, sizeof number, " %" PRId64, index);
    snprintf(name, sizeof name, "%s%s%s%s", group, *group ? ": " : "",
             index >= 0 && strncmp(path, "bridges ", 8) == 0 ? "bridge" : path, number);
    return add(all, shared, name, x, json_number_value(v), err);
}

static wm_status add_object(wmi_curves *all, json_t *object, const char *path, int64_t index,
                            const char *group, double x, wm_error *err)
{
    wm_status st = WM_OK;

    for (void *i = json_object_iter(object); i && !st; i = json_object_iter_next(object, i)) {
        const char *key = json_object_iter_key(i);
        char inner[2 * WMI_CURVE_NAME];

        if (among(key, group_keys, COUNT(group_keys)) || strcmp(key, "k") == 0)
            continue;
        snprintf(inner, sizeof inner, "%.60s %.60s", path, key);
        plain_words(inner);
        st = add_value(all, json_object_iter_value(i), inner, index, group, x, err);
    }
    return st;
}

static wm_status add_key(wmi_curves *all, const char *key, json_t *v, const char *group, double x,
                         wm_error *err)
{
    char path[WMI_CURVE_NAME];
    wm_status st = WM_OK;

    snprintf(path, sizeof path, "%s", key);
    plain_words(path);
    if (json_is_object(v))
        return add_object(all, v, path, -1, group, x, err);
    if (!json_is_array(v))
        return add_value(all, v, path, -1, group, x, err);
    for (size_t i = 0; i < json_array_size(v) && !st; i++) {
        json_t *e = json_array_get(v, i);

        st = json_is_object(e) ? add_object(all, e, path, (int64_t)i, group, x, err)
                               : add_value(all, e, path, (int64_t)i, group, x, err);
    }
    return st;
}

/* The group that a line belongs to: its texts, and its numbers of bridge, fold and member. */
static void name_group(char *out, size_t size, json_t *line)
{
    size_t used = 0;

    out[0] = '\0';
    for (void *i = json_object_iter(line); i && used + 1 < size;
         i = json_object_iter_next(line, i)) {
        const char *key = json_object_iter_key(i), *between = used ? ", " : "";
        const json_t *v = json_object_iter_value(i);
        int n = 0;

        if (json_is_string(v) && strcmp(key, "stage") != 0)
            n = snprintf(out + used, size - used, "%s%.24s", between, json_string_value(v));
        else if (json_is_integer(v) && among(key, group_keys, COUNT(group_keys)))
            n = snprintf(out + used, size - used, "%s%s %" JSON_INTEGER_FORMAT, between, key,
                         json_integer_value(v));
        used += n > 0 ? (size_t)n : 0;
    }
}

static wm_status add_line(wmi_curves *all, json_t *line, wm_error *err)
{
    double x = (double)all->lines;
    const char *x_key = "", *stage = json_string_value(json_object_get(line, "stage"));
    char group[WMI_CURVE_NAME];
    wm_status st = WM_OK;

    for (size_t i = 0; i < COUNT(x_keys); i++)
        if (json_is_number(json_object_get(line, x_keys[i]))) {
            x_key = x_keys[i];
            x = json_number_value(json_object_get(line, x_key));
            break;
        }
    if (*x_key && all->lines <= 1)
        all->x_name = x_key;
    name_group(group, sizeof group, line);
    snprintf(all->stage, sizeof all->stage, "%.30s", stage ? stage : "");
    for (void *i = json_object_iter(line); i && !st; i = json_object_iter_next(line, i)) {
        const char *key = json_object_iter_key(i);

        if (!among(key, x_keys, COUNT(x_keys)) && !among(key, group_keys, COUNT(group_keys)) &&
            !among(key, silent_keys, COUNT(silent_keys)))
            st = add_key(all, key, json_object_iter_value(i), group, x, err);
    }
    return st;
}

wm_status wmi_curves_read(wmi_curves *out, const char *text, size_t n, wm_error *err)
{
    wm_status st = WM_OK;

    memset(out, 0, sizeof *out);
    out->x_name = "line";
    for (size_t at = 0; at < n && !st;) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - text) - at : n - at;
        json_t *line = json_loadb(text + at, length, 0, NULL);

        if (json_is_object(line)) {
            out->lines++;
            st = add_line(out, line, err);
        } else if (end && length) {
            out->bad++;
        }
        json_decref(line);
        at += length + 1;
    }
    if (st)
        wmi_curves_clear(out);
    return st;
}

void wmi_curves_clear(wmi_curves *c)
{
    for (int i = 0; i < c->n; i++) {
        wmi_free(c->curve[i].x);
        wmi_free(c->curve[i].y);
    }
    c->n = 0;
}
