/* penalised.c - the path of strengths (penalised.h). */
#include "moments/penalised.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stop.h"
#include "base/sums.h"
#include "engine/backend/linalg.h"

enum {
    STRENGTHS = 15, /* of the path, two a decade */
    STEPS = 25,     /* of Newton, at most, for one strength */
    HALVINGS = 12,  /* of a step that does not lower the loss */
    PATIENCE = 2,   /* strengths that are clearly worse than the best */
    ROUNDS = 12,    /* of strengths by group */
    SETTLED = 5,    /* rounds after which these tell which groups are worth their numbers */
};
static const double STRONGEST = 1e4, WEAKEST = 1e-3, DROPPED = 1e9;
static const double UNCLEAR = 2; /* nats by which the criterion must differ to tell two apart */
static const double FINE = 1e-8, COARSE = 1e-3; /* nats that a step must promise to be worth it */

/* The problem with its constant as a last feature, and what Newton's method needs. */
typedef struct solver {
    int64_t n, num, k; /* rows, those of the numerator, features without the constant */
    int64_t stride;    /* every stride-th row is used */
    const wmi_penalised_data *data;
    double *ridge;   /* (k) strength times penalty, of each feature */
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
    wmi_free(s->ridge);
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
    if ((st = wmi_alloc(&s->ridge, wide, sizeof *s->ridge, "logistic regression", err)) ||
        (st = wmi_alloc(&s->theta, wide, sizeof *s->theta, "logistic regression", err)) ||
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

/* Losses at theta; scores are left for the derivatives. */
static double losses(solver *s, const double *theta)
{
    double sum = 0;

    memcpy(s->score, s->offset, (size_t)s->n * sizeof *s->score);
    wmi_product(s->n, 1, s->k + 1, 1, s->rows, theta, 1, s->score);
    for (int64_t i = 0; i < s->n; i++)
        sum += wmi_log1pexp(i < s->num ? -s->score[i] : s->score[i]);
    return sum;
}

/* The same with the penalty. */
static double objective(solver *s, const double *theta)
{
    double sum = losses(s, theta);

    for (int64_t j = 0; j < s->k; j++)
        sum += 0.5 * s->ridge[j] * theta[j] * theta[j];
    return sum;
}

static void set_strength(solver *s, double strength)
{
    for (int64_t j = 0; j < s->k; j++)
        s->ridge[j] = strength * s->data->penalty[j];
}

/* Gradient with penalty, and Hessian without it, at the scores that objective() left. */
static wm_status derivatives(solver *s, wm_error *err)
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
        s->grad[j] += s->ridge[j] * s->theta[j];
    return wmi_weighted_gram(s->n, wide, s->rows, s->weight, s->hessian, err);
}

/* The factor of Hessian and penalty. The constant has no penalty: where all rows are classified
 * beyond doubt its curvature vanishes, and a little is lent to it. */
static wm_status factorise(solver *s, wm_error *err)
{
    const int64_t wide = s->k + 1;

    memcpy(s->factor, s->hessian, (size_t)(wide * wide) * sizeof *s->factor);
    for (int64_t j = 0; j < s->k; j++)
        s->factor[j * wide + j] += s->ridge[j];
    s->factor[wide * wide - 1] += 1e-6 * (double)s->n;
    return wmi_cholesky(wide, s->factor, "logistic regression", err);
}

/* Newton's method from theta until a step promises less than `least` nats. *here: Hessian and
 * factor are those at theta, since the last step was not taken. */
static wm_status descend(solver *s, double least, bool *here, wm_error *err)
{
    const int64_t wide = s->k + 1;
    double now = objective(s, s->theta);

    *here = true;
    for (int step = 0; step < STEPS; step++) {
        double promise = 0, t = 1, then = now;
        wm_status st;

        if ((st = wmi_heed(s->stop, err)) || (st = derivatives(s, err)) || (st = factorise(s, err)))
            return st;
        memcpy(s->next, s->grad, (size_t)wide * sizeof *s->next);
        wmi_lower_solve(1, wide, s->factor, s->next);
        for (int64_t j = 0; j < wide; j++)
            promise += s->next[j] * s->next[j];
        if (promise < least)
            return WM_OK;
        wmi_lower_solve_right(1, wide, s->factor, s->next);
        memcpy(s->grad, s->next, (size_t)wide * sizeof *s->next); /* the full step */
        for (int h = 0; h < HALVINGS; h++, t /= 2) {
            for (int64_t j = 0; j < wide; j++)
                s->next[j] = s->theta[j] - t * s->grad[j];
            then = objective(s, s->next);
            if (then <= now - 1e-4 * t * promise)
                break;
        }
        if (!(then < now))
            return WM_OK; /* rounding is all that is left */
        memcpy(s->theta, s->next, (size_t)wide * sizeof *s->theta);
        now = then;
    }
    *here = false;
    return WM_OK;
}

/* The least of the objective, from theta; *numbers = tr((H + S)^-1 H) there: what b really has,
 * held back as it is. The inverse is left in factor. */
static wm_status minimise(solver *s, double least, double *numbers, wm_error *err)
{
    const int64_t wide = s->k + 1;
    bool here;
    wm_status st;

    if ((st = descend(s, least, &here, err)))
        return st;
    if (!here) {
        (void)objective(s, s->theta);
        if ((st = derivatives(s, err)) || (st = factorise(s, err)))
            return st;
    }
    wmi_cholesky_inverse(wide, s->factor);
    *numbers = 0;
    for (int64_t i = 0; i < wide * wide; i++)
        *numbers += s->factor[i] * s->hessian[i];
    return WM_OK;
}

/* What a fit is charged for its numbers, in nats: one each, and more where rows are few for that
 * many (Hurvich and Tsai). */
static double charge(double numbers, double rows)
{
    const double left = 2 * rows - numbers - 1;

    return left > 1 ? numbers + numbers * (numbers + 1) / left : INFINITY;
}

/* ---- a strength for each group ---- */

/* What a group has at theta, with the inverse of Hessian and ridge in factor. */
typedef struct group_state {
    double numbers; /* effective */
    double squares; /* sum of penalty b^2 */
    double wald;    /* sum of b^2 / variance: twice the nats that it would cost to drop it, about */
} group_state;

static group_state look_at_group(const solver *s, int64_t first, int64_t end)
{
    group_state g = {0};

    for (int64_t j = first; j < end; j++) {
        const double var = s->factor[j * (s->k + 1) + j], b2 = s->theta[j] * s->theta[j];

        g.numbers += 1 - s->ridge[j] * var;
        g.squares += s->data->penalty[j] * b2;
        g.wald += b2 / var;
    }
    g.numbers = fmax(g.numbers, 0);
    return g;
}

static int64_t end_of_group(const solver *s, int64_t first)
{
    int64_t end = first + 1;

    while (end < s->k && s->data->group[end] == s->data->group[first])
        end++;
    return end;
}

static int64_t count_groups(const solver *s)
{
    int64_t groups = 0;

    for (int64_t first = 0; first < s->k; first = end_of_group(s, first))
        groups++;
    return groups;
}

/* One round of the strengths of all groups, where log_groups is what a group is charged for being
 * one of so many (prune: groups that are not worth that and their numbers are dropped for good).
 * *charged becomes that charge for those that are left. */
static void move_strengths(solver *s, double log_groups, bool prune, double *charged)
{
    *charged = 0;
    for (int64_t first = 0, end; first < s->k; first = end) {
        const group_state g = look_at_group(s, first, end = end_of_group(s, first));
        double strength = g.squares > 0 ? g.numbers / g.squares : DROPPED;

        if (s->ridge[first] >= DROPPED * s->data->penalty[first] ||
            (prune && g.wald / 2 < g.numbers + log_groups))
            strength = DROPPED;
        else
            *charged += log_groups * fmin(g.numbers, 1);
        strength = fmin(fmax(strength, WEAKEST), DROPPED);
        for (int64_t j = first; j < end; j++)
            s->ridge[j] = strength * s->data->penalty[j];
    }
}

/* Strengths by group from the one that is there for all: each is raised or lowered until it is what
 * its coefficients have for variance (Fellner and Schall; marginal likelihood). Where few of many
 * columns differ, one strength for all would hold these back as much as the rest. *criterion is
 * that of choose() with a charge for each group that stays, since any other might have. */
static wm_status adapt(solver *s, double rows, double *criterion, double *loss, double *numbers,
                       wm_error *err)
{
    const int64_t groups = s->data->among > 0 ? s->data->among : count_groups(s);
    const double log_groups = log((double)groups);
    double charged = 0;
    wm_status st;

    for (int round = 0; round < ROUNDS; round++) {
        if ((st = minimise(s, COARSE, numbers, err)))
            return st;
        move_strengths(s, log_groups, round >= SETTLED, &charged);
    }
    if ((st = minimise(s, COARSE, numbers, err)))
        return st;
    *loss = losses(s, s->theta);
    *criterion = *loss + charge(*numbers, rows) + charged;
    return WM_OK;
}

/* ---- the choice ---- */

/* The best so far: criterion, coefficients and ridge. */
typedef struct best_fit {
    double criterion, gain;
    double *theta, *ridge; /* (k + 1) */
} best_fit;

static void keep(best_fit *best, wmi_penalised_fit *fit, const solver *s, double criterion,
                 double gain, double strength, double numbers)
{
    best->criterion = criterion;
    best->gain = gain;
    fit->strength = strength;
    fit->numbers = numbers;
    memcpy(best->theta, s->theta, (size_t)(s->k + 1) * sizeof *s->theta);
    memcpy(best->ridge, s->ridge, (size_t)s->k * sizeof *s->ridge);
}

/* Nats of divergence that a fit has found: rows that were seen flatter by half a nat a number, and
 * the constant is no news. */
static double gain_of(double null, double loss, double numbers, double rows)
{
    return (null - loss - (numbers - 1) / 2) / rows;
}

/* The best strength on the path, or strengths of groups, with theta. */
static wm_status choose(solver *s, wmi_penalised_fit *fit, best_fit *best, wm_error *err)
{
    const double rows = (double)s->num * (double)(s->n - s->num) / (double)s->n;
    const double null = losses(s, s->theta);
    double gain[STRENGTHS], tried[STRENGTHS], numbers, loss;
    int since = 0, n = 0, least = 0;
    wm_status st;

    keep(best, fit, s, null + charge(1, rows), 0, INFINITY, 1);
    for (; n < STRENGTHS && since < PATIENCE; n++) {
        const double strength = STRONGEST * pow(10, -0.5 * n);

        set_strength(s, strength);
        if ((st = minimise(s, COARSE, &numbers, err)))
            return st;
        loss = losses(s, s->theta);
        tried[n] = loss + charge(numbers, rows);
        gain[n] = gain_of(null, loss, numbers, rows);
        since = tried[n] < best->criterion + UNCLEAR ? 0 : since + 1;
        least = tried[n] < tried[least] ? n : least;
        if (tried[n] < best->criterion && !s->data->among)
            keep(best, fit, s, tried[n], gain[n], strength, numbers);
    }
    if (s->data->group) {
        const double strength = STRONGEST * pow(10, -0.5 * least);
        double criterion;

        set_strength(s, strength);
        if ((st = adapt(s, rows, &criterion, &loss, &numbers, err)))
            return st;
        if (criterion < best->criterion)
            keep(best, fit, s, criterion, gain_of(null, loss, numbers, rows), strength, numbers);
    }
    for (int i = 0; i < n && !s->data->among; i++)
        if (tried[i] < best->criterion + UNCLEAR)
            fit->missed = fmax(fit->missed, gain[i] - best->gain);
    return WM_OK;
}

/* Coefficients and ridge into a solver. */
static void start_from(solver *s, const best_fit *best)
{
    memcpy(s->theta, best->theta, (size_t)(s->k + 1) * sizeof *s->theta);
    memcpy(s->ridge, best->ridge, (size_t)s->k * sizeof *s->ridge);
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
    best_fit best = {0};
    wm_status st;

    *fit = (wmi_penalised_fit){.strength = INFINITY, .numbers = 1};
    memset(b, 0, (size_t)data->k * sizeof *b);
    if (data->k == 0)
        return WM_OK;
    if ((st = open_solver(&part, data, stride, err)) ||
        (st = wmi_alloc(&best.theta, data->k + 1, sizeof *best.theta, "strengths", err)) ||
        (st = wmi_alloc(&best.ridge, data->k + 1, sizeof *best.ridge, "strengths", err)))
        goto done;
    part.stop = stop;
    if ((st = choose(&part, fit, &best, err)) || isinf(fit->strength))
        goto done;
    if (stride > 1) { /* a ridge says what is likely of b, whatever the number of rows */
        if ((st = open_solver(&all, data, 1, err)))
            goto done;
        all.stop = stop;
    }
    solver *last = stride > 1 ? &all : &part;

    start_from(last, &best);
    if ((st = minimise(last, FINE, &fit->numbers, err)))
        goto done;
    memcpy(b, last->theta, (size_t)data->k * sizeof *b);
    /* The constant of a classifier holds the numbers of rows; a ratio does not. */
    fit->c = last->theta[data->k] - log((double)last->num / (double)(last->n - last->num));
done:
    wmi_free(best.ridge);
    wmi_free(best.theta);
    close_solver(&all);
    close_solver(&part);
    return st;
}
