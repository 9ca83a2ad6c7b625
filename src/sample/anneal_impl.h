/* anneal_impl.h - what the files of annealing share: the schedule, and the pilot that finds step
 * sizes. */
#ifndef WMI_SAMPLE_ANNEAL_IMPL_H
#define WMI_SAMPLE_ANNEAL_IMPL_H

#include "sample/adapt.h"
#include "sample/herd.h"

/* Settled and checked. */
WM_MUST_CHECK wm_status wmi_anneal_opts_settle(wm_anneal_opts *out, wm_moves *moves,
                                               const wm_anneal_opts *in, const wm_path *path,
                                               int64_t chains, bool has_log_f, wm_error *err);

/* One change of weight: of bridge k, to `to`. Bridges above k have weight 1 then, those below 0. */
typedef struct wmi_change {
    int64_t k;
    double to;
} wmi_change;

/* How many changes each of m bridges gets of so many steps: one, and of the others its share;
 * shares NULL: steps / m. Gives their sum. */
int64_t wmi_anneal_counts(int64_t m, int64_t steps, const double *shares, int64_t *count);

/* Change t of a path of m bridges with so many changes each, (m). */
wmi_change wmi_anneal_change(wm_anneal_way way, int64_t m, const int64_t *count, int64_t t);

static inline void wmi_anneal_weights(double *weights, int64_t m, wmi_change at)
{
    for (int64_t i = 0; i < m; i++)
        weights[i] = i == at.k ? at.to : i > at.k;
}

/* The pilot: a few chains that go up the path and adapt, stage by stage: the base, then each bridge
 * with half of its transitions on the way up and half at full weight. */
typedef struct wmi_pilot wmi_pilot;

WM_MUST_CHECK wm_status wmi_pilot_new(wmi_pilot **out, const wm_path *path,
                                      const wm_anneal_opts *opts, const wm_moves *moves,
                                      const double *start, wm_error *err);
void wmi_pilot_free(wmi_pilot *p);
/* table (bridges + 1): the chains' mean log step at the end of each stage. */
WM_MUST_CHECK wm_status wmi_pilot_run(wmi_pilot *p, double *table, wm_error *err);

typedef enum wmi_anneal_phase {
    WMI_ANNEAL_IDLE,  /* before a change, nothing asked */
    WMI_ANNEAL_FIRST, /* the first term is wanted, at all weights 1 */
    WMI_ANNEAL_ASK,   /* the density after a change is wanted */
    WMI_ANNEAL_MOVE,  /* in a transition */
    WMI_ANNEAL_OVER,  /* nothing left to do, or failed */
} wmi_anneal_phase;

typedef struct wmi_anneal_course {
    wmi_anneal_phase phase;
    bool failed;
    double term;                            /* log r at the state of the bridge that changes next */
    double change;                          /* of the log weight, when the transition is over */
    double *accept, *leapfrogs, *divergent; /* (bridges) sums over this chain's transitions */
} wmi_anneal_course;

struct wm_anneal {
    wm_anneal_opts opts; /* settled */
    wm_moves moves;      /* settled */
    int64_t m, *count;   /* bridges, and changes of each, (m) */
    wmi_herd herd;
    wmi_pilot *pilot; /* NULL if the table was given */
    bool has_table;
    wmi_anneal_course *course; /* (chains) */
    double *sums;              /* (chains, 3, bridges) */
    wm_annealed result;
    wm_task progress;
    double saved; /* clock of the last save */
};

/* Brings the result's sums up to date. */
void wmi_anneal_gather(wm_anneal *a);

#endif
