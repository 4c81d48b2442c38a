/* SPDX-License-Identifier: Apache-2.0 */
/* model_check.h - result of comparing the models of workers that should be equal */
#ifndef EDDIS_MODEL_MODEL_CHECK_H
#define EDDIS_MODEL_MODEL_CHECK_H

#include <stdint.h>

/* Default number of steps between two comparisons */
enum { MODEL_CHECK_EVERY = 256 };

enum {
    MODEL_CHECK_ALIKE,      /* all compared models are equal */
    MODEL_CHECK_DIFFER,     /* one worker's model differs from the others */
    MODEL_CHECK_NOT_FINITE, /* all models contain NaN or infinity */
};

/* Result so far; placed in shared memory (lib/board/layout.h).  "After step s" means s steps were
 * done.
 */
struct model_check {
    int64_t compared; /* number of comparisons */
    int64_t unlike;   /* comparisons with differences within rounding error */
    double largest;   /* largest relative difference in the comparisons that `unlike` counts */
    int64_t found;    /* MODEL_CHECK_... */
    int64_t rank;     /* rank whose model differs from the others; -1: none */
    int64_t other;    /* if no model has a majority: a rank whose model is not that of `rank`; else
                       * -1 */
    int64_t step;     /* step after which the comparison gave `found` */
    int64_t alike;    /* newest step after which the models were equal; 0: never */
};

#endif
