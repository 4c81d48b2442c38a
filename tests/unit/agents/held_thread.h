/* SPDX-License-Identifier: Apache-2.0 */
/* held_thread.h - a thread of file tasks that is held up, as by a folder that does not answer */
#ifndef EDDIS_TESTS_HELD_THREAD_H
#define EDDIS_TESTS_HELD_THREAD_H

#include "lib/base/file_thread.h"

#include <check.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

/* A task that lasts until its pipe is closed. */
struct held {
    struct file_task task;
    int pipe[2];
    bool done;
};

static inline void held_run(struct file_task *t)
{
    char byte;

    (void)!read(((struct held *)t)->pipe[0], &byte, 1);
}

static inline void held_done(struct file_task *t)
{
    ((struct held *)t)->done = true;
}

static inline void held_free(struct file_task *t)
{
    (void)t; /* the test's own */
}

/* Hold the thread up; what is added later waits behind this. */
static inline void hold(struct file_thread *t, struct held *h)
{
    *h = (struct held){ .task = { .run = held_run, .done = held_done, .free = held_free } };
    ck_assert_int_eq(pipe(h->pipe), 0);
    file_thread_add(t, &h->task);
}

/* Wait until the thread has done all, and hear of it. */
static inline void settle(struct file_thread *t)
{
    while (!file_thread_idle(t))
        (void)poll(&(struct pollfd){ .fd = file_thread_fd(t), .events = POLLIN }, 1, 10000);
    file_thread_turn(t);
}

/* Let the thread go on behind a hold. */
static inline void let_go(struct held *h)
{
    (void)close(h->pipe[1]);
    h->pipe[1] = -1;
}

#endif
