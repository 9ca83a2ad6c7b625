/* adam_fill.c - what is not set, from what is usual (adam_fill.h). */
#include "train/adam_fill.h"

static void fill_count(int64_t *x, int64_t usual)
{
    if (*x == WM_AUTO)
        *x = usual;
}

static void fill_real(double *x, double usual)
{
    if (!wm_is_set(*x))
        *x = usual;
}

void wmi_adam_fill(wm_adam_opts *a, const wm_adam_opts *usual)
{
    fill_count(&a->iterations, usual->iterations);
    fill_count(&a->batch, usual->batch);
    fill_count(&a->warmup, usual->warmup);
    fill_count(&a->eval_every, usual->eval_every);
    fill_count(&a->patience, usual->patience);
    fill_real(&a->lr, usual->lr);
    fill_real(&a->average, usual->average);
    fill_real(&a->lr_constants, usual->lr_constants);
    fill_real(&a->weight_decay, usual->weight_decay);
    fill_real(&a->clip, usual->clip);
}
