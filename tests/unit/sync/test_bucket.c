/* SPDX-License-Identifier: Apache-2.0 */
/* test_bucket.c - property 42: merging never raises the predicted time. */
#include "lib/sync/bucket.h"

#include "bucket_end.h"
#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 300, MANY = 2048 };

/* Every item in one run, and no run of two types. */
static void check_runs(const struct bucket_item *item, int n, const struct bucket_run *run, int k)
{
    int seen[ITEMS] = { 0 };

    for (int b = 0; b < k; b++) {
        ck_assert_int_lt(run[b].first, run[b].end);
        for (int i = run[b].first; i < run[b].end; i++) {
            ck_assert_int_lt(i, n);
            ck_assert_int_eq(seen[i]++, 0);
            ck_assert_int_eq(item[i].type, item[run[b].first].type);
        }
    }
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(seen[i], 1);
}

static void check_merged(const struct bucket_layout *l, int k, const struct bucket_item *item,
                         int n)
{
    ck_assert_int_eq(l->n, k);
    ck_assert(bucket_fits(l, item, n));
    check_runs(item, n, l->run, k);
}

START_TEST(filled_in_order)
{
    static const struct row {
        const char *sizes, *types;
        size_t first, rest;
        const char *ends;
    } rows[] = {
        { "1111", "aaaa", 2, 2, "24" },
        { "1111", "aaaa", 1, 3, "14" },
        { "1119", "aaaa", 2, 2, "234" },
        { "9111", "aaaa", 2, 9, "14" },
        { "111111", "aabbaa", 9, 9, "246" },
        { "11", "aa", 1, 1, "12" },
        { "", "", 1, 1, "" },
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int n = (int)strlen(rows[r].sizes), want = (int)strlen(rows[r].ends), k;
        struct bucket_item item[8];
        struct bucket_run run[8];

        for (int i = 0; i < n; i++)
            item[i] = (struct bucket_item){ (size_t)(rows[r].sizes[i] - '0'), rows[r].types[i], 0 };
        k = bucket_fill(item, n, rows[r].first, rows[r].rest, run);
        check_runs(item, n, run, k);
        ck_assert_msg(k == want, "row %zu: %d buckets", r, k);
        for (int b = 0; b < k; b++)
            ck_assert_int_eq(run[b].end, rows[r].ends[b] - '0');
    }
}
END_TEST

/* Layers as they are: unlike sizes, and ready one after the other, exactly or nearly in the arena's
 * order, or in any.
 */
static void random_items(struct bucket_item *item, int n, int disorder, uint64_t *random)
{
    int64_t ready = 0;

    for (int i = 0; i < n; i++) {
        ready += (int64_t)random_below(random, 5000000);
        item[i] = (struct bucket_item){ .bytes = 64 * (1 + random_below(random, 40000)),
                                        .ready_ns = ready };
        if (random_below(random, 3) == 0)
            item[i].bytes = 64;
    }
    for (int i = 0; i < n; i++) {
        int j = disorder == 1 ? i ^ 1 : disorder == 2 ? (int)random_below(random, (uint64_t)n) : i;

        if (j < n && (disorder == 2 || j > i)) {
            int64_t t = item[i].ready_ns;

            item[i].ready_ns = item[j].ready_ns;
            item[j].ready_ns = t;
        }
    }
}

static struct bucket_cost random_cost(uint64_t *random)
{
    return (struct bucket_cost){ .latency_s = 1e-5 * (double)random_below(random, 300),
                                 .bytes_per_s = 1e7 * (double)(1 + random_below(random, 400)) };
}

/* Runs of one item each, as they become ready. */
static int unmerged(const struct bucket_item *item, int n, struct bucket_run *ret)
{
    for (int i = 0; i < n; i++) {
        int k = i;

        for (; k > 0 && item[ret[k - 1].first].ready_ns > item[i].ready_ns; k--)
            ret[k] = ret[k - 1];
        ret[k] = (struct bucket_run){ i, i + 1 };
    }
    return n;
}

START_TEST(property_42_merging_never_raises_the_time)
{
    uint64_t random = 42;

    for (int trial = 0; trial < 600; trial++) {
        int n = 1 + (int)random_below(&random, BUCKET_MAX), k;
        struct bucket_cost cost = random_cost(&random);
        struct bucket_item item[ITEMS];
        struct bucket_run single[ITEMS], whole = { 0, n };
        struct bucket_layout l;
        int64_t end;

        random_items(item, n, trial % 3, &random);
        k = bucket_merge(item, n, &cost, &l);
        ck_assert_int_ge(k, 1);
        check_merged(&l, k, item, n);
        end = bucket_end_ns(item, l.run, k, &cost);
        ck_assert_int_le(end, bucket_end_ns(item, single, unmerged(item, n, single), &cost));
        ck_assert_int_le(end, bucket_end_ns(item, &whole, 1, &cost));
        for (size_t bytes = 1 << 14; bytes <= 1 << 24; bytes *= 4) {
            int filled = bucket_fill(item, n, bytes / 4, bytes, single);

            ck_assert_int_le(end, bucket_end_ns(item, single, filled, &cost));
        }
    }
}
END_TEST

/* Against every cut of the arena there is. */
START_TEST(merged_at_best)
{
    uint64_t random = 7;

    for (int trial = 0; trial < 200; trial++) {
        int n = 1 + (int)random_below(&random, 9);
        struct bucket_cost cost = random_cost(&random);
        struct bucket_item item[ITEMS];
        struct bucket_run run[ITEMS];
        struct bucket_layout l;
        int64_t best = INT64_MAX, merged;

        random_items(item, n, trial % 2, &random);
        for (int cuts = 0; cuts < 1 << (n - 1); cuts++) {
            int k = 0;
            int64_t end;

            for (int i = 0; i < n; i++)
                if (i == 0 || cuts >> (i - 1) & 1)
                    run[k++] = (struct bucket_run){ i, i + 1 };
                else
                    run[k - 1].end = i + 1;
            end = bucket_end_ns(item, run, k, &cost);
            best = end < best ? end : best;
        }
        ck_assert_int_ge(bucket_merge(item, n, &cost, &l), 1);
        merged = bucket_end_ns(item, l.run, l.n, &cost);
        if (trial % 2 == 0) /* ready in the arena's order: exactly the best */
            ck_assert_int_eq(merged, best);
        else
            ck_assert_int_le(merged, best);
    }
}
END_TEST

/* A network at its ends: one that costs nothing, and one that only costs by the message. */
START_TEST(cheap_and_dear_messages)
{
    const struct bucket_cost cheap = { 0, 64e9 }, dear = { 1, 64e9 };
    struct bucket_item item[4];
    struct bucket_layout l;

    for (int i = 0; i < 4; i++)
        item[i] = (struct bucket_item){ 64, 0, 1000 * (i + 1) };
    /* the last alone; the others have time enough */
    ck_assert_int_eq(bucket_merge(item, 4, &cheap, &l), 2);
    ck_assert_int_eq(l.run[1].first, 3);
    ck_assert_int_eq(bucket_merge(item, 4, &dear, &l), 1);
    ck_assert_int_eq(bucket_merge(item, 0, &dear, &l), 0);
}
END_TEST

/* The second half of the arena is ready first, as when a model is registered in another order. */
START_TEST(order_of_readiness)
{
    const struct bucket_cost cost = { 1e-4, 1e9 };
    struct bucket_item item[6];
    struct bucket_layout l;
    int k;

    for (int i = 0; i < 6; i++)
        item[i] = (struct bucket_item){ 1 << 20, 0, (i + 3) % 6 * INT64_C(2000000) };
    k = bucket_merge(item, 6, &cost, &l);
    check_merged(&l, k, item, 6);
    ck_assert_int_eq(l.run[0].first, 3);
    ck_assert_int_eq(bucket_end_ns(item, l.run, k, &cost), 5 * 2000000 + bucket_ns(&cost, 1 << 20));
}
END_TEST

/* 30 layers that compute covers: a few messages end as early as 30, with three times as much time
 * to spare before the last; where the link has no time to spare, or latency is next to nothing,
 * there are more.
 */
START_TEST(few_where_time_allows)
{
    static const struct {
        struct bucket_cost cost;
        int least, most;
    } rows[] = {
        { { 5e-4, 1e9 }, 8, 15 },    /* 1.5 ms of 5 ms, in buckets of 4 MB at most */
        { { 1e-4, 1e9 }, 30, 30 },   /* 1.1 ms, 0.1 of them latency */
        { { 1e-4, 4e8 }, 30, 30 },   /* 2.6 ms: three times that do not fit */
        { { 1e-4, 2.02e8 }, 25, 30 } /* 5.1 ms: always behind */
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct bucket_item item[30];
        struct bucket_run single[30];
        struct bucket_layout l;

        for (int i = 0; i < 30; i++)
            item[i] = (struct bucket_item){ 1000000, 0, (i + 1) * INT64_C(5000000) };
        ck_assert_int_ge(bucket_merge(item, 30, &rows[r].cost, &l), rows[r].least);
        ck_assert_int_le(l.n, rows[r].most);
        ck_assert_int_le(bucket_end_ns(item, l.run, l.n, &rows[r].cost),
                         bucket_end_ns(item, single, unmerged(item, 30, single), &rows[r].cost));
    }
}
END_TEST

/* Far more gradients than are told apart, some of another type: nearly as good as by any size. */
START_TEST(many)
{
    static struct bucket_item item[MANY];
    static struct bucket_run run[MANY];
    uint64_t random = 11;

    for (int trial = 0; trial < 9; trial++) {
        int n = MANY - trial * 170, k;
        struct bucket_cost cost = random_cost(&random);
        struct bucket_layout l;
        int64_t end;

        random_items(item, n, trial % 3, &random);
        for (int i = n / 3; i < n / 2; i++)
            item[i].type = 1;
        k = bucket_merge(item, n, &cost, &l);
        ck_assert_int_ge(k, 3);
        ck_assert(bucket_fits(&l, item, n));
        end = bucket_end_ns(item, l.run, k, &cost);
        for (size_t bytes = 1 << 16; bytes <= 1 << 30; bytes *= 4) {
            int filled = bucket_fill(item, n, bytes, bytes, run);

            if (filled <= BUCKET_MAX)
                ck_assert_int_le(end, bucket_end_ns(item, run, filled, &cost) / 100 * 101);
        }
    }
}
END_TEST

static double cpu_s(void)
{
    struct timespec t;

    ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time to lay out n small gradients, the least of some. */
static double merge_s(int n)
{
    const struct bucket_cost cost = { 5e-6, 4e9 };
    static struct bucket_item item[MANY];
    double least = 1e9;
    uint64_t random = 5;

    for (int i = 0; i < n; i++)
        item[i] = (struct bucket_item){ .bytes = 64 * (1 + random_below(&random, 200)),
                                        .ready_ns = 20000 * i };
    for (int trial = 0; trial < 3; trial++) {
        struct bucket_layout l;
        double begun = cpu_s();

        ck_assert_int_ge(bucket_merge(item, n, &cost, &l), 1);
        begun = cpu_s() - begun;
        least = begun < least ? begun : least;
    }
    return least;
}

/* Four times as many take four times as long at most; the square would be sixteen times. */
START_TEST(time_is_linear)
{
    double least = 1e9;

    /* The least of some tries: other work stretches one of the two, growth by the square each. */
    for (int tries = 0; tries < 5 && least > 8; tries++) {
        double few = merge_s(MANY / 4), ratio = merge_s(MANY) / few;

        least = ratio < least ? ratio : least;
    }
    ck_assert_msg(least <= 8, "%d gradients take %.0f times as long as %d", MANY, least, MANY / 4);
}
END_TEST

START_TEST(not_more_than_fit)
{
    const struct bucket_cost cost = { 0, 1e9 };
    struct bucket_item item[ITEMS];
    struct bucket_layout l;
    int k;

    for (int i = 0; i < ITEMS; i++)
        item[i] = (struct bucket_item){ 64, 0, i * 1000000 };
    k = bucket_merge(item, ITEMS, &cost, &l);
    ck_assert_int_ge(k, BUCKET_MAX / 4);
    check_merged(&l, k, item, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        item[i].type = i % 2;
    ck_assert_int_eq(bucket_merge(item, ITEMS, &cost, &l), -E2BIG);
}
END_TEST

/* What comes from elsewhere is looked at. */
START_TEST(layouts_that_do_not_fit)
{
    static const struct bucket_layout rows[] = {
        { .n = 1, .run = { { 0, 3 } } },
        { .n = 1, .run = { { 0, 5 } } },
        { .n = 1, .run = { { -1, 4 } } },
        { .n = 2, .run = { { 0, 2 }, { 1, 4 } } },
        { .n = 3, .run = { { 0, 2 }, { 2, 2 } } },
        { .n = 2, .run = { { 0, 3 }, { 3, 4 } } },
        { .n = -1 },
        { .n = BUCKET_MAX + 1 },
        { .n = 2, .run = { { 0, 2 }, { 0, 2 } } },
        { .n = 0 },
    };
    static const struct bucket_layout good = { .n = 2, .run = { { 2, 4 }, { 0, 2 } } };
    const struct bucket_item item[4] = { { 1, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 1, 1, 0 } };

    ck_assert(bucket_fits(&good, item, 4));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(!bucket_fits(&rows[i], item, 4), "row %zu", i);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, filled_in_order);
    tcase_add_test(tc, property_42_merging_never_raises_the_time);
    tcase_add_test(tc, merged_at_best);
    tcase_add_test(tc, cheap_and_dear_messages);
    tcase_add_test(tc, order_of_readiness);
    tcase_add_test(tc, few_where_time_allows);
    tcase_add_test(tc, many);
    tcase_add_test(tc, time_is_linear);
    tcase_add_test(tc, not_more_than_fit);
    tcase_add_test(tc, layouts_that_do_not_fit);
}

SUITE_MAIN("bucket", add_tests)
