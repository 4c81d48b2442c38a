/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_output.c - tests of cmd/slurm/slurm_output.h */
#include "cmd/slurm/slurm_output.h"

#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

static char path[128];
static struct slurm_output o;
static int ends[2];

static void set_up(void)
{
    (void)snprintf(path, sizeof path, "%s/out", scratch);
    o = (struct slurm_output){ .at = 0 };
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

static void tear_down(void)
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void put(const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_all(fd, text, strlen(text), NULL), 0);
    (void)close(fd);
}

/* What the copy has added. */
static void expect(const char *text)
{
    char got[512];
    ssize_t n;

    ck_assert(!slurm_output_copy(&o, path, ends[1]));
    n = read(ends[0], got, sizeof got - 1);
    got[n > 0 ? n : 0] = '\0';
    ck_assert_str_eq(got, text);
}

START_TEST(grows)
{
    expect("");
    ck_assert(!o.seen);
    put("one\n", 0);
    expect("one\n");
    ck_assert(o.seen);
    expect("");
    put("two\n", O_APPEND);
    expect("two\n");
}
END_TEST

/* A job that is put back: its file is another one, is cut, or is written over with more than it
 * held.
 */
START_TEST(anew)
{
    char other[160], text[200] = "";

    put("first start\n", 0);
    expect("first start\n");
    put("second\n", O_TRUNC);
    expect("second\n");
    put("the third start, much longer\n", O_TRUNC);
    expect("the third start, much longer\n");
    (void)memset(text, 'x', sizeof text - 1);
    memcpy(text, "aaa", 3);
    put(text, O_TRUNC);
    expect(text);
    memcpy(text, "bbb", 3); /* of the same length, and it ends alike */
    put(text, O_TRUNC);
    expect(text);
    put("another third start, much longer\n", O_TRUNC);
    expect("another third start, much longer\n");
    (void)snprintf(other, sizeof other, "%s.old", path);
    ck_assert_int_eq(rename(path, other), 0);
    put("the third start, much longer\nand more\n", 0);
    expect("the third start, much longer\nand more\n");
}
END_TEST

/* A reader that stands still: all that it takes, and the rest later. */
START_TEST(full)
{
    static char text[ROOM], got[ROOM + 1];
    size_t n = 0;
    bool more = true;

    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    put(text, 0);
    for (int i = 0; i < 8; i++)
        ck_assert(slurm_output_copy(&o, path, ends[1])); /* it returns, again and again */
    ck_assert(o.at < (off_t)strlen(text));
    for (int i = 0; more && i < ROOM / 4096; i++) {
        ssize_t k;

        while ((k = read(ends[0], got + n, sizeof got - 1 - n)) > 0)
            n += (size_t)k;
        more = slurm_output_copy(&o, path, ends[1]);
    }
    ck_assert(!more);
    for (ssize_t k; (k = read(ends[0], got + n, sizeof got - 1 - n)) > 0;)
        n += (size_t)k;
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_str_eq(got, text);
}
END_TEST

/* A read that fails, as this one always does, tells of no file that was begun anew. */
START_TEST(unreadable)
{
    struct stat st;

    ck_assert_int_eq(stat("/proc/self/mem", &st), 0);
    (void)snprintf(path, sizeof path, "/proc/self/mem");
    o = (struct slurm_output){ .seen = true, .dev = st.st_dev, .ino = st.st_ino, .head_n = 4 };
    expect("");
    ck_assert(o.failed);
    ck_assert_uint_eq(o.head_n, 4);
    o.head_n = 0; /* and the copy itself fails */
    expect("");
    ck_assert(o.failed);
    (void)snprintf(path, sizeof path, "%s/out", scratch);
    expect("");
    ck_assert(!o.failed); /* it is only not there yet */
}
END_TEST

/* Where there is no folder, no file will come into it. */
START_TEST(comes)
{
    char deep[160];

    (void)snprintf(deep, sizeof deep, "%s/none/out", scratch);
    ck_assert(!slurm_output_may_come(&o, deep));
    ck_assert(!slurm_output_may_come(&o, ""));
    ck_assert(slurm_output_may_come(&o, "/no such file"));
    ck_assert(slurm_output_may_come(&o, "no such file"));
    ck_assert(slurm_output_may_come(&o, path));
    put("one\n", 0);
    expect("one\n");
    ck_assert(!slurm_output_may_come(&o, path));
}
END_TEST

START_TEST(others)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect("");
    ck_assert(o.is_others && !o.seen);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, grows);
    tcase_add_test(tc, anew);
    tcase_add_test(tc, full);
    tcase_add_test(tc, unreadable);
    tcase_add_test(tc, comes);
    tcase_add_test(tc, others);
}

SUITE_MAIN("slurm_output", add_tests)
