/* SPDX-License-Identifier: Apache-2.0 */
/* test_split.c - tests of scheduler/split.h */
#include "scheduler/split.h"

#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { SMALL = 5 };

static double finish(const struct split_worker *w, int n, const int64_t *b)
{
    double s = 0;

    for (int i = 0; i < n; i++)
        s = fmax(s, time_model_s(&w[i].t, b[i]));
    return s;
}

static int64_t sum(const int64_t *b, int n)
{
    int64_t s = 0;

    for (int i = 0; i < n; i++)
        s += b[i];
    return s;
}

/* The least finish time over every allowed split, by trying all of them; INFINITY when there is
 * none.  odd: a worker already got what is no multiple of grain.
 */
static double brute(const struct split_worker *w, int n, int64_t left, int64_t grain, bool odd)
{
    double best = INFINITY;

    if (n == 0)
        return left == 0 ? 0 : INFINITY;
    for (int64_t b = w[0].min; b <= left && b <= w[0].max; b++) {
        bool is_odd = (b - w[0].min) % grain != 0;

        if (odd && is_odd)
            continue;
        best = fmin(best, fmax(time_model_s(&w[0].t, b),
                               brute(w + 1, n - 1, left - b, grain, odd || is_odd)));
    }
    return best;
}

/* A worker in a heap, and when it would end its next grain. */
struct entry {
    double end_s;
    int rank;
};

static bool before(const struct entry *a, const struct entry *b)
{
    return a->end_s != b->end_s ? a->end_s < b->end_s : a->rank < b->rank;
}

static void sift_down(struct entry *heap, int n, int i)
{
    for (;;) {
        int least = i;
        struct entry e;

        for (int c = 2 * i + 1; c <= 2 * i + 2 && c < n; c++)
            if (before(&heap[c], &heap[least]))
                least = c;
        if (least == i)
            return;
        e = heap[i];
        heap[i] = heap[least];
        heap[least] = e;
        i = least;
    }
}

/* Give grains one by one to the worker that would end first, and the rest likewise: the method that
 * is proven to be optimal.  Only for bounds that hold total.
 */
static void greedy(const struct split_worker *w, int n, int64_t total, int64_t grain, int64_t *b)
{
    struct entry *heap = malloc((size_t)n * sizeof *heap);
    int64_t left = total;
    int m = 0, last = -1;

    for (int i = 0; i < n; i++) {
        left -= b[i] = w[i].min;
        if (w[i].max - b[i] >= grain)
            heap[m++] = (struct entry){ time_model_s(&w[i].t, b[i] + grain), i };
    }
    for (int i = m / 2; i-- > 0;)
        sift_down(heap, m, i);
    for (; left >= grain; left -= grain) {
        int i = heap[0].rank;

        b[i] += grain;
        if (w[i].max - b[i] >= grain)
            heap[0].end_s = time_model_s(&w[i].t, b[i] + grain);
        else
            heap[0] = heap[--m];
        sift_down(heap, m, 0);
    }
    for (int i = 0; i < n && left > 0; i++)
        if (b[i] <= w[i].max - left && (last < 0 || time_model_s(&w[i].t, b[i] + left) <
                                                        time_model_s(&w[last].t, b[last] + left)))
            last = i;
    if (last >= 0)
        b[last] += left;
    free(heap);
}

/* Rates from a small set, so that ties are common. */
static void random_workers(uint64_t *seed, struct split_worker *w, int n, int64_t total)
{
    for (int i = 0; i < n; i++) {
        w[i].t.sample_s = random_below(seed, 2) ? 0.25 * (double)(1 + random_below(seed, 8))
                                                : 0.001 + random_unit(seed);
        w[i].t.fixed_s = random_below(seed, 3) ? (double)random_below(seed, 4) : 0;
        w[i].min = (int64_t)random_below(seed, 3);
        w[i].max = random_below(seed, 2)
                       ? INT64_MAX
                       : w[i].min + (int64_t)random_below(seed, (uint64_t)total + 1);
    }
}

START_TEST(against_brute_force)
{
    uint64_t seed = 7;
    int feasible = 0;

    for (int round = 0; round < 6000; round++) {
        int n = 1 + (int)random_below(&seed, SMALL);
        int64_t total = (int64_t)random_below(&seed, n > 3 ? 12 : 24);
        int64_t grain = 1 + (int64_t)random_below(&seed, 4);
        int64_t b[SMALL], c[SMALL];
        struct split_worker w[SMALL];
        double best;
        int rc;

        random_workers(&seed, w, n, total);
        best = brute(w, n, total, grain, false);
        rc = split_optimal(w, n, total, grain, b, NULL);
        ck_assert_int_eq(rc, isinf(best) ? -ERANGE : 0);
        if (rc < 0)
            continue;
        feasible++;
        greedy(w, n, total, grain, c);
        ck_assert(memcmp(b, c, (size_t)n * sizeof *b) == 0);
        ck_assert_int_eq(sum(b, n), total);
        ck_assert_double_eq(finish(w, n, b), best);
        for (int i = 0; i < n; i++)
            ck_assert(b[i] >= w[i].min && b[i] <= w[i].max);
    }
    ck_assert_int_gt(feasible, 2000);
}
END_TEST

START_TEST(against_greedy)
{
    enum { N = 300 };
    uint64_t seed = 11;

    for (int round = 0; round < 200; round++) {
        int n = 1 + (int)random_below(&seed, N);
        int64_t total = (int64_t)random_below(&seed, 20000);
        int64_t grain = 1 + (int64_t)random_below(&seed, 16);
        struct split_worker w[N];
        int64_t b[N], c[N];
        int rc;

        random_workers(&seed, w, n, 1 + 2 * total / n);
        rc = split_optimal(w, n, total, grain, b, NULL);
        if (rc == 0) {
            greedy(w, n, total, grain, c);
            ck_assert_int_eq(sum(b, n), total);
            ck_assert(memcmp(b, c, (size_t)n * sizeof *b) == 0);
        }
    }
}
END_TEST

/* sync-algorithms.md 55: finish times differ by at most one sample's cost, batches add up. */
START_TEST(equal_finish)
{
    enum { N = 64 };
    uint64_t seed = 3;

    for (int round = 0; round < 500; round++) {
        int n = 2 + (int)random_below(&seed, N - 1);
        int64_t total = 100 * n + (int64_t)random_below(&seed, 10000);
        struct split_worker w[N];
        int64_t b[N];
        double last;

        for (int i = 0; i < n; i++)
            w[i] = (struct split_worker){
                .t = { .fixed_s = 0.01 * random_unit(&seed),
                       .sample_s = 0.001 + 0.01 * random_unit(&seed) },
                .max = INT64_MAX,
            };
        ck_assert_int_eq(split_optimal(w, n, total, 1, b, NULL), 0);
        ck_assert_int_eq(sum(b, n), total);
        last = finish(w, n, b);
        for (int i = 0; i < n; i++)
            ck_assert_double_ge(time_model_s(&w[i].t, b[i] + 1), last);
    }
}
END_TEST

/* Ten thousand workers and five million grains; the alarm is the bound. */
START_TEST(many)
{
    enum { N = 10000 };
    int64_t total = INT64_C(512) * N, *b = calloc(N, sizeof *b), *c = calloc(N, sizeof *c);
    struct split_worker *w = calloc(N, sizeof *w);
    uint64_t seed = 5;

    for (int i = 0; i < N; i++)
        w[i] = (struct split_worker){
            .t = { .fixed_s = 0.01, .sample_s = 0.004 / (0.1 + random_unit(&seed)) },
            .min = 1,
            .max = INT64_MAX,
        };
    ck_assert_int_eq(split_optimal(w, N, total, 1, b, NULL), 0);
    ck_assert_int_eq(sum(b, N), total);
    greedy(w, N, total, 1, c);
    ck_assert(memcmp(b, c, N * sizeof *b) == 0);
    free(b);
    free(c);
    free(w);
}
END_TEST

#define FREE(c)                                                                                    \
    {                                                                                              \
        { 0, c }, 0, INT64_MAX                                                                     \
    }

static const struct {
    struct split_worker w[4];
    int n;
    int64_t total, grain;
    int rc;
    int64_t b[4];
} rows[] = {
    { { FREE(1) }, 1, 7, 1, 0, { 7 } },
    { { FREE(1) }, 1, 0, 1, 0, { 0 } },
    { { FREE(1), FREE(1), FREE(1) }, 3, 8, 1, 0, { 3, 3, 2 } },
    { { FREE(1), FREE(1), FREE(2), FREE(4) }, 4, 11, 1, 0, { 4, 4, 2, 1 } },
    { { FREE(1), FREE(1e9) }, 2, 1000, 1, 0, { 1000, 0 } },            /* too slow for any */
    { { { { 5, 1 }, 0, INT64_MAX }, FREE(1) }, 2, 5, 1, 0, { 0, 5 } }, /* fixed cost */
    { { { { 5, 1 }, 0, INT64_MAX }, FREE(1) }, 2, 9, 1, 0, { 2, 7 } },
    { { { { 0, 1 }, 0, 3 }, FREE(100) }, 2, 10, 1, 0, { 3, 7 } },         /* max reached */
    { { { { 0, 1 }, 0, 3 }, { { 0, 1 }, 0, 3 } }, 2, 6, 1, 0, { 3, 3 } }, /* just so */
    { { { { 0, 1 }, 0, 3 }, { { 0, 1 }, 0, 3 } }, 2, 7, 1, -ERANGE, { 0 } },
    { { { { 0, 1 }, 4, 9 }, { { 0, 1 }, 4, 9 } }, 2, 7, 1, -ERANGE, { 0 } },
    { { { { 0, 1 }, 4, 4 }, { { 0, 9 }, 4, 4 } }, 2, 8, 1, 0, { 4, 4 } }, /* nothing to give */
    { { FREE(1), FREE(1) }, 2, 10, 4, 0, { 6, 4 } },                      /* a rest of 2 */
    { { FREE(1), FREE(3) }, 2, 10, 8, 0, { 8, 2 } },
    { { { { 0, 1 }, 0, 5 }, { { 0, 1 }, 0, 5 } }, 2, 10, 4, -ERANGE, { 0 } }, /* 4 + 4 + 2: no */
    { { { { 0, 1 }, 0, 5 }, { { 0, 1 }, 0, 6 } }, 2, 10, 4, 0, { 4, 6 } },
    { { { { 0, 1 }, INT64_MAX, INT64_MAX }, FREE(1) }, 2, 10, 1, -ERANGE, { 0 } },
    { { { { 0, 1 }, -1, 5 } }, 1, 5, 1, -EINVAL, { 0 } },
    { { { { 0, 1 }, 6, 5 } }, 1, 5, 1, -EINVAL, { 0 } },
    { { FREE(1) }, 1, 5, 0, -EINVAL, { 0 } },
    { { FREE(1) }, 1, -5, 1, -EINVAL, { 0 } },
    { { FREE(1) }, 0, 5, 1, -EINVAL, { 0 } },
    { { FREE(1e-3), FREE(1e-3) },
      2,
      INT64_C(1) << 53,
      1,
      0,
      { INT64_C(1) << 52, INT64_C(1) << 52 } },
};

START_TEST(table)
{
    struct eddis_error err = { 0 };
    int64_t b[4] = { -1, -1, -1, -1 };
    int rc = split_optimal(rows[_i].w, rows[_i].n, rows[_i].total, rows[_i].grain, b, &err);

    ck_assert_int_eq(rc, rows[_i].rc);
    for (int i = 0; i < rows[_i].n; i++)
        ck_assert_int_eq(b[i], rc < 0 ? -1 : rows[_i].b[i]);
    if (rc < 0)
        ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(equal)
{
    int64_t b[4];

    split_equal(4, 10, b);
    ck_assert(b[0] == 3 && b[1] == 3 && b[2] == 2 && b[3] == 2);
    split_equal(4, 2, b);
    ck_assert(b[0] == 1 && b[1] == 1 && b[2] == 0 && b[3] == 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, against_brute_force);
    tcase_add_test(tc, against_greedy);
    tcase_add_test(tc, equal_finish);
    tcase_add_test(tc, many);
    tcase_add_loop_test(tc, table, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, equal);
}

SUITE_MAIN("split", add_tests)
