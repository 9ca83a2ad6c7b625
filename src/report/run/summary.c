/* summary.c - an ordered JSON object built by calls that cannot fail: the root keeps the first
 * failure until the object is printed or written. */
#include "report/run/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/text.h"

struct wm_summary {
    json_t *object;   /* owns one reference */
    wm_summary *root; /* itself for a root */
    wm_summary *next; /* a root's chain of all its descendants */
    wm_error error;   /* of a root: the first failure */
    wm_status status; /* and its code */
};

static wm_status make(wm_summary **out, wm_summary *root, wm_error *err)
{
    wm_summary *s = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&s, 1, sizeof *s, "summary", err)))
        return st;
    s->object = json_object();
    if (!s->object) {
        wmi_free(s);
        return wmi_fail(err, WM_ENOMEM, "no memory for a summary");
    }
    s->root = root ? root : s;
    if (root) {
        s->next = root->next;
        root->next = s;
    }
    *out = s;
    return WM_OK;
}

wm_status wm_summary_new(wm_summary **out, wm_error *err)
{
    WMI_NEED(err, out);
    return make(out, NULL, err);
}

void wm_summary_free(wm_summary *s)
{
    while (s) {
        wm_summary *next = s->next;

        json_decref(s->object);
        wmi_free(s);
        s = next;
    }
}

/* Sets key to value, whose reference is taken; a NULL value is a failure to make it. */
static void set(wm_summary *s, const char *key, json_t *value)
{
    const wm_status code = value ? WM_EINVAL : WM_ENOMEM; /* a key that is not UTF-8 */

    if (!s) {
        json_decref(value);
        return;
    }
    if (json_object_set_new(s->object, key, value) && !s->root->status)
        s->root->status = wmi_fail(&s->root->error, code, "summary: cannot set '%.60s'", key);
}

static json_t *text_value(const char *text)
{
    wmi_arena a = {0};
    const char *clean;
    json_t *v;

    if (!text)
        return json_null();
    v = json_string(text);
    if (v)
        return v;
    clean = wmi_text_clean(&a, text, NULL); /* it was not UTF-8 */
    v = clean ? json_string(clean) : NULL;
    wmi_arena_free(&a);
    return v;
}

static json_t *real_value(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

void wm_summary_text(wm_summary *s, const char *key, const char *value)
{
    set(s, key, text_value(value));
}

void wm_summary_integer(wm_summary *s, const char *key, int64_t value)
{
    set(s, key, json_integer(value));
}

void wm_summary_real(wm_summary *s, const char *key, double value)
{
    set(s, key, real_value(value));
}

void wm_summary_bool(wm_summary *s, const char *key, bool value)
{
    set(s, key, json_boolean(value));
}

void wm_summary_put(wm_summary *s, const wm_field *fields)
{
    for (const wm_field *f = fields; f->key; f++)
        if (f->kind == WM_FIELD_TEXT)
            wm_summary_text(s, f->key, f->text);
        else if (f->kind == WM_FIELD_INTEGER)
            wm_summary_integer(s, f->key, f->integer);
        else if (f->kind == WM_FIELD_REAL)
            wm_summary_real(s, f->key, f->real);
        else
            wm_summary_bool(s, f->key, f->integer != 0);
}

void wm_summary_null(wm_summary *s, const char *key)
{
    set(s, key, json_null());
}

/* Appends value to list and gives list back, or NULL when either is missing. */
static json_t *append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

void wm_summary_reals(wm_summary *s, const char *key, const double *x, int64_t n)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < n; i++)
        list = append(list, real_value(x[i]));
    set(s, key, list);
}

void wm_summary_integers(wm_summary *s, const char *key, const int64_t *x, int64_t n)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < n; i++)
        list = append(list, json_integer(x[i]));
    set(s, key, list);
}

void wm_summary_texts(wm_summary *s, const char *key, const char *const *x, int64_t n)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < n; i++)
        list = append(list, text_value(x[i]));
    set(s, key, list);
}

void wm_summary_list(wm_summary *s, const char *key)
{
    set(s, key, json_array());
}

/* A child that is not yet in its parent, or NULL with the failure kept. */
static wm_summary *make_child(wm_summary *s)
{
    wm_summary *child = NULL;
    wm_error err;
    wm_status st;

    if (!s)
        return NULL;
    st = make(&child, s->root, &err);
    if (st && !s->root->status) {
        s->root->status = st;
        s->root->error = err;
    }
    return child;
}

wm_summary *wm_summary_object(wm_summary *s, const char *key)
{
    wm_summary *child = make_child(s);

    if (child)
        set(s, key, json_incref(child->object));
    return child;
}

wm_summary *wm_summary_row(wm_summary *s, const char *key)
{
    wm_summary *child = make_child(s);
    json_t *list;

    if (!child)
        return NULL;
    if (!json_object_get(s->object, key))
        wm_summary_list(s, key);
    list = json_object_get(s->object, key);
    if (json_array_append(list, child->object) && !s->root->status)
        s->root->status = wmi_fail(&s->root->error, list ? WM_EINVAL : WM_ENOMEM,
                                   "summary: '%.60s' is not a list, or no memory", key);
    return child;
}

wm_status wmi_summary_json(json_t **out, const wm_summary *s, wm_error *err)
{
    *out = s->object;
    if (s->root->status && err)
        *err = s->root->error;
    return s->root->status;
}

wm_status wm_summary_print(const wm_summary *s, FILE *f, wm_error *err)
{
    WMI_NEED(err, s && f);
    json_t *object;
    wm_status st = wmi_summary_json(&object, s, err);

    if (st)
        return st;
    wmi_json_print(object, f);
    if (ferror(f)) /* what is still in its buffer is the caller's to see to */
        return wmi_fail(err, WM_EIO, "cannot write the summary");
    return WM_OK;
}

wm_status wm_summary_write(const wm_summary *s, const char *path, wm_error *err)
{
    WMI_NEED(err, s && path);
    json_t *object;
    wmi_file *f = NULL;
    wm_status st;

    if ((st = wmi_summary_json(&object, s, err)) || (st = wmi_file_open(&f, path, err)))
        return st;
    wmi_json_print(object, wmi_file_stream(f));
    return wmi_file_commit(f, err);
}
