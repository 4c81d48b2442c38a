/* SPDX-License-Identifier: Apache-2.0 */
/* process_fd.c - open a pidfd, or start a thread that polls /proc in its stead */
#include "process_fd.h"

#include "pidfd_call.h"
#include "proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* milliseconds between two polls of the process; bytes of the thread's stack */
enum { PERIOD_MS = 50, STACK = 256 << 10 };

/* A process that a thread watches; the thread frees this struct. */
struct watched {
    pid_t pid;
    int64_t start; /* start time; pid and start identify the process */
    int fd;        /* write end of the pipe */
};

/* Check whether `state`, as in /proc/PID/stat, is that of a zombie or dead process. */
static bool has_ended(char state)
{
    return state == 'Z' || state == 'X';
}

/* Check whether the process with this pid and start time exists and has not ended. */
static bool is_there(pid_t pid, int64_t start)
{
    char state = proctree_state(pid);

    return state && !has_ended(state) && proctree_start(pid) == start;
}

/* Poll the process w every PERIOD_MS until it has ended or the pipe's read end is closed.  If the
 * process has ended, write a byte to the pipe.  Close the write end and free w.  For
 * pthread_create: return NULL.
 */
static void *watch(void *ctx)
{
    struct watched *w = ctx;
    struct pollfd reader = { .fd = w->fd }; /* POLLERR: the read end was closed */

    while (poll(&reader, 1, PERIOD_MS) <= 0)
        if (!is_there(w->pid, w->start)) {
            (void)!write(w->fd, "", 1);
            break;
        }
    (void)close(w->fd);
    free(w);
    return NULL;
}

/* Start a detached thread that runs watch(w) and then owns w.  All signals are blocked in it, so
 * that the caller's threads get them.  Return 0 or a negative errno value.
 */
static int start_thread(struct watched *w)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    int rc = -pthread_attr_init(&attr);

    if (rc < 0)
        return rc;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = -pthread_create(&thread, &attr, watch, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

/* Start a thread that watches the process w.  If it is a zombie, for which a pidfd would be
 * readable, start no thread but write the byte to the pipe and free w.  Return 0; the caller no
 * longer owns w.  Return -ESRCH if there is no such process, or another negative errno value; the
 * caller still owns w.
 */
static int begin_watch(struct watched *w)
{
    char state = proctree_state(w->pid);

    if (!state)
        return -ESRCH;
    if (!has_ended(state))
        return start_thread(w);
    (void)!write(w->fd, "", 1);
    (void)close(w->fd);
    free(w);
    return 0;
}

/* Make a pipe that gets a byte when the process ends, and watch the process.  Return the pipe's
 * read end, or a negative errno value.
 */
static int open_pipe(pid_t pid)
{
    struct watched *w = malloc(sizeof *w);
    int ends[2], rc;

    if (!w || pipe2(ends, O_CLOEXEC) < 0) {
        rc = w ? -errno : -ENOMEM;
        free(w);
        return rc;
    }
    *w = (struct watched){ .pid = pid, .start = proctree_start(pid), .fd = ends[1] };
    rc = begin_watch(w);
    if (rc == 0)
        return ends[0];
    (void)close(ends[0]);
    (void)close(ends[1]);
    free(w);
    return rc;
}

int process_fd_open(pid_t pid)
{
    int fd = pidfd_call_open(pid);

    if (fd < 0 && pidfd_call_refused(-fd))
        fd = open_pipe(pid);
    if (fd >= 0)
        return fd;
    errno = -fd;
    return -1;
}

int process_fd_signal(int fd, pid_t pid, int sig)
{
    struct pollfd end = { .fd = fd, .events = POLLIN };
    int rc;

    if (fd < 0)
        return -ESRCH;
    rc = pidfd_call_signal(fd, sig);
    if (rc == 0 || rc == -ESRCH)
        return rc;
    if (poll(&end, 1, 0) != 0)
        return -ESRCH;
    return kill(pid, sig) < 0 ? -errno : 0;
}
