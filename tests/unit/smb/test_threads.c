/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - a Soft Memory Box whose ranks are threads: nothing but the loop and the memory
 * is shared. */
#include "bench/loop.h"
#include "lib/base/clock.h"
#include "lib/smb/smb.h"
#include "suite.h"

#include <pthread.h>
#include <sched.h>

enum { RANKS = 4, N = 20000, K = 20 };

struct rank {
    struct loop *loop;
    const int *node_of;
    int rank;
    pthread_t thread;
    uint64_t *key; /* made by rank 0 */
    struct transport *end;
    struct smb *box;
    const char *failed;
    bool looked; /* at the sum */
};

static void turn(struct rank *w, struct smb_request *start)
{
    struct eddis_error err = { 0 };
    struct outbox out = { 0 };
    struct comm_op op;
    int64_t now = clock_now_ns();
    int n = transport_poll(w->end, &op, 1, &err), rc = 0;

    if (n > 0)
        rc = smb_receive(w->box, &op, now, &out, &err);
    if (rc >= 0 && start)
        rc = smb_start(w->box, start, now, &out, &err);
    if (rc >= 0)
        rc = smb_poll(w->box, now, &out, &err);
    if (n < 0 || rc < 0 || transport_post(w->end, &out, &err) < 0)
        w->failed = "the box failed";
    outbox_fini(&out);
    if (n == 0)
        sched_yield();
}

static void request(struct rank *w, struct smb_request r, struct smb_request *ret)
{
    *ret = r;
    ret->deadline_ns = clock_now_ns() + 60 * CLOCK_S;
    turn(w, ret);
    while (!ret->done && !w->failed)
        turn(w, NULL);
    while (smb_take_done(w->box))
        ;
    if (ret->rc < 0)
        w->failed = "a request failed";
}

static void work(struct rank *w)
{
    static float ones[N];
    float sum[N];
    struct smb_request r, counter;
    uint64_t key;

    if (w->rank == 0) {
        request(w, (struct smb_request){ .kind = SMB_CREATE, .type = COMM_INT64, .n = 1 }, &r);
        request(w, (struct smb_request){ .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N }, &r);
        for (int j = 0; j < N; j++)
            ones[j] = 1;
        __atomic_store_n(w->key, r.key.id, __ATOMIC_RELEASE);
    }
    while (!(key = __atomic_load_n(w->key, __ATOMIC_ACQUIRE)) && !w->failed)
        turn(w, NULL);
    if (w->rank) {
        request(w, (struct smb_request){ .kind = SMB_ATTACH, .key.id = key }, &r);
        request(w, (struct smb_request){ .kind = SMB_ATTACH, .key.id = key - 1 }, &r);
    }
    request(w, (struct smb_request){ .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N }, &r);
    request(w, (struct smb_request){ .kind = SMB_WRITE, .key = r.key, .data = ones, .count = N },
            &r);
    for (int k = 0; k < K; k++) {
        smb_key own = r.key;

        request(w, (struct smb_request){ .kind = SMB_ACCUMULATE, .key.id = key, .source = own },
                &r);
        request(w, (struct smb_request){ .kind = SMB_FETCH_ADD, .key.id = key - 1, .add = 1 },
                &counter);
        r.key = own;
    }
    /* The last one to count has seen all accumulates end. */
    if (counter.value == RANKS * K - 1) {
        request(w, (struct smb_request){ .kind = SMB_READ, .key.id = key, .data = sum, .count = N },
                &r);
        w->looked = true;
        for (int j = 0; j < N; j++)
            if (sum[j] != RANKS * K)
                w->failed = "an addition is missing";
    }
}

static void *rank_main(void *arg)
{
    struct rank *w = arg;
    struct smb_options o = { .node_of = w->node_of };

    o.place = (struct comm_place){ .rank = w->rank, .n_ranks = RANKS, .channel = COMM_BOX };
    if (loop_open(w->loop, w->rank, &w->end, NULL) < 0 || smb_open(&o, &w->box, NULL) < 0) {
        w->failed = "the box does not open";
        return NULL;
    }
    work(w);
    smb_leave(w->box);
    while (!smb_left(w->box) && !w->failed)
        turn(w, NULL);
    return NULL;
}

static void run(const int *node_of)
{
    struct rank w[RANKS];
    struct loop *loop;
    uint64_t key = 0;
    int looked = 0;

    ck_assert_int_eq(loop_new(RANKS, 0, &loop, NULL), 0);
    for (int i = 0; i < RANKS; i++) {
        w[i] = (struct rank){ .loop = loop, .node_of = node_of, .rank = i, .key = &key };
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, rank_main, &w[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_msg(!w[i].failed, "rank %d: %s", i, w[i].failed);
        looked += w[i].looked;
        smb_close(w[i].box);
        transport_close(w[i].end, true, NULL);
    }
    ck_assert_int_eq(looked, 1);
    loop_free(loop);
}

START_TEST(threads_of_one_node)
{
    run((const int[]){ 0, 0, 0, 0 });
}
END_TEST

START_TEST(threads_of_two_nodes)
{
    run((const int[]){ 0, 0, 1, 1 });
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, threads_of_one_node);
    tcase_add_test(tc, threads_of_two_nodes);
}

SUITE_MAIN("threads", add_tests)
