/* py_ratio.c - a ratio at points: log-ratios, weights, files; and the page of a run. */
#include <math.h>

#include "py_call.h"
#include "waymark/report.h"
#include "waymark/study.h"
#include "waymark/version.h"
#include "waymark/weights.h"

enum { BLOCK = 1 << 16 }; /* rows between two looks at the stop flag: a fraction of a second */

/* The ratio of a capsule of either kind; NULL with an exception. */
static const wm_ratio *ratio_of(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, PY_STUDY))
        return wm_study_ratio(PyCapsule_GetPointer(capsule, PY_STUDY));
    return PyCapsule_GetPointer(capsule, PY_RATIO);
}

/* ---- log-ratios ---- */

typedef struct log_run {
    const wm_ratio *ratio;
    py_array x, out;
    int64_t far;
} log_run;

static wm_status run_log(void *arg, py_call *call, wm_error *err)
{
    const volatile sig_atomic_t *stop = py_call_stop(call);
    log_run *r = arg;
    const double *x = py_doubles(&r->x);
    double *out = py_doubles(&r->out);
    wm_scorer *scorer = NULL;
    wm_status st = wm_scorer_new(&scorer, r->ratio, err);

    for (int64_t at = 0; !st && at < r->x.n; at += BLOCK) {
        const int64_t n = r->x.n - at < BLOCK ? r->x.n - at : BLOCK;

        st = *stop ? WM_EINTERRUPTED : wm_scorer_log(scorer, n, x + at * r->x.dim, out + at, err);
    }
    if (!st)
        r->far = wm_scorer_far(scorer);
    wm_scorer_free(scorer);
    return st;
}

static int check_shapes(const log_run *r)
{
    wm_ratio_info info;

    wm_ratio_get_info(r->ratio, &info);
    if (r->x.dim == info.dim && r->out.n == r->x.n && r->out.dim == 1)
        return 0;
    PyErr_Format(PyExc_ValueError, "x has %lld columns; the ratio was fitted to %lld",
                 (long long)r->x.dim, (long long)info.dim);
    return -1;
}

PyDoc_STRVAR(log_ratio_doc,
             "log_ratio(ratio, x, out, threads): fills out, returns how many rows are far away");

static PyObject *log_ratio(PyObject *self, PyObject *args)
{
    PyObject *capsule, *x, *out;
    long long threads;
    log_run r = {0};
    int failed;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOL", &capsule, &x, &out, &threads) ||
        !(r.ratio = ratio_of(capsule)))
        return NULL;
    failed = py_array_take(&r.x, x, 'd', PY_READ, false, "x") ||
             py_array_take(&r.out, out, 'd', PY_WRITE, false, "out") || check_shapes(&r) ||
             py_call_quiet(run_log, &r, threads);
    py_array_drop(&r.x);
    py_array_drop(&r.out);
    return failed ? NULL : PyLong_FromLongLong(r.far);
}

/* ---- files ---- */

static void free_ratio(PyObject *capsule)
{
    wm_ratio_free(PyCapsule_GetPointer(capsule, PY_RATIO));
}

PyDoc_STRVAR(ratio_load_doc, "ratio_load(path): a ratio from a model file, as a capsule");

static PyObject *ratio_load(PyObject *self, PyObject *arg)
{
    const char *path = PyUnicode_AsUTF8AndSize(arg, NULL);
    wm_error err = {0};
    wm_ratio *r = NULL;
    PyObject *out;
    wm_status st;

    (void)self;
    if (!path)
        return NULL;
    if ((st = wm_ratio_load(&r, path, &err)))
        return py_raise(st, &err);
    if (!(out = PyCapsule_New(r, PY_RATIO, free_ratio)))
        wm_ratio_free(r);
    return out;
}

PyDoc_STRVAR(ratio_save_doc, "ratio_save(ratio, path): a safetensors file");

static PyObject *ratio_save(PyObject *self, PyObject *args)
{
    const wm_ratio *r;
    PyObject *capsule;
    wm_error err = {0};
    const char *path;
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &path) || !(r = ratio_of(capsule)))
        return NULL;
    if ((st = wm_ratio_save(r, path, &err)))
        return py_raise(st, &err);
    return py_none();
}

PyDoc_STRVAR(ratio_dim_doc, "ratio_dim(ratio): columns that it was fitted to");

static PyObject *ratio_dim(PyObject *self, PyObject *capsule)
{
    const wm_ratio *r = ratio_of(capsule);
    wm_ratio_info info;

    (void)self;
    if (!r)
        return NULL;
    wm_ratio_get_info(r, &info);
    return PyLong_FromLongLong(info.dim);
}

/* ---- weights ---- */

static const char *const tails[] = {"keep", "clip", "pareto", NULL}; /* by wm_weights_tail */
static const char *const scales[] = {"mean", "sum", "ratio", NULL};  /* by wm_weights_scale */

#define AT(FIELD) offsetof(wm_weights_opts, FIELD)

static const py_option weight_settings[] = {
    {"tail", 'n', AT(tail), tails},
    {"scale", 'n', AT(scale), scales},
    {"alpha", 'r', AT(alpha), NULL},
    {"clip_quantile", 'r', AT(clip_quantile), NULL},
    {"clip_value", 'r', AT(clip_value), NULL},
    {NULL, 0, 0, NULL},
};

static PyObject *weights_answer(const wm_weights_info *i)
{
    return Py_BuildValue("{s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:L}", "n", (long long)i->n, "log_mean",
                         i->log_mean, "log_mean_se", i->log_mean_se, "ess", i->ess, "ess_ratio",
                         i->ess_ratio, "max_share", i->max_share, "pareto_k", i->pareto_k,
                         "pareto_limit", i->pareto_limit, "changed", (long long)i->changed);
}

PyDoc_STRVAR(weights_doc, "weights(log_r, out, settings): fills out with importance weights");

static PyObject *weights(PyObject *self, PyObject *args)
{
    PyObject *log_r, *out, *dict, *answer = NULL;
    py_array from = {0}, to = {0};
    wm_weights_info info;
    wm_error err = {0};
    wm_weights_opts o;
    wm_status st;

    (void)self;
    wm_weights_opts_init(&o);
    if (!PyArg_ParseTuple(args, "OOO", &log_r, &out, &dict) ||
        py_options_take(dict, weight_settings, &o))
        return NULL;
    if (!py_array_take(&from, log_r, 'd', PY_READ, false, "log_r") &&
        !py_array_take(&to, out, 'd', PY_WRITE, false, "out")) {
        if (from.n * from.dim != to.n * to.dim)
            PyErr_SetString(PyExc_ValueError, "out: as many numbers as log_r has are needed");
        else if ((st = wm_weights_make(py_doubles(&to), &info, py_doubles(&from), from.n * from.dim,
                                       &o, &err)))
            py_raise(st, &err);
        else
            answer = weights_answer(&info);
    }
    py_array_drop(&from);
    py_array_drop(&to);
    return answer;
}

/* ---- the page, and the library itself ---- */

PyDoc_STRVAR(report_doc, "report(folder, path): the page of a run folder");

static PyObject *report(PyObject *self, PyObject *args)
{
    const char *folder, *path;
    wm_error err = {0};
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "ss", &folder, &path))
        return NULL;
    if ((st = wm_report_write(NULL, folder, path, NULL, &err)))
        return py_raise(st, &err);
    return py_none();
}

PyDoc_STRVAR(version_doc, "version(): of the library");

static PyObject *version(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyUnicode_FromString(wm_version());
}

PyMethodDef py_ratio_methods[] = {
    {"log_ratio", log_ratio, METH_VARARGS, log_ratio_doc},
    {"ratio_load", ratio_load, METH_O, ratio_load_doc},
    {"ratio_save", ratio_save, METH_VARARGS, ratio_save_doc},
    {"ratio_dim", ratio_dim, METH_O, ratio_dim_doc},
    {"weights", weights, METH_VARARGS, weights_doc},
    {"report", report, METH_VARARGS, report_doc},
    {"version", version, METH_NOARGS, version_doc},
    {NULL, NULL, 0, NULL},
};
