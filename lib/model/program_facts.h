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

#include <stdbool.h>
#include <stdint.h>

struct program {
    int64_t gradient_bytes; /* of the gradients of a worker */
    int64_t float32_bytes;  /* of these, what 16 bits between nodes would halve */
    int64_t centre_bytes;   /* of the centre; 0: these sizes are not known */
    int64_t min_count;      /* of eddis_options; 0: any number */
    int64_t largest_bytes;  /* of the largest gradient; 0: not known */
    int64_t largest_behind; /* of those that a backward pass comes to behind it */
};

/* Whether what is predicted of them is alike; min_count bounds batches alone. */
static inline bool program_is_same_size(const struct program *a, const struct program *b)
{
    return a->gradient_bytes == b->gradient_bytes && a->float32_bytes == b->float32_bytes &&
           a->centre_bytes == b->centre_bytes && a->largest_bytes == b->largest_bytes &&
           a->largest_behind == b->largest_behind;
}

/* What is told of a model of so many bytes; one of which nothing is known is of float32. */
static inline struct program program_sizes(const struct program *p, int64_t model_bytes)
{
    if (model_bytes > 0 && p->centre_bytes > 0)
        return *p;
    return (struct program){ .gradient_bytes = model_bytes,
                             .float32_bytes = model_bytes,
                             .centre_bytes = model_bytes,
                             .min_count = p->min_count };
}

#endif
