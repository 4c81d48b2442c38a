/* SPDX-License-Identifier: Apache-2.0 */
/* threads_scenario.c - what any thread may call, from several threads of each rank at once while
 * one makes the steps
 *
 * Each thread has a scope, or a buffer of the box, of its own: the order of calls in a scope is
 * what must be alike on all its workers.
 */
#include "threads_scenario.h"

#include "lib/eddis_smb.h"
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_NS INT64_C(60000000000)
#define WAIT_NS    INT64_C(1000000)
#define SLICE_NS   INT64_C(50000)

enum { CALLS = 60, LENGTH = 700, ROWS = 64, MOST_RANKS = 8 };

struct rank {
    struct eddis *e;
    atomic_int failures;
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

#define CHECK(r, cond)                                                                             \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            atomic_fetch_add(&(r)->failures, 1);                                                   \
        }                                                                                          \
    } while (0)

static struct eddis_collective sum_of(int64_t *x, size_t n, enum eddis_scope scope)
{
    return (struct eddis_collective){ .size = sizeof(struct eddis_collective),
                                      .kind = EDDIS_ALLREDUCE,
                                      .scope = scope,
                                      .buffer = x,
                                      .n = n,
                                      .dtype = EDDIS_INT64,
                                      .op = EDDIS_SUM };
}

/* Blocking, in slices. */
static void call_sums(struct rank *r, enum eddis_scope scope, int n)
{
    struct eddis_error err = { 0 };
    int64_t x[LENGTH];

    for (int i = 0; i < CALLS; i++) {
        struct eddis_collective c = sum_of(x, (size_t)(1 + i * 11), scope);
        int rc;

        for (size_t k = 0; k < c.n; k++)
            x[k] = (int64_t)k + i;
        while ((rc = eddis_collective(r->e, &c, SLICE_NS, &err)) == -ETIMEDOUT)
            ;
        CHECK(r, rc == 0);
        CHECK(r, x[0] == (int64_t)n * i && x[c.n - 1] == (int64_t)n * ((int64_t)c.n - 1 + i));
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
    struct eddis_error err = { 0 };

    for (int i = 0; i < CALLS; i++) {
        struct eddis_collective c = sum_of(r->sum[i], 3, EDDIS_NODE);
        struct eddis_request *q = NULL;

        for (int k = 0; k < 3; k++)
            r->sum[i][k] = i + k;
        CHECK(r, eddis_collective_start(r->e, &c, &q, &err) == 0);
        CHECK(r, write(r->started[1], &q, sizeof q) == sizeof q);
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

        CHECK(r, read(r->started[0], &q, sizeof q) == sizeof q);
        if (i % 2)
            while ((rc = eddis_request_test(r->e, q, &err)) == 0)
                sched_yield();
        else
            while ((rc = eddis_request_wait(r->e, q, SLICE_NS, &err)) == -ETIMEDOUT)
                ;
        CHECK(r, rc == i % 2);
        for (int k = 0; k < 3; k++)
            CHECK(r, r->sum[i][k] == (int64_t)r->n_here * (i + k));
    }
    return NULL;
}

static void *in_box(void *arg)
{
    struct rank *r = arg;
    struct eddis_error err = { 0 };
    uint64_t key = 0;
    int64_t x[ROWS], y[ROWS], before;

    CHECK(r, eddis_smb_create(r->e, EDDIS_INT64, ROWS, &key, TIMEOUT_NS, &err) == 0);
    for (int i = 0; i < CALLS; i++) {
        struct eddis_smb_request *q[2] = { NULL };

        for (int k = 0; k < ROWS; k++)
            x[k] = i * k;
        CHECK(r, eddis_smb_write_start(r->e, key, 0, ROWS, x, &q[0], &err) == 0);
        CHECK(r, eddis_smb_read_start(r->e, key, 0, ROWS, y, &q[1], &err) == 0);
        CHECK(r, eddis_smb_request_wait(r->e, q[1], TIMEOUT_NS, &err) == 0);
        CHECK(r, eddis_smb_request_wait(r->e, q[0], TIMEOUT_NS, &err) == 0);
        CHECK(r, memcmp(x, y, sizeof x) == 0);
        CHECK(r, eddis_smb_fetch_add(r->e, key, 0, 1, &before, TIMEOUT_NS, &err) == 0);
        CHECK(r, before == 0);
    }
    CHECK(r, eddis_smb_detach(r->e, key, TIMEOUT_NS, &err) == 0);
    return NULL;
}

/* Reads ahead, as a loader does. */
static void *ask_samples(void *arg)
{
    struct rank *r = arg;
    struct eddis_error err = { 0 };
    int64_t index[SCENARIO_SAMPLES], count[MOST_RANKS];

    while (!atomic_load(&r->over)) {
        struct eddis_step s = { .size = sizeof s };
        int64_t step = atomic_load(&r->present) + 1;
        int rc = eddis_plan_step(r->e, step, WAIT_NS, &s, &err), n;

        CHECK(r, rc >= 0 || rc == -ETIMEDOUT || rc == -ESTALE || rc == -EINVAL);
        if (rc != 1)
            continue;
        CHECK(r, eddis_sample_indices(r->e, &s, index, &err) == 0);
        for (int64_t i = 0; i < s.count; i++)
            CHECK(r, index[i] >= 0 && index[i] < SCENARIO_SAMPLES);
        n = eddis_counts(r->e, step, count, &err);
        CHECK(r, n <= 0 || count[r->world.group_rank] == s.count);
    }
    return NULL;
}

/* Announces each step's gradient. */
static void *announce_all(void *arg)
{
    struct rank *r = arg;
    struct eddis_error err = { 0 };

    pthread_mutex_lock(&r->lock);
    while (!atomic_load(&r->over)) {
        if (r->announced == atomic_load(&r->announce)) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        CHECK(r, eddis_announce(r->e, r->parameter, r->gradient, r->gradient, &err) == 0);
        r->announced++;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* The next step's, or the last. */
static void tell(struct rank *r, bool over)
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
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = eddis_step_begin(r->e, &s, &err)) == 1) {
        atomic_store(&r->present, s.step);
        for (int i = 0; i < 4; i++)
            r->gradient[i] = (float)i;
        tell(r, false);
        CHECK(r, eddis_wait(r->e, TIMEOUT_NS, &err) == 0);
        for (int i = 0; i < 4; i++)
            CHECK(r, s.batch == 0 || fabsf(r->gradient[i] - (float)i) < 0.001f);
        CHECK(r, eddis_step_end(r->e, NULL, &err) == 0);
    }
    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", r->world.rank, err.text);
    CHECK(r, rc == 0);
    tell(r, true);
}

static void set_up(struct rank *r)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = r->value };
    struct eddis_error err = { 0 };

    r->parameter =
        eddis_add_parameter(r->e, eddis_add_layer(r->e, "l", EDDIS_LAYER_OTHER, &err), &p, &err);
    CHECK(r, eddis_commit(r->e, &err) == 0);
    CHECK(r, eddis_smb_open(r->e, 0, &err) == 0);
    r->world.size = sizeof r->world;
    CHECK(r, eddis_world(r->e, &r->world) == 0);
    CHECK(r, pipe(r->started) == 0);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
}

int threads_run(struct eddis *e, int n_here)
{
    static void *(*const body[])(void *) = { in_group, in_all,      start_in_node, wait_in_node,
                                             in_box,   ask_samples, announce_all };
    enum { N = sizeof body / sizeof *body };
    struct rank *r = calloc(1, sizeof *r);
    pthread_t thread[N];
    int failures;

    r->e = e;
    r->n_here = n_here;
    set_up(r);
    for (int i = 0; i < N; i++)
        CHECK(r, pthread_create(&thread[i], NULL, body[i], r) == 0);
    steps(r);
    for (int i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    close(r->started[0]);
    close(r->started[1]);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    failures = atomic_load(&r->failures);
    free(r);
    return failures;
}
