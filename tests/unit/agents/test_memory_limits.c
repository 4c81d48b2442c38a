/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_limits.c - tests of agents/node/watch/memory_limits.h: who is under which limit, and
 * what is left of it
 */
#include "agents/node/watch/memory_limits.h"

#include "profiler/quota.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define MB INT64_C(1000000)

enum { MOST = 4 };

/* Groups are named as the hundreds of the processes' numbers are; those of 900 tell none. */
static struct quota_memory quota[10];
static int asked;

bool __wrap_process_load_group(pid_t pid, char *ret, size_t size);
void __wrap_quota_memory_of(const char *root, int pid, struct quota_memory *ret);

bool __wrap_process_load_group(pid_t pid, char *ret, size_t size)
{
    if (pid <= 0 || pid / 100 == 9)
        return false;
    (void)snprintf(ret, size, "0::/%d\n", (int)pid / 100);
    return true;
}

void __wrap_quota_memory_of(const char *root, int pid, struct quota_memory *ret)
{
    (void)root;
    asked++;
    *ret = quota[pid / 100];
}

static struct process_memory memory[MOST];
static struct progress report[MOST];
static struct memory_limits_worker worker[MOST];

static void setup(void)
{
    memset(quota, 0, sizeof quota);
    memset(memory, 0, sizeof memory);
    memset(report, 0, sizeof report);
    asked = 0;
}

/* Rank 10 + i, whose peak is what it reports. */
static void add(int i, pid_t pid, int64_t now_bytes, int64_t peak_bytes, int64_t file_bytes)
{
    memory[i] = (struct process_memory){ peak_bytes, now_bytes, file_bytes };
    report[i] = (struct progress){ .rank = 10 + i, .memory_bytes = peak_bytes };
    worker[i] = (struct memory_limits_worker){ pid, &memory[i], &report[i] };
}

static void check(int i, int pool, int64_t limit_bytes)
{
    ck_assert_int_eq(report[i].memory_pool, pool);
    ck_assert_int_eq(report[i].memory_limit_bytes, limit_bytes);
}

/* Two share a limit with others, one has its own, of one nothing is known. */
START_TEST(limits)
{
    quota[1] = (struct quota_memory){ 1000 * MB, 500 * MB, 7 };
    quota[2] = (struct quota_memory){ 400 * MB, 90 * MB, 8 };
    add(0, 100, 100 * MB, 150 * MB, 0);
    add(1, 201, 100 * MB, 100 * MB, 10 * MB);
    add(2, 102, 200 * MB, 250 * MB, 0);
    add(3, 903, 100 * MB, 100 * MB, 0);
    memory_limits_fill(worker, 4);
    check(0, 10, 800 * MB); /* without the 200 MB of others */
    check(1, 11, 410 * MB); /* what is in files, too, can be taken back */
    check(2, 10, 800 * MB);
    check(3, 13, 0);
    ck_assert_int_eq(asked, 3);
}
END_TEST

/* What a program tells is less than its process holds: the rest of that stays. */
START_TEST(reported)
{
    quota[1] = (struct quota_memory){ 1000 * MB, 300 * MB, 7 };
    add(0, 100, 300 * MB, 320 * MB, 0);
    report[0].memory_bytes = 200 * MB;
    report[0].memory_told = true;
    memory_limits_fill(worker, 1);
    check(0, 10, 880 * MB);
}
END_TEST

/* What a program tells of its device is none of the node's memory; what it holds there is taken. */
START_TEST(on_device)
{
    quota[1] = (struct quota_memory){ 1000 * MB, 500 * MB, 7 };
    add(0, 100, 300 * MB, 300 * MB, 0);
    report[0].memory_bytes = 30000 * MB;
    report[0].memory_told = true;
    add(1, 101, 100 * MB, 100 * MB, 0);
    memory_limits_fill(worker, 2);
    check(1, 10, 600 * MB);
}
END_TEST

/* Others use all of it; a limit that is not known; a worker of which no peak is. */
START_TEST(nothing_left)
{
    quota[1] = (struct quota_memory){ 1000 * MB, 5000 * MB, 7 };
    add(0, 100, 100 * MB, 100 * MB, 0);
    add(1, 200, 100 * MB, 100 * MB, 0);
    add(2, 100, 0, 0, 0);
    memory_limits_fill(worker, 3);
    check(0, 10, 1);
    check(1, 11, 0);
    check(2, 12, 0);
    memory_limits_fill(worker, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, reported);
    tcase_add_test(tc, on_device);
    tcase_add_test(tc, nothing_left);
}

SUITE_MAIN("memory_limits", add_tests)
