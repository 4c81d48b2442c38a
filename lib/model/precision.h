/* SPDX-License-Identifier: Apache-2.0 */
/* precision.h - the number formats in which a program may multiply matrices
 *
 * A card's rates in them differ by its age: from a Pascal to an Ampere card, float32 becomes twice
 * as fast and float16 twenty times.
 */
#ifndef EDDIS_MODEL_PRECISION_H
#define EDDIS_MODEL_PRECISION_H

#include <stddef.h>

enum precision {
    PRECISION_AUTO, /* unknown: as the program reports; fp32 before that */
    PRECISION_FP32,
    PRECISION_TF32,
    PRECISION_BF16, /* bfloat16 elements, float32 sums */
    PRECISION_FP16, /* float16 elements, float32 sums */
    PRECISIONS
};

extern const char *const precision_names[PRECISIONS];

/* Return the i-th name, a constant: "auto", "fp32", ...; NULL: there are no more. */
const char *precision_name(size_t i);

/* Return the precision of this name; PRECISIONS: there is none. */
enum precision precision_find(const char *name);

#endif
