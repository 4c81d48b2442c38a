/* SPDX-License-Identifier: Apache-2.0 */
/* small_arrays.c - preloaded into a worker: it gets no aligned array of more than ARRAY_MOST bytes
 *
 * eddis-train's arrays for samples are such; a limit of the process would also bound what OpenBLAS
 * takes, which repeats an allocation that is refused for ever.
 */
#include <errno.h>
#include <stdlib.h>

extern void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
    const char *most = getenv("ARRAY_MOST");

    if (most && bytes > (size_t)atoll(most)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_memalign(alignment, bytes);
}
