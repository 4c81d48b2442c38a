/* SPDX-License-Identifier: Apache-2.0 */
/* model_sums.h - checks whether workers that train one model still have equal parameters
 *
 * Each worker reports two sums over the elements of its parameters, which travel with a step's
 * agreement.  Different models have different sums.  The combined sums show how far apart the
 * workers are and whose sums are farthest from the mean, without sending every worker's sums.
 */
#ifndef EDDIS_SYNC_MODEL_SUMS_H
#define EDDIS_SYNC_MODEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_SUM, MODEL_SQUARES, MODEL_SUMS }; /* sum of the elements, sum of their squares */

/* The largest relative difference explained by the rounding of different devices or builds. */
#define MODEL_SUMS_TOLERANCE 1e-3

/* The largest relative difference explained by adding the same elements in another order, as with
 * another number of threads.
 */
#define MODEL_SUMS_ROUNDING 1e-11

/* The combined sums of some workers.  All zero: no worker has reported. */
struct model_sums {
    /* Least, largest and total sums of the n_finite workers whose sums are finite. */
    double least[MODEL_SUMS], most[MODEL_SUMS], total[MODEL_SUMS];
    uint16_t least_rank[MODEL_SUMS], most_rank[MODEL_SUMS];
    int32_t n_finite;
    /* number of workers whose sums are not finite, at most 65535, and their lowest rank */
    uint16_t n_odd, odd_rank;
};

/* The results of comparing models. */
enum model_verdict {
    MODELS_NONE, /* there is nothing to compare */
    MODELS_ALIKE,
    MODELS_UNLIKE,     /* models differ by more than MODEL_SUMS_ROUNDING, at most
                        * MODEL_SUMS_TOLERANCE */
    MODELS_DIFFER,     /* models differ by more than MODEL_SUMS_TOLERANCE, or some are not finite */
    MODELS_NOT_FINITE, /* all models hold NaN or infinity */
};

/* The result of comparing all workers' models. */
struct model_finding {
    enum model_verdict verdict;
    /* relative difference of the models' sums.  That of the sums of squares is divided by the
     * largest; that of the sums is divided by the larger of their mean and the root of the mean sum
     * of squares, since elements of both signs cancel out.  NAN: some model is not finite
     */
    double difference;
    bool odd;  /* either the model of `rank` or all others are not finite */
    int rank;  /* MODELS_DIFFER: the rank whose model differs from the others */
    int other; /* the second candidate for `rank` if two are equally likely; else -1 */
};

/* Return the report of one worker, from its two sums. */
struct model_sums model_sums_of(int rank, const double sum[MODEL_SUMS]);

/* Add the reports in `in` to acc.  The order does not matter. */
void model_sums_combine(struct model_sums *acc, const struct model_sums *in);

/* Return what a comparison of the models of all combined reports finds, with the worker that
 * differs, if any.
 */
struct model_finding model_sums_judge(const struct model_sums *s);

#endif
