/* study_impl.h - the inside of a wm_study, shared by the files that run, fit and judge it. */
#ifndef WMI_STUDY_STUDY_IMPL_H
#define WMI_STUDY_STUDY_IMPL_H

#include "base/arena.h"
#include "check/neighbours.h"
#include "moments/normality.h"
#include "ratio/ratio_impl.h"
#include "study/study_data.h"
#include "waymark/study.h"

enum { WMI_MODEL_TEXT = 64 };
/* Share of rows that are copies of others, above which they are doubted. */
#define WMI_REPEATED 0.01

/* Rows first .. first + count of a table are fold f's. */
void wmi_fold_rows(int64_t n, int64_t folds, int64_t f, int64_t *first, int64_t *count);

/* One model on one chain: its fits, one a fold, and what they say about rows that they have not
 * seen. */
typedef struct wmi_trial {
    wm_ratio_model model;
    wm_alphas alphas;
    int64_t m, folds;
    bool whiten;    /* its networks read whitened columns */
    bool refine;    /* moments are tested and refined */
    bool brief;     /* a network gets a short training */
    int64_t scored; /* folds, from the first, that trajectories are of: all but in a short trial */
    wm_ratio **fit; /* (folds) */
    double *log_r[2]; /* (n) at the rows of p and of q, in the study's order */
    int64_t n_without;
    double *without[2]; /* (n_without) mean log-ratio at rows of p, q that a fit has seen, of fits
                           that leave out one part of the data each */
    int64_t n_path;     /* trajectories that were scored at every waymark, all folds together */
    double *num, *den;  /* (m, n_path) bridge k at waymarks k and k + 1 */
    double *grid;       /* (m, m + 1) mean of bridge k at waymark j */
    double *beyond[2];  /* (m) share of rows of p, q whose logit is unlike any in training */
    double *loss;       /* (n_path) mean over bridges, of each trajectory */
    double mean_loss, train_loss;
    double seconds;
    bool finished;
} wmi_trial;

/* Whether Adam trains terms of it; curves alone are fitted by Newton's method. */
bool wmi_is_network(wm_ratio_model model);
/* Whether the mean of fits is kept as all of them: networks, and mixtures, whose components have no
 * order. Others are linear in their parameters. */
bool wmi_keeps_members(wm_ratio_model model);

/* A short training of `model` on two folds, of which only the scores on trajectories and losses are
 * there: whether the model has a chance, and where waymarks should be. */
WM_MUST_CHECK wm_status wmi_trial_pilot(wmi_trial *t, const wmi_study_data *data,
                                        const wm_study_opts *opts, wm_ratio_model model,
                                        bool whiten, const wm_alphas *alphas, wm_error *err);
/* Fits `model` on every fold and scores it. round tells checkpoints apart. */
WM_MUST_CHECK wm_status wmi_trial_run(wmi_trial *t, const wmi_study_data *data,
                                      const wm_study_opts *opts, wm_ratio_model model, bool whiten,
                                      const wm_alphas *alphas, int64_t round, wm_error *err);
void wmi_trial_free(wmi_trial *t);
/* Whether fits are the moments of their rows and nothing else, but for a bridge here and there that
 * left them by chance. */
bool wmi_trial_only_moments(const wmi_trial *t);
/* Whether they are counts of pairs of levels (count_table.h). */
bool wmi_trial_counts(const wmi_trial *t, const wmi_study_data *data);
/* Five folds give four degrees of freedom. Moments cost so little that more parts can be left out,
 * one at a time, and the standard error known better. */
WM_MUST_CHECK wm_status wmi_trial_finer_jackknife(wmi_trial *t, const wmi_study_data *data,
                                                  const wm_study_opts *opts, wm_error *err);

/* ---- scores (study_score.c) ---- */

/* Rows of a fold that are scored at every waymark: fewer where a score is dear. */
int64_t wmi_trial_path_rows(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s);
/* Sums over bridges at n encoded rows. */
WM_MUST_CHECK wm_status wmi_log_ratios(const wm_ratio *r, int64_t n, const double *x, double *out,
                                       wm_error *err);
/* Log-ratios at the fold's rows of p and q, and means at rows of the others. */
WM_MUST_CHECK wm_status wmi_trial_score_ends(wmi_trial *t, const wmi_study_data *data,
                                             const wm_study_opts *s, const wm_chain *chain,
                                             int64_t f, wm_error *err);
/* What the trajectories of a fold say, beside what goes into the trial. */
typedef struct wmi_fold_score {
    double train;          /* mean loss at rows that the fit has seen; 0 in a short trial */
    double *grid, *beyond; /* (m, m + 1), (m, 2): the caller's */
} wmi_fold_score;

/* Scores fold f: into out, and the trial's num, den and loss. */
WM_MUST_CHECK wm_status wmi_trial_score_fold(wmi_trial *t, const wmi_study_data *data,
                                             const wm_study_opts *s, const wm_chain *chain,
                                             int64_t f, wmi_fold_score *out, wm_error *err);
/* Mean difference of the losses of the same trajectories, a - b, in the folds that both have
 * scored, and its standard error. */
double wmi_trial_compare(const wmi_trial *a, const wmi_trial *b, double *se);
/* Waymark j of the first n trajectories of fold f that were scored: x (n, dim). */
WM_MUST_CHECK wm_status wmi_trial_waymark(const wmi_trial *t, const wmi_study_data *data,
                                          const wm_study_opts *s, const wm_chain *chain, int64_t f,
                                          int64_t n, int64_t j, double *x, wm_error *err);
/* Loss, accuracy and mean log-ratio of bridge k. */
wm_bridge wmi_trial_bridge(const wmi_trial *t, int64_t k);
/* Mean of r_k under its denominator (side 0) or of 1 / r_k under its numerator (1). */
WM_MUST_CHECK wm_status wmi_trial_normaliser(wm_normaliser *out, const wmi_trial *t, int64_t k,
                                             int side, wm_error *err);
/* log mean exp(sign x) of x (n) with its error, effective sample size and tail. */
WM_MUST_CHECK wm_status wmi_normaliser_of(wm_normaliser *out, int64_t n, const double *x,
                                          double sign, wm_error *err);
/* A mean of weights of so many rows can be judged: most of them count, or enough of them do and
 * their tail is not too heavy. (Among a few different weights there is no tail.) */
bool wmi_normaliser_judged(const wm_normaliser *n, int64_t rows);
/* All fits of the trial as one ratio: their mean. */
WM_MUST_CHECK wm_status wmi_trial_ratio(wm_ratio **out, wmi_trial *t, const wmi_study_data *data,
                                        wm_error *err);

/* What a witness of the kept trial found: nats of a bridge's loss, where that is clearest. */
typedef struct wmi_missed {
    bool asked;
    int64_t bridge;
    double gain, se;
} wmi_missed;

struct wm_study {
    wm_study_info info;
    wmi_study_data data;
    wmi_trial trial; /* the one that was kept */
    wm_candidate candidate[WM_STUDY_MAX_MODELS];
    int64_t n_candidates;
    bool whiten[WM_STUDY_MAX_MODELS], whiten_known[WM_STUDY_MAX_MODELS]; /* of the candidates */
    wm_checks checks;
    bool *lone[2];    /* (n) rows of the tables whose levels the other one lacks; NULL for pairs */
    bool rest_failed; /* a check that is not of levels: no number means anything */
    wmi_missed missed;
    wmi_neighbours near; /* of pairs, beside the trial that is kept */
    double
        best_bound[2]; /* most that any candidate said on these waymarks, of KL(p, q), KL(q, p) */
    bool bent;         /* columns of two tables were bent (bend.h) */
    bool suspect;      /* that, or tables do not look normal */
    bool pairs;
    bool by_form;               /* the answer is a form by moments */
    bool normal;                /* and rows look as it has them */
    wmi_normality normality[2]; /* of p and of q, where that was asked: else all 0 */
    double *log_r[2];           /* (n) in the order of the tables */
    double *contributions;      /* (raw columns) or NULL */
    wm_study_column *column;    /* (raw columns), of two tables; NULL for pairs */
    wmi_arena arena;            /* what the columns point to */
    wm_ratio *ratio;
    wm_moments *whole[2]; /* of all rows, encoded, where the tables are samples; or NULL */
};

/* Candidates, waymarks and the trial that is kept. */
WM_MUST_CHECK wm_status wmi_study_search(wm_study *s, const wm_study_opts *opts, wm_error *err);
/* s->whole from opts->moments, where every column is a number that is only scaled. */
WM_MUST_CHECK wm_status wmi_study_take_moments(wm_study *s, const wm_study_opts *opts,
                                               wm_error *err);
/* The ratio by the moments of all rows, if that is what the fits are. */
WM_MUST_CHECK wm_status wmi_study_use_moments(wm_study *s, wm_error *err);
/* KL(p, q) and KL(q, p) with their intervals; s->ratio is there. shift was taken off the
 * log-ratios, and norm_se is its error. */
WM_MUST_CHECK wm_status wmi_study_estimate(wm_study *s, const wm_study_opts *opts, double shift,
                                           double norm_se, wm_error *err);
/* Where p or q has rows whose levels the other lacks: in place of that divergence there is that of
 * the other rows. */
WM_MUST_CHECK wm_status wmi_study_estimate_rest(wm_study *s, const wm_study_opts *opts,
                                                wm_error *err);
/* Log-ratios at the rows of p (which 0) or q (1), in the study's order, less shift: by the fits
 * that have not seen them into fresh, and the mean of those that have into seen. Of pairs the rows
 * of q are those of a fold with others of it, `times` over: both (times, n). */
WM_MUST_CHECK wm_status wmi_study_score_rows(const wm_study *s, const wm_study_opts *opts,
                                             int which, int64_t times, double shift, double *fresh,
                                             double *seen, wm_error *err);
/* The columns one by one, but for their shares, and the checks of levels that one table lacks. */
WM_MUST_CHECK wm_status wmi_study_columns(wm_study *s, const wm_data *p, const wm_data *q,
                                          const wm_schema *schema, const wm_study_opts *opts,
                                          wm_error *err);
/* What of KL(p, q) goes without each column; s->ratio is there. */
WM_MUST_CHECK wm_status wmi_study_shares(wm_study *s, const wm_data *p, const wm_data *q,
                                         wm_error *err);
/* Whether the answer is a form by moments, and p and q, or pairs, look as it has them. */
WM_MUST_CHECK wm_status wmi_study_look_at_form(wm_study *s, const wm_study_opts *opts,
                                               wm_error *err);
/* Whether the form may be believed where there are no rows: they look normal, and it does not go on
 * too far. */
bool wmi_study_form_goes_on(const wm_study *s);
/* Of pairs: whether the form may have missed something. */
/* No column of levels, none of whole numbers. */
bool wmi_study_all_continuous(const wmi_encoder *e);
void wmi_study_check_form(wm_study *s);
/* Of two tables: whether each has rows where the other has some. The columns are there. */
WM_MUST_CHECK wm_status wmi_study_check_support(wm_study *s, wmi_stop stop, wm_error *err);
/* What random trees see that the trial does not, into s->missed; whether that is clear; and the
 * check. */
WM_MUST_CHECK wm_status wmi_study_ask_witness(wm_study *s, const wm_study_opts *opts,
                                              wm_error *err);
bool wmi_study_misses(const wm_study *s);
void wmi_study_check_missed(wm_study *s);
/* Whether a form by moments is under suspicion before it is tried; s->data is there. */
WM_MUST_CHECK wm_status wmi_study_suspect(wm_study *s, const wm_study_opts *opts, wm_error *err);
/* Trial t of these waymarks is one of those that the one which is kept must answer for; and the
 * intervals by what others say more. */
WM_MUST_CHECK wm_status wmi_study_see_rival(wm_study *s, const wmi_trial *t, wm_error *err);
WM_MUST_CHECK wm_status wmi_study_widen_by_rivals(wm_study *s, wm_error *err);
/* Of pairs in few columns: what neighbours say beside the trial, into s->near; whether that is
 * clearly more; and the check, which widens the interval. */
WM_MUST_CHECK wm_status wmi_study_ask_neighbours(wm_study *s, const wm_study_opts *opts,
                                                 wm_error *err);
bool wmi_study_neighbours_see_more(const wm_study *s);
void wmi_study_check_neighbours(wm_study *s);
/* Of counts: log of the mean of r over pairs of rows that are none, by fits that have not seen
 * them. */
WM_MUST_CHECK wm_status wmi_study_counted_mean(double *log_mean, const wm_study *s,
                                               const wm_study_opts *opts, wm_error *err);
/* Checks and verdict from everything else in s; p is the table as given. */
WM_MUST_CHECK wm_status wmi_study_judge(wm_study *s, const wm_data *p, const wm_study_opts *opts,
                                        wm_error *err);

#endif
