/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c - reductions in memory that ranks share: N ranks of this process, polled in a
 * random order by one thread or each by its own.
 */
#include "shared_world.h"

#include "element.h"
#include "sums.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- right results ---- */

static double element_set(enum comm_type type, void *p, size_t i, double v)
{
    float f = (float)v;

    if (type == COMM_FLOAT32)
        ((float *)p)[i] = f;
    else if (type == COMM_FLOAT64)
        ((double *)p)[i] = v;
    else if (type == COMM_FLOAT16)
        float16s_from_floats((uint16_t *)p + i, &f, 1);
    else if (type == COMM_BFLOAT16)
        bfloat16s_from_floats((uint16_t *)p + i, &f, 1);
    else
        ((int64_t *)p)[i] = (int64_t)(v * 1e6);
    return element_get(type, p, i);
}

struct sum_case {
    int ranks, nodes;
    enum comm_type type;
    size_t n;
    bool in_place;
    uint64_t seed;
};

/* Error of a sum of numbers below 1, with one more rounding a node where 16 bits travel. */
static double tolerance(const struct sum_case *k)
{
    double unit = k->type == COMM_FLOAT16    ? 0x1p-10
                  : k->type == COMM_BFLOAT16 ? 0x1p-7
                  : k->type == COMM_FLOAT32  ? 0x1p-22
                                             : 0x1p-50;

    return k->type == COMM_INT64 ? 0 : k->ranks * k->ranks * unit;
}

static void sum_fill(const struct sum_case *k, int r, void *data, double *want)
{
    size_t bytes = k->n * comm_type_bytes(k->type);
    struct tail t = { r + 1, 10 * r };
    uint64_t random = random_mix(k->seed, (uint64_t)r);

    for (size_t i = 0; i < k->n; i++)
        want[i] += element_set(k->type, data, i, 2 * random_unit(&random) - 1);
    if (bytes % 8 == 0)
        memcpy((char *)data + bytes, &t, sizeof t);
}

static void sum_check(const struct sum_case *k, const void *got, const void *first,
                      const double *want)
{
    size_t bytes = k->n * comm_type_bytes(k->type);
    struct tail t;
    size_t wrong = 0;

    ck_assert_int_eq(memcmp(got, first, bytes), 0);
    for (size_t i = 0; i < k->n; i++)
        wrong += !(fabs(element_get(k->type, got, i) - want[i]) <= tolerance(k));
    ck_assert_uint_eq(wrong, 0);
    if (bytes % 8)
        return;
    memcpy(&t, (const char *)got + bytes, sizeof t);
    ck_assert_int_eq(t.sum, k->ranks * (k->ranks + 1) / 2);
    ck_assert_int_eq(t.max, 10 * (k->ranks - 1));
}

static void sum_once(struct world *w, const struct sum_case *k)
{
    size_t bytes = k->n * comm_type_bytes(k->type) + sizeof(struct tail), offset = 640;
    bool tail = k->n * comm_type_bytes(k->type) % 8 == 0;
    struct collective *c[MAX_RANKS];
    void *data[MAX_RANKS];
    double *want = calloc(k->n + 1, sizeof *want);

    for (int r = 0; r < k->ranks; r++) {
        data[r] = k->in_place ? (char *)comm_shm_arena(w->node[r]) + offset : malloc(bytes);
        ck_assert_int_eq(
            allreduce_new(&w->place[r],
                          &(struct allreduce){ data[r], k->n, k->type, COMM_SUM,
                                               tail ? sizeof(struct tail) : 0, trailer_rule },
                          &c[r], NULL),
            0);
    }
    for (int turn = 0; turn < 3; turn++) {
        memset(want, 0, k->n * sizeof *want);
        for (int r = 0; r < k->ranks; r++)
            sum_fill(k, r, data[r], want);
        for (int r = 0; r < k->ranks; r++)
            world_start(w, r, c[r]);
        world_run(w, k->seed, 1000);
        ck_assert_msg(!world_busy(w), "%zu elements of %d ranks on %d nodes do not end", k->n,
                      k->ranks, k->nodes);
        for (int r = 0; r < k->ranks; r++)
            sum_check(k, allreduce_result(c[r]), allreduce_result(c[0]), want);
    }
    for (int r = 0; r < k->ranks; r++) {
        collective_free(c[r]);
        if (!k->in_place)
            free(data[r]);
    }
    free(want);
}

/* Loop: ranks on one node, and on several. */
START_TEST(sums_are_right)
{
    static const enum comm_type types[] = { COMM_FLOAT32, COMM_FLOAT64, COMM_FLOAT16, COMM_BFLOAT16,
                                            COMM_INT64 };

    for (int ranks = 2; ranks <= MAX_RANKS; ranks += ranks < 5 ? 1 : 3) {
        size_t lengths[] = { 0, 1, (size_t)ranks - 1, 501, 20001 };
        uint64_t seed = (uint64_t)(100 * ranks);
        struct world w;

        world_open(&w, ranks, _i, ARENA, seed);
        for (int t = 0; t < 5; t++)
            for (int l = 0; l < 5; l++)
                for (int in_place = 0; in_place < 2; in_place++)
                    sum_once(&w, &(struct sum_case){ ranks, _i, types[t], lengths[l], in_place,
                                                     seed++ });
        world_close(&w);
    }
}
END_TEST

/* More pieces than slots of the pool, and several in place between nodes. */
START_TEST(large_ones_are_cut)
{
    enum { RANKS = 3, N = 900001 };
    struct world w;

    world_open(&w, RANKS, _i, N * 8 + 4096, 3);
    for (int in_place = 0; in_place < 2; in_place++)
        sum_once(&w, &(struct sum_case){ RANKS, _i, COMM_FLOAT64, N, in_place, 5 });
    world_close(&w);
}
END_TEST

/* Only what order the ranks run in differs. */
START_TEST(bits_do_not_depend_on_timing)
{
    enum { RANKS = 5, N = 9000 };
    static float first[N];

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;
        struct collective *c[RANKS];

        world_open(&w, RANKS, _i, N * sizeof(float), seed);
        for (int r = 0; r < RANKS; r++) {
            float *x = comm_shm_arena(w.node[r]);
            uint64_t random = (uint64_t)r;

            for (int i = 0; i < N; i++)
                x[i] = (float)random_unit(&random) - 0.5f;
            c[r] = new_sum(NULL, &w.place[r], x, N, COMM_FLOAT32);
            world_start(&w, r, c[r]);
        }
        world_run(&w, seed, 1000);
        if (seed == 1)
            memcpy(first, allreduce_result(c[0]), sizeof first);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(memcmp(allreduce_result(c[r]), first, sizeof first), 0);
            collective_free(c[r]);
        }
        world_close(&w);
    }
}
END_TEST

/* ---- who is missing, and who has gone ---- */

static void one_absent(bool in_place, int absent, bool leaves)
{
    enum { RANKS = 4 };
    struct collective *c[RANKS];
    static float private[RANKS][100];
    struct world w;

    world_open(&w, RANKS, 1, ARENA, 9);
    for (int r = 0; r < RANKS; r++) {
        c[r] = new_sum(NULL, &w.place[r], in_place ? comm_shm_arena(w.node[r]) : private[r], 100,
                       COMM_FLOAT32);
        if (r != absent)
            world_start(&w, r, c[r]);
    }
    world_run(&w, 1, 100);
    for (int r = 0; r < RANKS; r++)
        if (r != absent)
            ck_assert_int_eq(collective_waits_for(c[r]), absent);
    if (leaves) {
        collective_free(c[absent]);
        comm_shm_close(w.node[absent]);
        w.node[absent] = NULL;
        world_run(&w, 1, 100000);
        for (int r = 0; r < RANKS; r++) {
            char name[16];

            if (r == absent)
                continue;
            snprintf(name, sizeof name, "rank %d ", absent);
            ck_assert_int_eq(w.failed[r], -EPIPE);
            ck_assert_ptr_nonnull(strstr(w.error[r].text, name));
        }
    } else {
        world_start(&w, absent, c[absent]);
        world_run(&w, 1, 1000);
        ck_assert(!world_busy(&w));
    }
    for (int r = 0; r < RANKS; r++)
        if (!leaves || r != absent)
            collective_free(c[r]);
    world_close(&w);
}

START_TEST(the_missing_rank_is_named)
{
    for (int in_place = 0; in_place < 2; in_place++)
        one_absent(in_place, _i, false);
}
END_TEST

START_TEST(a_rank_that_leaves_is_an_error)
{
    for (int in_place = 0; in_place < 2; in_place++)
        one_absent(in_place, _i, true);
}
END_TEST

/* Its line says that it has arrived, but it was killed before it counted itself. */
START_TEST(a_rank_killed_in_arriving_is_an_error)
{
    enum { RANKS = 4 };
    struct collective *c[RANKS];
    struct world w;
    int absent = _i;

    world_open(&w, RANKS, 1, ARENA, 9);
    for (int r = 0; r < RANKS; r++) {
        c[r] = new_sum(NULL, &w.place[r], comm_shm_arena(w.node[r]), 100, COMM_FLOAT32);
        if (r != absent)
            world_start(&w, r, c[r]);
    }
    atomic_store(&shm_slot(w.node[absent], SHM_POOL_SLOTS)->rank[absent].arrived, 1);
    collective_free(c[absent]);
    comm_shm_close(w.node[absent]);
    w.node[absent] = NULL;
    world_run(&w, 1, 100000);
    for (int r = 0; r < RANKS; r++)
        if (r != absent) {
            ck_assert_int_eq(w.failed[r], -EPIPE);
            collective_free(c[r]);
        }
    world_close(&w);
}
END_TEST

/* A loader of data that rank 1 has forked: ends with the pipe. */
static void loader_main(int end)
{
    char c;

    (void)!read(end, &c, 1);
    _exit(0);
}

/* Rank 1, a process of its own: opens the memory, forks, tells of the child, and waits. */
static void rank_main(const struct shm_region_mark *mark, const struct comm_shm_size *size,
                      const int tell[2], const int end[2])
{
    struct comm_shm *m;
    pid_t loader;

    (void)close(end[1]);
    if (shm_attach(mark, 1, 2, size, &m, NULL) < 0)
        _exit(1);
    loader = fork();
    if (loader == 0)
        loader_main(end[0]);
    (void)!write(tell[1], &loader, sizeof loader);
    loader_main(end[0]);
}

/* Look often enough to see whether rank 1 is there. */
static int look(struct comm_shm *m)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < 5000; i++)
        rc = shm_idle(m, 1);
    return rc;
}

START_TEST(a_killed_rank_is_gone_though_its_child_lives)
{
    const struct comm_shm_size size = { .arena_bytes = 4096, .slots = 1 };
    struct shm_region_mark mark;
    int tell[2], end[2], status;
    struct comm_shm *m;
    pid_t rank, loader;

    ck_assert(pipe(tell) == 0 && pipe(end) == 0);
    ck_assert_int_eq(shm_make(2, &size, &m, NULL), 0);
    ck_assert_int_eq(shm_describe(m, &mark, NULL), 0);
    rank = fork();
    if (rank == 0)
        rank_main(&mark, &size, tell, end);
    ck_assert_int_eq(read(tell[0], &loader, sizeof loader), sizeof loader);
    ck_assert_int_eq(look(m), 0);
    ck_assert_int_eq(kill(rank, SIGKILL), 0);
    ck_assert_int_eq(waitpid(rank, &status, 0), rank);
    ck_assert_int_eq(kill(loader, 0), 0);
    ck_assert_int_eq(look(m), -EPIPE);
    (void)close(end[1]);
    comm_shm_close(m);
}
END_TEST

/* ---- groups, order, refusals ---- */

/* Two reductions of private memory under way at once share the pool, whichever is polled first. */
START_TEST(the_pool_is_shared_in_order)
{
    enum { RANKS = 3, N = 1000000 };
    struct collective *c[RANKS][2];
    float *x[RANKS][2];
    struct outbox out = { 0 };
    uint64_t seed = 4;
    int left = 2 * RANKS;
    struct world w;

    world_open(&w, RANKS, 1, 0, 4);
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < 2; k++) {
            x[r][k] = malloc(N * sizeof(float));
            for (int i = 0; i < N; i++)
                x[r][k][i] = (float)(k + 1);
            c[r][k] = new_sum(NULL, &w.place[r], x[r][k], k ? N / 3 : N, COMM_FLOAT32);
            ck_assert_int_eq(collective_start(c[r][k], 1, &out, NULL), 0);
        }
    while (left) {
        int r = (int)random_below(&seed, RANKS), k = (int)random_below(&seed, 2);

        if (collective_polls(c[r][k]))
            left -= collective_poll(c[r][k], &out, NULL);
    }
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < 2; k++) {
            int wrong = 0;

            for (int i = 0; i < N; i++)
                wrong += x[r][k][i] != (k && i >= N / 3 ? 2 : (float)(RANKS * (k + 1)));
            ck_assert_int_eq(wrong, 0);
            collective_free(c[r][k]);
            free(x[r][k]);
        }
    outbox_fini(&out);
    world_close(&w);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    struct allreduce a = { .n = 16, .type = COMM_FLOAT32, .rule = COMM_SUM };
    struct collective *c[13];
    struct eddis_error err;
    struct world w;
    float *x;
    int n = 0;

    world_open(&w, 2, 1, ARENA, 1);
    x = comm_shm_arena(w.node[0]);
    for (; n < 12; n++)
        c[n] = new_sum(NULL, &w.place[0], x + 16 * n, 16, COMM_FLOAT32);
    a.data = x;
    ck_assert_int_eq(allreduce_new(&w.place[0], &a, &c[12], &err), -ENOSPC);
    while (n)
        collective_free(c[--n]);
    w.place[0].nodes = NULL;
    ck_assert_int_eq(allreduce_new_kind("shared", &w.place[0], &a, &c[0], &err), -EINVAL);
    world_close(&w);
}
END_TEST

/* More memory than there is fails on all ranks alike, and leaves nothing behind. */
START_TEST(memory_that_is_not_there)
{
    struct comm_shm_size size = { .arena_bytes = (size_t)1 << 50 };
    struct collective *share[3];
    struct world w;

    world_open(&w, 3, 1, 0, 2);
    for (int r = 0; r < 3; r++) {
        struct comm_place here = node_groups_here(w.nodes[r], COMM_REQUESTS);

        ck_assert_int_eq(comm_shm_share(&here, &size, &share[r], NULL), 0);
        world_start(&w, r, share[r]);
    }
    world_run(&w, 5, 1000);
    ck_assert(!world_busy(&w));
    for (int r = 0; r < 3; r++) {
        struct eddis_error err = { 0 };
        struct comm_shm *node = NULL;

        ck_assert_int_lt(comm_shm_take(share[r], &node, &err), 0);
        ck_assert_ptr_null(node);
        ck_assert_ptr_nonnull(strstr(err.text, "bytes of shared memory"));
        collective_free(share[r]);
    }
    world_close(&w);
}
END_TEST

/* ---- one thread a rank, on one mapping ---- */

struct thread_rank {
    pthread_t thread;
    struct comm_shm *node;
    struct node_groups *nodes;
    int rank, n;
};

/* Another rank of this process, on the mappings of the first one: a thread sanitizer identifies
 * memory by its address.
 */
static struct comm_shm *join(const struct comm_shm *first, int rank)
{
    struct shm_region_mark mark;
    struct comm_shm *m;

    ck_assert_int_eq(shm_describe(first, &mark, NULL), 0);
    ck_assert_int_eq(shm_attach(&mark, rank, first->n_ranks, &first->size, &m, NULL), 0);
    shm_region_unmap(m->map, m->at.bytes);
    shm_region_unmap(m->results, m->size.arena_bytes);
    m->map = first->map;
    m->results = first->map + first->at.results;
    return m;
}

/* Close such a rank, without the mappings. */
static void leave(struct comm_shm *m)
{
    m->map = NULL;
    m->results = NULL;
    comm_shm_close(m);
}

static void thread_sum(const struct comm_place *p, float *x, int n, int turns)
{
    struct collective *c = new_sum(NULL, p, x, (size_t)n, COMM_FLOAT32);
    struct outbox out = { 0 };

    for (int turn = 0; turn < turns; turn++) {
        const float *sum;
        int over, wrong = 0;

        for (int i = 0; i < n; i++)
            x[i] = (float)(turn + p->rank);
        over = collective_start(c, 1, &out, NULL);
        while (!over) {
            sched_yield();
            over = collective_poll(c, &out, NULL);
        }
        ck_assert_int_eq(over, 1);
        sum = allreduce_result(c);
        for (int i = 0; i < n; i++)
            wrong += sum[i] != (float)(turn * p->n_ranks + p->n_ranks * (p->n_ranks - 1) / 2);
        ck_assert_int_eq(wrong, 0);
    }
    collective_free(c);
    outbox_fini(&out);
}

static void *thread_main(void *arg)
{
    static const int lengths[] = { 1, 300, 20000 };
    struct thread_rank *t = arg;
    struct comm_place p = { .rank = t->rank, .n_ranks = t->n, .nodes = t->nodes };

    for (int l = 0; l < 3; l++) {
        float *x = malloc((size_t)lengths[l] * sizeof *x);

        thread_sum(&p, comm_shm_arena(t->node), lengths[l], 20);
        thread_sum(&p, x, lengths[l], 20);
        free(x);
    }
    return NULL;
}

START_TEST(threads_agree)
{
    enum { RANKS = 5 };
    static const int node_of[RANKS] = { 0 };
    struct thread_rank t[RANKS];

    ck_assert_int_eq(shm_make(RANKS, &(struct comm_shm_size){ 80000, 4, true }, &t[0].node, NULL),
                     0);
    for (int r = 0; r < RANKS; r++) {
        struct comm_place p = { .rank = r, .n_ranks = RANKS };

        t[r].rank = r;
        t[r].n = RANKS;
        if (r)
            t[r].node = join(t[0].node, r);
        ck_assert_int_eq(node_groups_new(&p, node_of, &t[r].nodes, NULL), 0);
        t[r].nodes->shm = t[r].node;
    }
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(pthread_create(&t[r].thread, NULL, thread_main, &t[r]), 0);
    for (int r = RANKS - 1; r >= 0; r--)
        pthread_join(t[r].thread, NULL);
    for (int r = RANKS - 1; r > 0; r--)
        leave(t[r].node);
    comm_shm_close(t[0].node);
    for (int r = 0; r < RANKS; r++)
        node_groups_free(t[r].nodes);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, sums_are_right, 1, 4);
    tcase_add_loop_test(tc, large_ones_are_cut, 1, 3);
    tcase_add_loop_test(tc, bits_do_not_depend_on_timing, 1, 3);
    tcase_add_loop_test(tc, the_missing_rank_is_named, 0, 4);
    tcase_add_loop_test(tc, a_rank_that_leaves_is_an_error, 0, 4);
    tcase_add_loop_test(tc, a_rank_killed_in_arriving_is_an_error, 0, 4);
    tcase_add_test(tc, a_killed_rank_is_gone_though_its_child_lives);
    tcase_add_test(tc, the_pool_is_shared_in_order);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    tcase_add_test(tc, memory_that_is_not_there);
    tcase_add_test(tc, threads_agree);
}

SUITE_MAIN("shared", add_tests)
