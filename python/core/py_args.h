/* py_args.h - between Python's values and the library's: arrays, options, exceptions. */
#ifndef WM_PY_ARGS_H
#define WM_PY_ARGS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000 /* 3.11: the first whose stable ABI has the buffer protocol */
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/data.h"
#include "waymark/fit.h"
#include "waymark/read.h"
#include "waymark/sample.h"
#include "waymark/status.h"

/* ---- arrays: anything with the buffer protocol, C-contiguous, without a copy ---- */

typedef struct py_array {
    Py_buffer view; /* view.obj is NULL where nothing is held */
    int64_t n, dim; /* rows; columns, 1 for a vector */
    bool held;
} py_array;

enum { PY_READ = 0, PY_WRITE = 1 };

/* Doubles ('d') or floats ('f') of one or two axes; None leaves it empty where that is allowed.
 * what names it in the exception. 0 or -1 with TypeError or ValueError. */
int py_array_take(py_array *a, PyObject *from, char type, int access, bool may_be_none,
                  const char *what);
void py_array_drop(py_array *a); /* an empty one is fine */
double *py_doubles(const py_array *a);
/* A table over it, which does not copy. */
WM_MUST_CHECK wm_status py_array_table(wm_data **out, const py_array *a, wm_error *err);

/* Bytes that Python owns, as bytearray; n items of size. x may be NULL: None. */
PyObject *py_bytes(const void *x, int64_t n, size_t size);

/* ---- options: a dict into a struct ---- */

typedef struct py_option {
    const char *name; /* NULL ends a table */
    char kind; /* 'i' int64_t, 'u' uint64_t, 'r' double, 'f' bool, 't' text, 'n' enum by names */
    size_t at;
    const char *const *names; /* ends with NULL */
} py_option;

/* None leaves a setting as it is; texts live as long as the dict. 0, or -1 with an exception:
 * TypeError for a name that is none or a value of another type, ValueError for a choice. */
int py_options_take(PyObject *dict, const py_option *table, void *values);

/* ---- answers ---- */

PyObject *py_none(void); /* a new reference */
/* Sets the exception that a status means; returns NULL. */
PyObject *py_raise(wm_status st, const wm_error *err);
PyObject *py_estimate(const wm_estimate *e);
PyObject *py_checks(const wm_checks *list);
PyObject *py_bridges(int64_t n, void (*get)(const void *from, int64_t k, wm_bridge *out),
                     const void *from);

/* Draws with their statistics, and what is to be thought of them where that is not NULL. */
PyObject *py_draws(const wm_draws *d, const wm_diagnosis *diagnosis);

/* key = value, of which the reference is stolen; -1 also where value is NULL. */
int py_put(PyObject *dict, const char *key, PyObject *value);

/* Schema from JSON, or NULL from None. 0 or -1. */
int py_schema_take(wm_schema **out, PyObject *text);

/* ---- objects of the library, as capsules ---- */

#define PY_STUDY "waymark.study"
#define PY_RATIO "waymark.ratio"
#define PY_EBM "waymark.ebm"
#define PY_EMBED "waymark.embed"

/* ---- what the module offers, by file ---- */

extern PyMethodDef py_study_methods[], py_ratio_methods[], py_ebm_methods[], py_embed_methods[],
    py_table_methods[], py_sampler_methods[];

#endif
