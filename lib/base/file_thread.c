/* SPDX-License-Identifier: Apache-2.0 */
/* file_thread.c - a thread that runs file tasks, its queue, and the list of finished tasks */
#include "file_thread.h"

#include "cleanup.h"
#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A singly linked list of tasks; `last` points to the pointer that is NULL at its end. */
struct list {
    struct file_task *first, **last;
};

/* The state of the thread; `lock` protects all members except `fd`. */
struct file_thread {
    pthread_mutex_t lock;
    pthread_cond_t changed;    /* signalled when a task is added or finished, and to stop */
    struct list waiting, over; /* tasks that have not begun; finished tasks */
    struct file_task *running; /* task that the thread runs; NULL: none */
    int64_t since_ns;          /* monotonic time at which `running` was started */
    int fd;                    /* eventfd, readable from a task's end until `over` is found empty */
    bool stopping;             /* the thread ends after the running task and frees the state */
};

/* ---- lists ---- */

/* Append a task to the list. */
static void append(struct list *l, struct file_task *k)
{
    k->next = NULL;
    *l->last = k;
    l->last = &k->next;
}

/* Remove the first task from the list and return it; NULL: the list is empty. */
static struct file_task *take_first(struct list *l)
{
    struct file_task *k = l->first;

    if (k && !(l->first = k->next))
        l->last = &l->first;
    return k;
}

/* Remove task k from the list.  Return false if k is not in the list. */
static bool take(struct list *l, const struct file_task *k)
{
    for (struct file_task **at = &l->first; *at; at = &(*at)->next)
        if (*at == k) {
            *at = k->next;
            if (!*at)
                l->last = at;
            return true;
        }
    return false;
}

/* Free a task by its own free(), if it has one. */
static void free_task(struct file_task *k)
{
    if (k->free)
        k->free(k);
    else
        free(k);
}

/* Free every task of the list without running it. */
static void free_tasks(struct list *l)
{
    struct file_task *k;

    while ((k = take_first(l)))
        free_task(k);
}

/* Free the thread's state and all tasks in its lists. */
static void free_all(struct file_thread *t)
{
    free_tasks(&t->waiting);
    free_tasks(&t->over);
    (void)close(t->fd);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- the thread ---- */

/* Run task k, append it to the finished tasks, make the eventfd readable and wake waiting callers.
 * Call with the lock held; it is released while the task runs.
 */
static void run_one(struct file_thread *t, struct file_task *k)
{
    const uint64_t one = 1;

    t->running = k;
    t->since_ns = clock_now_ns();
    pthread_mutex_unlock(&t->lock);
    k->run(k);
    pthread_mutex_lock(&t->lock);
    t->running = NULL;
    append(&t->over, k);
    (void)!write(t->fd, &one, sizeof one);
    pthread_cond_broadcast(&t->changed);
}

/* Run the file thread, for pthread_create: run the waiting tasks in order until file_thread_stop,
 * then free the state.  Return NULL.
 */
static void *run(void *arg)
{
    struct file_thread *t = arg;

    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        struct file_task *k = take_first(&t->waiting);

        if (k)
            run_one(t, k);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    free_all(t); /* no caller uses t after file_thread_stop */
    return NULL;
}

/* Initialise lock and condition, and start the detached thread with all signals blocked.  Return 0
 * or a negative errno value.
 */
static int start(struct file_thread *t, struct eddis_error *err)
{
    pthread_attr_t detached;
    sigset_t all, before;
    pthread_t thread;
    int rc;

    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* so that signals go to the caller's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &detached, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    return rc ? eddis_fail_errno(err, -rc, "cannot start a thread for files") : 0;
}

int file_thread_start(struct file_thread **ret, struct eddis_error *err)
{
    struct file_thread *t = calloc(1, sizeof *t);
    int rc;

    if (!t)
        return eddis_fail(err, -ENOMEM, "no memory for a thread");
    t->waiting.last = &t->waiting.first;
    t->over.last = &t->over.first;
    t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->fd < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot create an eventfd");
        free(t);
        return rc;
    }
    rc = start(t, err);
    if (rc < 0)
        free_all(t);
    else
        *ret = t;
    return rc;
}

void file_thread_stop(struct file_thread *t)
{
    struct list left = { .last = &left.first };
    struct file_task *k;

    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    while ((k = take_first(&t->waiting)))
        append(&left, k);
    while ((k = take_first(&t->over)))
        append(&left, k);
    t->stopping = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    free_tasks(&left);
}

/* ---- the caller's side ---- */

void file_thread_add(struct file_thread *t, struct file_task *k)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    append(&t->waiting, k);
    pthread_cond_broadcast(&t->changed);
}

int file_thread_fd(const struct file_thread *t)
{
    return t->fd;
}

/* Remove the first finished task and return it.  If there is none, reset the eventfd and return
 * NULL.
 */
static struct file_task *take_over(struct file_thread *t)
{
    struct file_task *k;
    uint64_t n;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    k = take_first(&t->over);
    if (!k)
        (void)!read(t->fd, &n, sizeof n);
    return k;
}

void file_thread_turn(struct file_thread *t)
{
    struct file_task *k;

    while ((k = take_over(t))) {
        if (k->done)
            k->done(k);
        free_task(k);
    }
}

bool file_thread_idle(struct file_thread *t)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    return !t->waiting.first && !t->running;
}

bool file_thread_settle(struct file_thread *t, int64_t deadline_ns)
{
    bool idle;
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    while (!(idle = !t->waiting.first && !t->running) && rc != ETIMEDOUT)
        rc = clock_cond_wait(&t->changed, &t->lock, deadline_ns);
    return idle;
}

int64_t file_thread_held_ns(struct file_thread *t, int64_t now_ns)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    return t->running && now_ns > t->since_ns ? now_ns - t->since_ns : 0;
}

bool file_thread_await(struct file_thread *t, struct file_task *k, int64_t deadline_ns)
{
    bool over;
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    while (!(over = take(&t->over, k)) && rc != ETIMEDOUT)
        rc = clock_cond_wait(&t->changed, &t->lock, deadline_ns);
    return over;
}

void file_thread_each(struct file_thread *t, void (*look)(const struct file_task *k, void *ctx),
                      void *ctx)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->lock);

    if (t->running)
        look(t->running, ctx);
    for (const struct file_task *k = t->waiting.first; k; k = k->next)
        look(k, ctx);
}
