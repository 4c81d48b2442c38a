/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c - copies between structs that begin with their size */
#include "sized.h"

#include <errno.h>
#include <string.h>

int sized_check(const void *s, const char *what, struct eddis_error *err)
{
    if (!s)
        return eddis_fail(err, -EINVAL, "the %s is NULL", what);
    if (*(const size_t *)s <= sizeof(size_t))
        return eddis_fail(err, -EINVAL, "the size field of the %s is not set", what);
    return 0;
}

void sized_copy_in(void *to, size_t to_size, const void *from)
{
    size_t from_size = *(const size_t *)from;

    memset(to, 0, to_size);
    memcpy(to, from, from_size < to_size ? from_size : to_size);
}

void sized_copy_out(void *to, const void *from, size_t from_size)
{
    size_t to_size = *(size_t *)to;

    memcpy((char *)to + sizeof to_size, (const char *)from + sizeof to_size,
           (from_size < to_size ? from_size : to_size) - sizeof to_size);
}
