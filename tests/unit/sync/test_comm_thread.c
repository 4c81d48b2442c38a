/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_thread.c - who holds the progress token: the thread, several callers, nobody
 *
 * Every rank has its communication thread over the in-process loop, and threads that wait at the
 * same time for requests of their own.  A wake-up that is lost is a test that does not end.
 */
#include "lib/sync/comm_thread.h"

#include "bench/loop.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { RANKS = 2, WAITERS = 3, ROUNDS = 500, WAIT_MAX_NS = 300 * 1000 };

struct rank {
    struct loop *loop;
    int rank, n_waiters;
    struct comm_thread *thread;
    pthread_barrier_t sent, waited;
    struct request request[WAITERS];
    int rc[WAITERS];
    atomic_bool over;
};

struct waiter {
    struct rank *r;
    int number;
};

static int open_loop(void *arg, struct transport **ret, struct eddis_error *err)
{
    struct rank *r = arg;

    return loop_open(r->loop, r->rank, ret, err);
}

static void rank_init(struct rank *r, struct loop *loop, int rank)
{
    r->loop = loop;
    r->rank = rank;
    atomic_init(&r->over, false);
    pthread_barrier_init(&r->sent, NULL, WAITERS + 1);
    pthread_barrier_init(&r->waited, NULL, WAITERS + 1);
}

static void rank_open(struct rank *r, struct loop *loop, int rank)
{
    rank_init(r, loop, rank);
    ck_assert_int_eq(comm_thread_open(open_loop, r, &r->thread, NULL), 0);
}

static void rank_close(struct rank *r, bool orderly)
{
    ck_assert_int_eq(comm_thread_close(r->thread, orderly, NULL), 0);
    pthread_barrier_destroy(&r->sent);
    pthread_barrier_destroy(&r->waited);
}

/* A barrier for each waiter. */
static void rank_send(struct rank *r)
{
    struct comm_place place = comm_thread_place(r->thread);

    place.channel = COMM_REQUESTS;
    for (int i = 0; i < WAITERS; i++) {
        r->request[i] = (struct request){ .command.kind = MAIL_REQUEST, .level = REQUEST_ALL };
        ck_assert_int_eq(barrier_new(&place, &r->request[i].collective, NULL), 0);
        comm_thread_send(r->thread, &r->request[i].command);
    }
}

static void rank_free_requests(struct rank *r)
{
    for (int i = 0; i < WAITERS; i++)
        collective_free(r->request[i].collective);
}

/* In slices of any length, or without an end. */
static int wait_in_slices(struct waiter *w, uint64_t *random)
{
    struct comm_wait what = { .kind = WAIT_REQUEST, .request = &w->r->request[w->number] };
    int rc;

    do {
        int64_t ns = (int64_t)random_below(random, WAIT_MAX_NS);

        rc =
            comm_thread_wait(w->r->thread, &what, ns % 4 ? clock_now_ns() + ns : CLOCK_NEVER, NULL);
    } while (rc == -ETIMEDOUT);
    return rc;
}

static void *waiter_main(void *arg)
{
    struct waiter *w = arg;
    uint64_t random = random_mix((uint64_t)w->r->rank, (uint64_t)w->number);

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&w->r->sent);
        w->r->rc[w->number] = wait_in_slices(w, &random);
        pthread_barrier_wait(&w->r->waited);
    }
    return NULL;
}

/* Halts the others again and again. */
static void *halter_main(void *arg)
{
    struct rank *r = arg;

    while (!atomic_load(&r->over)) {
        comm_thread_drop_engine(r->thread);
        sched_yield();
    }
    return NULL;
}

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    pthread_t waiter[WAITERS], halter;
    struct waiter w[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        w[i] = (struct waiter){ r, i };
        ck_assert_int_eq(pthread_create(&waiter[i], NULL, waiter_main, &w[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&halter, NULL, halter_main, r), 0);
    for (int i = 0; i < ROUNDS; i++) {
        rank_send(r);
        pthread_barrier_wait(&r->sent);
        pthread_barrier_wait(&r->waited);
        for (int k = 0; k < WAITERS; k++)
            ck_assert_int_eq(r->rc[k], 0);
        rank_free_requests(r);
    }
    atomic_store(&r->over, true);
    pthread_join(halter, NULL);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(waiter[i], NULL);
    return NULL;
}

/* Each waits for a request of its own, while a fourth halts whoever holds the token. */
START_TEST(several_wait_at_once)
{
    static struct rank r[RANKS];
    pthread_t thread[RANKS];
    struct loop *loop;

    ck_assert_int_eq(loop_new(RANKS, 0, &loop, NULL), 0);
    for (int i = 0; i < RANKS; i++)
        rank_open(&r[i], loop, i);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, rank_main, &r[i]), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < RANKS; i++)
        rank_close(&r[i], true);
    loop_free(loop);
}
END_TEST

/* ---- several workers ---- */

enum { WORKERS = 2 };

/* Stands for MPI: what is derived from it is an end of the next loop. */
struct root {
    struct transport base;
    struct loop *const *loop;
    int derived;
};

static int root_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    (void)t, (void)ret, (void)max, (void)err;
    return 0;
}

static int root_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    (void)t, (void)orderly, (void)err;
    return 0;
}

static int root_derive(struct transport *t, struct transport **ret, struct eddis_error *err)
{
    struct root *r = (struct root *)t;

    return loop_open(r->loop[r->derived++], t->rank, ret, err);
}

static const struct transport_ops root_ops = {
    .name = "root", .poll = root_poll, .close = root_close, .derive = root_derive
};

static int open_root(void *arg, struct transport **ret, struct eddis_error *err)
{
    (void)err;
    *ret = arg;
    return 0;
}

static void all_rounds(struct rank *r, int n)
{
    pthread_t thread[WORKERS * RANKS];

    for (int i = 0; i < n; i++) {
        atomic_store(&r[i].over, false);
        ck_assert_int_eq(pthread_create(&thread[i], NULL, rank_main, &r[i]), 0);
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

/* All move beside each other, one fails and is closed for itself, and the other goes on. */
START_TEST(workers_share_a_thread)
{
    static struct rank r[WORKERS * RANKS]; /* those of worker 0, those of worker 1 */
    struct loop *loop[WORKERS];
    struct comm_hub *hub[RANKS];
    struct root root[RANKS];

    for (int w = 0; w < WORKERS; w++)
        ck_assert_int_eq(loop_new(RANKS, 0, &loop[w], NULL), 0);
    for (int i = 0; i < RANKS; i++) {
        root[i] = (struct root){ { .ops = &root_ops, .rank = i, .n_ranks = RANKS }, loop, 0 };
        ck_assert_int_eq(comm_hub_open(open_root, &root[i], &hub[i], NULL), 0);
        ck_assert(!comm_hub_lasts(hub[i]));
        for (int w = 0; w < WORKERS; w++) {
            rank_init(&r[w * RANKS + i], loop[w], i);
            ck_assert_int_eq(comm_thread_join(hub[i], &r[w * RANKS + i].thread, NULL), 0);
        }
    }
    all_rounds(r, WORKERS * RANKS);
    rank_send(&r[0]);
    comm_thread_give_up(r[0].thread, "enough");
    rank_free_requests(&r[0]);
    all_rounds(r + RANKS, RANKS);
    for (int i = 0; i < RANKS; i++)
        rank_close(&r[i], false);
    all_rounds(r + RANKS, RANKS);
    for (int i = 0; i < RANKS; i++)
        rank_close(&r[RANKS + i], true);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(comm_hub_close(hub[i], true, NULL), 0);
    for (int w = 0; w < WORKERS; w++)
        loop_free(loop[w]);
}
END_TEST

/* ---- one worker waits, another opens or fails ---- */

enum { REST_NS = 50 * 1000 * 1000 }; /* until whoever has nothing to do sleeps */

/* Two workers of rank 0; rank 1 takes part in nothing before it is told to. */
struct pair {
    struct loop *loop[WORKERS];
    struct root root;
    struct comm_hub *hub;
    struct rank waits, other; /* rank 0's */
    struct rank far;          /* rank 1's part of what `waits` waits for */
    pthread_t waiter;
};

static void *wait_for_first(void *arg)
{
    struct rank *r = arg;
    struct comm_wait what = { .kind = WAIT_REQUEST, .request = &r->request[0] };

    r->rc[0] = comm_thread_wait(r->thread, &what, CLOCK_NEVER, NULL);
    return NULL;
}

static void pair_open(struct pair *p)
{
    for (int w = 0; w < WORKERS; w++)
        ck_assert_int_eq(loop_new(RANKS, 0, &p->loop[w], NULL), 0);
    p->root = (struct root){ { .ops = &root_ops, .n_ranks = RANKS }, p->loop, 0 };
    ck_assert_int_eq(comm_hub_open(open_root, &p->root, &p->hub, NULL), 0);
    rank_init(&p->waits, p->loop[0], 0);
    rank_init(&p->other, p->loop[1], 0);
    rank_open(&p->far, p->loop[0], 1);
    ck_assert_int_eq(comm_thread_join(p->hub, &p->waits.thread, NULL), 0);
    rank_send(&p->waits);
    ck_assert_int_eq(pthread_create(&p->waiter, NULL, wait_for_first, &p->waits), 0);
    clock_sleep_until_ns(clock_now_ns() + REST_NS);
}

/* Only now the first wait comes to its end. */
static void pair_close(struct pair *p)
{
    struct comm_wait what = { .kind = WAIT_REQUEST };

    rank_send(&p->far);
    pthread_join(p->waiter, NULL);
    ck_assert_int_eq(p->waits.rc[0], 0);
    for (int i = 0; i < WAITERS; i++) {
        what.request = &p->waits.request[i];
        ck_assert_int_eq(comm_thread_wait(p->waits.thread, &what, CLOCK_NEVER, NULL), 0);
        what.request = &p->far.request[i];
        ck_assert_int_eq(comm_thread_wait(p->far.thread, &what, CLOCK_NEVER, NULL), 0);
    }
    rank_free_requests(&p->waits);
    rank_free_requests(&p->far);
    rank_close(&p->other, false);
    rank_close(&p->waits, true);
    rank_close(&p->far, true);
    ck_assert_int_eq(comm_hub_close(p->hub, true, NULL), 0);
    for (int w = 0; w < WORKERS; w++)
        loop_free(p->loop[w]);
}

/* A transport that becomes ready in the hands of another thread than the one that opens it, which
 * has looked in vain and sleeps by then.
 */
static struct {
    struct transport_ops ops;
    pthread_t opener;
    _Atomic int64_t since_ns; /* when the other first asked */
    atomic_int asked;         /* times, by the opener */
    atomic_bool ready;        /* the other was told so */
} late;

static int late_ready(struct transport *t, struct eddis_error *err)
{
    (void)t, (void)err;
    if (pthread_equal(pthread_self(), late.opener)) {
        atomic_fetch_add(&late.asked, 1);
        return 0;
    }
    if (!late.since_ns)
        late.since_ns = clock_now_ns();
    if (clock_now_ns() - late.since_ns > REST_NS)
        late.ready = true;
    return late.ready;
}

static int late_derive(struct transport *t, struct transport **ret, struct eddis_error *err)
{
    int rc = root_derive(t, ret, err);

    late.ops = *(*ret)->ops;
    late.ops.ready = late_ready;
    (*ret)->ops = &late.ops;
    return rc;
}

static void *join_main(void *arg)
{
    struct pair *p = arg;

    late.opener = pthread_self();
    ck_assert_int_eq(comm_thread_join(p->hub, &p->other.thread, NULL), 0);
    return NULL;
}

/* The opener has the token as long as nobody halts it, and may have it again after the other. */
START_TEST(opens_while_another_waits)
{
    struct transport_ops ops = root_ops;
    static struct pair p;
    pthread_t opener;

    pair_open(&p);
    ops.derive = late_derive;
    p.root.base.ops = &ops;
    ck_assert_int_eq(pthread_create(&opener, NULL, join_main, &p), 0);
    while (!late.ready) {
        int asked = atomic_load(&late.asked);

        comm_thread_drop_engine(p.waits.thread);
        while (asked == atomic_load(&late.asked) && !late.ready)
            sched_yield();
    }
    pthread_join(opener, NULL);
    pair_close(&p);
}
END_TEST

/* Giving up does not last as long as another worker's wait. */
START_TEST(gives_up_while_another_waits)
{
    static struct pair p;
    struct eddis_error err = { 0 };

    pair_open(&p);
    ck_assert_int_eq(comm_thread_join(p.hub, &p.other.thread, NULL), 0);
    comm_thread_give_up(p.other.thread, "enough");
    ck_assert_int_eq(comm_thread_failure(p.other.thread, &err), -ECONNABORTED);
    ck_assert_str_eq(err.text, "enough");
    pair_close(&p);
}
END_TEST

/* ---- the end ---- */

static void *lost_main(void *arg)
{
    struct waiter *w = arg;
    struct comm_wait what = { .kind = WAIT_REQUEST, .request = &w->r->request[w->number] };

    pthread_barrier_wait(&w->r->sent);
    w->r->rc[w->number] = comm_thread_wait(w->r->thread, &what, CLOCK_NEVER, NULL);
    return NULL;
}

/* The other rank never begins: giving up ends all waits, and nothing is gone on with after it. */
START_TEST(giving_up_ends_all_waits)
{
    static struct rank r[RANKS];

    for (int round = 0; round < 50; round++) {
        pthread_t thread[WAITERS];
        struct waiter w[WAITERS];
        struct loop *loop;

        ck_assert_int_eq(loop_new(RANKS, 0, &loop, NULL), 0);
        for (int i = 0; i < RANKS; i++)
            rank_open(&r[i], loop, i);
        rank_send(&r[0]);
        for (int i = 0; i < WAITERS; i++) {
            w[i] = (struct waiter){ &r[0], i };
            ck_assert_int_eq(pthread_create(&thread[i], NULL, lost_main, &w[i]), 0);
        }
        pthread_barrier_wait(&r[0].sent);
        clock_sleep_until_ns(clock_now_ns() + round * CLOCK_MS / 10);
        comm_thread_give_up(r[0].thread, "enough");
        rank_free_requests(&r[0]); /* nobody may look at them any more but by the waits */
        for (int i = 0; i < WAITERS; i++) {
            pthread_join(thread[i], NULL);
            ck_assert_int_eq(r[0].rc[i], -ECONNABORTED);
        }
        for (int i = 0; i < RANKS; i++)
            rank_close(&r[i], false);
        loop_free(loop);
    }
}
END_TEST

/* With one rank whoever sends makes the turn, and a wait is over at once. */
START_TEST(one_rank_waits_for_nobody)
{
    struct request q = { .command.kind = MAIL_REQUEST };
    struct comm_wait w = { .kind = WAIT_REQUEST, .request = &q };
    struct comm_thread *t;
    struct comm_place place;

    ck_assert_int_eq(comm_thread_open(NULL, NULL, &t, NULL), 0);
    place = comm_thread_place(t);
    ck_assert_int_eq(place.n_ranks, 1);
    ck_assert_int_eq(barrier_new(&place, &q.collective, NULL), 0);
    comm_thread_send(t, &q.command);
    ck_assert_int_eq(comm_thread_wait(t, &w, 0, NULL), 0);
    collective_free(q.collective);
    ck_assert_int_eq(comm_thread_close(t, true, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, several_wait_at_once);
    tcase_add_test(tc, workers_share_a_thread);
    tcase_add_test(tc, opens_while_another_waits);
    tcase_add_test(tc, gives_up_while_another_waits);
    tcase_add_test(tc, giving_up_ends_all_waits);
    tcase_add_test(tc, one_rank_waits_for_nobody);
}

SUITE_MAIN("comm_thread", add_tests)
