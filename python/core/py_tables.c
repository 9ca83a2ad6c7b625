/* py_tables.c - tables from files by the library's own rules, and the problems with a known
 * answer. */
#include <stdlib.h>

#include "py_call.h"
#include "waymark/generators.h"

/* A table as (rows, columns, bytes of float64). */
static PyObject *table(const wm_data *d)
{
    const int64_t n = wm_data_count(d), dim = wm_data_dim(d);

    return Py_BuildValue("(LLN)", (long long)n, (long long)dim,
                         py_bytes(wm_data_rows(d), n * dim, sizeof(double)));
}

/* ---- files ---- */

enum { MAX_TABLES = 2, READ_BLOCK = 4096 };

#define AT(FIELD) offsetof(wm_read_opts, FIELD)

static const char *const missing[] = {"refuse", "drop", "mean", "keep", NULL}; /* by wm_missing */

static const py_option settings[] = {
    {"missing", 'n', AT(missing), missing},      {"format", 't', AT(format), NULL},
    {"columns", 't', AT(columns), NULL},         {"drop", 't', AT(drop), NULL},
    {"categorical", 't', AT(categorical), NULL}, {"integer", 't', AT(integer), NULL},
    {"continuous", 't', AT(continuous), NULL},   {NULL, 0, 0, NULL},
};

typedef struct read_run {
    const char *path[MAX_TABLES];
    int n;
    bool fixed; /* the schema is known, and unknown levels become -1 */
    wm_read_opts o;
    wm_schema *schema;
    wm_data *data[MAX_TABLES];
    double *rows; /* (count, dim) of a fixed table */
    int64_t count, dim;
} read_run;

/* Rows of one file by a schema that is known, of which there are as many as there are. */
static wm_status read_fixed(read_run *r, wm_error *err)
{
    wm_reader *reader = NULL;
    int64_t got = 1, room = 0;
    wm_status st = wm_reader_open(&reader, r->path[0], r->schema, &r->o, err);

    r->dim = st ? 0 : wm_reader_dim(reader);
    while (!st && got > 0) {
        if (r->count + READ_BLOCK > room) {
            double *more;

            room = 2 * room + READ_BLOCK;
            if (!(more = realloc(r->rows, sizeof *more * (size_t)(room * r->dim)))) {
                st = WM_ENOMEM;
                break;
            }
            r->rows = more;
        }
        st = wm_reader_next(reader, READ_BLOCK, r->rows + r->count * r->dim, &got, NULL, err);
        r->count += st ? 0 : got;
    }
    wm_reader_close(reader);
    return st;
}

static wm_status run_read(void *arg, py_call *call, wm_error *err)
{
    read_run *r = arg;
    wm_status st;

    r->o.sink = py_call_sink(call);
    r->o.stop = py_call_stop(call);
    if (r->fixed)
        return read_fixed(r, err);
    if ((st = wm_schema_new(&r->schema, err)))
        return st;
    return wm_data_read_tables(r->data, r->path, r->n, r->schema, &r->o, err);
}

static int take_header(wm_read_opts *o, PyObject *dict)
{
    PyObject *header = PyDict_GetItemString(dict, "header"); /* borrowed */

    o->header = -1;
    if (header && header != Py_None)
        o->header = PyObject_IsTrue(header);
    return header && PyDict_DelItemString(dict, "header") ? -1 : 0;
}

static PyObject *read_answer(const read_run *r)
{
    PyObject *out = NULL, *tables = PyList_New(0);
    char *text = NULL;
    wm_error err = {0};
    wm_status st;

    for (int i = 0; tables && i < r->n; i++) {
        PyObject *one = table(r->data[i]);

        if (!one || PyList_Append(tables, one))
            Py_CLEAR(tables);
        Py_XDECREF(one);
    }
    if (tables && (st = wm_schema_write(r->schema, &text, &err)))
        py_raise(st, &err);
    if (tables && text)
        out = Py_BuildValue("(Os)", tables, text);
    Py_XDECREF(tables);
    wm_text_free(text);
    return out;
}

PyDoc_STRVAR(read_doc, "read(paths, settings, watch): ([(rows, columns, bytes)], schema)");

static PyObject *read_files(PyObject *self, PyObject *args)
{
    PyObject *paths, *dict, *watch, *out = NULL;
    read_run r = {0};

    (void)self;
    wm_read_opts_init(&r.o);
    if (!PyArg_ParseTuple(args, "O!O!O", &PyTuple_Type, &paths, &PyDict_Type, &dict, &watch))
        return NULL;
    r.n = (int)PyTuple_Size(paths);
    if (r.n < 1 || r.n > MAX_TABLES) {
        PyErr_SetString(PyExc_ValueError, "one or two files can be read together");
        return NULL;
    }
    for (int i = 0; i < r.n; i++)
        if (!(r.path[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(paths, i), NULL)))
            return NULL;
    if (!take_header(&r.o, dict) && !py_options_take(dict, settings, &r.o) &&
        !py_call_run(run_read, &r, watch, 0))
        out = read_answer(&r);
    for (int i = 0; i < r.n; i++)
        wm_data_free(r.data[i]);
    wm_schema_free(r.schema);
    return out;
}

PyDoc_STRVAR(read_known_doc,
             "read_known(path, schema, watch): (rows, columns, bytes); unknown levels are -1");

static PyObject *read_known(PyObject *self, PyObject *args)
{
    PyObject *schema, *watch, *out = NULL;
    read_run r = {.fixed = true};

    (void)self;
    wm_read_opts_init(&r.o);
    r.o.unseen = true;
    if (!PyArg_ParseTuple(args, "sOO", &r.path[0], &schema, &watch))
        return NULL;
    if (!py_schema_take(&r.schema, schema) && !py_call_run(run_read, &r, watch, 0))
        out = Py_BuildValue("(LLN)", (long long)r.count, (long long)r.dim,
                            py_bytes(r.rows, r.count * r.dim, sizeof *r.rows));
    free(r.rows);
    wm_schema_free(r.schema);
    return out;
}

/* ---- problems ---- */

static PyObject *problem_dict(const wm_problem_info *p)
{
    PyObject *params = PyDict_New();

    for (int i = 0; params && i < p->n_params; i++)
        if (py_put(params, p->params[i].name,
                   Py_BuildValue("{s:s,s:d,s:d,s:d,s:N}", "about", p->params[i].about, "default",
                                 p->params[i].standard, "lo", p->params[i].lo, "hi",
                                 p->params[i].hi, "whole", PyBool_FromLong(p->params[i].whole))))
            Py_CLEAR(params);
    if (!params)
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:s,s:N}", "name", p->name, "about", p->about, "kind",
                         p->kind == WM_PROBLEM_MI ? "mi" : "ratio", "params", params);
}

PyDoc_STRVAR(problems_doc, "problems(): those that there are");

static PyObject *problems(PyObject *self, PyObject *none)
{
    PyObject *out = PyList_New(0);

    (void)self;
    (void)none;
    for (int i = 0; out && i < wm_problem_count(); i++) {
        PyObject *one = problem_dict(wm_problem_at(i));

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

enum { MAX_SETTINGS = 16 };

/* NULL with an exception. */
static wm_problem *open_problem(const char *name, PyObject *dict, uint64_t seed)
{
    wm_problem_setting set[MAX_SETTINGS];
    PyObject *key, *value;
    wm_problem *p = NULL;
    wm_error err = {0};
    Py_ssize_t at = 0;
    int n = 0;
    wm_status st;

    while (PyDict_Next(dict, &at, &key, &value) && n < MAX_SETTINGS) {
        set[n].name = PyUnicode_AsUTF8AndSize(key, NULL);
        set[n].value = PyFloat_AsDouble(value);
        if (!set[n].name || PyErr_Occurred())
            return NULL;
        n++;
    }
    if ((st = wm_problem_new(&p, name, set, n, seed, &err)))
        py_raise(st, &err);
    return p;
}

PyDoc_STRVAR(problem_draw_doc, "problem_draw(name, settings, shape_seed, rows_a, rows_b, seed, "
                               "stream): (a, b, truth)");

static PyObject *problem_draw(PyObject *self, PyObject *args)
{
    unsigned long long shape, seed;
    const char *name, *stream;
    long long n_a, n_b;
    wm_data *a = NULL, *b = NULL;
    wm_problem_truth t;
    wm_error err = {0};
    wm_problem *p;
    PyObject *dict, *out = NULL;
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOKLLKs", &name, &dict, &shape, &n_a, &n_b, &seed, &stream) ||
        !(p = open_problem(name, dict, shape)))
        return NULL;
    if ((st = wm_problem_draw(&a, &b, p, n_a, n_b, seed, stream, &err))) {
        py_raise(st, &err);
    } else {
        t = wm_problem_answer(p);
        out = Py_BuildValue("(NN{s:d,s:d,s:d,s:d})", table(a), table(b), "kl_pq", t.kl_pq, "kl_qp",
                            t.kl_qp, "mi", t.mi, "error", t.error);
    }
    wm_data_free(a);
    wm_data_free(b);
    wm_problem_free(p);
    return out;
}

PyDoc_STRVAR(problem_log_ratio_doc,
             "problem_log_ratio(name, settings, shape_seed, a, b, out): fills out with the truth");

static PyObject *problem_log_ratio(PyObject *self, PyObject *args)
{
    PyObject *dict, *objects[3];
    py_array x[3] = {{.n = 0}, {.n = 0}, {.n = 0}};
    wm_data *data[2] = {NULL, NULL};
    unsigned long long shape;
    wm_error err = {0};
    wm_problem *p;
    const char *name;
    wm_status st = WM_OK;
    int failed;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOKOOO", &name, &dict, &shape, &objects[0], &objects[1],
                          &objects[2]) ||
        !(p = open_problem(name, dict, shape)))
        return NULL;
    failed = py_array_take(&x[0], objects[0], 'd', PY_READ, false, "a") ||
             py_array_take(&x[1], objects[1], 'd', PY_READ, true, "b") ||
             py_array_take(&x[2], objects[2], 'd', PY_WRITE, false, "out");
    if (!failed && x[2].n != x[0].n) {
        PyErr_SetString(PyExc_ValueError, "out: one number for each row is needed");
        failed = -1;
    }
    if (!failed && !(st = py_array_table(&data[0], &x[0], &err)) &&
        !(st = py_array_table(&data[1], &x[1], &err)))
        st = wm_problem_log_ratio(p, data[0], data[1], py_doubles(&x[2]), &err);
    if (st)
        py_raise(st, &err);
    for (int i = 0; i < 2; i++)
        wm_data_free(data[i]);
    for (int i = 0; i < 3; i++)
        py_array_drop(&x[i]);
    wm_problem_free(p);
    if (failed || st)
        return NULL;
    return py_none();
}

PyMethodDef py_table_methods[] = {
    {"read", read_files, METH_VARARGS, read_doc},
    {"read_known", read_known, METH_VARARGS, read_known_doc},
    {"problems", problems, METH_NOARGS, problems_doc},
    {"problem_draw", problem_draw, METH_VARARGS, problem_draw_doc},
    {"problem_log_ratio", problem_log_ratio, METH_VARARGS, problem_log_ratio_doc},
    {NULL, NULL, 0, NULL},
};
