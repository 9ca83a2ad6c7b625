/* average_tmpl.h - the loops of average.c over `real`: included there once for float and once for
 * double, with real and NAME(name) defined. No include guard: it is meant to be read twice. */

void NAME(wmi_average_update)(wmi_average *a, const real *param)
{
    const double w = next_weight(a);
    double *restrict mean = a->mean;

#pragma omp parallel for simd schedule(static) if (a->n >= OMP_MIN)
    for (int64_t i = 0; i < a->n; i++)
        mean[i] += w * ((double)param[i] - mean[i]);
}

void NAME(wmi_average_swap_in)(wmi_average *a, real *param)
{
    assert(!a->in_place && a->count > 0);
    for (int64_t i = 0; i < a->n; i++) {
        a->held[i] = (double)param[i];
        param[i] = (real)a->mean[i];
    }
    a->in_place = true;
}

void NAME(wmi_average_swap_out)(wmi_average *a, real *param)
{
    assert(a->in_place);
    for (int64_t i = 0; i < a->n; i++)
        param[i] = (real)a->held[i];
    a->in_place = false;
}
