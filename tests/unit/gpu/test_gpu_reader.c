/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_reader.c - tests of lib/gpu/gpu_reader.h, on the cards of the fake NVML */
#include "lib/gpu/gpu_reader.h"

#include "suite.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/eddis-test-XXXXXX";
static struct gpu_reader *reader;

/* Write what the fake NVML says of its cards. */
static void say(const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* Open a reader of these cards of the fake NVML, with at most two ids. */
static int open_reader(const char *cards, const char *first, const char *second)
{
    const char *const id[] = { first, second };
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    setenv("FAKE_GPUS", cards, 1);
    setenv("FAKE_NVML_STATE", path, 1);
    return gpu_reader_open(id, second ? 2 : 1, getpid(), &reader, NULL);
}

static const char a[] = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0",
                  b[] = "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1",
                  mig[] = "MIG-80102030-4050-6070-8090-a0b0c0d0e0f0";

/* Close the reader and remove its file. */
static void end(void)
{
    gpu_reader_close(reader);
    (void)unlink(path);
}

START_TEST(reads)
{
    struct gpu_state s[2];

    ck_assert_int_eq(open_reader("A100:nv=4:numa=70,1080Ti:used:pcie=3x8,V100:nv=4", a, b), 0);
    say("0 heat clock=1005 util=97 power=250 temp=86 ecc=2\n1 cap\n");
    ck_assert_int_eq(gpu_reader_read(reader, s), 2);
    ck_assert_str_eq(s[0].id, a);
    ck_assert(s[0].clock_mhz == 1005 && s[0].clock_most_mhz == 1410 && s[0].busy == 0.97);
    ck_assert(s[0].watts == 250 && s[0].watts_most == 400 && s[0].celsius == 86);
    ck_assert_int_eq(s[0].slowed, GPU_SLOWED_HEAT);
    ck_assert_int_eq(s[0].ecc_uncorrected, 2);
    ck_assert_int_eq(s[0].ecc_corrected, 3);
    ck_assert_int_eq(s[0].others, 0);
    ck_assert(s[0].memory_bytes == INT64_C(80) << 30 && s[0].memory_used_bytes == 1 << 30);
    ck_assert(s[0].pcie_gen == 4 && s[0].pcie_width == 16);
    ck_assert_str_eq(s[0].pci, "0000:b7:00.0");
    ck_assert(s[0].numa == 70 && s[0].nvlinks == 4 && !s[0].nic[0]);
    ck_assert(s[1].numa == 0 && s[1].nvlinks == -1);
    ck_assert_int_eq(s[1].slowed, GPU_SLOWED_POWER);
    ck_assert_int_eq(s[1].ecc_uncorrected, -1);
    ck_assert_int_eq(s[1].others, 1);
    ck_assert_int_eq(strncmp(s[1].other, "process 1 (", 11), 0);
    ck_assert(s[1].pcie_gen == 3 && s[1].pcie_gen_most == 4);
    ck_assert(s[1].pcie_width == 8 && s[1].pcie_width_most == 16);
    say("0 idle clock=210\n");
    ck_assert_int_eq(gpu_reader_read(reader, s), 2);
    ck_assert_int_eq(s[0].slowed, GPU_SLOWED_IDLE);
    ck_assert_int_eq(s[1].slowed, GPU_SLOWED_NOT);
    ck_assert_int_eq(s[0].reading, 2);
    end();
}
END_TEST

/* An instance of MIG has the memory of its own, and clocks and errors of its card. */
START_TEST(instance)
{
    struct gpu_state s[1];

    ck_assert_int_eq(open_reader("A100:mig=2", mig, NULL), 0);
    say("0 heat clock=1005 ecc=1 xid=94\n");
    gpu_reader_wait(reader, 100000);
    ck_assert_int_eq(gpu_reader_read(reader, s), 1);
    ck_assert(isnan(s[0].busy) && s[0].clock_mhz == 1005 && s[0].memory_bytes == INT64_C(40) << 30);
    ck_assert_str_eq(s[0].pci, "0000:b7:00.0");
    ck_assert(s[0].ecc_uncorrected == 1 && s[0].xid == 94 && s[0].xids == 1);
    end();
}
END_TEST

/* A critical error ends the wait, and is counted once. */
START_TEST(errors)
{
    struct gpu_state s[2];
    int64_t begun_ns = clock_now_ns();

    ck_assert_int_eq(open_reader("A100,V100", a, b), 0);
    say("1 xid=79\n");
    gpu_reader_wait(reader, 100000);
    ck_assert_int_eq(gpu_reader_read(reader, s), 2);
    ck_assert(s[0].xids == 0 && s[1].xids == 1 && s[1].xid == 79);
    begun_ns = clock_now_ns();
    gpu_reader_wait(reader, 200); /* there is no other */
    ck_assert(clock_now_ns() - begun_ns >= 200 * CLOCK_MS);
    ck_assert_int_eq(gpu_reader_read(reader, s), 2);
    ck_assert_int_eq(s[1].xids, 1);
    end();
}
END_TEST

START_TEST(absent)
{
    ck_assert_int_eq(open_reader("A100", "GPU-ffffffff", NULL), -ENOENT);
    setenv("FAKE_NVML", "none", 1);
    (void)unlink(path);
    strcpy(path, "/tmp/eddis-test-XXXXXX");
    ck_assert_int_eq(open_reader("A100", a, NULL), -ENOENT);
    (void)unlink(path);
    gpu_reader_close(NULL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, reads);
    tcase_add_test(tc, instance);
    tcase_add_test(tc, errors);
    tcase_add_test(tc, absent);
}

SUITE_MAIN("gpu_reader", add_tests)
