/* SPDX-License-Identifier: Apache-2.0 */
/* file_thread.h - calls that a file system can hold up, made by a thread of their own
 *
 * A server that does not answer, or a disk that is busy, holds a call for as long as it likes, and
 * no deadline helps.  Who must go on meanwhile hands the call over as a task:
 *
 *     file_thread_add --> waiting --run()--> over --file_thread_turn--> done(), free()
 *                         (the thread's, in their order)               (the caller's)
 *
 * run() may touch what is in its task and nothing else: the others may have been closed while it
 * was held up.  Signals are blocked on the thread.
 */
#ifndef EDDIS_BASE_FILE_THREAD_H
#define EDDIS_BASE_FILE_THREAD_H

#include "clock.h"
#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* A folder that takes longer does not answer. */
#define FILE_THREAD_LATE_NS (2 * CLOCK_S)

/* The first member of what a caller hands over. */
struct file_task {
    struct file_task *next;
    void (*run)(struct file_task *k);  /* on the thread */
    void (*done)(struct file_task *k); /* on the caller's, behind run; NULL: nobody asks */
    void (*free)(struct file_task *k); /* last of all, and alone when the task is never run */
};

struct file_thread;

int file_thread_start(struct file_thread **ret, struct eddis_error *err);

/* Queue a task, which is the thread's from then on. */
void file_thread_add(struct file_thread *t, struct file_task *k);

/* Return a descriptor that is readable when a task may be over. */
int file_thread_fd(const struct file_thread *t);

/* End the tasks that are over by their done() and free(), in their order. */
void file_thread_turn(struct file_thread *t);

/* Whether no task is waiting or being run. */
bool file_thread_idle(struct file_thread *t);

/* Wait until it is idle; false: the deadline came first. */
bool file_thread_settle(struct file_thread *t, int64_t deadline_ns);

/* Return how long the call under way has taken until now; 0: there is none. */
int64_t file_thread_held_ns(struct file_thread *t, int64_t now_ns);

/* Wait until this task, which was added, is over.  Returns true: it is the caller's to read and to
 * free; false: the deadline came first, and it goes on as any other.
 */
bool file_thread_await(struct file_thread *t, struct file_task *k, int64_t deadline_ns);

/* Look at each task that is waiting or being run, by what does not change in it. */
void file_thread_each(struct file_thread *t, void (*look)(const struct file_task *k, void *ctx),
                      void *ctx);

/* End it without waiting: tasks that are not over are never done, those that wait never run; one
 * that is held up is left to the thread, which ends when it returns.  Accepts NULL.
 */
void file_thread_stop(struct file_thread *t);

#endif
