/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_lock.c - tests of agents/node/gpu_lock.h */
#include "agents/node/gpu_lock.h"

#include "suite.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return how a sentence names the user of this process. */
static const char *user(void)
{
    static char number[32];
    const struct passwd *p = getpwuid(getuid());

    (void)snprintf(number, sizeof number, "user %ld", (long)getuid());
    return p ? p->pw_name : number;
}

START_TEST(locks)
{
    struct gpu_lock first = { 0 }, second = { 0 };
    struct eddis_error err = { 0 };
    char gpu[64], other[64], words[160];

    /* Names of this process's own: the machine may run the test twice. */
    (void)snprintf(gpu, sizeof gpu, "GPU-%ld", (long)getpid());
    (void)snprintf(other, sizeof other, "MIG-%ld", (long)getpid());
    ck_assert_int_eq(gpu_lock_add(&first, "numa:0", "one", &err), 0);
    ck_assert_int_eq(first.n, 0);
    ck_assert_int_eq(gpu_lock_add(&first, gpu, "one", &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "one", &err), 0); /* of the same job */
    ck_assert_int_eq(second.n, 0);
    ck_assert_int_eq(gpu_lock_add(&second, other, "two", &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "one-more", &err), -EADDRINUSE);
    (void)snprintf(words, sizeof words, "'%s' is in use by job one of %s; wait", gpu, user());
    ck_assert_msg(strncmp(err.text, words, strlen(words)) == 0, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "set CUDA_VISIBLE_DEVICES to an empty value"));
    for (int i = 0; i < 5; i++) { /* each time the same user is named */
        ck_assert_int_eq(gpu_lock_add(&second, gpu, "three", &err), -EADDRINUSE);
        ck_assert_msg(strncmp(err.text, words, strlen(words)) == 0, "%s", err.text);
    }
    gpu_lock_release(&first);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "two", &err), 0);
    gpu_lock_release(&second);
    ck_assert_int_eq(second.n, 0);
}
END_TEST

/* Long ids that differ only at their end are of two jobs, and a part of the locks can be released.
 */
START_TEST(long_ids)
{
    struct gpu_lock first = { 0 }, second = { 0 };
    struct eddis_error err = { 0 };
    char gpu[64], other[64], one[128], two[128];

    (void)snprintf(gpu, sizeof gpu, "GPU-00000000-0000-0000-0000-%012ld", (long)getpid());
    (void)snprintf(other, sizeof other, "GPU-00000000-0000-0000-0001-%012ld", (long)getpid());
    (void)snprintf(one, sizeof one, "%0104d-20260101-120000-1a2b", 0);
    (void)snprintf(two, sizeof two, "%0104d-20260101-120000-1a2c", 0);
    ck_assert_int_eq(gpu_lock_add(&first, other, one, &err), 0);
    ck_assert_int_eq(gpu_lock_add(&first, gpu, one, &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, one, &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, two, &err), -EADDRINUSE);
    ck_assert_msg(strstr(err.text, "-20260101-120000-1a2b of ") != NULL, "%s", err.text);
    gpu_lock_cut(&first, first.n / 2);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, two, &err), 0);
    ck_assert_int_eq(gpu_lock_add(&second, other, two, &err), -EADDRINUSE);
    gpu_lock_release(&first);
    gpu_lock_release(&second);
}
END_TEST

/* Jobs that wait get a GPU in the order in which they came, also jobs with long ids; others get
 * none while one waits.
 */
START_TEST(in_turn)
{
    struct gpu_lock holder = { 0 }, early = { 0 }, late = { 0 }, queue[2] = { { 0 } };
    struct eddis_error err = { 0 };
    char gpu[64], one[128], two[128];

    (void)snprintf(gpu, sizeof gpu, "GPU-00000000-0000-0000-0002-%012ld", (long)getpid());
    (void)snprintf(one, sizeof one, "%0104d-20260101-120000-1a2b", 0);
    (void)snprintf(two, sizeof two, "%0104d-20260101-120000-1a2c", 0);
    ck_assert_int_eq(gpu_lock_add(&holder, gpu, "holder", &err), 0);
    ck_assert_int_eq(gpu_lock_queue(&queue[1], gpu, two, 11, &err), 0);
    ck_assert_int_eq(gpu_lock_queue(&queue[0], gpu, one, 9, &err), 0);
    ck_assert_int_eq(gpu_lock_queue(&queue[0], "numa:0", one, 9, &err), 0);
    ck_assert_int_eq(gpu_lock_in_turn(&early, gpu, one, 9, &err), -EADDRINUSE);
    ck_assert_msg(strstr(err.text, "is in use by job holder of ") != NULL, "%s", err.text);
    gpu_lock_release(&holder);
    ck_assert_int_eq(gpu_lock_in_turn(&late, gpu, two, 11, &err), -EADDRINUSE);
    ck_assert_msg(strstr(err.text, "is next for job ") && strstr(err.text, "-1a2b of "), "%s",
                  err.text);
    ck_assert_int_eq(gpu_lock_add(&late, gpu, "impatient", &err), -EADDRINUSE);
    ck_assert_msg(strstr(err.text, "-1a2b of ") && strstr(err.text, "--wait"), "%s", err.text);
    ck_assert_int_eq(late.n, 0);
    ck_assert_int_eq(gpu_lock_in_turn(&early, gpu, one, 9, &err), 0);
    gpu_lock_release(&queue[0]);
    gpu_lock_move(&early, "GPU-other", &holder);
    ck_assert_int_eq(holder.n, 0);
    gpu_lock_move(&early, gpu, &holder);
    ck_assert_int_eq(early.n, 0);
    ck_assert_int_gt(holder.n, 0);
    ck_assert_int_eq(gpu_lock_in_turn(&late, gpu, two, 11, &err), -EADDRINUSE);
    gpu_lock_release(&holder);
    ck_assert_int_eq(gpu_lock_in_turn(&late, gpu, two, 11, &err), 0);
    gpu_lock_release(&late);
    gpu_lock_release(&queue[1]);
    gpu_lock_release(&early);
}
END_TEST

/* Check whether this is the GPU `ctx`. */
static bool is_it(const char *device_id, const void *ctx)
{
    return strcmp(device_id, ctx) == 0;
}

/* What a new plan does not need goes, to other jobs. */
START_TEST(kept)
{
    struct gpu_lock first = { 0 }, second = { 0 };
    struct eddis_error err = { 0 };
    char gpu[64], other[64];

    (void)snprintf(gpu, sizeof gpu, "GPU-%ld", (long)getpid());
    (void)snprintf(other, sizeof other, "GPU-%ld1", (long)getpid());
    ck_assert_int_eq(gpu_lock_add(&first, other, "one", &err), 0);
    ck_assert_int_eq(gpu_lock_add(&first, gpu, "one", &err), 0);
    gpu_lock_keep(&first, is_it, gpu);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "two", &err), -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(err.text, " job one of "));
    ck_assert_int_eq(gpu_lock_add(&second, other, "two", &err), 0);
    gpu_lock_keep(&first, is_it, "GPU-none");
    ck_assert_int_eq(first.n, 0);
    ck_assert_int_eq(gpu_lock_add(&second, gpu, "two", &err), 0);
    gpu_lock_keep(&first, is_it, gpu);
    gpu_lock_release(&first);
    gpu_lock_release(&second);
}
END_TEST

/* Of two jobs that came at the same time one is the first, whichever asks first. */
START_TEST(same_time)
{
    struct gpu_lock l = { 0 }, queue = { 0 };
    struct eddis_error err = { 0 };
    const char *const jobs[] = { "a", "b" };
    char gpu[64];

    (void)snprintf(gpu, sizeof gpu, "GPU-00000000-0000-0000-0003-%012ld", (long)getpid());
    ck_assert_int_eq(gpu_lock_queue(&queue, gpu, jobs[_i], 5, &err), 0);
    ck_assert_int_eq(gpu_lock_queue(&queue, gpu, jobs[!_i], 5, &err), 0);
    ck_assert_int_eq(gpu_lock_in_turn(&l, gpu, "b", 5, &err), -EADDRINUSE);
    ck_assert_int_eq(gpu_lock_in_turn(&l, gpu, "a", 5, &err), 0);
    gpu_lock_release(&l);
    gpu_lock_release(&queue);
}
END_TEST

/* Where jobs share GPUs on purpose, nothing is locked. */
START_TEST(shared)
{
    static const char *const names[] = { "CUDA_MPS_PIPE_DIRECTORY",
                                         "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                         "SLURM_SHARDS_ON_NODE" };
    struct gpu_lock l = { 0 };
    struct eddis_error err = { 0 };

    setenv(names[_i], "1", 1);
    ck_assert_int_eq(gpu_lock_add(&l, "GPU-shared", "one", &err), 0);
    ck_assert_int_eq(l.n, 0);
    unsetenv(names[_i]);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, locks);
    tcase_add_test(tc, long_ids);
    tcase_add_test(tc, in_turn);
    tcase_add_test(tc, kept);
    tcase_add_loop_test(tc, same_time, 0, 2);
    tcase_add_loop_test(tc, shared, 0, 3);
}

SUITE_MAIN("gpu_lock", add_tests)
