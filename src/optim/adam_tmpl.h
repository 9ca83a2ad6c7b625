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

/* What the gradient is multiplied by, so that its norm is at most clip. The sum runs over lanes in
 * a fixed order. */
static double STEP(clip_factor)(const wmi_adam *a, const real *g)
{
    double lane[8] = {0}, sum = 0, norm;
    int64_t i = 0;

    if (a->opts.clip == 0)
        return 1;
    for (; i + 8 <= a->n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] += (double)g[i + l] * (double)g[i + l];
    for (; i < a->n; i++)
        sum += (double)g[i] * (double)g[i];
    for (int l = 0; l < 8; l++)
        sum += lane[l];
    norm = sqrt(sum);
    return norm > a->opts.clip ? a->opts.clip / norm : 1;
}

/* One group at its own step size. Bound by memory: 4 vectors read and 3 written in one pass. */
static void STEP(update)(wmi_adam *a, const wmi_adam_group *group, double lr, double factor,
                         const real *grad, real *parameters)
{
    const real *restrict g = grad + group->first; /* these four: (group->count) */
    real *restrict param = parameters + group->first;
    real *restrict m = (real *)a->m + group->first;
    real *restrict v = (real *)a->v + group->first;
    const real b1 = (real)(1 - a->opts.beta1), b2 = (real)(1 - a->opts.beta2);
    const real eps = (real)a->opts.eps, rate = (real)(lr * group->lr_mult * correction(a));
    const real keep = (real)(1 - lr * group->lr_mult * group->decay), clip = (real)factor;

#pragma omp parallel for simd schedule(static) if (group->count >= OMP_MIN)
    for (int64_t i = 0; i < group->count; i++) {
        const real gi = clip * g[i];

        m[i] += b1 * (gi - m[i]);
        v[i] += b2 * (gi * gi - v[i]);
        param[i] = keep * param[i] - rate * m[i] / (real_sqrt(v[i]) + eps);
    }
}

static wm_status STEP(step)(wmi_adam *a, double lr, const real *grad, real *param, wm_error *err)
{
    const int64_t bad = STEP(first_bad)(grad, a->n);
    double factor;

    if (bad >= 0)
        return wmi_fail(err, WM_EDIVERGED,
                        "gradient %" PRId64 " of %" PRId64 " is %g at step %" PRId64, bad, a->n,
                        (double)grad[bad], a->t + 1);
    a->t++;
    factor = STEP(clip_factor)(a, grad);
    for (int64_t k = 0; k < a->n_groups; k++)
        if (a->groups[k].lr_mult > 0)
            STEP(update)(a, &a->groups[k], lr, factor, grad, param);
    return WM_OK;
}
