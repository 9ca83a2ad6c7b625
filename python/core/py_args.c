/* py_args.c - between Python's values and the library's. */
#include "py_args.h"

#include <string.h>

/* ---- arrays ---- */

/* "d", "=d" or "<d" on the machines that we build for. */
static bool is_type(const char *format, char type)
{
    if (!format)
        return false;
    if (*format == '=' || *format == '<' || *format == '@')
        format++;
    return format[0] == type && !format[1];
}

int py_array_take(py_array *a, PyObject *from, char type, int access, bool may_be_none,
                  const char *what)
{
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (access == PY_WRITE ? PyBUF_WRITABLE : 0);

    *a = (py_array){0};
    if (may_be_none && from == Py_None)
        return 0;
    if (PyObject_GetBuffer(from, &a->view, flags))
        return -1;
    a->held = true;
    if (!is_type(a->view.format, type) || a->view.ndim < 1 || a->view.ndim > 2) {
        PyErr_Format(PyExc_TypeError, "%s: an array of %s with one or two axes is needed", what,
                     type == 'd' ? "float64" : "float32");
        py_array_drop(a);
        return -1;
    }
    a->n = (int64_t)a->view.shape[0];
    a->dim = a->view.ndim == 2 ? (int64_t)a->view.shape[1] : 1;
    return 0;
}

void py_array_drop(py_array *a)
{
    if (a->held)
        PyBuffer_Release(&a->view);
    *a = (py_array){0};
}

double *py_doubles(const py_array *a)
{
    return a->held ? a->view.buf : NULL;
}

wm_status py_array_table(wm_data **out, const py_array *a, wm_error *err)
{
    *out = NULL;
    return a->held ? wm_data_borrow(out, a->n, a->dim, a->view.buf, err) : WM_OK;
}

PyObject *py_bytes(const void *x, int64_t n, size_t size)
{
    if (!x)
        return py_none();
    return PyByteArray_FromStringAndSize(x, (Py_ssize_t)n * (Py_ssize_t)size);
}

/* ---- options ---- */

static int take_choice(int *out, const py_option *o, const char *text)
{
    char all[256] = "";

    for (int i = 0; o->names[i]; i++) {
        if (strcmp(o->names[i], text) == 0) {
            *out = i;
            return 0;
        }
        strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, o->names[i], sizeof all - strlen(all) - 1);
    }
    PyErr_Format(PyExc_ValueError, "%s='%s': there are %s", o->name, text, all);
    return -1;
}

static int take_text(const char **out, const py_option *o, PyObject *value)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: a text is needed, not %R", o->name, value);
        return -1;
    }
    *out = PyUnicode_AsUTF8AndSize(value, NULL);
    return *out ? 0 : -1;
}

/* The library's negative numbers mean "not set", which is None in Python. */
static int take_number(const py_option *o, PyObject *value, void *at)
{
    double number;

    if (o->kind == 'r')
        number = *(double *)at = PyFloat_AsDouble(value);
    else
        number = (double)(*(int64_t *)at = PyLong_AsLongLong(value));
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s=%R: a %s is needed", o->name, value,
                     o->kind == 'r' ? "number" : "whole number");
    else if (!PyErr_Occurred() && !(number >= 0))
        PyErr_Format(PyExc_ValueError, "%s=%R: a number that is not negative is needed", o->name,
                     value);
    return PyErr_Occurred() ? -1 : 0;
}

static int take_one(const py_option *o, PyObject *value, void *at)
{
    const char *text;
    int yes;

    switch (o->kind) {
    case 'i':
    case 'r':
        return take_number(o, value, at);
    case 'u':
        *(uint64_t *)at = PyLong_AsUnsignedLongLong(value);
        break;
    case 'f':
        if ((yes = PyObject_IsTrue(value)) >= 0)
            *(bool *)at = yes;
        break;
    case 't':
        return take_text(at, o, value);
    default:
        return take_text(&text, o, value) || take_choice(at, o, text) ? -1 : 0;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int py_options_take(PyObject *dict, const py_option *table, void *values)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const py_option *o = table;

        if (!name)
            return -1;
        while (o->name && strcmp(o->name, name) != 0)
            o++;
        if (!o->name) {
            PyErr_Format(PyExc_TypeError, "there is no setting '%s'", name);
            return -1;
        }
        if (value != Py_None && take_one(o, value, (char *)values + o->at))
            return -1;
    }
    return 0;
}

/* ---- answers ---- */

PyObject *py_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *py_raise(wm_status st, const wm_error *err)
{
    const char *text = err && *err->text ? err->text : wm_status_text(st);
    PyObject *type = PyExc_ValueError; /* settings, shapes, files of another format */

    if (st == WM_ENOMEM)
        type = PyExc_MemoryError;
    else if (st == WM_EIO)
        type = PyExc_OSError;
    else if (st == WM_EDIVERGED)
        type = PyExc_ArithmeticError;
    else if (st == WM_EUNSUPPORTED)
        type = PyExc_NotImplementedError;
    else if (st == WM_EINTERRUPTED)
        type = PyExc_KeyboardInterrupt;
    if (err && err->topic)
        PyErr_Format(type, "%s (see the setting '%s')", text, err->topic);
    else
        PyErr_SetString(type, text);
    return NULL;
}

int py_put(PyObject *dict, const char *key, PyObject *value)
{
    int failed = !value || PyDict_SetItemString(dict, key, value);

    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *py_estimate(const wm_estimate *e)
{
    return Py_BuildValue("(dddd)", e->value, e->se, e->lo, e->hi);
}

PyObject *py_checks(const wm_checks *list)
{
    PyObject *out = PyList_New(0);

    for (int64_t i = 0; out && i < list->n; i++) {
        const wm_check *c = &list->check[i];
        PyObject *one =
            Py_BuildValue("{s:s,s:d,s:d,s:s,s:O,s:s}", "name", c->name, "value", c->value, "limit",
                          c->limit, "outcome", wm_outcome_text(c->outcome), "needed",
                          c->needed ? Py_True : Py_False, "meaning", c->meaning);

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

PyObject *py_bridges(int64_t n, void (*get)(const void *from, int64_t k, wm_bridge *out),
                     const void *from)
{
    PyObject *out = PyList_New(0);

    for (int64_t k = 0; out && k < n; k++) {
        wm_bridge b;
        PyObject *one;

        get(from, k, &b);
        one = Py_BuildValue("{s:L,s:d,s:d,s:d,s:d,s:d}", "k", (long long)k, "alpha_from",
                            b.alpha_from, "alpha_to", b.alpha_to, "loss", b.loss, "accuracy",
                            b.accuracy, "mean_log_ratio", b.mean_log_ratio);
        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

int py_schema_take(wm_schema **out, PyObject *text)
{
    wm_error err = {0};
    const char *json;
    wm_status st;

    *out = NULL;
    if (text == Py_None)
        return 0;
    if (!(json = PyUnicode_AsUTF8AndSize(text, NULL)))
        return -1;
    if (!(st = wm_schema_parse(out, json, &err)))
        return 0;
    py_raise(st, &err);
    return -1;
}
