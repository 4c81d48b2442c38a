/* SPDX-License-Identifier: Apache-2.0 */
/* model_sums.h - whether workers that train one model still have the same one
 *
 * Each tells two sums over the elements of its parameters, which travel with a step's agreement:
 * those of unlike models are unlike.  Combined, they say how far apart the workers are and whose
 * sums are the farthest from all of them together, so that nobody has to hear of each one's.
 */
#ifndef EDDIS_SYNC_MODEL_SUMS_H
#define EDDIS_SYNC_MODEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_SUM, MODEL_SQUARES, MODEL_SUMS }; /* of the elements, of their squares */

/* Largest relative difference that models have which unlike devices or builds have rounded. */
#define MODEL_SUMS_TOLERANCE 1e-3

/* What adding up the same elements in another order makes, as with another number of threads. */
#define MODEL_SUMS_ROUNDING 1e-11

/* All zero: nobody has told anything. */
struct model_sums {
    /* Of those whose sums are finite, so many workers. */
    double least[MODEL_SUMS], most[MODEL_SUMS], total[MODEL_SUMS];
    uint16_t least_rank[MODEL_SUMS], most_rank[MODEL_SUMS];
    int32_t n_finite;
    uint16_t n_odd, odd_rank; /* how many others, at most 65535, and the lowest of them */
};

enum model_verdict {
    MODELS_UNTOLD, /* there is nothing to compare */
    MODELS_ALIKE,
    MODELS_UNLIKE,     /* by more than rounding of the sums, and no more than the tolerance */
    MODELS_DIFFER,     /* by more, or not all are finite */
    MODELS_NOT_FINITE, /* all hold NaN or infinity */
};

struct model_finding {
    enum model_verdict verdict;
    double difference; /* relative: of the sum of squares to the largest; of the sum to the larger
                        * of its mean and the square root of the mean sum of squares, since elements
                        * of both signs cancel out; NAN where one is not finite */
    bool odd;          /* the model of `rank`, or all others, are not finite */
    int rank;          /* of MODELS_DIFFER: whose model is not that of the others */
    int other;         /* and where that may as well be another's, of two: whose; else -1 */
};

/* Return what one worker tells. */
struct model_sums model_sums_of(int rank, const double sum[MODEL_SUMS]);

/* Combine what workers have told, the result in acc; does not depend on the order. */
void model_sums_combine(struct model_sums *acc, const struct model_sums *in);

struct model_finding model_sums_judge(const struct model_sums *s);

#endif
