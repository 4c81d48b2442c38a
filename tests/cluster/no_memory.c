/* SPDX-License-Identifier: Apache-2.0 */
/* no_memory.c - preloaded into a job's programs: the agent gets no memory for one thing
 *
 * Once there is a file NO_MEMORY, calloc has none for a struct board_area in the agent: of what it
 * does then only the settling of the job's mode wants one.
 */
#include "lib/board/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_calloc(size_t n, size_t size);

static int is_refused(size_t bytes)
{
    const char *file = getenv("NO_MEMORY");

    return bytes == sizeof(struct board_area) &&
           strcmp(program_invocation_short_name, "eddis-agent") == 0 && file &&
           access(file, F_OK) == 0;
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    if (n == 1 && is_refused(size)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}
