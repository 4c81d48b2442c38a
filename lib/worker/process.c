/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - the list of open workers, and what a fork or an exit does to them */
#include "process.h"

#include "lib/sync/comm_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LAST_WORDS_S = 3 }; /* for the others to wait for what stdio still holds */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static struct process_worker *list;
static bool installed;
static int forks;                       /* written in a child while it has one thread */
static volatile sig_atomic_t last_code; /* to exit with when the last words take too long */

int process_forks(void)
{
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

int process_check(const struct process_worker *w, struct eddis_error *err)
{
    if (!w)
        return eddis_fail(err, -EINVAL, "the handle is NULL");
    if (w->fork_count != process_forks())
        return eddis_fail(err, -EPERM,
                          "eddis cannot be used in a child made by fork; let the parent do it, or "
                          "start the child as a new program");
    return 0;
}

static void process_in_child(void)
{
    __atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
}

static void too_late(int sig)
{
    (void)sig;
    _exit(last_code);
}

/* A reader that does not read, or a lock of stdio's that this very thread holds, may keep it from
 * coming back: so an alarm ends the process, which needs no other thread and no memory.
 */
void process_last_words(int code)
{
    struct sigaction act = { .sa_handler = too_late };
    sigset_t alarm_only;

    last_code = code;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    if (sigaction(SIGALRM, &act, NULL) < 0 || pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL) != 0)
        return;
    (void)alarm(LAST_WORDS_S);
    (void)fflush(NULL);
    (void)alarm(0);
}

/* Whether an exit now would leave others waiting for this process for ever. */
static bool is_awaited(const struct process_worker *w)
{
    return w->fork_count == process_forks() && w->thread;
}

/* The others would wait for this process for ever. */
static void process_at_exit(int status, void *arg)
{
    struct process_worker *w;

    (void)arg;
    pthread_mutex_lock(&list_lock);
    w = list;
    pthread_mutex_unlock(&list_lock);
    while (w && !is_awaited(w))
        w = w->next;
    if (!w)
        return;
    process_last_words(status ? status : 1);
    comm_thread_abort(w->thread, status ? status : 1);
}

int process_add(struct process_worker *w, struct eddis_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&list_lock);
    if (!installed) {
        if (pthread_atfork(NULL, NULL, process_in_child) != 0 ||
            on_exit(process_at_exit, NULL) != 0)
            rc = eddis_fail(err, -ENOMEM, "no memory for an exit handler");
        installed = rc == 0;
    }
    if (rc == 0) {
        w->next = list;
        list = w;
        w->fork_count = process_forks();
    }
    pthread_mutex_unlock(&list_lock);
    return rc;
}

void process_remove(struct process_worker *w)
{
    pthread_mutex_lock(&list_lock);
    for (struct process_worker **at = &list; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
}
