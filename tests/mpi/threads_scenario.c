/* SPDX-License-Identifier: Apache-2.0 */
/* threads_scenario.c - what any thread may call, from several threads of each rank at once while
 * one makes the steps
 *
 * Each thread has a scope, or a buffer of the box, of its own: the order of calls in a scope is
 * what must be alike on all its workers.
 */
#include "lib/eddis_smb.h"
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define WAIT_NS  INT64_C(1000000)
#define SLICE_NS INT64_C(50000)

enum { CALLS = 60, LENGTH = 700, ROWS = 64, MOST_RANKS = 8 };

struct rank {
    struct eddis *e;
    struct eddis_world world;
    int parameter, n_here; /* n_here: ranks of this node */
    float value[4], gradient[4];
    int started[2];        /* a pipe of requests, from the thread that starts to who waits */
    int64_t sum[CALLS][3]; /* of these requests */
    atomic_llong present;  /* step */
    atomic_int announce;   /* steps that the announcing thread may announce ... */
    atomic_bool over;      /* ... until there are no more */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int announced;
};

/* Blocking, in slices. */
static void call_sums(struct rank *r, enum eddis_scope scope, int n)
{
    struct eddis_error err = { 0 };
    int64_t x[LENGTH];

    for (int i = 0; i < CALLS; i++) {
        struct eddis_collective c = collective_of(scope, EDDIS_ALLREDUCE, x, (size_t)(1 + i * 11));
        int rc;

        for (size_t k = 0; k < c.n; k++)
            x[k] = (int64_t)k + i;
        while ((rc = eddis_collective(r->e, &c, SLICE_NS, &err)) == -ETIMEDOUT)
            ;
        CHECK(rc == 0);
        CHECK(x[0] == (int64_t)n * i && x[c.n - 1] == (int64_t)n * ((int64_t)c.n - 1 + i));
    }
}

static void *in_group(void *arg)
{
    struct rank *r = arg;

    call_sums(r, EDDIS_GROUP, r->world.n_group_ranks);
    return NULL;
}

/* Where steps take no part in the order of all workers' calls. */
static void *in_all(void *arg)
{
    struct rank *r = arg;

    if (strcmp(r->world.mode, "sync") == 0)
        call_sums(r, EDDIS_ALL, r->world.n_ranks);
    return NULL;
}

/* Started here, waited for there. */
static void *start_in_node(void *arg)
{
    struct rank *r = arg;

    for (int i = 0; i < CALLS; i++) {
        struct eddis_collective c = collective_of(EDDIS_NODE, EDDIS_ALLREDUCE, r->sum[i], 3);
        struct eddis_request *q = NULL;

        for (int k = 0; k < 3; k++)
            r->sum[i][k] = i + k;
        OK(eddis_collective_start(r->e, &c, &q, &err));
        CHECK(write(r->started[1], &q, sizeof q) == sizeof q);
    }
    return NULL;
}

static void *wait_in_node(void *arg)
{
    struct rank *r = arg;
    struct eddis_error err = { 0 };

    for (int i = 0; i < CALLS; i++) {
        struct eddis_request *q = NULL;
        int rc = 0;

        CHECK(read(r->started[0], &q, sizeof q) == sizeof q);
        if (i % 2)
            while ((rc = eddis_request_test(r->e, q, &err)) == 0)
                sched_yield();
        else
            while ((rc = eddis_request_wait(r->e, q, SLICE_NS, &err)) == -ETIMEDOUT)
                ;
        CHECK(rc == i % 2);
        for (int k = 0; k < 3; k++)
            CHECK(r->sum[i][k] == (int64_t)r->n_here * (i + k));
    }
    return NULL;
}

static void *in_box(void *arg)
{
    struct rank *r = arg;
    uint64_t key = 0;
    int64_t x[ROWS], y[ROWS], before;

    OK(eddis_smb_create(r->e, EDDIS_INT64, ROWS, &key, TIMEOUT_NS, &err));
    for (int i = 0; i < CALLS; i++) {
        struct eddis_smb_request *q[2] = { NULL };

        for (int k = 0; k < ROWS; k++)
            x[k] = i * k;
        OK(eddis_smb_write_start(r->e, key, 0, ROWS, x, &q[0], &err));
        OK(eddis_smb_read_start(r->e, key, 0, ROWS, y, &q[1], &err));
        OK(eddis_smb_request_wait(r->e, q[1], TIMEOUT_NS, &err));
        OK(eddis_smb_request_wait(r->e, q[0], TIMEOUT_NS, &err));
        CHECK(memcmp(x, y, sizeof x) == 0);
        OK(eddis_smb_fetch_add(r->e, key, 0, 1, &before, TIMEOUT_NS, &err));
        CHECK(before == 0);
    }
    OK(eddis_smb_detach(r->e, key, TIMEOUT_NS, &err));
    return NULL;
}

/* Reads ahead, as a loader does. */
static void *ask_samples(void *arg)
{
    struct rank *r = arg;
    int64_t index[SCENARIO_SAMPLES], count[MOST_RANKS];

    while (!atomic_load(&r->over)) {
        struct eddis_step s = { .size = sizeof s };
        int64_t step = atomic_load(&r->present) + 1;
        int rc = eddis_plan_step(r->e, step, WAIT_NS, &s, NULL), n;

        CHECK(rc >= 0 || rc == -ETIMEDOUT || rc == -ESTALE || rc == -EINVAL);
        if (rc != 1)
            continue;
        OK(eddis_sample_indices(r->e, &s, index, &err));
        for (int64_t i = 0; i < s.count; i++)
            CHECK(index[i] >= 0 && index[i] < SCENARIO_SAMPLES);
        n = eddis_counts(r->e, step, count, NULL);
        CHECK(n <= 0 || count[r->world.group_rank] == s.count);
    }
    return NULL;
}

/* Announces each step's gradient. */
static void *announce_all(void *arg)
{
    struct rank *r = arg;

    pthread_mutex_lock(&r->lock);
    while (!atomic_load(&r->over)) {
        if (r->announced == atomic_load(&r->announce)) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        OK(eddis_announce(r->e, r->parameter, r->gradient, r->gradient, &err));
        r->announced++;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Have the next step announced, or end the threads. */
static void announce_next(struct rank *r, bool over)
{
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->over, over);
    if (!over)
        atomic_fetch_add(&r->announce, 1);
    pthread_cond_broadcast(&r->changed);
    while (!over && r->announced < atomic_load(&r->announce))
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

static void steps(struct rank *r)
{
    struct eddis_step s;

    while (step_begin(r->e, &s)) {
        atomic_store(&r->present, s.step);
        for (int i = 0; i < 4; i++)
            r->gradient[i] = (float)i;
        announce_next(r, false);
        OK(eddis_wait(r->e, TIMEOUT_NS, &err));
        for (int i = 0; i < 4; i++)
            CHECK(s.batch == 0 || fabsf(r->gradient[i] - (float)i) < 0.001f);
        OK(eddis_step_end(r->e, NULL, &err));
    }
    announce_next(r, true);
}

/* Return how many ranks are on this one's node. */
static int count_here(struct rank *r)
{
    int node[MOST_RANKS] = { 0 }, n = 0;

    OK(eddis_allgather(r->e, &r->world.node, node, sizeof *node, TIMEOUT_NS, &err));
    for (int i = 0; i < r->world.n_ranks; i++)
        n += node[i] == r->world.node;
    return n;
}

static void set_up(struct rank *r)
{
    r->parameter = commit_vector(r->e, r->value, 4);
    OK(eddis_smb_open(r->e, 0, &err));
    r->world = world_of(r->e);
    r->n_here = count_here(r);
    CHECK(pipe(r->started) == 0);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
}

void scenario_threads(struct eddis *e, struct scenario *s)
{
    static void *(*const body[])(void *) = { in_group, in_all,      start_in_node, wait_in_node,
                                             in_box,   ask_samples, announce_all };
    enum { N = sizeof body / sizeof *body };
    struct rank *r = calloc(1, sizeof *r);
    pthread_t thread[N];

    r->e = e;
    set_up(r);
    for (int i = 0; i < N; i++)
        CHECK(pthread_create(&thread[i], NULL, body[i], r) == 0);
    steps(r);
    for (int i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    close(r->started[0]);
    close(r->started[1]);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
