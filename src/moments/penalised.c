/* penalised.c - the path of strengths (penalised.h). */
#include "moments/penalised.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "engine/backend/linalg.h"

enum {
    STRENGTHS = 15, /* of the path, two a decade */
    STEPS = 25,     /* of Newton, at most, for one strength */
    HALVINGS = 12,  /* of a step that does not lower the loss */
    PATIENCE = 2,   /* strengths that are clearly worse than the best */
};
static const double STRONGEST = 1e4;
static const double UNCLEAR = 2; /* nats by which the criterion must differ to tell two apart */
static const double FINE = 1e-8, COARSE = 1e-3; /* nats that a step must promise to be worth it */

/* The problem with its constant as a last feature, and what Newton's method needs. */
typedef struct solver {
    int64_t n, num, k; /* rows, those of the numerator, features without the constant */
    int64_t stride;    /* every stride-th row is used */
    const wmi_penalised_data *data;
    double *theta;   /* (k + 1) */
    double *next;    /* (k + 1) */
    double *grad;    /* (k + 1) */
    double *hessian; /* (k + 1, k + 1) of the losses alone, both triangles */
    double *factor;  /* (k + 1, k + 1) */
    double *score;   /* (n) */
    double *rows;    /* (n, k + 1) those that are used, with a one at their end */
    double *weight;  /* (n) */
    double *offset;  /* (n) */
    const volatile sig_atomic_t *stop;
} solver;

static void close_solver(solver *s)
{
    wmi_free(s->theta);
    wmi_free(s->next);
    wmi_free(s->grad);
    wmi_free(s->hessian);
    wmi_free(s->factor);
    wmi_free(s->score);
    wmi_free(s->rows);
    wmi_free(s->weight);
    wmi_free(s->offset);
}

/* Rows are taken every so many: the caller has put them in random order. */
static wm_status open_solver(solver *s, const wmi_penalised_data *data, int64_t stride,
                             wm_error *err)
{
    const int64_t k = data->k, wide = k + 1;
    wm_status st;

    *s = (solver){.k = k, .stride = stride, .data = data};
    s->num = (data->n[0] + stride - 1) / stride;
    s->n = s->num + (data->n[1] + stride - 1) / stride;
    if ((st = wmi_alloc(&s->theta, wide, sizeof *s->theta, "logistic regression", err)) ||
        (st = wmi_alloc(&s->next, wide, sizeof *s->next, "logistic regression", err)) ||
        (st = wmi_alloc(&s->grad, wide, sizeof *s->grad, "logistic regression", err)) ||
        (st = wmi_alloc(&s->hessian, wide * wide, sizeof(double), "logistic regression", err)) ||
        (st = wmi_alloc(&s->factor, wide * wide, sizeof(double), "logistic regression", err)) ||
        (st = wmi_alloc(&s->score, s->n, sizeof *s->score, "logistic regression", err)) ||
        (st = wmi_alloc(&s->rows, s->n * wide, sizeof *s->rows, "logistic regression", err)) ||
        (st = wmi_alloc(&s->weight, s->n, sizeof *s->weight, "logistic regression", err)) ||
        (st = wmi_alloc(&s->offset, s->n, sizeof *s->offset, "logistic regression", err)))
        return st;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t from = i < s->num ? i * stride : data->n[0] + (i - s->num) * stride;

        memcpy(s->rows + i * wide, data->x + from * k, (size_t)k * sizeof *s->rows);
        s->rows[i * wide + k] = 1;
        s->offset[i] = data->offset ? data->offset[from] : 0;
    }
    s->theta[k] = log((double)s->num / (double)(s->n - s->num));
    return WM_OK;
}

/* Losses and penalty at theta; scores are left for the derivatives. */
static double objective(solver *s, const double *theta, double strength)
{
    double sum = 0;

    memcpy(s->score, s->offset, (size_t)s->n * sizeof *s->score);
    wmi_product(s->n, 1, s->k + 1, 1, s->rows, theta, 1, s->score);
    for (int64_t i = 0; i < s->n; i++)
        sum += wmi_log1pexp(i < s->num ? -s->score[i] : s->score[i]);
    for (int64_t j = 0; j < s->k; j++)
        sum += 0.5 * strength * s->data->penalty[j] * theta[j] * theta[j];
    return sum;
}

/* Gradient with penalty, and Hessian without it, at the scores that objective() left. */
static wm_status derivatives(solver *s, double strength, wm_error *err)
{
    const int64_t wide = s->k + 1;

    for (int64_t i = 0; i < s->n; i++) {
        const double e = exp(-fabs(s->score[i])), small = e / (1 + e),
                     p = s->score[i] >= 0 ? 1 - small : small;

        s->weight[i] = small * (1 - small);
        s->score[i] = p - (i < s->num);
    }
    wmi_product(1, wide, s->n, 1, s->score, s->rows, 0, s->grad);
    for (int64_t j = 0; j < s->k; j++)
        s->grad[j] += strength * s->data->penalty[j] * s->theta[j];
    return wmi_weighted_gram(s->n, wide, s->rows, s->weight, s->hessian, err);
}

/* The factor of Hessian and penalty. The constant has no penalty: where all rows are classified
 * beyond doubt its curvature vanishes, and a little is lent to it. */
static wm_status factorise(solver *s, double strength, wm_error *err)
{
    const int64_t wide = s->k + 1;

    memcpy(s->factor, s->hessian, (size_t)(wide * wide) * sizeof *s->factor);
    for (int64_t j = 0; j < s->k; j++)
        s->factor[j * wide + j] += strength * s->data->penalty[j];
    s->factor[wide * wide - 1] += 1e-6 * (double)s->n;
    return wmi_cholesky(wide, s->factor, "logistic regression", err);
}

/* Newton's method from theta until a step promises less than `least` nats. */
static wm_status minimise(solver *s, double strength, double least, wm_error *err)
{
    const int64_t wide = s->k + 1;
    double now = objective(s, s->theta, strength);

    for (int step = 0; step < STEPS; step++) {
        double promise = 0, t = 1, then = now;
        wm_status st;

        if (s->stop && *s->stop)
            return wmi_fail(err, WM_EINTERRUPTED, "stopped on request");
        if ((st = derivatives(s, strength, err)) || (st = factorise(s, strength, err)))
            return st;
        memcpy(s->next, s->grad, (size_t)wide * sizeof *s->next);
        wmi_lower_solve(1, wide, s->factor, s->next);
        for (int64_t j = 0; j < wide; j++)
            promise += s->next[j] * s->next[j];
        if (promise < least)
            break;
        wmi_lower_solve_right(1, wide, s->factor, s->next);
        memcpy(s->grad, s->next, (size_t)wide * sizeof *s->next); /* the full step */
        for (int h = 0; h < HALVINGS; h++, t /= 2) {
            for (int64_t j = 0; j < wide; j++)
                s->next[j] = s->theta[j] - t * s->grad[j];
            then = objective(s, s->next, strength);
            if (then <= now - 1e-4 * t * promise)
                break;
        }
        if (!(then < now))
            break; /* rounding is all that is left */
        memcpy(s->theta, s->next, (size_t)wide * sizeof *s->theta);
        now = then;
    }
    (void)objective(s, s->theta, strength);
    return WM_OK;
}

/* tr((H + S)^-1 H) at theta: the numbers that b really has, held back as it is. */
static wm_status effective_numbers(solver *s, double strength, double *out, wm_error *err)
{
    const int64_t wide = s->k + 1;
    wm_status st;

    (void)objective(s, s->theta, strength);
    if ((st = derivatives(s, strength, err)) || (st = factorise(s, strength, err)))
        return st;
    wmi_cholesky_inverse(wide, s->factor);
    *out = 0;
    for (int64_t i = 0; i < wide * wide; i++)
        *out += s->factor[i] * s->hessian[i];
    return WM_OK;
}

/* What a fit is charged for its numbers, in nats: one each, and more where rows are few for that
 * many (Hurvich and Tsai). */
static double charge(double numbers, double rows)
{
    const double left = 2 * rows - numbers - 1;

    return left > 1 ? numbers + numbers * (numbers + 1) / left : INFINITY;
}

/* The best strength on the path, with theta of it. */
static wm_status choose(solver *s, wmi_penalised_fit *fit, double *best_theta, wm_error *err)
{
    const size_t bytes = (size_t)(s->k + 1) * sizeof *best_theta;
    const double rows = (double)s->num * (double)(s->n - s->num) / (double)s->n;
    const double null = objective(s, s->theta, 0);
    double best = null + charge(1, rows), gain[STRENGTHS], tried[STRENGTHS], kept = 0;
    int since = 0, n = 0;

    memcpy(best_theta, s->theta, bytes);
    for (; n < STRENGTHS && since < PATIENCE; n++) {
        const double strength = STRONGEST * pow(10, -0.5 * n);
        double numbers, loss;
        wm_status st;

        if ((st = minimise(s, strength, COARSE, err)) ||
            (st = effective_numbers(s, strength, &numbers, err)))
            return st;
        loss = objective(s, s->theta, 0);
        tried[n] = loss + charge(numbers, rows);
        /* Rows that were seen flatter by half a nat a number, and the constant is no news. */
        gain[n] = (null - loss - (numbers - 1) / 2) / rows;
        since = tried[n] < best + UNCLEAR ? 0 : since + 1;
        if (tried[n] < best) {
            best = tried[n];
            kept = gain[n];
            fit->strength = strength;
            fit->numbers = numbers;
            memcpy(best_theta, s->theta, bytes);
        }
    }
    memcpy(s->theta, best_theta, bytes);
    for (int i = 0; i < n; i++)
        if (tried[i] < best + UNCLEAR)
            fit->missed = fmax(fit->missed, gain[i] - kept);
    return WM_OK;
}

wm_status wmi_penalised_solve(wmi_penalised_fit *fit, double *b, const wmi_penalised_data *data,
                              const volatile sig_atomic_t *stop, wm_error *err)
{
    const int64_t rows = data->n[0] + data->n[1],
                  fewer = data->n[0] < data->n[1] ? data->n[0] : data->n[1];
    const int64_t most = fewer / 1000 > 1 ? fewer / 1000 : 1; /* the smaller table keeps its rows */
    const int64_t want = (rows + WMI_CHOICE_ROWS - 1) / WMI_CHOICE_ROWS,
                  stride = want < most ? want : most;
    solver part, all = {0};
    double *best = NULL;
    wm_status st;

    *fit = (wmi_penalised_fit){.strength = INFINITY, .numbers = 1};
    memset(b, 0, (size_t)data->k * sizeof *b);
    if (data->k == 0)
        return WM_OK;
    if ((st = open_solver(&part, data, stride, err)) ||
        (st = wmi_alloc(&best, data->k + 1, sizeof *best, "logistic regression", err)))
        goto done;
    part.stop = stop;
    if ((st = choose(&part, fit, best, err)) || isinf(fit->strength))
        goto done;
    if (stride > 1) { /* a ridge says what is likely of b, whatever the number of rows */
        if ((st = open_solver(&all, data, 1, err)))
            goto done;
        all.stop = stop;
        memcpy(all.theta, best, (size_t)(data->k + 1) * sizeof *best);
    }
    solver *last = stride > 1 ? &all : &part;

    if ((st = minimise(last, fit->strength, FINE, err)) ||
        (st = effective_numbers(last, fit->strength, &fit->numbers, err)))
        goto done;
    memcpy(b, last->theta, (size_t)data->k * sizeof *b);
    /* The constant of a classifier holds the numbers of rows; a ratio does not. */
    fit->c = last->theta[data->k] - log((double)last->num / (double)(last->n - last->num));
done:
    wmi_free(best);
    close_solver(&all);
    close_solver(&part);
    return st;
}
