/* lr_schedule.h - the learning rate of a step: a pure function, so that a resumed run needs only
 * the step number. */
#ifndef WMI_OPTIM_LR_SCHEDULE_H
#define WMI_OPTIM_LR_SCHEDULE_H

#include <stdint.h>

typedef enum wmi_lr_kind {
    WMI_LR_CONSTANT,
    WMI_LR_COSINE, /* lr0 (1 + cos(pi t / total)) / 2, 0 from t = total on */
} wmi_lr_kind;

typedef struct wmi_lr_schedule {
    wmi_lr_kind kind;
    double lr0;
    int64_t total;  /* steps in all; read by the cosine only, and then >= 1 */
    int64_t warmup; /* the first `warmup` steps are also multiplied by (t + 1) / warmup; 0: none */
} wmi_lr_schedule;

/* Learning rate of step t = 0, 1, ... */
double wmi_lr_at(const wmi_lr_schedule *s, int64_t t);

#endif
