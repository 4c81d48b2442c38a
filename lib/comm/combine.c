/* SPDX-License-Identifier: Apache-2.0 */
#include "combine.h"

#include <stdint.h>

size_t comm_type_bytes(enum comm_type type)
{
    switch (type) {
    case COMM_FLOAT32:
    case COMM_INT32:
        return 4;
    case COMM_FLOAT64:
    case COMM_INT64:
        return 8;
    case COMM_UINT8:
        return 1;
    }
    return 0;
}

bool comm_rule_valid(enum comm_rule rule)
{
    return rule == COMM_SUM || rule == COMM_MIN || rule == COMM_MAX;
}

/* One function a type.  Sums are made in SUM_TYPE, which is unsigned for integers because signed
 * overflow is undefined.
 */
#define COMBINE(NAME, TYPE, SUM_TYPE)                                                              \
    static void NAME(enum comm_rule rule, TYPE *restrict acc, const TYPE *restrict in, size_t n)   \
    {                                                                                              \
        if (rule == COMM_SUM)                                                                      \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = (TYPE)((SUM_TYPE)acc[i] + (SUM_TYPE)in[i]);                               \
        else if (rule == COMM_MIN)                                                                 \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = in[i] < acc[i] ? in[i] : acc[i];                                          \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = in[i] > acc[i] ? in[i] : acc[i];                                          \
    }

COMBINE(combine_float32, float, float)
COMBINE(combine_float64, double, double)
COMBINE(combine_int32, int32_t, uint32_t)
COMBINE(combine_int64, int64_t, uint64_t)
COMBINE(combine_uint8, uint8_t, uint8_t)

void combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n)
{
    switch (type) {
    case COMM_FLOAT32:
        combine_float32(rule, acc, in, n);
        break;
    case COMM_FLOAT64:
        combine_float64(rule, acc, in, n);
        break;
    case COMM_INT32:
        combine_int32(rule, acc, in, n);
        break;
    case COMM_INT64:
        combine_int64(rule, acc, in, n);
        break;
    case COMM_UINT8:
        combine_uint8(rule, acc, in, n);
        break;
    }
}
