/* SPDX-License-Identifier: Apache-2.0 */
/* program_facts.h - what a program has told at eddis_commit that its plans go by, beside the bytes
 * of its parameters
 *
 * Of a model of float32 alone, without state, the three sizes are those bytes.  Gradients of 16
 * bits travel as they are, and the centre of async and hybrid mode holds their parameters as
 * float32; what is float64 stays so.
 */
#ifndef EDDIS_MODEL_PROGRAM_FACTS_H
#define EDDIS_MODEL_PROGRAM_FACTS_H

#include <stdint.h>

struct program {
    int64_t gradient_bytes; /* of the gradients of a worker */
    int64_t float32_bytes;  /* of these, what 16 bits between nodes would halve */
    int64_t centre_bytes;   /* of the centre; 0: these sizes are not known */
    int64_t min_count;      /* of eddis_options; 0: any number */
};

/* What is told of a model of so many bytes; one of which nothing is known is of float32. */
static inline struct program program_sizes(const struct program *p, int64_t model_bytes)
{
    if (model_bytes > 0 && p->centre_bytes > 0)
        return *p;
    return (struct program){ model_bytes, model_bytes, model_bytes, p->min_count };
}

#endif
