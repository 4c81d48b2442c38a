/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h - locals that release themselves at the end of their scope
 *
 * Four kinds only: memory, a descriptor, a FILE, and (in json.h) a JSON value.  Everything else
 * is closed by name, in one place, after one label.
 */
#ifndef EDDIS_BASE_CLEANUP_H
#define EDDIS_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_fd_(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    errno = saved;
}

static inline void cleanup_file_(FILE **f)
{
    int saved = errno;

    if (*f)
        (void)fclose(*f);
    errno = saved;
}

#define cleanup_free __attribute__((cleanup(cleanup_free_)))
#define cleanup_fd   __attribute__((cleanup(cleanup_fd_)))
#define cleanup_file __attribute__((cleanup(cleanup_file_)))

/* Hand a self-releasing pointer or descriptor to somebody else: returns it and forgets it. */
#define cleanup_keep(p)                                                                            \
    ({                                                                                             \
        __typeof__(p) kept_ = (p);                                                                 \
        (p) = NULL;                                                                                \
        kept_;                                                                                     \
    })
#define cleanup_keep_fd(fd)                                                                        \
    ({                                                                                             \
        int kept_ = (fd);                                                                          \
        (fd) = -1;                                                                                 \
        kept_;                                                                                     \
    })

#endif
