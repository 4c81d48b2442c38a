/* SPDX-License-Identifier: Apache-2.0 */
/* sync_values.c - types and sizes of parameters in a model that workers combine */
#include "sync_impl.h"

const enum comm_type sync_type[SYNC_TYPES] = { COMM_FLOAT32, COMM_FLOAT64 };

enum comm_type sync_centre_type(enum comm_type type)
{
    return comm_type_half(type) ? COMM_FLOAT32 : type;
}

size_t sync_centre_size(const struct sync_value *v, int n, enum comm_type type)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += sync_centre_type(v[i].type) == type ? v[i].n : 0;
    return sum;
}

enum comm_type sync_wire_type(const struct comm_place *p, enum sync_wire wire, enum comm_type type)
{
    if (!p->hosts || type != COMM_FLOAT32 || !sync_wire_is_half(wire))
        return 0;
    return wire == SYNC_WIRE_FLOAT16 ? COMM_FLOAT16 : COMM_BFLOAT16;
}
