/* omniglot_figure.h - the figure like the paper's 4, and the accuracies of others that it shows. */
#ifndef REPRODUCE_OMNIGLOT_OMNIGLOT_FIGURE_H
#define REPRODUCE_OMNIGLOT_OMNIGLOT_FIGURE_H

#include "omniglot.h"

enum { OMNIGLOT_SIDES = 3, OMNIGLOT_CITED = 4 };

/* Test accuracy of linear probes for d = 1, 4, 9 in Ozair et al. 2019, as the paper cites them. */
typedef struct omniglot_others {
    const char *name;
    double accuracy[OMNIGLOT_SIDES];
} omniglot_others;
extern const omniglot_others omniglot_cited[OMNIGLOT_CITED];

/* Left: mutual information against d, with the truth and the most that InfoNCE can say; right: how
 * well linear probes read the characters, of seen and of unseen drawings, beside the cited numbers.
 * note says what these are of. The figure is the result's. */
void omniglot_figure(reproduce_result *out, const omniglot_job *jobs,
                     const omniglot_outcome *outcomes, int n, const char *note);

#endif
