/* SPDX-License-Identifier: Apache-2.0 */
/* model_check.h - what comparing the models of workers that train one gave, in plain numbers */
#ifndef EDDIS_MODEL_MODEL_CHECK_H
#define EDDIS_MODEL_MODEL_CHECK_H

#include <stdint.h>

/* Steps between two comparisons, where nobody says. */
enum { MODEL_CHECK_EVERY = 256 };

enum {
    MODEL_CHECK_ALIKE,      /* as far as was compared */
    MODEL_CHECK_DIFFER,     /* one worker's model is not that of the others */
    MODEL_CHECK_NOT_FINITE, /* all hold NaN or infinity */
};

/* Lies in shared memory (lib/board/layout.h).  Behind step s: s steps were done. */
struct model_check {
    int64_t compared; /* how often */
    int64_t unlike;   /* how often of these they differed by no more than rounding does */
    double largest;   /* relative difference of these, at most */
    int64_t found;    /* MODEL_CHECK_... */
    int64_t rank;     /* whose model differs from those of the others; -1: nobody's */
    int64_t other;    /* of two that are as many: the other one; -1: the others are more */
    int64_t step;     /* behind which that was found */
    int64_t alike;    /* behind which they were last found to be alike; 0: never */
};

#endif
