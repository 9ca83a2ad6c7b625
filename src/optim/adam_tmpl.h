/* adam_tmpl.h - the step of adam.c over `real`: included there once for float and once for double,
 * with real, real_sqrt and STEP(name) defined. No include guard: it is meant to be read twice. */

/* Index of the first gradient that is not finite, or -1. The usual case is one vectorised pass. */
static int64_t STEP(first_bad)(const real *g, int64_t n)
{
    int bad = 0;

#pragma omp parallel for simd schedule(static) reduction(| : bad) if (n >= OMP_MIN)
    for (int64_t i = 0; i < n; i++)
        bad |= !isfinite(g[i]);
    for (int64_t i = 0; bad && i < n; i++)
        if (!isfinite(g[i]))
            return i;
    return -1;
}

/* One group at its own step size. Bound by memory: 4 vectors read and 3 written in one pass. */
static void STEP(update)(wmi_adam *a, const wmi_adam_group *group, double step, const real *grad,
                         real *parameters)
{
    const real *restrict g = grad + group->first; /* these four: (group->count) */
    real *restrict param = parameters + group->first;
    real *restrict m = (real *)a->m + group->first;
    real *restrict v = (real *)a->v + group->first;
    const real b1 = (real)(1 - a->opts.beta1), b2 = (real)(1 - a->opts.beta2);
    const real eps = (real)a->opts.eps, rate = (real)step;

#pragma omp parallel for simd schedule(static) if (group->count >= OMP_MIN)
    for (int64_t i = 0; i < group->count; i++) {
        m[i] += b1 * (g[i] - m[i]);
        v[i] += b2 * (g[i] * g[i] - v[i]);
        param[i] -= rate * m[i] / (real_sqrt(v[i]) + eps);
    }
}

static wm_status STEP(step)(wmi_adam *a, double lr, const real *grad, real *param, wm_error *err)
{
    const int64_t bad = STEP(first_bad)(grad, a->n);

    if (bad >= 0)
        return wmi_fail(err, WM_EDIVERGED,
                        "gradient %" PRId64 " of %" PRId64 " is %g at step %" PRId64, bad, a->n,
                        (double)grad[bad], a->t + 1);
    a->t++;
    for (int64_t k = 0; k < a->n_groups; k++) {
        const wmi_adam_group *group = &a->groups[k];

        (void)STEP(update)(a, group, lr * group->lr_mult * correction(a), grad, param);
    }
    return WM_OK;
}
