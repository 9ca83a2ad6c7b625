/* py_study.c - studies of two samples or of pairs, and what they found. */
#include <string.h>

#include "py_call.h"
#include "waymark/mi.h"
#include "waymark/study.h"

static const char *const objectives[] = WM_OBJECTIVE_NAMES;
static const char *const optimizers[] = {"auto", "adam", "convex", NULL};
static const char *const choices[] = WM_CHOICE_NAMES;

/* ---- settings ---- */

/* The study's own, and texts that are read before it. */
typedef struct study_settings {
    wm_study_opts o;
    const char *spacing;
} study_settings;

#define AT(FIELD) offsetof(study_settings, FIELD)

static const py_option settings[] = {
    {"objective", 'n', AT(o.objective), objectives},
    {"optimizer", 'n', AT(o.optimizer), optimizers},
    {"bridges", 'i', AT(o.bridges), NULL},
    {"spacing", 't', AT(spacing), NULL},
    {"max_bridges", 'i', AT(o.max_bridges), NULL},
    {"pairs", 'i', AT(o.pairs), NULL},
    {"by_rank", 'f', AT(o.by_rank), NULL},
    {"standardize", 'f', AT(o.standardize), NULL},
    {"whiten", 'n', AT(o.whiten), choices},
    {"folds", 'i', AT(o.folds), NULL},
    {"ensemble", 'i', AT(o.ensemble), NULL},
    {"width", 'i', AT(o.width), NULL},
    {"blocks", 'i', AT(o.blocks), NULL},
    {"iterations", 'i', AT(o.adam.iterations), NULL},
    {"batch", 'i', AT(o.adam.batch), NULL},
    {"lr", 'r', AT(o.adam.lr), NULL},
    {"seed", 'u', AT(o.control.seed), NULL},
    {"time_limit", 'r', AT(o.control.time_limit), NULL},
    {"checkpoint", 't', AT(o.control.checkpoint), NULL},
    {NULL, 0, 0, NULL},
};

/* models: a sequence of texts. */
static int take_models(wm_study_opts *o, PyObject *models)
{
    const Py_ssize_t n = PySequence_Size(models);

    if (n < 0)
        return -1;
    if (n > WM_STUDY_MAX_MODELS) {
        PyErr_Format(PyExc_ValueError, "model: at most %d candidates can be tried, not %zd",
                     WM_STUDY_MAX_MODELS, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PySequence_GetItem(models, i);
        const char *text = one ? PyUnicode_AsUTF8AndSize(one, NULL) : NULL;
        wm_error err = {0};
        const wm_status st = text ? wm_ratio_model_parse(&o->models[i], text, &err) : WM_OK;

        Py_XDECREF(one);
        if (st)
            py_raise(st, &err);
        if (!text || st)
            return -1;
    }
    o->n_models = (int64_t)n;
    return 0;
}

static int take_settings(study_settings *s, PyObject *models, PyObject *dict)
{
    wm_error err = {0};
    wm_status st;

    wm_study_opts_init(&s->o);
    s->spacing = NULL;
    if (take_models(&s->o, models) || py_options_take(dict, settings, s))
        return -1;
    s->o.control.resume = s->o.control.checkpoint != NULL;
    if (!s->spacing)
        return 0;
    s->o.given_spacing = true;
    if ((st = wm_spacing_parse(&s->o.spacing, s->spacing, &err))) {
        py_raise(st, &err);
        return -1;
    }
    return 0;
}

/* ---- running ---- */

typedef struct study_run {
    py_array p, q, weights[2];
    wm_schema *schema;
    study_settings set;
    wm_study *study;
} study_run;

static wm_status run_study(void *arg, py_call *call, wm_error *err)
{
    study_run *r = arg;
    wm_data *p = NULL, *q = NULL;
    wm_status st;

    py_call_steer(call, &r->set.o.control);
    for (int i = 0; i < 2; i++)
        r->set.o.weights[i] = py_doubles(&r->weights[i]);
    if (!(st = py_array_table(&p, &r->p, err)) && !(st = wm_data_check_finite(p, "p", err)) &&
        !(st = py_array_table(&q, &r->q, err)) && (!q || !(st = wm_data_check_finite(q, "q", err))))
        st = wm_study_run(&r->study, p, q, r->schema, &r->set.o, err);
    wm_data_free(p);
    wm_data_free(q);
    return st;
}

static void free_study(PyObject *capsule)
{
    wm_study_free(PyCapsule_GetPointer(capsule, PY_STUDY));
}

static int check_weights(const study_run *r)
{
    for (int i = 0; i < 2; i++) {
        const py_array *w = &r->weights[i], *x = i ? &r->q : &r->p;

        if (w->held && (w->n != x->n || w->dim != 1)) {
            PyErr_Format(PyExc_ValueError, "weights: %lld for %lld rows", (long long)w->n,
                         (long long)x->n);
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(study_doc, "study(p, q, schema, models, settings, p_weights, q_weights, watch, "
                        "threads): a study, as a capsule");

static PyObject *study(PyObject *self, PyObject *args)
{
    PyObject *p, *q, *schema, *models, *dict, *weights[2], *watch, *out = NULL;
    study_run r = {0};
    long long threads;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOOOOL", &p, &q, &schema, &models, &dict, &weights[0],
                          &weights[1], &watch, &threads))
        return NULL;
    if (!py_array_take(&r.p, p, 'd', PY_READ, false, "p") &&
        !py_array_take(&r.q, q, 'd', PY_READ, true, "q") &&
        !py_array_take(&r.weights[0], weights[0], 'd', PY_READ, true, "weights of p") &&
        !py_array_take(&r.weights[1], weights[1], 'd', PY_READ, true, "weights of q") &&
        !check_weights(&r) && !py_schema_take(&r.schema, schema) &&
        !take_settings(&r.set, models, dict) && !py_call_run(run_study, &r, watch, threads)) {
        if ((out = PyCapsule_New(r.study, PY_STUDY, free_study)))
            r.study = NULL; /* the capsule's */
    }
    wm_study_free(r.study);
    wm_schema_free(r.schema);
    for (int i = 0; i < 2; i++)
        py_array_drop(&r.weights[i]);
    py_array_drop(&r.p);
    py_array_drop(&r.q);
    return out;
}

/* ---- what was found ---- */

static void bridge_of(const void *from, int64_t k, wm_bridge *out)
{
    wm_study_get_bridge(from, k, out);
}

static PyObject *normaliser(const wm_normaliser *n)
{
    return Py_BuildValue("{s:d,s:d,s:d,s:d}", "log_mean", n->log_mean, "se", n->se, "ess", n->ess,
                         "pareto_k", n->pareto_k);
}

static PyObject *reals(const double *x, int64_t n)
{
    PyObject *out = PyList_New(0);

    for (int64_t i = 0; out && i < n; i++) {
        PyObject *one = PyFloat_FromDouble(x[i]);

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *model_name(wm_ratio_model model)
{
    char name[64];

    return PyUnicode_FromString(wm_ratio_model_text(model, name, sizeof name));
}

static PyObject *candidates(const wm_study *s)
{
    PyObject *out = PyList_New(0);

    for (int64_t i = 0; out && i < wm_study_candidates(s); i++) {
        const wm_candidate *c = wm_study_candidate(s, i);
        PyObject *one =
            Py_BuildValue("{s:N,s:d,s:d,s:d,s:N,s:N}", "model", model_name(c->model), "loss",
                          c->loss, "loss_se", c->loss_se, "seconds", c->seconds, "given_up",
                          PyBool_FromLong(c->given_up), "kept", PyBool_FromLong(c->kept));

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *texts(const char *const *x, int64_t n)
{
    PyObject *out = PyList_New(0);

    for (int64_t i = 0; out && i < n; i++) {
        PyObject *one = PyUnicode_FromString(x[i]);

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *column(const wm_study_column *c)
{
    PyObject *d = PyDict_New();

    if (!d || py_put(d, "name", PyUnicode_FromString(c->name)) ||
        py_put(d, "kind", PyUnicode_FromString(c->discrete ? "discrete" : "continuous")) ||
        py_put(d, "share", PyFloat_FromDouble(c->share)) ||
        py_put(d, "kl", PyFloat_FromDouble(c->kl)) ||
        (c->edges && py_put(d, "edges", reals(c->edges, c->n + 1))) ||
        (c->level && py_put(d, "levels", texts(c->level, c->n))) ||
        py_put(d, "p", reals(c->p, c->n)) || py_put(d, "q", reals(c->q, c->n)) ||
        (c->aside && py_put(d, "note", PyUnicode_FromString(c->aside))))
        Py_CLEAR(d);
    return d;
}

static PyObject *columns(const wm_study *s)
{
    PyObject *out = PyList_New(0);
    const wm_study_column *c;

    for (int64_t j = 0; out && (c = wm_study_column_at(s, j)); j++) {
        PyObject *one = column(c);

        if (!one || PyList_Append(out, one))
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

/* The verdict of one divergence; and that of the other rows, where one table has some whose levels
 * the other lacks. Not 0 after a failure. */
static int put_direction(PyObject *d, const char *key, wm_verdict verdict, double lone,
                         const wm_estimate *rest)
{
    char name[3][24];

    snprintf(name[0], sizeof name[0], "%s_verdict", key);
    snprintf(name[1], sizeof name[1], "%s_lone", key);
    snprintf(name[2], sizeof name[2], "%s_rest", key);
    return py_put(d, name[0], PyUnicode_FromString(wm_verdict_text(verdict))) ||
           (lone > 0 && (py_put(d, name[1], PyFloat_FromDouble(lone)) ||
                         py_put(d, name[2], py_estimate(rest))));
}

PyDoc_STRVAR(study_info_doc, "study_info(study): what was found, as a dict");

static PyObject *study_info(PyObject *self, PyObject *capsule)
{
    const wm_study *s = PyCapsule_GetPointer(capsule, PY_STUDY);
    wm_study_info i;
    PyObject *d;

    (void)self;
    if (!s || !(d = PyDict_New()))
        return NULL;
    wm_study_get_info(s, &i);
    if (py_put(d, "kl_pq", py_estimate(&i.kl_pq)) || py_put(d, "kl_qp", py_estimate(&i.kl_qp)) ||
        (wm_study_column_at(s, 0) && /* no pairs */
         (put_direction(d, "kl_pq", i.verdict_pq, i.lone_p, &i.rest_pq) ||
          put_direction(d, "kl_qp", i.verdict_qp, i.lone_q, &i.rest_qp))) ||
        py_put(d, "n_p", PyLong_FromLongLong(i.n_p)) ||
        py_put(d, "n_q", PyLong_FromLongLong(i.n_q)) ||
        py_put(d, "n_train", PyLong_FromLongLong(i.n_train)) ||
        py_put(d, "n_test", PyLong_FromLongLong(i.n_test)) ||
        py_put(d, "dim", PyLong_FromLongLong(i.dim)) || py_put(d, "model", model_name(i.model)) ||
        py_put(d, "whitened", PyBool_FromLong(i.whitened)) ||
        py_put(d, "mixed_columns", PyLong_FromLongLong(i.mixed_columns)) ||
        py_put(d, "folds", PyLong_FromLongLong(i.folds)) ||
        py_put(d, "rounds", PyLong_FromLongLong(i.rounds)) ||
        (i.linear_columns && py_put(d, "alphas", reals(i.alphas.alpha, i.bridges + 1))) ||
        py_put(d, "bridges", py_bridges(i.bridges, bridge_of, s)) ||
        py_put(d, "candidates", candidates(s)) ||
        py_put(d, "mean_ratio_under_q", normaliser(&i.under_q)) ||
        py_put(d, "mean_inverse_under_p", normaliser(&i.under_p)) ||
        py_put(d, "interval", PyUnicode_FromString(wm_interval_text(i.interval))) ||
        py_put(d, "lower_pq", PyFloat_FromDouble(i.lower_pq)) ||
        py_put(d, "train_loss", PyFloat_FromDouble(i.train_loss)) ||
        py_put(d, "test_loss", PyFloat_FromDouble(i.test_loss)) ||
        py_put(d, "checks", py_checks(wm_study_checks(s))) ||
        py_put(d, "verdict", PyUnicode_FromString(wm_verdict_text(i.verdict))) ||
        py_put(d, "finished", PyBool_FromLong(i.finished)) ||
        py_put(d, "seconds", PyFloat_FromDouble(i.seconds)) || py_put(d, "columns", columns(s)))
        Py_CLEAR(d);
    return d;
}

PyDoc_STRVAR(held_out_doc,
             "held_out(study, side): log-ratios at the rows of p (0) or q (1), bytes of float64");

static PyObject *held_out(PyObject *self, PyObject *args)
{
    const wm_study *s;
    PyObject *capsule;
    const double *x;
    int64_t n = 0;
    int side;

    (void)self;
    if (!PyArg_ParseTuple(args, "Oi", &capsule, &side) ||
        !(s = PyCapsule_GetPointer(capsule, PY_STUDY)))
        return NULL;
    x = wm_study_log_ratios(s, side != 0, &n);
    return py_bytes(x, n, sizeof *x);
}

/* ---- mutual information: others ---- */

typedef struct methods_run {
    py_array joint;
    wm_schema *schema;
    wm_mi_opts o;
    wm_mi_by_method out[WM_MI_METHODS];
} methods_run;

static wm_status run_methods(void *arg, py_call *call, wm_error *err)
{
    methods_run *r = arg;
    wm_mi_method all[WM_MI_METHODS];
    wm_data *joint = NULL;
    wm_status st;

    for (int i = 0; i < WM_MI_METHODS; i++)
        all[i] = (wm_mi_method)i;
    py_call_steer(call, &r->o.control);
    if (!(st = py_array_table(&joint, &r->joint, err)))
        st = wm_mi_methods_run(r->out, WM_MI_METHODS, all, joint, r->schema, &r->o, err);
    wm_data_free(joint);
    return st;
}

PyDoc_STRVAR(mi_methods_doc,
             "mi_methods(joint, schema, dim_u, by_rank, seed, watch, threads): what "
             "other estimators say, as a dict");

static PyObject *mi_methods(PyObject *self, PyObject *args)
{
    PyObject *joint, *schema, *watch, *out = NULL;
    long long dim_u, threads;
    unsigned long long seed;
    methods_run r = {0};
    int by_rank;

    (void)self;
    wm_mi_opts_init(&r.o);
    if (!PyArg_ParseTuple(args, "OOLpKOL", &joint, &schema, &dim_u, &by_rank, &seed, &watch,
                          &threads))
        return NULL;
    r.o.dim_u = dim_u;
    r.o.by_rank = by_rank;
    r.o.control.seed = seed;
    if (!py_array_take(&r.joint, joint, 'd', PY_READ, false, "pairs") &&
        !py_schema_take(&r.schema, schema) && !py_call_run(run_methods, &r, watch, threads))
        out = PyDict_New();
    for (int i = 0; out && i < WM_MI_METHODS; i++)
        if (py_put(out, wm_mi_method_name((wm_mi_method)i),
                   Py_BuildValue("{s:d,s:d,s:d,s:N,s:d}", "mi", r.out[i].mi, "se", r.out[i].se,
                                 "bound", r.out[i].bound, "doubtful",
                                 PyBool_FromLong(r.out[i].doubtful), "seconds", r.out[i].seconds)))
            Py_CLEAR(out);
    wm_schema_free(r.schema);
    py_array_drop(&r.joint);
    return out;
}

/* ---- figures ---- */

PyDoc_STRVAR(study_figures_doc,
             "study_figures(model, schema, folder): into a folder, for its page");

static PyObject *study_figures(PyObject *self, PyObject *args)
{
    PyObject *capsule, *text;
    wm_figure *figures[WM_STUDY_FIGURES];
    wm_schema *schema = NULL;
    wm_error err = {0};
    const wm_study *s;
    const char *folder;
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOs", &capsule, &text, &folder) ||
        !(s = PyCapsule_GetPointer(capsule, PY_STUDY)) || py_schema_take(&schema, text))
        return NULL;
    st = wm_study_draw(figures, s, NULL, NULL, schema, false, &err);
    for (int i = 0; i < WM_STUDY_FIGURES; i++) {
        if (figures[i] && !st)
            st = wm_figure_write(figures[i], folder, NULL, &err);
        wm_figure_free(figures[i]);
    }
    wm_schema_free(schema);
    return st ? py_raise(st, &err) : py_none();
}

PyMethodDef py_study_methods[] = {
    {"study", study, METH_VARARGS, study_doc},
    {"study_info", study_info, METH_O, study_info_doc},
    {"held_out", held_out, METH_VARARGS, held_out_doc},
    {"mi_methods", mi_methods, METH_VARARGS, mi_methods_doc},
    {"study_figures", study_figures, METH_VARARGS, study_figures_doc},
    {NULL, NULL, 0, NULL},
};
