/* study_impl.h - the inside of a wm_study, shared by the files that run, fit and judge it. */
#ifndef WMI_ESTIMATORS_STUDY_IMPL_H
#define WMI_ESTIMATORS_STUDY_IMPL_H

#include "estimators/ratio_impl.h"
#include "estimators/study_data.h"
#include "waymark/study.h"

enum { WMI_MAX_CHECKS = 12, WMI_MODEL_TEXT = 64 };

/* Rows first .. first + count of a table are fold f's. */
void wmi_fold_rows(int64_t n, int64_t folds, int64_t f, int64_t *first, int64_t *count);

/* One model on one chain: its fits, one a fold, and what they say about rows that they have not
 * seen. */
typedef struct wmi_trial {
    wm_ratio_model model;
    wm_alphas alphas;
    int64_t m, folds;
    bool whiten;      /* its networks read whitened columns */
    bool refine;      /* moments are tested and refined */
    bool pilot;       /* a network gets a short training */
    int64_t scored;   /* folds, from the first, that trajectories are of: all but in a pilot */
    wm_ratio **fit;   /* (folds) */
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

/* ---- scores (study_score.c) ---- */

/* Rows of a fold that are scored at every waymark: fewer where a score is dear. */
int64_t wmi_trial_path_rows(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s);
/* Log-ratios at the fold's rows of p and q, and means at rows of the others. */
WM_MUST_CHECK wm_status wmi_trial_score_ends(wmi_trial *t, const wmi_study_data *data,
                                             const wm_study_opts *s, const wm_chain *chain,
                                             int64_t f, wm_error *err);
/* What n trajectories of fold f say: into grid (m, m + 1), beyond (m, 2), the trial's num, den and
 * loss; *train receives the mean loss at rows that the fit has seen. */
WM_MUST_CHECK wm_status wmi_trial_score_fold(wmi_trial *t, const wmi_study_data *data,
                                             const wm_study_opts *s, const wm_chain *chain,
                                             int64_t f, int64_t n, double *grid, double *beyond,
                                             double *train, wm_error *err);
/* Mean difference of the losses of the same trajectories, a - b, in the folds that both have
 * scored, and its standard error. */
double wmi_trial_compare(const wmi_trial *a, const wmi_trial *b, double *se);
/* Loss, accuracy and mean log-ratio of bridge k. */
wm_ratio_bridge wmi_trial_bridge(const wmi_trial *t, int64_t k);
/* Mean of r_k under its denominator (side 0) or of 1 / r_k under its numerator (1). */
WM_MUST_CHECK wm_status wmi_trial_normaliser(wm_normaliser *out, const wmi_trial *t, int64_t k,
                                             int side, wm_error *err);
/* log mean exp(sign x) of x (n) with its error, effective sample size and tail. */
WM_MUST_CHECK wm_status wmi_normaliser_of(wm_normaliser *out, int64_t n, const double *x,
                                          double sign, wm_error *err);
/* A mean of weights can be judged: their tail is not too heavy, and not only a few of them count.
 */
bool wmi_normaliser_judged(const wm_normaliser *n);
/* All fits of the trial as one ratio: their mean. */
WM_MUST_CHECK wm_status wmi_trial_ratio(wm_ratio **out, wmi_trial *t, const wmi_study_data *data,
                                        wm_error *err);

struct wm_study {
    wm_study_info info;
    wmi_study_data data;
    wmi_trial trial; /* the one that was kept */
    wm_candidate candidate[WM_STUDY_MAX_MODELS];
    int64_t n_candidates;
    bool whiten[WM_STUDY_MAX_MODELS], whiten_known[WM_STUDY_MAX_MODELS]; /* of the candidates */
    wm_check check[WMI_MAX_CHECKS];
    int64_t n_checks;
    bool pairs;
    double *log_r[2];      /* (n) in the order of the tables */
    double *contributions; /* (raw columns) or NULL */
    wm_ratio *ratio;
};

/* Candidates, waymarks and the trial that is kept. */
WM_MUST_CHECK wm_status wmi_study_search(wm_study *s, const wm_study_opts *opts, wm_error *err);
/* Checks and verdict from everything else in s. */
WM_MUST_CHECK wm_status wmi_study_judge(wm_study *s, wm_error *err);

#endif
