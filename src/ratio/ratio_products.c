/* ratio_products.c - products of two columns on top of additive bridges, by penalised logistic
 * regression: all of them where they are few, else those that the rows ask for most.
 *
 * How much a product z is asked for is Rao's score: (sum of (y - p) z)^2 / sum of p (1 - p) (z -
 * its mean)^2, with p the probabilities of the bridge so far; about a chi-square of one degree of
 * freedom where z adds nothing. For all pairs of features at once that is three products of
 * matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"
#include "moments/penalised.h"
#include "ratio/ratio_impl.h"

enum {
    ALL_PRODUCTS = 400, /* at most, that are tried without a choice */
    CHOSEN = 50,        /* of more */
};

/* The product of features f > g. */
typedef struct pair {
    int64_t f, g;
    double score;
} pair;

/* Numbers, and levels of categories. Single values of a number are told apart by their own
 * effects. */
static bool has_products(const wmi_encoder *e, int64_t j, int64_t f)
{
    return isnan(e->level[f]) || e->kind[j] == WM_KIND_CATEGORICAL;
}

/* Pairs of features of two columns, into out where that is not NULL; how many. */
static int64_t list_pairs(const wmi_encoder *e, pair *out)
{
    int64_t count = 0;

    for (int64_t i = 0; i < e->raw; i++)
        for (int64_t j = 0; j < i; j++)
            for (int64_t f = e->first[i]; f < e->first[i + 1]; f++)
                for (int64_t g = e->first[j]; g < e->first[j + 1]; g++)
                    if (has_products(e, i, f) && has_products(e, j, g)) {
                        if (out)
                            out[count] = (pair){.f = f, .g = g};
                        count++;
                    }
    return count;
}

bool wmi_ratio_has_products(const wmi_encoder *e)
{
    return wmi_ratio_can_curve(e) && list_pairs(e, NULL) > 0;
}

/* ---- those that are asked for ---- */

/* By score, the largest first, and then in their order. */
static int by_score(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    if (x->score != y->score)
        return (x->score < y->score) - (x->score > y->score);
    return x->f != y->f ? (x->f > y->f) - (x->f < y->f) : (x->g > y->g) - (x->g < y->g);
}

static int by_place(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    return x->f != y->f ? (x->f > y->f) - (x->f < y->f) : (x->g > y->g) - (x->g < y->g);
}

/* All (d, d): sums over rows of (y - p) x x', p (1 - p) x x' and p (1 - p) (x o x) (x o x)'. */
typedef struct score_sums {
    double *slope, *other, *cross, *square, *weight, *squared;
    double total; /* of p (1 - p) */
} score_sums;

static void free_sums(score_sums *s)
{
    wmi_free(s->slope);
    wmi_free(s->other);
    wmi_free(s->cross);
    wmi_free(s->square);
    wmi_free(s->weight);
    wmi_free(s->squared);
}

static wm_status sum_scores(score_sums *s, const int64_t n[2], int64_t d, const double *x,
                            const double *offset, wm_error *err)
{
    const int64_t all = n[0] + n[1];
    const double prior = log((double)n[0] / (double)n[1]);
    wm_status st;

    if ((st = wmi_alloc(&s->slope, d * d, sizeof *s->slope, "products", err)) ||
        (st = wmi_alloc(&s->other, d * d, sizeof *s->other, "products", err)) ||
        (st = wmi_alloc(&s->cross, d * d, sizeof *s->cross, "products", err)) ||
        (st = wmi_alloc(&s->square, d * d, sizeof *s->square, "products", err)) ||
        (st = wmi_alloc(&s->weight, all, sizeof *s->weight, "products", err)) ||
        (st = wmi_alloc(&s->squared, all * d, sizeof *s->squared, "products", err)))
        return st;
    for (int64_t i = 0; i < all; i++) { /* how far p is from y */
        const double t = offset[i] + prior;

        s->weight[i] = 1 / (1 + exp(i < n[0] ? t : -t));
    }
    if ((st = wmi_weighted_gram(n[0], d, x, s->weight, s->slope, err)) ||
        (st = wmi_weighted_gram(n[1], d, x + n[0] * d, s->weight + n[0], s->other, err)))
        return st;
    for (int64_t i = 0; i < d * d; i++)
        s->slope[i] -= s->other[i];
    for (int64_t i = 0; i < all; i++) {
        s->weight[i] *= 1 - s->weight[i];
        s->total += s->weight[i];
    }
    for (int64_t i = 0; i < all * d; i++)
        s->squared[i] = x[i] * x[i];
    if ((st = wmi_weighted_gram(all, d, x, s->weight, s->cross, err)))
        return st;
    return wmi_weighted_gram(all, d, s->squared, s->weight, s->square, err);
}

/* The CHOSEN of the pairs (*count) that are asked for most, in their order. */
static wm_status choose_pairs(pair *pairs, int64_t *count, const int64_t n[2], int64_t d,
                              const double *x, const double *offset, wm_error *err)
{
    score_sums s = {0};
    const wm_status st = sum_scores(&s, n, d, x, offset, err);

    for (int64_t c = 0; c < *count && !st; c++) {
        const int64_t at = pairs[c].f * d + pairs[c].g;
        const double spread = s.square[at] - s.cross[at] * s.cross[at] / s.total;

        /* cells that no row has, or all have, and rounding */
        pairs[c].score = spread > 1e-9 * s.total ? s.slope[at] * s.slope[at] / spread : 0;
    }
    free_sums(&s);
    if (st)
        return st;
    qsort(pairs, (size_t)*count, sizeof *pairs, by_score);
    *count = CHOSEN;
    qsort(pairs, (size_t)*count, sizeof *pairs, by_place);
    return WM_OK;
}

/* ---- their coefficients ---- */

/* Products as features: centred, of variance one. */
typedef struct products {
    int64_t n, dim, count;
    double *z;             /* (n, count) */
    double *shift, *scale; /* (count) */
    double *b, *penalty;   /* (count) */
    int64_t *group;        /* (count): each its own */
} products;

static void free_products(products *p)
{
    wmi_free(p->z);
    wmi_free(p->shift);
    wmi_free(p->scale);
    wmi_free(p->b);
    wmi_free(p->penalty);
    wmi_free(p->group);
}

static wm_status new_products(products *p, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&p->z, p->n * p->count, sizeof *p->z, "products", err)) ||
        (st = wmi_alloc(&p->shift, p->count, sizeof *p->shift, "products", err)) ||
        (st = wmi_alloc(&p->scale, p->count, sizeof *p->scale, "products", err)) ||
        (st = wmi_alloc(&p->b, p->count, sizeof *p->b, "products", err)) ||
        (st = wmi_alloc(&p->group, p->count, sizeof *p->group, "products", err)))
        return st;
    return wmi_alloc(&p->penalty, p->count, sizeof *p->penalty, "products", err);
}

static void make_product(products *p, int64_t c, const pair *of, const double *x)
{
    double mean = 0, var = 0;

    for (int64_t i = 0; i < p->n; i++) {
        p->z[i * p->count + c] = x[i * p->dim + of->f] * x[i * p->dim + of->g];
        mean += p->z[i * p->count + c] / (double)p->n;
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->z[i * p->count + c] -= mean;
        var += p->z[i * p->count + c] * p->z[i * p->count + c] / (double)p->n;
    }
    p->shift[c] = mean;
    p->scale[c] = var > 0 ? sqrt(var) : 1;
    for (int64_t i = 0; i < p->n; i++)
        p->z[i * p->count + c] /= p->scale[c];
    p->penalty[c] = 1;
    p->group[c] = c;
}

wm_status wmi_ratio_add_products(wm_ratio *r, int64_t k, const int64_t n[2], const double *x,
                                 const double *offset, const wm_ratio_opts *opts, wm_error *err)
{
    const int64_t d = r->encoder.dim;
    products p = {.n = n[0] + n[1], .dim = d, .count = list_pairs(&r->encoder, NULL)};
    double *c = r->theta + wmi_params_find(r->params, "c")->offset + k;
    double *q = r->theta + wmi_params_find(r->params, "quadratic/a")->offset + k * d * d;
    const int64_t all = p.count;
    wmi_penalised_fit fit;
    pair *pairs = NULL;
    wm_status st;

    if (all == 0)
        return WM_OK;
    if ((st = wmi_alloc(&pairs, p.count, sizeof *pairs, "products", err)))
        return st;
    (void)list_pairs(&r->encoder, pairs);
    if ((all > ALL_PRODUCTS && (st = choose_pairs(pairs, &p.count, n, d, x, offset, err))) ||
        (st = new_products(&p, err)))
        goto done;
    for (int64_t i = 0; i < p.count; i++)
        make_product(&p, i, &pairs[i], x);
    if ((st = wmi_penalised_solve(&fit, p.b,
                                  &(wmi_penalised_data){.n = {n[0], n[1]},
                                                        .k = p.count,
                                                        .x = p.z,
                                                        .penalty = p.penalty,
                                                        .group = p.group,
                                                        .among = all > ALL_PRODUCTS ? all : 0,
                                                        .offset = offset},
                                  opts->control.stop, err)))
        goto done;
    *c -= fit.c;
    for (int64_t i = 0; i < p.count; i++) {
        /* The energy x' Q x has Q_fg twice, with the sign of an energy. */
        q[pairs[i].f * d + pairs[i].g] = -0.5 * p.b[i] / p.scale[i];
        *c += p.b[i] * p.shift[i] / p.scale[i];
    }
    r->info.numbers += fit.numbers - 1;
    r->info.missed += fit.missed;
done:
    free_products(&p);
    wmi_free(pairs);
    return st;
}
