/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static struct eddis *guard_open;
static bool guard_installed;
static int forks; /* written in a child while it has one thread */

int process_forks(void)
{
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

static void process_in_child(void)
{
    __atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
}

/* The others would wait for this process for ever. */
static void process_at_exit(int status, void *arg)
{
    struct eddis *e;

    (void)arg;
    pthread_mutex_lock(&guard_lock);
    e = guard_open;
    pthread_mutex_unlock(&guard_lock);
    for (; e; e = e->next_open)
        if (e->fork_count == process_forks() && e->place.n_ranks > 1)
            comm_thread_abort(e->comm_thread, status ? status : 1);
}

int process_add(struct eddis *e, struct eddis_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&guard_lock);
    if (!guard_installed) {
        if (pthread_atfork(NULL, NULL, process_in_child) != 0 ||
            on_exit(process_at_exit, NULL) != 0)
            rc = eddis_fail(err, -ENOMEM, "no memory for an exit handler");
        guard_installed = rc == 0;
    }
    if (rc == 0) {
        e->next_open = guard_open;
        guard_open = e;
        e->fork_count = process_forks();
    }
    pthread_mutex_unlock(&guard_lock);
    return rc;
}

void process_remove(struct eddis *e)
{
    pthread_mutex_lock(&guard_lock);
    for (struct eddis **at = &guard_open; *at; at = &(*at)->next_open)
        if (*at == e) {
            *at = e->next_open;
            break;
        }
    pthread_mutex_unlock(&guard_lock);
}
