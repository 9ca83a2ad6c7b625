/* py_call.h - a call of the library on behalf of Python: it works in a thread of its own while the
 * caller waits without the GIL, looks for signals and hands words and progress to Python.
 *
 * The thread is why Ctrl-C is heard, why callbacks come in the caller's thread, and why a process
 * can fork after a fit: OpenMP keeps a team for each thread that starts one, and this one ends. */
#ifndef WM_PY_CALL_H
#define WM_PY_CALL_H

#include "py_args.h"

#include <signal.h>

#include "waymark/fit.h"

typedef struct py_call py_call;

/* What is done in the thread. It must not touch Python. */
typedef wm_status (*py_work)(void *arg, py_call *call, wm_error *err);

/* Run it.
 * watch: a callable or None: watch("log", level, text), watch("progress", done, total, unit,
 *        message, elapsed, eta), watch("eval", stage, round, model, step, train loss, validation
 *        loss, estimate, seconds). If it raises, the work is stopped and the exception goes on
 * threads: for OpenMP; below 1: as many as it has
 * Returns 0, or -1 with an exception set: that of a signal handler or of watch, or what the status
 * says. */
int py_call_run(py_work work, void *arg, PyObject *watch, int64_t threads);

/* The same for work that is short and says nothing. */
int py_call_quiet(py_work work, void *arg, int64_t threads);

/* For the work: sink, stop flag and evaluations into the control of a fit, or alone. */
void py_call_steer(py_call *call, wm_fit_control *control);
const wm_sink *py_call_sink(const py_call *call);
const volatile sig_atomic_t *py_call_stop(const py_call *call);

#endif
