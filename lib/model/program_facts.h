/* SPDX-License-Identifier: Apache-2.0 */
/* program_facts.h - what a program reports at eddis_commit for its plans, beside the bytes of its
 * parameters
 *
 * For a model of float32 without state, gradient_bytes, float32_bytes and centre_bytes equal the
 * bytes of the parameters.  16-bit gradients are sent as they are, and the centre of async and
 * hybrid mode stores 16-bit parameters as float32.  float64 stays float64.
 */
#ifndef EDDIS_MODEL_PROGRAM_FACTS_H
#define EDDIS_MODEL_PROGRAM_FACTS_H

#include "precision.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PROGRAM_GRADIENTS = 16 }; /* EDDIS_GRADIENTS_SIZE */

/* What a program reported: sizes, limits, and what combines its gradients */
struct program {
    int64_t gradient_bytes; /* size of all gradients of a worker */
    int64_t float32_bytes;  /* size of the float32 gradients, which 16 bits between nodes would
                             * halve */
    int64_t centre_bytes;   /* size of the centre; 0: all sizes in this struct are unknown */
    int64_t min_count;      /* fewest samples of a worker in a step (eddis_options.min_count); 0:
                             * any number */
    int64_t largest_bytes;  /* size of the largest gradient; 0: unknown */
    int64_t largest_behind; /* bytes of the gradients that a backward pass computes after the
                             * largest */
    /* name of what combines the gradients instead of libeddis (eddis_options.gradients); "":
     * libeddis does.  If it is set, the sizes of gradients are 0.
     */
    char gradients[PROGRAM_GRADIENTS];
    /* in which it multiplies matrices, known from its first step on; in a plan: by whose rates its
     * GPUs are compared
     */
    enum precision precision;
};

/* Check whether the program combines its gradients itself, so that libeddis sends none. */
static inline bool program_is_external(const struct program *p)
{
    return p->gradients[0] != '\0';
}

/* Check whether both programs give the same predictions of communication.  min_count is not
 * compared: it only limits batches.
 */
static inline bool program_is_same_size(const struct program *a, const struct program *b)
{
    return a->gradient_bytes == b->gradient_bytes && a->float32_bytes == b->float32_bytes &&
           a->centre_bytes == b->centre_bytes && a->largest_bytes == b->largest_bytes &&
           a->largest_behind == b->largest_behind && strcmp(a->gradients, b->gradients) == 0;
}

/* Copy what a program reported into a plan's `to`, whose precision stays: the times are by it. */
static inline void program_copy(struct program *to, const struct program *from)
{
    enum precision precision = to->precision;

    *to = *from;
    to->precision = precision;
}

/* Return the sizes to use for a model of model_bytes: those reported, or, if unknown, those of
 * float32.
 */
static inline struct program program_sizes(const struct program *p, int64_t model_bytes)
{
    if (model_bytes > 0 && p->centre_bytes > 0)
        return *p;
    return (struct program){ .gradient_bytes = model_bytes,
                             .float32_bytes = model_bytes,
                             .centre_bytes = model_bytes,
                             .min_count = p->min_count,
                             .precision = p->precision };
}

#endif
