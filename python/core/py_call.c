/* py_call.c - a call of the library in a thread of its own. */
#include "py_call.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "waymark/ratio.h"

enum { LOOK_EVERY = 50 * 1000 * 1000 }; /* nanoseconds between looks for signals */

typedef enum event_kind { EVENT_LOG, EVENT_PROGRESS, EVENT_EVAL } event_kind;

/* What the work has to say, until the caller's thread says it to Python. */
typedef struct event {
    struct event *next;
    event_kind kind;
    wm_log_level level;
    wm_stage stage;
    int64_t number[3];
    double real[4];
    char unit[32], text[512];
} event;

struct py_call {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    volatile sig_atomic_t stop;
    bool done, watched;
    event *first, **last;
    wm_sink sink;
    py_work work;
    void *arg;
    int64_t threads;
    wm_status status;
    wm_error err;
};

/* ---- in the thread that works ---- */

/* Without memory a line is lost, not the work. */
static void tell(py_call *c, const event *e)
{
    event *copy = malloc(sizeof *copy);

    if (!copy)
        return;
    *copy = *e;
    copy->next = NULL;
    pthread_mutex_lock(&c->lock);
    *c->last = copy;
    c->last = &copy->next;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void on_log(void *ctx, wm_log_level level, const char *text)
{
    event e = {.kind = EVENT_LOG, .level = level};

    snprintf(e.text, sizeof e.text, "%s", text);
    tell(ctx, &e);
}

static void on_progress(void *ctx, const wm_progress *p)
{
    event e = {.kind = EVENT_PROGRESS, .number = {p->done, p->total}, .real = {p->elapsed, p->eta}};

    snprintf(e.unit, sizeof e.unit, "%s", p->unit);
    snprintf(e.text, sizeof e.text, "%s", p->message);
    tell(ctx, &e);
}

static int on_eval(void *ctx, const wm_evaluation *v)
{
    py_call *c = ctx;
    event e = {.kind = EVENT_EVAL,
               .stage = v->stage,
               .number = {v->round, v->step},
               .real = {v->train_loss, v->valid_loss, v->estimate, v->seconds}};

    wm_ratio_model_text(v->model, e.text, sizeof e.text);
    if (c->watched)
        tell(c, &e);
    return c->stop;
}

void py_call_steer(py_call *call, wm_fit_control *control)
{
    control->sink = &call->sink;
    control->stop = &call->stop;
    control->threads = call->threads > 0 ? call->threads : WM_AUTO;
    control->on_eval = on_eval;
    control->ctx = call;
}

const wm_sink *py_call_sink(const py_call *call)
{
    return &call->sink;
}

const volatile sig_atomic_t *py_call_stop(const py_call *call)
{
    return &call->stop;
}

static void *thread_main(void *ctx)
{
    py_call *c = ctx;

    if (c->threads > 0)
        omp_set_num_threads((int)c->threads); /* of this thread alone */
    c->status = c->work(c->arg, c, &c->err);
    pthread_mutex_lock(&c->lock);
    c->done = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- in the caller's thread ---- */

static PyObject *event_arguments(const event *e)
{
    static const char *const levels[] = {"debug", "info", "warning"};  /* by wm_log_level */
    static const char *const stages[] = {"noise", "heads", "bridges"}; /* by wm_stage */

    switch (e->kind) {
    case EVENT_LOG:
        return Py_BuildValue("(sss)", "log", levels[e->level], e->text);
    case EVENT_PROGRESS:
        return Py_BuildValue("(sLLssdd)", "progress", (long long)e->number[0],
                             (long long)e->number[1], e->unit, e->text, e->real[0], e->real[1]);
    default:
        return Py_BuildValue("(ssLsLdddd)", "eval", stages[e->stage], (long long)e->number[0],
                             e->text, (long long)e->number[1], e->real[0], e->real[1], e->real[2],
                             e->real[3]);
    }
}

/* Says all that is waiting, and forgets it; -1 as soon as Python raises. */
static int deliver(event *e, PyObject *watch, int failed)
{
    while (e) {
        event *next = e->next;

        if (!failed && watch != Py_None) {
            PyObject *args = event_arguments(e);
            PyObject *answer = args ? PyObject_Call(watch, args, NULL) : NULL;

            failed = answer ? 0 : -1;
            Py_XDECREF(answer);
            Py_XDECREF(args);
        }
        free(e);
        e = next;
    }
    return failed;
}

/* Until something is to be said, the work is done, or it is time to look for signals. */
static event *wait_a_while(py_call *c, bool *done)
{
    struct timespec until;
    event *said;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_EVERY;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&c->lock);
    if (!c->done && !c->first)
        (void)pthread_cond_timedwait(&c->changed, &c->lock, &until);
    said = c->first;
    c->first = NULL;
    c->last = &c->first;
    *done = c->done;
    pthread_mutex_unlock(&c->lock);
    return said;
}

/* The work is under way. After an exception, which stays set, it is stopped and waited for. */
static int wait_for(py_call *c, PyObject *watch)
{
    bool done = false;
    int failed = 0;

    while (!done) {
        PyThreadState *python;
        event *said;

        python = PyEval_SaveThread();
        said = wait_a_while(c, &done);
        PyEval_RestoreThread(python);
        failed = deliver(said, watch, failed);
        if (!failed && PyErr_CheckSignals())
            failed = -1;
        if (failed)
            c->stop = 1;
    }
    return failed;
}

/* A thread that no signal interrupts, nor any that it starts. */
static int start(pthread_t *thread, py_call *c)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(thread, NULL, thread_main, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void prepare(py_call *c, PyObject *watch)
{
    pthread_condattr_t clock;

    c->last = &c->first;
    c->watched = watch != Py_None;
    wm_sink_init(&c->sink);
    c->sink.ctx = c;
    if (c->watched) {
        c->sink.log = on_log;
        c->sink.progress = on_progress;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &clock);
    pthread_condattr_destroy(&clock);
}

int py_call_run(py_work work, void *arg, PyObject *watch, int64_t threads)
{
    py_call c = {.work = work, .arg = arg, .threads = threads};
    PyThreadState *python;
    pthread_t thread;
    int failed;

    prepare(&c, watch);
    if (start(&thread, &c)) {
        PyErr_SetString(PyExc_RuntimeError, "no thread could be started");
        failed = -1;
    } else {
        failed = wait_for(&c, watch);
        python = PyEval_SaveThread();
        pthread_join(thread, NULL);
        PyEval_RestoreThread(python);
        failed = deliver(c.first, watch, failed);
        if (!failed && c.status) {
            py_raise(c.status, &c.err);
            failed = -1;
        }
    }
    pthread_cond_destroy(&c.changed);
    pthread_mutex_destroy(&c.lock);
    return failed;
}

int py_call_quiet(py_work work, void *arg, int64_t threads)
{
    return py_call_run(work, arg, Py_None, threads);
}
