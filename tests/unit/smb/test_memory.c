/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - the box's memory between processes: who is killed leaves nothing locked and
 * nothing behind
 */
#include "lib/smb/memory.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, N = 40000 };

static const struct memory_shape shape = { COMM_FLOAT32, N, 0, N };

static void make(struct memory *m, uint64_t id, const struct memory_shape *s)
{
    struct memory_creation c = { 0 };
    int rc;

    do
        rc = memory_create(m, id, s, 1, &c, NULL);
    while (rc == -EAGAIN);
    ck_assert_int_eq(rc, 0);
}

/* An assertion writes to the file that Check reads at the end, also one that holds, and one that is
 * killed there leaves half a message: what the forked writers call asserts only when it fails.
 */
static struct memory_buffer *find(struct memory *m, uint64_t id)
{
    int rc = 0;
    struct memory_buffer *b = memory_find(m, id, &rc);

    if (!b)
        ck_abort_msg("buffer %d: %d", (int)id, rc);
    return b;
}

/* As the ranks of a node do. */
static struct memory *open_again(const struct memory *m)
{
    struct memory *again;
    int64_t pid, fd;

    memory_where(m, &pid, &fd);
    if (memory_open(pid, fd, &again, NULL) < 0)
        ck_abort_msg("the memory cannot be opened again");
    return again;
}

static void fill(struct memory *m, uint64_t id, float value)
{
    static float x[N];

    for (int i = 0; i < N; i++)
        x[i] = value;
    while (memory_write(find(m, id), 0, N, x) == -EAGAIN)
        ;
}

static int accumulate(struct memory *m, uint64_t to, uint64_t source, int rank)
{
    struct memory_sum sum = { 0 };
    int rc;

    do {
        size_t budget = 64 * 1024;

        rc = memory_accumulate(m, find(m, to), source, rank, true, clock_now_ns(), &sum, &budget);
    } while (rc == -EAGAIN);
    return rc;
}

/* All elements are this many. */
static void expect(struct memory *m, uint64_t id, float value)
{
    static float x[N];

    memory_read(find(m, id), 0, N, x);
    for (int i = 0; i < N; i++)
        ck_assert_msg(x[i] == value, "element %d is %g instead of %g", i, x[i], value);
}

START_TEST(others_see_what_one_does)
{
    struct memory *m, *other;
    int64_t before;
    uint64_t version;
    bool last;
    int rc;

    ck_assert_int_eq(memory_make(RANKS, &m, NULL), 0);
    other = open_again(m);
    make(m, 1, &shape);
    make(other, 2, &shape);
    make(m, 3, &(struct memory_shape){ COMM_INT64, 100, 40, 20 });
    fill(m, 1, 5);
    fill(other, 2, 2);
    ck_assert_int_eq(accumulate(other, 1, 2, 3), 0);
    expect(m, 1, 7);
    expect(m, 2, 2);
    ck_assert_uint_eq(memory_version(find(m, 1)), 1);
    ck_assert_int_eq(memory_notify(find(m, 1), &version), 0);
    ck_assert_uint_eq(memory_version(find(other, 1)), 2);
    ck_assert_int_eq(memory_fetch_add(find(m, 3), 59, 7, &before), 0);
    ck_assert_int_eq(before, 0);
    ck_assert_int_eq(memory_fetch_add(find(other, 3), 59, 7, &before), 0);
    ck_assert_int_eq(before, 7);
    ck_assert_int_eq(memory_attach(other, find(other, 1)), 0);
    ck_assert_int_eq(memory_detach(find(m, 1), &last), 0);
    ck_assert(!last);
    ck_assert_int_eq(memory_detach(find(m, 1), &last), 0);
    ck_assert(last);
    ck_assert_int_eq(memory_attach(other, find(other, 1)), -ENOENT);
    ck_assert_int_eq(memory_free(m, 1, &(struct memory_creation){ 0 }), 0);
    ck_assert_int_eq(memory_attach(other, find(other, 1)), -ENOENT); /* its old mapping */
    memory_sweep(other);
    ck_assert_ptr_null(memory_find(other, 1, &rc));
    ck_assert_int_eq(rc, -ENOENT);
    expect(other, 2, 2);
    memory_close(other);
    memory_close(m);
}
END_TEST

START_TEST(memory_goes_back)
{
    struct memory *m;

    ck_assert_int_eq(memory_make(RANKS, &m, NULL), 0);
    for (int i = 1; i <= 2 * MEMORY_BUFFERS; i++) { /* would be 200 GB */
        struct memory_creation c = { 0 };
        int rc;

        make(m, (uint64_t)i,
             &(struct memory_shape){ COMM_FLOAT64, 100000, 0, i % 64 ? 4 : 100000 });
        do
            rc = memory_free(m, (uint64_t)i, &c);
        while (rc == -EAGAIN);
        ck_assert_int_eq(rc, 0);
    }
    for (int i = 1; i <= MEMORY_BUFFERS; i++)
        make(m, (uint64_t)i, &(struct memory_shape){ COMM_INT64, 1, 0, 1 });
    ck_assert_int_eq(memory_create(m, 9999999, &shape, 1, &(struct memory_creation){ 0 }, NULL),
                     -ENOSPC);
    memory_close(m);
}
END_TEST

/* ---- death ---- */

/* What a writer has done, in memory of its own that outlives it. */
struct writer {
    volatile uint64_t begun, done, part;
};

static pid_t writer_start(const struct memory *m, struct writer *w, int rank)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct memory *mine = open_again(m);

        for (;;) {
            w->begun++;
            if (accumulate(mine, 1, (uint64_t)rank + 10, rank) < 0)
                _exit(1);
            w->done++;
        }
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static void writer_kill(pid_t pid)
{
    int status;

    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

/* Writers 1 .. n are killed at random moments: the others go on, and each element has got the same
 * whole number of additions, those that were reported and at most one more of each killed writer.
 */
static void kill_writers(int n, int kills)
{
    struct writer *w =
        mmap(NULL, RANKS * sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t random = 77, low = (uint64_t)kills, high = (uint64_t)kills;
    struct memory *m;
    pid_t pid[RANKS];
    float x;

    ck_assert_int_eq(memory_make(RANKS, &m, NULL), 0);
    make(m, 1, &shape);
    for (int r = 0; r <= n; r++) {
        make(m, (uint64_t)r + 10, &shape);
        fill(m, (uint64_t)r + 10, 1);
    }
    for (int r = 1; r <= n; r++)
        pid[r] = writer_start(m, &w[r], r);
    for (int i = 0; i < kills; i++) {
        int r = 1 + i % n;
        uint64_t begun = w[r].begun;

        while (w[r].begun < begun + 2)
            sched_yield();
        clock_sleep_until_ns(clock_now_ns() + (int64_t)random_below(&random, CLOCK_MS));
        writer_kill(pid[r]);
        ck_assert_int_eq(accumulate(m, 1, 10, 0), 0); /* finishes what the dead one left */
        if (i < kills - n)
            pid[r] = writer_start(m, &w[r], r);
    }
    for (int r = 1; r <= n; r++) {
        low += w[r].done;
        high += w[r].begun;
    }
    memory_read(find(m, 1), 0, 1, &x);
    expect(m, 1, x);
    ck_assert_msg(x >= (float)low && x <= (float)high, "%g additions, of %d to %d", x, (int)low,
                  (int)high);
    memory_close(m);
    munmap(w, RANKS * sizeof *w);
}

/* Alone, most die with the lock in their hands. */
START_TEST(a_writer_killed_in_an_accumulate_leaves_nothing_locked)
{
    kill_writers(1, 40);
}
END_TEST

START_TEST(the_others_go_on)
{
    kill_writers(3, 12);
}
END_TEST

/* One that was stopped is overtaken by nobody, but its sum is made by those who wait behind it. */
START_TEST(a_writer_stopped_in_an_accumulate_is_helped)
{
    struct writer *w =
        mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct memory *m;
    int status;
    pid_t pid;

    ck_assert_int_eq(memory_make(RANKS, &m, NULL), 0);
    make(m, 1, &shape);
    for (int r = 0; r < 2; r++) {
        make(m, (uint64_t)r + 10, &shape);
        fill(m, (uint64_t)r + 10, 1);
    }
    pid = fork();
    if (pid == 0) { /* queues its sum and stops, with the first pieces added */
        struct memory *mine = open_again(m);
        struct memory_sum sum = { 0 };
        size_t budget = 1;

        w->part = memory_accumulate(mine, find(mine, 1), 11, 1, true, 0, &sum, &budget) == -EAGAIN;
        w->begun = 1;
        raise(SIGSTOP);
        for (;;) {
            budget = 1 << 20;
            if (memory_accumulate(mine, find(mine, 1), 11, 1, true, 0, &sum, &budget) == 0)
                _exit(0);
        }
    }
    while (!w->begun)
        ;
    ck_assert(w->part);
    ck_assert_int_eq(accumulate(m, 1, 10, 0), 0);
    expect(m, 1, 2);
    kill(pid, SIGCONT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    expect(m, 1, 2);
    memory_close(m);
}
END_TEST

static int count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;

    if (!d)
        return 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += strstr(e->d_name, "eddis-smb") != NULL;
    closedir(d);
    return n;
}

START_TEST(nothing_of_it_is_in_a_file_system)
{
    struct memory *m;

    ck_assert_int_eq(memory_make(RANKS, &m, NULL), 0);
    make(m, 1, &shape);
    ck_assert_int_eq(count_entries("/dev/shm"), 0);
    ck_assert_int_eq(count_entries("/tmp"), 0);
    memory_close(m);
}
END_TEST

START_TEST(what_is_no_box_is_refused)
{
    struct eddis_error err = { 0 };
    struct memory *m;

    ck_assert_int_eq(memory_open(getpid(), 12345, &m, &err), -ENOENT);
    ck_assert_msg(strstr(err.text, "cannot open the Soft Memory Box"), "%s", err.text);
    ck_assert_int_lt(memory_open(getpid(), 2, &m, &err), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, others_see_what_one_does);
    tcase_add_test(tc, memory_goes_back);
    tcase_add_test(tc, a_writer_killed_in_an_accumulate_leaves_nothing_locked);
    tcase_add_test(tc, the_others_go_on);
    tcase_add_test(tc, a_writer_stopped_in_an_accumulate_is_helped);
    tcase_add_test(tc, nothing_of_it_is_in_a_file_system);
    tcase_add_test(tc, what_is_no_box_is_refused);
}

SUITE_MAIN("memory", add_tests)
