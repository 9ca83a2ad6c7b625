/* test_flow_reference.c - whole flows against PyTorch (make_flow_reference.py): z, log-determinant,
 * and the gradients of both for the input and for every trained parameter. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_run.h"
#include "named_numbers.h"

/* ---- numbers that both sides can make ---- */

static double draw(const wmi_param_entry *e, int64_t i)
{
    const double v = named_uniform(e->name, i);
    const char *last = strrchr(e->name, '/') + 1;
    const int64_t out = e->shape.dim[e->shape.rank - 1];

    if (strcmp(last, "order") == 0)
        return (double)((3 * i + 1) % e->count);
    if (strcmp(last, "sign") == 0)
        return v < 0 ? -1 : 1;
    if (strcmp(last, "lu") == 0)
        return v * sqrt(0.5 / (double)out);
    if (strcmp(last, "w") == 0)
        return v * sqrt(3 / ((double)e->count / (double)out));
    return 0.3 * v;
}

/* ---- a file of reference values ---- */

typedef double value_at(const void *ctx, int64_t i);

/* Sum, norm and the first values of a line against what the program has. */
static void check_line(const char *line, const char *name, int64_t count, value_at *at,
                       const void *ctx, double tolerance)
{
    int64_t n = 0;
    double sum = 0, norm = 0, expected[2];
    int used = 0;

    assert_int_equal(
        sscanf(line, "%*s %" SCNd64 " %lf %lf%n", &n, &expected[0], &expected[1], &used), 3);
    if (n != count)
        fail_msg("%s has %" PRId64 " numbers, expected %" PRId64, name, count, n);
    for (int64_t i = 0; i < n; i++) {
        sum += at(ctx, i);
        norm += at(ctx, i) * at(ctx, i);
    }
    norm = sqrt(norm);
    /* every difference is measured by the norm: single numbers may be zero by cancellation */
    if (!(fabs(norm - expected[1]) <= tolerance * expected[1]) ||
        !(fabs(sum - expected[0]) <= tolerance * expected[1] * sqrt((double)n)))
        fail_msg("%s: sum %.12g and norm %.12g, expected %.12g and %.12g", name, sum, norm,
                 expected[0], expected[1]);
    line += used;
    for (int64_t i = 0; i < n; i++) {
        double v;

        if (sscanf(line, "%lf%n", &v, &used) != 1)
            break;
        line += used;
        if (!(fabs(at(ctx, i) - v) <= tolerance * expected[1]))
            fail_msg("%s[%" PRId64 "] is %.12g, expected %.12g", name, i, at(ctx, i), v);
    }
}

static double double_at(const void *ctx, int64_t i)
{
    return ((const double *)ctx)[i];
}

static double float_at(const void *ctx, int64_t i)
{
    return (double)((const float *)ctx)[i];
}

/* Double agrees to rounding, which a few hundred operations and slopes of 100 raise to 1e-12; in
 * float a number may also fall into the next bin, where values and slopes go over continuously. */
static void compare(const char *file, const wmi_noise_opts *o, int64_t n, wmi_dtype dtype)
{
    const double tolerance = dtype == WMI_F64 ? 1e-10 : 1e-4;
    char path[64], line[4096], name[128];
    flow_run r;
    flow_map m;
    wm_error err = {0};
    FILE *f;
    int lines = 0, trained = 0;

    flow_open(&r, o, 0);
    for (int64_t e = 0; e < wmi_params_entries(r.params); e++) {
        const wmi_param_entry *at = wmi_params_entry(r.params, e);

        trained += flow_is_trained(at->name);
        for (int64_t i = 0; i < at->count; i++)
            r.theta[at->offset + i] = draw(at, i);
    }
    flow_to_float(&r);
    flow_map_open(&m, &r, dtype, n, false, dtype == WMI_F64);
    for (int64_t i = 0; i < n * o->dim; i++) {
        flow_put(&m, m.in, i, 3 * named_uniform("x", i));
        if (m.t)
            flow_put(&m, m.t, i, named_uniform("t", i));
    }
    if (m.t)
        assert_ok(wmi_program_backward(m.program, &err), err);
    else
        flow_run_map(&m);
    snprintf(path, sizeof path, "reference/%s.txt", file);
    f = fopen(path, "r");
    if (!f)
        fail_msg("cannot open %s", path);
    while (fgets(line, sizeof line, f)) {
        const wmi_param_entry *e;
        value_at *at = dtype == WMI_F64 ? double_at : float_at;

        assert_int_equal(sscanf(line, "%127s", name), 1);
        e = wmi_params_find(r.params, name);
        if (strcmp(name, "z") == 0)
            check_line(line, name, n * o->dim, at, wmi_program_value(m.program, m.out), tolerance);
        else if (strcmp(name, "log_det") == 0)
            check_line(line, name, n, at, wmi_program_value(m.program, m.log_det), tolerance);
        else if (strcmp(name, "x") == 0 && m.t)
            check_line(line, name, n * o->dim, at, wmi_program_grad(m.program, m.x), tolerance);
        else if (strcmp(name, "x") != 0 && !e)
            fail_msg("%s: no parameter is called %s", path, name);
        else if (e && m.t)
            check_line(line, name, e->count, at, m.grad + e->offset, tolerance);
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, trained + 3); /* every trained parameter is in the file */
    flow_map_close(&m);
    flow_close(&r);
}

static void image_flow_agrees_with_torch(void **state)
{
    const wmi_noise_opts o = flow_image(8, 4, 1, 2, 2, 5);

    (void)state;
    compare("flow_image", &o, 3, WMI_F64);
    compare("flow_image", &o, 3, WMI_F32);
}

static void table_flow_agrees_with_torch(void **state)
{
    const wmi_noise_opts o = flow_table(5, 3, 8);

    (void)state;
    compare("flow_table", &o, 5, WMI_F64);
    compare("flow_table", &o, 5, WMI_F32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_flow_agrees_with_torch),
        cmocka_unit_test(table_flow_agrees_with_torch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
