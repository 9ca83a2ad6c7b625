/* py_embed.c - representations of pairs: fit, g(u), mutual information, file. */
#include <stdlib.h>

#include "py_call.h"
#include "waymark/embed.h"

enum { PARTNERS = 10 }; /* of a held-out pair, for the calibration */

static const char *const objectives[] = {"logistic", "infonce", NULL}; /* by wm_embed_objective */

#define AT(FIELD) offsetof(wm_embed_opts, FIELD)

static const py_option settings[] = {
    {"objective", 'n', AT(objective), objectives},
    {"bridges", 'i', AT(bridges), NULL},
    {"width", 'i', AT(mlp_width), NULL},
    {"blocks", 'i', AT(mlp_blocks), NULL},
    {"features", 'i', AT(features), NULL},
    {"iterations", 'i', AT(adam.iterations), NULL},
    {"batch", 'i', AT(adam.batch), NULL},
    {"lr", 'r', AT(adam.lr), NULL},
    {"seed", 'u', AT(control.seed), NULL},
    {"time_limit", 'r', AT(control.time_limit), NULL},
    {"checkpoint", 't', AT(control.checkpoint), NULL},
    {NULL, 0, 0, NULL},
};

/* ---- fitting ---- */

typedef struct embed_run {
    py_array raw[2]; /* u, v: rows of all parts, one after the other */
    double held_out;
    wm_schema *schema[2];
    wm_own_pairs pairs;
    wm_embed_opts o;
    wm_embed *embed;
    wm_estimate mi, calibrated;
} embed_run;

/* Scales are learned from the pairs that are trained on. */
static wm_status encode(embed_run *r, wm_error *err)
{
    wm_status st = wm_own_pairs_start(&r->pairs, r->raw[0].n, r->held_out, err);

    for (int side = 0; side < 2 && !st; side++) {
        const double *x = py_doubles(&r->raw[side]);
        wm_columns *columns = NULL;

        if (!(st = wm_columns_fit(&columns, r->pairs.part[WM_PART_TRAIN].n, x, r->schema[side],
                                  err)))
            st = wm_own_pairs_side(&r->pairs, side, x, columns, err);
    }
    return st ? st : wm_own_pairs_blocks(&r->pairs, (wm_embed_shape){0}, NULL, err);
}

static wm_status judge(embed_run *r, const py_call *call, wm_error *err)
{
    wm_status st =
        wm_embed_mi(r->embed, &r->pairs.part[WM_PART_TEST], &r->mi, NULL, py_call_stop(call), err);

    if (st || r->o.objective == WM_EMBED_INFONCE)
        return st;
    return wm_embed_mi_calibrated(r->embed, &r->pairs.part[WM_PART_VALID], PARTNERS,
                                  &r->pairs.part[WM_PART_TEST], py_call_sink(call), &r->calibrated,
                                  py_call_stop(call), err);
}

static wm_status run_fit(void *arg, py_call *call, wm_error *err)
{
    embed_run *r = arg;
    wm_status st;

    py_call_steer(call, &r->o.control);
    if ((st = encode(r, err)) ||
        (st = wm_embed_fit(&r->embed, &r->pairs.part[WM_PART_TRAIN], &r->pairs.part[WM_PART_VALID],
                           r->pairs.blocks, &r->o, err)) ||
        (st = wm_embed_set_columns(r->embed, r->pairs.columns[0], r->pairs.columns[1], err)))
        return st;
    return judge(r, call, err);
}

static void free_run(embed_run *r)
{
    wm_embed_free(r->embed);
    wm_own_pairs_clear(&r->pairs);
    for (int s = 0; s < 2; s++) {
        wm_schema_free(r->schema[s]);
        py_array_drop(&r->raw[s]);
    }
}

static void free_embed(PyObject *capsule)
{
    wm_embed_free(PyCapsule_GetPointer(capsule, PY_EMBED));
}

static void bridge_of(const void *from, int64_t k, wm_bridge *out)
{
    *out = wm_embed_get_bridge(from, k);
}

/* (model, what is known about it) */
static PyObject *answer(embed_run *r)
{
    wm_checks checks = {0};
    wm_embed_info i;
    PyObject *model, *d;

    wm_embed_get_info(r->embed, &i);
    wm_embed_check(r->embed, r->pairs.part[WM_PART_TEST].n, &r->mi, &r->calibrated, &checks);
    d = Py_BuildValue("{s:N,s:N,s:L,s:L,s:L,s:L,s:L,s:N,s:d,s:N,s:s,s:N}", "mi",
                      py_estimate(&r->mi), "mi_calibrated", py_estimate(&r->calibrated), "dim_u",
                      (long long)r->raw[0].dim, "dim_v", (long long)r->raw[1].dim, "features",
                      (long long)i.features, "n_train", (long long)r->pairs.part[WM_PART_TRAIN].n,
                      "n_test", (long long)r->pairs.part[WM_PART_TEST].n, "bridges",
                      py_bridges(i.bridges, bridge_of, r->embed), "seconds", i.seconds, "checks",
                      py_checks(&checks), "verdict", wm_verdict_text(wm_checks_verdict(&checks)),
                      "finished", PyBool_FromLong(i.finished));
    if (!d || !(model = PyCapsule_New(r->embed, PY_EMBED, free_embed))) {
        Py_XDECREF(d);
        return NULL;
    }
    r->embed = NULL; /* the capsule's */
    return Py_BuildValue("(NN)", model, d);
}

PyDoc_STRVAR(embed_doc, "embed(u, v, schema_u, schema_v, held_out, settings, watch, "
                        "threads): (capsule, dict)");

static PyObject *embed(PyObject *self, PyObject *args)
{
    PyObject *u, *v, *schema[2], *dict, *watch, *out = NULL;
    long long threads;
    embed_run r = {0};

    (void)self;
    wm_embed_opts_init(&r.o);
    if (!PyArg_ParseTuple(args, "OOOOdOOL", &u, &v, &schema[0], &schema[1], &r.held_out, &dict,
                          &watch, &threads))
        return NULL;
    if (py_array_take(&r.raw[0], u, 'd', PY_READ, false, "u") ||
        py_array_take(&r.raw[1], v, 'd', PY_READ, false, "v") ||
        py_schema_take(&r.schema[0], schema[0]) || py_schema_take(&r.schema[1], schema[1]) ||
        py_options_take(dict, settings, &r.o))
        goto done;
    r.o.control.resume = r.o.control.checkpoint != NULL;
    if (r.raw[0].n != r.raw[1].n)
        PyErr_SetString(PyExc_ValueError, "u and v need as many rows as each other");
    else if (!py_call_run(run_fit, &r, watch, threads))
        out = answer(&r);
done:
    free_run(&r);
    return out;
}

/* ---- the representation ---- */

typedef struct rows_run {
    const wm_embed *embed;
    py_array u, g;
} rows_run;

static wm_status run_rows(void *arg, py_call *call, wm_error *err)
{
    rows_run *r = arg;
    const wm_columns *c = wm_embed_columns(r->embed, 0);
    float *rows = malloc(sizeof *rows * (size_t)(r->u.n * wm_columns_dim(c)));
    wm_status st = rows ? WM_OK : WM_ENOMEM;

    if (!st && !(st = wm_columns_apply(c, r->u.n, py_doubles(&r->u), rows, err)))
        st = wm_embed_rows(r->embed, r->u.n, rows, r->g.view.buf, py_call_stop(call), err);
    free(rows);
    return st;
}

PyDoc_STRVAR(embed_rows_doc, "embed_rows(model, u, g, threads): fills g, float32");

static PyObject *embed_rows(PyObject *self, PyObject *args)
{
    PyObject *capsule, *u, *g;
    wm_embed_info info;
    rows_run r = {0};
    long long threads;
    int failed;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOL", &capsule, &u, &g, &threads) ||
        !(r.embed = PyCapsule_GetPointer(capsule, PY_EMBED)))
        return NULL;
    wm_embed_get_info(r.embed, &info);
    failed = py_array_take(&r.u, u, 'd', PY_READ, false, "u") ||
             py_array_take(&r.g, g, 'f', PY_WRITE, false, "g");
    if (!failed &&
        (!wm_embed_columns(r.embed, 0) || r.u.dim != wm_columns_raw(wm_embed_columns(r.embed, 0)) ||
         r.g.n != r.u.n || r.g.dim != info.features)) {
        PyErr_Format(PyExc_ValueError, "u has %lld columns: the model was fitted to others",
                     (long long)r.u.dim);
        failed = -1;
    }
    failed = failed || py_call_quiet(run_rows, &r, threads);
    py_array_drop(&r.u);
    py_array_drop(&r.g);
    if (failed)
        return NULL;
    return py_none();
}

/* ---- files ---- */

PyDoc_STRVAR(embed_load_doc, "embed_load(path): (capsule, features, schema of u or None)");

static PyObject *embed_load(PyObject *self, PyObject *arg)
{
    const char *path = PyUnicode_AsUTF8AndSize(arg, NULL), *schema = NULL;
    wm_error err = {0};
    wm_embed *e = NULL;
    wm_embed_info info;
    PyObject *capsule;
    wm_status st;

    (void)self;
    if (!path)
        return NULL;
    if ((st = wm_embed_load(&e, path, &err)))
        return py_raise(st, &err);
    wm_embed_get_info(e, &info);
    if (wm_embed_columns(e, 0))
        schema = wm_columns_schema(wm_embed_columns(e, 0));
    if (!(capsule = PyCapsule_New(e, PY_EMBED, free_embed))) {
        wm_embed_free(e);
        return NULL;
    }
    return Py_BuildValue("(NLz)", capsule, (long long)info.features, schema);
}

PyDoc_STRVAR(embed_save_doc, "embed_save(model, path): a safetensors file");

static PyObject *embed_save(PyObject *self, PyObject *args)
{
    const wm_embed *e;
    PyObject *capsule;
    wm_error err = {0};
    const char *path;
    wm_status st;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &path) ||
        !(e = PyCapsule_GetPointer(capsule, PY_EMBED)))
        return NULL;
    if ((st = wm_embed_save(e, path, &err)))
        return py_raise(st, &err);
    return py_none();
}

PyMethodDef py_embed_methods[] = {
    {"embed", embed, METH_VARARGS, embed_doc},
    {"embed_rows", embed_rows, METH_VARARGS, embed_rows_doc},
    {"embed_load", embed_load, METH_O, embed_load_doc},
    {"embed_save", embed_save, METH_VARARGS, embed_save_doc},
    {NULL, NULL, 0, NULL},
};
