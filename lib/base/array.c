/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - double the room of an array that is full */
#include "array.h"

#include <stdlib.h>

bool array_grow(void *array, size_t *room, size_t n, size_t size)
{
    size_t more = *room ? 2 * *room : 16;
    void *grown;

    if (n < *room)
        return true;
    grown = realloc(*(void **)array, more * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *room = more;
    return true;
}
