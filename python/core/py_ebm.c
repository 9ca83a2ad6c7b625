/* py_ebm.c - energy-based models: fit, log-density, draws, normalising constant, file. */
#include "py_call.h"
#include "waymark/ebm.h"

static const char *const objectives[] = WM_OBJECTIVE_NAMES;
static const char *const choices[] = WM_CHOICE_NAMES;
static const char *const kernels[] = WM_KERNEL_NAMES;
#define NOISE_NAME(name, text) text,
static const char *const noises[] = {WM_EBM_NOISES(NOISE_NAME) NULL}; /* by wm_ebm_noise */

/* ---- fitting ---- */

typedef struct ebm_settings {
    wm_ebm_opts o;
    const char *model, *spacing;
} ebm_settings;

#define AT(FIELD) offsetof(ebm_settings, FIELD)

static const py_option settings[] = {
    {"noise", 'n', AT(o.noise), noises},
    {"model", 't', AT(model), NULL},
    {"bridges", 'i', AT(o.bridges), NULL},
    {"spacing", 't', AT(spacing), NULL},
    {"objective", 'n', AT(o.objective), objectives},
    {"height", 'i', AT(o.height), NULL},
    {"width", 'i', AT(o.width), NULL},
    {"channels", 'i', AT(o.channels), NULL},
    {"levels", 'r', AT(o.levels), NULL},
    {"logit", 'r', AT(o.logit), NULL},
    {"network", 't', AT(o.network), NULL},
    {"held_out", 'r', AT(o.held_out), NULL},
    {"discrete", 'n', AT(o.discrete), choices},
    {"noise_iterations", 'i', AT(o.train[WM_STAGE_NOISE].iterations), NULL},
    {"head_iterations", 'i', AT(o.train[WM_STAGE_HEADS].iterations), NULL},
    {"iterations", 'i', AT(o.train[WM_STAGE_BRIDGES].iterations), NULL},
    {"batch", 'i', AT(o.train[WM_STAGE_BRIDGES].batch), NULL},
    {"lr", 'r', AT(o.train[WM_STAGE_BRIDGES].lr), NULL},
    {"seed", 'u', AT(o.control.seed), NULL},
    {"time_limit", 'r', AT(o.control.time_limit), NULL},
    {"checkpoint", 't', AT(o.control.checkpoint), NULL},
    {NULL, 0, 0, NULL},
};

static int take_settings(ebm_settings *s, PyObject *dict)
{
    wm_error err = {0};
    wm_status st = WM_OK;

    wm_ebm_opts_init(&s->o);
    if (py_options_take(dict, settings, s))
        return -1;
    s->o.control.resume = s->o.control.checkpoint != NULL;
    if ((s->model && (st = wm_ebm_model_parse(&s->o.model, s->model, &err))) ||
        (s->spacing && (st = wm_spacing_parse(&s->o.spacing, s->spacing, &err)))) {
        py_raise(st, &err);
        return -1;
    }
    return 0;
}

typedef struct ebm_run {
    py_array x, valid;
    wm_schema *schema;
    ebm_settings set;
    wm_ebm *ebm;
} ebm_run;

static wm_status run_fit(void *arg, py_call *call, wm_error *err)
{
    ebm_run *r = arg;
    wm_data *x = NULL, *valid = NULL;
    wm_status st;

    py_call_steer(call, &r->set.o.control);
    r->set.o.schema = r->schema;
    if (!(st = py_array_table(&x, &r->x, err)) && !(st = wm_data_check_finite(x, "X", err)) &&
        !(st = py_array_table(&valid, &r->valid, err)))
        st = wm_ebm_fit(&r->ebm, x, valid, &r->set.o, err);
    wm_data_free(x);
    wm_data_free(valid);
    return st;
}

static void free_ebm(PyObject *capsule)
{
    wm_ebm_free(PyCapsule_GetPointer(capsule, PY_EBM));
}

PyDoc_STRVAR(ebm_doc, "ebm(x, valid, schema, settings, watch, threads): a model, as a capsule");

static PyObject *ebm(PyObject *self, PyObject *args)
{
    PyObject *x, *valid, *schema, *dict, *watch, *out = NULL;
    ebm_run r = {0};
    long long threads;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOL", &x, &valid, &schema, &dict, &watch, &threads))
        return NULL;
    if (!py_array_take(&r.x, x, 'd', PY_READ, false, "X") &&
        !py_array_take(&r.valid, valid, 'd', PY_READ, true, "validation rows") &&
        !py_schema_take(&r.schema, schema) && !take_settings(&r.set, dict) &&
        !py_call_run(run_fit, &r, watch, threads)) {
        if ((out = PyCapsule_New(r.ebm, PY_EBM, free_ebm)))
            r.ebm = NULL; /* the capsule's */
    }
    wm_ebm_free(r.ebm);
    wm_schema_free(r.schema);
    py_array_drop(&r.x);
    py_array_drop(&r.valid);
    return out;
}

/* ---- what was fitted ---- */

static void bridge_of(const void *from, int64_t k, wm_bridge *out)
{
    wm_ebm_get_bridge(from, k, out);
}

PyDoc_STRVAR(ebm_info_doc, "ebm_info(model): what was fitted, as a dict");

static PyObject *ebm_info(PyObject *self, PyObject *capsule)
{
    const wm_ebm *e = PyCapsule_GetPointer(capsule, PY_EBM);
    wm_checks checks = {0};
    wm_ebm_info i;
    char model[64];
    PyObject *d;

    (void)self;
    if (!e)
        return NULL;
    wm_ebm_get_info(e, &i);
    wm_ebm_check(e, NULL, &checks);
    d = Py_BuildValue("{s:L,s:L,s:L,s:L,s:s,s:s,s:d,s:d,s:N,s:s}", "dim", (long long)i.dim,
                      "n_columns", (long long)i.columns, "n_train", (long long)i.n_train, "n_valid",
                      (long long)i.n_valid, "noise", noises[i.noise], "model",
                      wm_ebm_model_text(i.model, model, sizeof model), "noise_loglik",
                      i.noise_loglik, "direct", i.direct, "finished", PyBool_FromLong(i.finished),
                      "verdict", wm_verdict_text(wm_checks_verdict(&checks)));
    if (d &&
        (py_put(d, "bridges", py_bridges(i.bridges, bridge_of, e)) ||
         py_put(d, "checks", py_checks(&checks)) ||
         py_put(d, "seconds", PyFloat_FromDouble(i.seconds[0] + i.seconds[1] + i.seconds[2])) ||
         (wm_ebm_schema(e) && py_put(d, "schema", PyUnicode_FromString(wm_ebm_schema(e))))))
        Py_CLEAR(d);
    return d;
}

/* ---- log-density ---- */

typedef struct density_run {
    const wm_ebm *ebm;
    py_array x, log_q, log_phi;
    uint64_t seed;
} density_run;

static wm_status run_density(void *arg, py_call *call, wm_error *err)
{
    density_run *r = arg;
    wm_data *x = NULL;
    wm_status st;

    if (!(st = py_array_table(&x, &r->x, err)) && !(st = wm_data_check_finite(x, "X", err)))
        st = wm_ebm_log_density(r->ebm, x, r->seed, py_doubles(&r->log_q), py_doubles(&r->log_phi),
                                py_call_stop(call), err);
    wm_data_free(x);
    return st;
}

PyDoc_STRVAR(ebm_log_density_doc,
             "ebm_log_density(model, x, seed, log_q, log_phi, threads): fills both");

static PyObject *ebm_log_density(PyObject *self, PyObject *args)
{
    PyObject *capsule, *x, *log_q, *log_phi;
    unsigned long long seed;
    density_run r = {0};
    long long threads;
    int failed;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOKOOL", &capsule, &x, &seed, &log_q, &log_phi, &threads) ||
        !(r.ebm = PyCapsule_GetPointer(capsule, PY_EBM)))
        return NULL;
    r.seed = seed;
    failed = py_array_take(&r.x, x, 'd', PY_READ, false, "X") ||
             py_array_take(&r.log_q, log_q, 'd', PY_WRITE, false, "log_q") ||
             py_array_take(&r.log_phi, log_phi, 'd', PY_WRITE, false, "log_phi");
    if (!failed && (r.log_q.n != r.x.n || r.log_phi.n != r.x.n)) {
        PyErr_SetString(PyExc_ValueError, "log_q and log_phi need a number for each row of X");
        failed = -1;
    }
    failed = failed || py_call_quiet(run_density, &r, threads);
    py_array_drop(&r.x);
    py_array_drop(&r.log_q);
    py_array_drop(&r.log_phi);
    if (failed)
        return NULL;
    return py_none();
}

/* ---- chains ---- */

#undef AT
#define AT(FIELD) offsetof(wm_ebm_walk, FIELD)

static const py_option walk_settings[] = {
    {"chains", 'i', AT(chains), NULL},
    {"steps", 'i', AT(steps), NULL},
    {"kernel", 'n', AT(kernel), kernels},
    {"max_depth", 'i', AT(max_depth), NULL},
    {"target_accept", 'r', AT(target_accept), NULL},
    {"draws", 'i', AT(draws), NULL},
    {"warmup", 'i', AT(warmup), NULL},
    {"thin", 'i', AT(thin), NULL},
    {"draw_depth", 'i', AT(draw_depth), NULL},
    {"draw_target", 'r', AT(draw_target), NULL},
    {"seed", 'u', AT(control.seed), NULL},
    {"checkpoint", 't', AT(control.checkpoint), NULL},
    {NULL, 0, 0, NULL},
};

typedef struct walk_run {
    const wm_ebm *ebm;
    wm_ebm_walk walk;
    wm_draws *draws;
    wm_diagnosis *diagnosis;
    wm_ais ais;
} walk_run;

static int take_walk(walk_run *r, PyObject *capsule, PyObject *dict)
{
    wm_ebm_walk_init(&r->walk);
    if (!(r->ebm = PyCapsule_GetPointer(capsule, PY_EBM)) ||
        py_options_take(dict, walk_settings, &r->walk))
        return -1;
    r->walk.control.resume = r->walk.control.checkpoint != NULL;
    return 0;
}

static wm_status run_sample(void *arg, py_call *call, wm_error *err)
{
    walk_run *r = arg;

    py_call_steer(call, &r->walk.control);
    return wm_ebm_sample(&r->draws, &r->diagnosis, r->ebm, &r->walk, err);
}

PyDoc_STRVAR(ebm_sample_doc, "ebm_sample(model, settings, watch, threads): draws, as a dict");

static PyObject *ebm_sample(PyObject *self, PyObject *args)
{
    PyObject *capsule, *dict, *watch, *out = NULL;
    walk_run r = {0};
    long long threads;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOL", &capsule, &dict, &watch, &threads) ||
        take_walk(&r, capsule, dict))
        return NULL;
    if (!py_call_run(run_sample, &r, watch, threads))
        out = py_draws(r.draws, r.diagnosis);
    wm_diagnosis_free(r.diagnosis);
    wm_ebm_draws_free(r.draws);
    return out;
}

static wm_status run_ais(void *arg, py_call *call, wm_error *err)
{
    walk_run *r = arg;

    py_call_steer(call, &r->walk.control);
    return wm_ebm_ais(&r->ais, NULL, r->ebm, &r->walk, err);
}

PyDoc_STRVAR(ebm_ais_doc, "ebm_ais(model, settings, watch, threads): log Z, as a dict with checks");

static PyObject *ebm_ais(PyObject *self, PyObject *args)
{
    PyObject *capsule, *dict, *watch;
    wm_checks checks = {0};
    walk_run r = {0};
    long long threads;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOL", &capsule, &dict, &watch, &threads) ||
        take_walk(&r, capsule, dict) || py_call_run(run_ais, &r, watch, threads))
        return NULL;
    wm_ebm_check(r.ebm, &r.ais, &checks);
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:L,s:L,s:N,s:s}", "log_z", r.ais.log_z, "se", r.ais.se,
                         "ess", r.ais.ess, "spread", r.ais.spread, "used", (long long)r.ais.used,
                         "failed", (long long)r.ais.failed, "checks", py_checks(&checks), "verdict",
                         wm_verdict_text(wm_checks_verdict(&checks)));
}

/* ---- files ---- */

PyDoc_STRVAR(ebm_load_doc, "ebm_load(path): a model from its file, as a capsule");

static PyObject *ebm_load(PyObject *self, PyObject *arg)
{
    const char *path = PyUnicode_AsUTF8AndSize(arg, NULL);
    wm_error err = {0};
    wm_ebm *e = NULL;
    PyObject *out;
    wm_status st;

    (void)self;
    if (!path)
        return NULL;
    if ((st = wm_ebm_load(&e, path, &err)))
        return py_raise(st, &err);
    if (!(out = PyCapsule_New(e, PY_EBM, free_ebm)))
        wm_ebm_free(e);
    return out;
}

PyDoc_STRVAR(ebm_save_doc, "ebm_save(model, path): a safetensors file");

static PyObject *ebm_save(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    const wm_ebm *e;
    wm_error err = {0};
    const char *path;
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &path) ||
        !(e = PyCapsule_GetPointer(capsule, PY_EBM)))
        return NULL;
    if ((st = wm_ebm_save(e, path, &err)))
        return py_raise(st, &err);
    return py_none();
}

PyMethodDef py_ebm_methods[] = {
    {"ebm", ebm, METH_VARARGS, ebm_doc},
    {"ebm_info", ebm_info, METH_O, ebm_info_doc},
    {"ebm_log_density", ebm_log_density, METH_VARARGS, ebm_log_density_doc},
    {"ebm_sample", ebm_sample, METH_VARARGS, ebm_sample_doc},
    {"ebm_ais", ebm_ais, METH_VARARGS, ebm_ais_doc},
    {"ebm_load", ebm_load, METH_O, ebm_load_doc},
    {"ebm_save", ebm_save, METH_VARARGS, ebm_save_doc},
    {NULL, NULL, 0, NULL},
};
