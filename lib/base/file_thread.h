/* SPDX-License-Identifier: Apache-2.0 */
/* file_thread.h - run blocking file system calls in a separate thread
 *
 * A file server that does not answer, or a busy disk, can block a call without limit, and no
 * deadline can interrupt it.  A caller that must not block passes the call on as a task:
 *
 *     file_thread_add --> waiting --run()--> finished --file_thread_turn--> done(), free()
 *                         (thread, in order)             (caller)
 *
 * run() may access only its own task, because everything else may have been freed while the call
 * was blocked.  Signals are blocked in the thread.
 */
#ifndef EDDIS_BASE_FILE_THREAD_H
#define EDDIS_BASE_FILE_THREAD_H

#include "clock.h"
#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* A folder is considered unresponsive if a file system call in it takes longer than this. */
#define FILE_THREAD_LATE_NS (2 * CLOCK_S)

/* Header of a task; the first member of the caller's own struct */
struct file_task {
    struct file_task *next;
    void (*run)(struct file_task *k);  /* in the thread */
    void (*done)(struct file_task *k); /* in the caller's thread, after run; NULL: none */
    /* Called last, also if the task is never run; NULL: free() */
    void (*free)(struct file_task *k);
};

struct file_thread;

/* Start the thread and return it in *ret. */
int file_thread_start(struct file_thread **ret, struct eddis_error *err);

/* Queue a task for the thread, which takes ownership of it. */
void file_thread_add(struct file_thread *t, struct file_task *k);

/* Return a descriptor, owned by t, that becomes readable when a task may have finished. */
int file_thread_fd(const struct file_thread *t);

/* Call done() and free() of every finished task, in the order of file_thread_add. */
void file_thread_turn(struct file_thread *t);

/* Check whether no task is waiting or running. */
bool file_thread_idle(struct file_thread *t);

/* Wait until no task is waiting or running.  Return false if the deadline (monotonic) comes first.
 */
bool file_thread_settle(struct file_thread *t, int64_t deadline_ns);

/* Return for how many ns the current task has been running; 0: there is none. */
int64_t file_thread_held_ns(struct file_thread *t, int64_t now_ns);

/* Wait until this queued task has finished, and remove it from the finished ones.  Return true: the
 * caller now owns it and frees it.  Return false: the deadline (monotonic) came first, and
 * file_thread_turn will finish the task as any other.
 */
bool file_thread_await(struct file_thread *t, struct file_task *k, int64_t deadline_ns);

/* Call look() for every task that is running or waiting, with the lock held. look() may read only
 * members that run() does not change.
 */
void file_thread_each(struct file_thread *t, void (*look)(const struct file_task *k, void *ctx),
                      void *ctx);

/* Stop the thread without waiting for it.  Tasks that wait are freed without run(), finished ones
 * without done().  If a task's call is blocked, the thread keeps the task and ends when the call
 * returns.  Accepts NULL.
 */
void file_thread_stop(struct file_thread *t);

#endif
