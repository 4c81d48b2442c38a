/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c - copies between structs that begin with their size */
#include "sized.h"

#include <errno.h>
#include <string.h>

void sized_copy_in(void *to, size_t to_size, const void *from)
{
    size_t from_size = *(const size_t *)from;

    memset(to, 0, to_size);
    memcpy(to, from, from_size < to_size ? from_size : to_size);
}

int sized_copy_out(void *to, const void *from, size_t from_size)
{
    size_t to_size = *(size_t *)to;

    if (to_size <= sizeof to_size)
        return -EINVAL;
    memcpy((char *)to + sizeof to_size, (const char *)from + sizeof to_size,
           (from_size < to_size ? from_size : to_size) - sizeof to_size);
    return 0;
}
