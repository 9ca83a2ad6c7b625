/* sampler_impl.h - what sampler.c and sampler_state.c know of a sampler. */
#ifndef WMI_SAMPLE_SAMPLER_IMPL_H
#define WMI_SAMPLE_SAMPLER_IMPL_H

#include "sample/adapt.h"
#include "sample/herd.h"

typedef enum wmi_stage {
    WMI_STAGE_START, /* the density at the start is not known */
    WMI_STAGE_IDLE,  /* between transitions */
    WMI_STAGE_FIND,  /* searching for a step size */
    WMI_STAGE_MOVE,  /* in a transition */
    WMI_STAGE_OVER,  /* nothing left to do */
} wmi_stage;

typedef enum wmi_trouble {
    WMI_TROUBLE_NONE,
    WMI_TROUBLE_START, /* density or gradient not finite */
    WMI_TROUBLE_STEP,  /* no step size found */
} wmi_trouble;

/* A chain's course through warm-up and draws. */
typedef struct wmi_course {
    wmi_stage phase;
    wmi_trouble trouble;
    bool find;   /* a step size must be searched before the next transition */
    double pull; /* with which dual averaging starts after that */
    double step; /* of the next transition, or where the search begins */
    wmi_dual dual;
    wmi_variances variances;
    /* of the draw that is being thinned */
    double accept;
    int64_t n_leapfrog, depth;
    bool divergent;
    /* of all transitions so far, for the words of the progress */
    double all_accept, all_leapfrogs, all_divergent;
} wmi_course;

struct wm_sampler {
    wm_sample_opts opts;
    wm_moves moves; /* settled */
    wmi_herd herd;
    wmi_windows windows;
    wmi_course *course; /* (chains) */
    double *variances;  /* (chains, 2, dim) */
    wm_draws draws;
    wm_task progress;
    double saved; /* clock of the last save */
};

#endif
