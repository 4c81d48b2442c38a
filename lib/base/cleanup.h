/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h - local variables that release themselves at the end of their scope
 *
 * The kinds are memory, a descriptor, a FILE, a folder and a held lock; json.h, strbuf.h, strlist.h
 * and cmd/shared/table.h add theirs.  Every other resource is closed explicitly, after one label at
 * the end of a function.
 */
#ifndef EDDIS_BASE_CLEANUP_H
#define EDDIS_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Free the pointer that p points to. */
static inline void cleanup_free_(void *p)
{
    free(*(void **)p);
}

/* Close *fd unless it is negative.  Keeps errno. */
static inline void cleanup_fd_(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    errno = saved;
}

/* Close *f unless it is NULL.  Keeps errno. */
static inline void cleanup_file_(FILE **f)
{
    int saved = errno;

    if (*f)
        (void)fclose(*f);
    errno = saved;
}

/* Close *dir unless it is NULL.  Keeps errno. */
static inline void cleanup_dir_(DIR **dir)
{
    int saved = errno;

    if (*dir)
        (void)closedir(*dir);
    errno = saved;
}

/* Lock m for the rest of a scope: cleanup_unlock pthread_mutex_t *lock = mutex_hold(&m); */
static inline pthread_mutex_t *mutex_hold(pthread_mutex_t *m)
{
    pthread_mutex_lock(m);
    return m;
}

/* Unlock *m. */
static inline void cleanup_unlock_(pthread_mutex_t **m)
{
    pthread_mutex_unlock(*m);
}

#define cleanup_free   __attribute__((cleanup(cleanup_free_)))
#define cleanup_fd     __attribute__((cleanup(cleanup_fd_)))
#define cleanup_file   __attribute__((cleanup(cleanup_file_)))
#define cleanup_dir    __attribute__((cleanup(cleanup_dir_)))
#define cleanup_unlock __attribute__((cleanup(cleanup_unlock_), unused))

/* Pass ownership of a self-releasing pointer or descriptor to the caller: return its value and
 * reset the variable to NULL or -1.
 */
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
