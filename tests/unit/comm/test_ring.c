/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - tests of lib/comm/ring.h */
#include "lib/comm/ring.h"

#include "suite.h"

#include <stdint.h>
#include <string.h>

enum { MAX = 64 };

/* Play the ring with sets of contributors as bits: in the end every rank has every block with the
 * contributions of all, and no contribution was ever added twice.
 */
START_TEST(all_blocks_reach_all)
{
    int size = _i;
    static uint64_t have[MAX][MAX], next[MAX][MAX];
    uint64_t all = size == 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1;

    for (int r = 0; r < size; r++)
        for (int b = 0; b < size; b++)
            have[r][b] = UINT64_C(1) << r;
    for (int step = 0; step < ring_steps(size); step++) {
        memcpy(next, have, sizeof have);
        for (int r = 0; r < size; r++) {
            int to = (r + 1) % size, b = ring_send(r, size, step);

            ck_assert_int_ge(b, 0);
            ck_assert_int_lt(b, size);
            if (step < size - 1) {
                ck_assert_uint_eq(have[r][b] & have[to][b], 0);
                next[to][b] |= have[r][b];
            } else {
                ck_assert_uint_eq(have[r][b], all);
                next[to][b] = have[r][b];
            }
        }
        memcpy(have, next, sizeof have);
    }
    for (int r = 0; r < size; r++)
        for (int b = 0; b < size; b++)
            ck_assert_uint_eq(have[r][b], all);
}
END_TEST

START_TEST(blocks_cover_the_vector)
{
    static const size_t lengths[] = { 0, 1, 2, 63, 64, 65, 1000, SIZE_MAX / 8 };
    int size = _i;

    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k], shortest = n / (size_t)size;

        ck_assert_uint_eq(ring_block(n, size, 0), 0);
        ck_assert_uint_eq(ring_block(n, size, size), n);
        for (int b = 0; b < size; b++) {
            size_t length = ring_block(n, size, b + 1) - ring_block(n, size, b);

            ck_assert(length == shortest || length == shortest + 1);
        }
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, all_blocks_reach_all, 1, MAX + 1);
    tcase_add_loop_test(tc, blocks_cover_the_vector, 1, MAX + 1);
}

SUITE_MAIN("ring", add_tests)
