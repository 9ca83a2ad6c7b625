/* py_sampler.c - draws as Python sees them, and our samplers on a log-density of Python's. */
#include <stdlib.h>
#include <string.h>

#include "py_call.h"
#include "waymark/sample.h"

/* ---- draws ---- */

static PyObject *diagnosis_dict(const wm_diagnosis *d)
{
    wm_checks checks = {0};

    wm_diagnose_checks(d, &checks);
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N,s:s}", "mean", py_bytes(d->mean, d->dim, sizeof *d->mean), "sd",
        py_bytes(d->sd, d->dim, sizeof *d->sd), "rhat", py_bytes(d->rhat, d->dim, sizeof *d->rhat),
        "ess_bulk", py_bytes(d->ess_bulk, d->dim, sizeof *d->ess_bulk), "ess_tail",
        py_bytes(d->ess_tail, d->dim, sizeof *d->ess_tail), "checks", py_checks(&checks), "verdict",
        wm_verdict_text(wm_checks_verdict(&checks)));
}

PyObject *py_draws(const wm_draws *d, const wm_diagnosis *diagnosis)
{
    const int64_t n = d->chains * d->draws;
    PyObject *out = Py_BuildValue("{s:(LLL),s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "shape",
                                  (long long)d->chains, (long long)d->draws, (long long)d->dim, "x",
                                  py_bytes(d->x, n * d->dim, sizeof *d->x), "lp",
                                  py_bytes(d->lp, n, sizeof *d->lp), "acceptance_rate",
                                  py_bytes(d->accept, n, sizeof *d->accept), "step_size",
                                  py_bytes(d->step_size, n, sizeof *d->step_size), "energy",
                                  py_bytes(d->energy, n, sizeof *d->energy), "tree_depth",
                                  py_bytes(d->depth, n, sizeof *d->depth), "n_steps",
                                  py_bytes(d->n_leapfrog, n, sizeof *d->n_leapfrog), "diverging",
                                  py_bytes(d->divergent, n, sizeof *d->divergent));

    if (out && diagnosis && py_put(out, "diagnosis", diagnosis_dict(diagnosis)))
        Py_CLEAR(out);
    return out;
}

/* ---- sampling a density of Python's ---- */

typedef struct sampler_run {
    PyObject *density; /* called with memory of x, log_f and grad (or None), and n */
    int64_t dim;
    py_array start;
    wm_sample_opts o;
    wm_sampler *sampler;
    wm_diagnosis *diagnosis;
    PyObject *type, *value, *trace; /* what the density raised */
} sampler_run;

#define AT(FIELD) offsetof(wm_sample_opts, FIELD)

static const char *const kernels[] = WM_KERNEL_NAMES;
static const char *const masses[] = {"identity", "diagonal", NULL}; /* by wm_mass */

static const py_option settings[] = {
    {"kernel", 'n', AT(moves.kernel), kernels},
    {"target_accept", 'r', AT(moves.target_accept), NULL},
    {"step_size", 'r', AT(moves.step_size), NULL},
    {"hmc_steps", 'i', AT(moves.hmc_steps), NULL},
    {"warmup", 'i', AT(warmup), NULL},
    {"draws", 'i', AT(draws), NULL},
    {"thin", 'i', AT(thin), NULL},
    {"mass", 'n', AT(mass), masses},
    {"max_depth", 'i', AT(max_depth), NULL},
    {"warmup_depth", 'i', AT(warmup_depth), NULL},
    {"seed", 'u', AT(seed), NULL},
    {NULL, 0, 0, NULL},
};

/* Memory of ours for the length of a call; None where there is none. */
static PyObject *memory(void *x, int64_t n, int flags)
{
    if (!x)
        return py_none();
    return PyMemoryView_FromMemory(x, (Py_ssize_t)n * (Py_ssize_t)sizeof(double), flags);
}

/* In the working thread, which takes the GIL for it. */
static wm_status evaluate(void *ctx, int64_t n, const double *x, const double *weights,
                          double *log_f, double *grad, double *terms, wm_error *err)
{
    sampler_run *r = ctx;
    const PyGILState_STATE gil = PyGILState_Ensure();
    double *values;
    PyObject *answer;

    (void)weights;
    (void)terms;
    memcpy(&values, &x, sizeof values); /* read only, as the memory says */
    answer = PyObject_CallFunction(r->density, "NNNL", memory(values, n * r->dim, PyBUF_READ),
                                   memory(log_f, n, PyBUF_WRITE),
                                   memory(grad, n * r->dim, PyBUF_WRITE), (long long)n);
    if (!answer)
        PyErr_Fetch(&r->type, &r->value, &r->trace);
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return r->type ? WM_FAIL(err, WM_EINVAL, "the log-density failed") : WM_OK;
}

static wm_status run_sampler(void *arg, py_call *call, wm_error *err)
{
    sampler_run *r = arg;
    const wm_path path = {.dim = r->dim, .eval = evaluate, .ctx = r};
    wm_status st;

    r->o.sink = py_call_sink(call);
    r->o.stop = py_call_stop(call);
    if (!(st = wm_sampler_new(&r->sampler, &path, r->start.n, py_doubles(&r->start), &r->o, err)) &&
        !(st = wm_sampler_run(r->sampler, err)) && r->o.draws >= 4)
        st = wm_diagnose(&r->diagnosis, wm_sampler_draws(r->sampler), err);
    return st;
}

PyDoc_STRVAR(sample_doc, "sample(density, start, settings, watch, threads): draws, as a dict");

static PyObject *sample(PyObject *self, PyObject *args)
{
    PyObject *start, *dict, *watch, *out = NULL;
    sampler_run r = {0};
    long long threads;

    (void)self;
    wm_sample_opts_init(&r.o);
    if (!PyArg_ParseTuple(args, "OOOOL", &r.density, &start, &dict, &watch, &threads) ||
        py_options_take(dict, settings, &r.o) ||
        py_array_take(&r.start, start, 'd', PY_READ, false, "start"))
        return NULL;
    r.dim = r.start.dim;
    if (!py_call_run(run_sampler, &r, watch, threads)) {
        out = py_draws(wm_sampler_draws(r.sampler), r.diagnosis);
    } else if (r.type) {
        PyErr_Restore(r.type, r.value, r.trace); /* rather than that it failed */
        r.type = NULL;
    }
    wm_diagnosis_free(r.diagnosis);
    wm_sampler_free(r.sampler);
    py_array_drop(&r.start);
    return out;
}

PyMethodDef py_sampler_methods[] = {
    {"sample", sample, METH_VARARGS, sample_doc},
    {NULL, NULL, 0, NULL},
};
