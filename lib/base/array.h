/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - room for one more item of an array that grows */
#ifndef EDDIS_BASE_ARRAY_H
#define EDDIS_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Make room for item n of an array with room for *room items of `size` bytes: if it is full, double
 * its room.  array: the address of the pointer to its first item, NULL: there is none.  Return
 * false without memory; the array is then unchanged.
 */
bool array_grow(void *array, size_t *room, size_t n, size_t size);

#endif
