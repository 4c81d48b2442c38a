/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_parts.c - what each rank has to do with memory that ranks share: its part of sums,
 * and broadcasts through the results.
 */
#include "shared_world.h"

#include "sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what of the memory a rank maps ---- */

/* Bytes of the node's memory that this process has in its page tables, all its ranks together. */
static double mapped_bytes(void)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool ours = false;
    double all = 0, kb;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        if (strchr(line, '-') && strchr(line, '/') && !strstr(line, "kB"))
            ours = strstr(line, "memfd:eddis") != NULL;
        else if (ours && sscanf(line, "Rss: %lf", &kb) == 1)
            all += kb * 1024;
    }
    fclose(f);
    return all;
}

/* Its own, what is to be read of the results, and its share of all: that is three arenas of ten. */
START_TEST(a_rank_maps_its_share)
{
    enum { RANKS = 8, BYTES = 16 << 20, TURNS = 20 };
    struct collective *c[RANKS];
    struct world w;

    world_open(&w, RANKS, 1, BYTES, 9);
    for (int r = 0; r < RANKS; r++) {
        float *x = comm_shm_arena(w.node[r]);

        for (size_t i = 0; i < BYTES / sizeof *x; i++)
            x[i] = (float)r;
        c[r] = new_sum(NULL, &w.place[r], x, BYTES / sizeof *x, COMM_FLOAT32);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int r = 0; r < RANKS; r++)
            world_start(&w, r, c[r]);
        while (world_busy(&w))
            world_run(&w, (uint64_t)turn + 1, 1000);
    }
    for (int r = 0; r < RANKS; r++) {
        const float *sum = allreduce_result(c[r]);

        for (size_t i = 0; i < BYTES / sizeof *sum; i += 1000)
            ck_assert_float_eq(sum[i], RANKS * (RANKS - 1) / 2);
    }
    ck_assert_msg(mapped_bytes() < 0.5 * RANKS * (RANKS + 2.0) * BYTES,
                  "%g MB of %d ranks' %g MB are mapped", mapped_bytes() / 1e6, RANKS,
                  RANKS * (RANKS + 2.0) * BYTES / 1e6);
    ck_assert_msg(mapped_bytes() > (double)RANKS * BYTES, "%g MB", mapped_bytes() / 1e6);
    for (int r = 0; r < RANKS; r++)
        collective_free(c[r]);
    world_close(&w);
}
END_TEST

/* Few ranks find the sum in their own arenas, and the results stay as they were; more ranks, or two
 * on each of several nodes, read the results.
 */
START_TEST(where_the_sum_is)
{
    static const struct {
        int ranks, nodes;
        bool replaces;
    } rows[] = { { 2, 1, true }, { 3, 1, true }, { 4, 1, false }, { 2, 2, true }, { 4, 2, false } };
    enum { N = 1 << 18, MOST = 4 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct collective *c[MOST];
        struct world w;

        world_open(&w, rows[i].ranks, rows[i].nodes, N * sizeof(float), 9);
        for (int r = 0; r < rows[i].ranks; r++) {
            float *x = comm_shm_arena(w.node[r]);

            for (int k = 0; k < N; k++)
                x[k] = (float)(r + 1);
            c[r] = new_sum(NULL, &w.place[r], x, N, COMM_FLOAT32);
        }
        for (int r = 0; r < rows[i].ranks; r++)
            world_start(&w, r, c[r]);
        world_run(&w, 1, 1000);
        ck_assert(!world_busy(&w));
        for (int r = 0; r < rows[i].ranks; r++) {
            const float *own = comm_shm_arena(w.node[r]), *sum = allreduce_result(c[r]);
            const float *results = comm_shm_results(w.node[r]);
            float all = (float)(rows[i].ranks * (rows[i].ranks + 1)) / 2;

            ck_assert_int_eq(comm_shm_replaces(w.node[r], rows[i].nodes), rows[i].replaces);
            ck_assert_int_eq(sum == own, rows[i].replaces);
            for (int k = 0; k < N; k += 1000) {
                ck_assert_float_eq(sum[k], all);
                ck_assert_float_eq(own[k], rows[i].replaces ? all : (float)(r + 1));
                ck_assert_float_eq(results[k], rows[i].replaces ? 0 : all);
            }
        }
        for (int r = 0; r < rows[i].ranks; r++)
            collective_free(c[r]);
        world_close(&w);
    }
}
END_TEST

/* A rank that has contributed and then is put aside: the others do its share. */
START_TEST(a_rank_put_aside_holds_nobody_up)
{
    enum { RANKS = 4, N = 1 << 18 };
    struct collective *c[RANKS];
    struct world w;
    int aside = _i;
    uint64_t seed = 3;

    world_open(&w, RANKS, 1, N * sizeof(float), 9);
    for (int r = 0; r < RANKS; r++) {
        float *x = comm_shm_arena(w.node[r]);

        for (int i = 0; i < N; i++)
            x[i] = 1;
        c[r] = new_sum(NULL, &w.place[r], x, N, COMM_FLOAT32);
    }
    world_start(&w, aside, c[aside]);
    for (int r = 0; r < RANKS; r++)
        if (r != aside)
            world_start(&w, r, c[r]);
    for (int left = RANKS - 1; left;) {
        int r = (int)random_below(&seed, RANKS);

        if (r == aside || !w.c[r])
            continue;
        world_turn(&w, r);
        left -= !w.c[r];
    }
    ck_assert_float_eq(((const float *)allreduce_result(c[(aside + 1) % RANKS]))[N - 1], RANKS);
    world_run(&w, 1, 1000);
    ck_assert(!world_busy(&w));
    for (int r = 0; r < RANKS; r++)
        collective_free(c[r]);
    world_close(&w);
}
END_TEST

/* ---- broadcasts ---- */

/* Only first ranks send, and each of them a piece once where a chain joins them. */
START_TEST(a_broadcast_goes_through_memory)
{
    enum { RANKS = MAX_RANKS, MOST = 3000001 };
    static const size_t lengths[] = { 0, 1, 1000, 256 << 10, MOST };
    struct collective *c[RANKS];
    char *data[RANKS];
    struct world w;

    world_open(&w, RANKS, _i, MOST, 6);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        int64_t sent = 0;

        for (int r = 0; r < RANKS; r++) {
            data[r] = malloc(MOST);
            ck_assert_int_eq(broadcast_shared_new(&w.place[r], data[r], lengths[l], &c[r], NULL),
                             0);
            sent -= w.end[r]->sent_bytes;
        }
        for (int turn = 1; turn <= 3; turn++) {
            for (size_t i = 0; i < lengths[l]; i++)
                data[0][i] = (char)(i * (size_t)turn % 251);
            for (int r = 0; r < RANKS; r++)
                world_start(&w, (r + turn) % RANKS, c[(r + turn) % RANKS]);
            world_run(&w, l + 1, 1000);
            ck_assert(!world_busy(&w));
            for (int r = 1; r < RANKS; r++)
                ck_assert_int_eq(memcmp(data[r], data[0], lengths[l]), 0);
        }
        for (int r = 0; r < RANKS; r++) {
            sent += w.end[r]->sent_bytes;
            collective_free(c[r]);
            free(data[r]);
        }
        ck_assert_int_eq(sent, 3 * (_i - 1) * (int64_t)lengths[l]);
    }
    world_close(&w);
}
END_TEST

/* The root waits for who has not begun, the others for the root. */
START_TEST(a_broadcast_names_the_missing)
{
    enum { RANKS = 4 };
    struct collective *c[RANKS];
    char data[RANKS][100];
    struct world w;

    world_open(&w, RANKS, 1, ARENA, 6);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(broadcast_shared_new(&w.place[r], data[r], 100, &c[r], NULL), 0);
        if (r != _i)
            world_start(&w, r, c[r]);
    }
    world_run(&w, 1, 100);
    for (int r = 0; r < RANKS; r++)
        ck_assert(r == _i || collective_waits_for(c[r]) == _i);
    collective_free(c[_i]);
    comm_shm_close(w.node[_i]);
    w.node[_i] = NULL;
    world_run(&w, 1, 100000);
    for (int r = 0; r < RANKS; r++) {
        if (r == _i)
            continue;
        ck_assert_int_eq(w.failed[r], -EPIPE);
        ck_assert_ptr_nonnull(strstr(w.error[r].text, "in the middle of a broadcast"));
        collective_free(c[r]);
    }
    world_close(&w);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, a_rank_maps_its_share);
    tcase_add_test(tc, where_the_sum_is);
    tcase_add_loop_test(tc, a_rank_put_aside_holds_nobody_up, 0, 4);
    tcase_add_loop_test(tc, a_broadcast_goes_through_memory, 1, 5);
    tcase_add_loop_test(tc, a_broadcast_names_the_missing, 0, 4);
}

SUITE_MAIN("shared parts", add_tests)
