/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - writes to a terminal or a pipe from its own thread, so that no caller waits */
#include "screen.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Output to one descriptor. */
struct screen {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *in, *out; /* the two buffers: callers fill `in`, the thread writes `out` */
    size_t n_in, n_out;
    int error; /* negative errno of the first failed write, also -EPIPE; 0: none */
    bool closing;
    char buffer[2][2 * SCREEN_BYTES];
};

/* Write all of s->out to the descriptor. Block as long as the reader takes. Return 0 or a negative
 * errno. On the screen's thread, which can be cancelled only here: then no frame holds the lock, or
 * has locals that the address sanitizer would keep guarding.
 */
static int write_out(const struct screen *s)
{
    size_t done = 0;

    while (done < s->n_out) {
        ssize_t n;

        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        n = write(s->fd, s->out + done, s->n_out - done);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (n < 0 && errno == EAGAIN) /* another process has made the terminal non-blocking */
            clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Run the screen's thread: write what callers have appended, until s->closing. After a failed
 * write, drop all further output. Return NULL.
 */
static void *run(void *arg)
{
    struct screen *s = arg;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        char *filled = s->in;
        int rc = s->error;

        while (s->n_in == 0 && !s->closing)
            pthread_cond_wait(&s->changed, &s->lock);
        if (s->closing)
            break;
        s->in = s->out;
        s->out = filled;
        s->n_out = s->n_in;
        s->n_in = 0;
        pthread_mutex_unlock(&s->lock);
        if (rc == 0)
            rc = write_out(s);
        pthread_mutex_lock(&s->lock);
        s->error = rc;
        s->n_out = 0;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Initialize the lock and start the screen's thread. Return 0 or a negative error. */
static int start(struct screen *s, struct eddis_error *err)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    int rc;

    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all); /* the caller's thread handles signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? eddis_fail_errno(err, -rc, "cannot start a thread for the output") : 0;
}

int screen_open(int fd, struct screen **ret, struct eddis_error *err)
{
    struct screen *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for the output");
    s->fd = fd;
    s->in = s->buffer[0];
    s->out = s->buffer[1];
    rc = start(s, err);
    if (rc < 0)
        free(s);
    else
        *ret = s;
    return rc;
}

/* Append n bytes to s->in if it has at most `room` bytes then, and wake the screen's thread. Return
 * whether they fit; otherwise nothing is appended.
 */
static bool append(struct screen *s, const char *text, size_t n, size_t room)
{
    bool fits;

    pthread_mutex_lock(&s->lock);
    fits = s->n_in + n <= room;
    if (fits) {
        memcpy(s->in + s->n_in, text, n);
        s->n_in += n;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return fits;
}

bool screen_write(struct screen *s, const char *text, size_t n)
{
    return append(s, text, n, SCREEN_BYTES);
}

bool screen_say(struct screen *s, const char *text, size_t n)
{
    return append(s, text, n, 2 * SCREEN_BYTES);
}

int screen_flush(struct screen *s, int64_t deadline_ns, struct eddis_error *err)
{
    const struct timespec until = { .tv_sec = deadline_ns / CLOCK_S,
                                    .tv_nsec = deadline_ns % CLOCK_S };
    int rc = 0, error;

    pthread_mutex_lock(&s->lock);
    while ((s->n_in || s->n_out) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    error = s->n_in || s->n_out ? -ETIMEDOUT : s->error;
    pthread_mutex_unlock(&s->lock);
    if (error == 0 || error == -EPIPE)
        return 0;
    if (error == -ETIMEDOUT)
        return eddis_fail(err, error, "nobody reads the output");
    return eddis_fail_errno(err, error, "cannot write to standard output");
}

void screen_close(struct screen *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_cancel(s->thread); /* if it is stuck in a write */
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
