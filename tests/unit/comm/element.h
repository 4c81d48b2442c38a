/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - elements of every type as numbers, and a tail with a rule of its own */
#ifndef EDDIS_TESTS_COMM_ELEMENT_H
#define EDDIS_TESTS_COMM_ELEMENT_H

#include "lib/comm/combine.h"
#include "lib/comm/half.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tail {
    int64_t sum, max;
};

static inline void trailer_rule(void *acc, const void *in)
{
    struct tail a, b;

    memcpy(&a, acc, sizeof a); /* it stands wherever the elements end */
    memcpy(&b, in, sizeof b);
    a.sum += b.sum;
    a.max = b.max > a.max ? b.max : a.max;
    memcpy(acc, &a, sizeof a);
}

static inline double element_get(enum comm_type type, const void *p, size_t i)
{
    float f = 0;

    switch (type) {
    case COMM_FLOAT32:
        return ((const float *)p)[i];
    case COMM_FLOAT64:
        return ((const double *)p)[i];
    case COMM_INT32:
        return ((const int32_t *)p)[i];
    case COMM_INT64:
        return (double)((const int64_t *)p)[i];
    case COMM_UINT8:
        return ((const uint8_t *)p)[i];
    case COMM_FLOAT16:
        float16s_to_floats(&f, (const uint16_t *)p + i, 1);
        return f;
    case COMM_BFLOAT16:
        bfloat16s_to_floats(&f, (const uint16_t *)p + i, 1);
        return f;
    }
    return 0;
}

#endif
