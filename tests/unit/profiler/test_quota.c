/* SPDX-License-Identifier: Apache-2.0 */
/* test_quota.c - tests of profiler/quota.h */
#include "profiler/quota.h"

#include "fake_root.h"
#include "suite.h"

#include <math.h>

#define V2 "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1                                                                                         \
    "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"          \
    "32 1 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
#define DOCKER_V1                                                                                  \
    "40 1 0:27 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"                         \
    "41 1 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"

static const struct {
    const char *what, *cgroup, *mountinfo;
    struct {
        const char *path, *text;
    } file[4];
    double cpus;
    int64_t memory;
} rows[] = {
    { "nothing at all", NULL, NULL, { { 0 } }, NAN, INT64_MAX },
    { "version 2, no limit",
      "0::/user.slice\n",
      V2,
      { { "sys/fs/cgroup/user.slice/cpu.max", "max 100000\n" },
        { "sys/fs/cgroup/user.slice/memory.max", "max\n" } },
      NAN,
      INT64_MAX },
    { "version 2, a limit of its own",
      "0::/job/step\n",
      V2,
      { { "sys/fs/cgroup/job/step/cpu.max", "150000 100000\n" },
        { "sys/fs/cgroup/job/step/memory.max", "1073741824\n" } },
      1.5,
      1073741824 },
    { "version 2, the one above is tighter",
      "0::/job/step\n",
      V2,
      { { "sys/fs/cgroup/job/cpu.max", "50000 100000\n" },
        { "sys/fs/cgroup/job/step/cpu.max", "400000 100000\n" },
        { "sys/fs/cgroup/job/memory.max", "4096" } },
      0.5,
      4096 },
    { "version 2, the root of a container",
      "0::/\n",
      V2,
      { { "sys/fs/cgroup/cpu.max", "200000 100000" } },
      2,
      INT64_MAX },
    { "version 1",
      "4:cpu,cpuacct:/slurm/job_1\n3:memory:/slurm\n0::/\n",
      V1,
      { { "sys/fs/cgroup/cpu,cpuacct/slurm/job_1/cpu.cfs_quota_us", "300000\n" },
        { "sys/fs/cgroup/cpu,cpuacct/slurm/job_1/cpu.cfs_period_us", "100000\n" },
        { "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9223372036854771712\n" } },
      3,
      INT64_MAX },
    { "version 1, no limit",
      "1:cpu:/\n",
      V1,
      { { "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n" },
        { "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n" } },
      NAN,
      INT64_MAX },
    { "version 1 in a container",
      "2:memory:/docker/abc\n1:cpu:/docker/abc\n",
      DOCKER_V1,
      { { "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000" },
        { "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000" },
        { "sys/fs/cgroup/memory/memory.limit_in_bytes", "1000" } },
      0.25,
      1000 },
    { "both versions, each with a limit",
      "1:cpu:/a\n0::/b\n",
      V2 V1,
      { { "sys/fs/cgroup/b/cpu.max", "600000 100000" },
        { "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "700000" },
        { "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000" } },
      6,
      INT64_MAX },
    { "cpuset is not cpu",
      "1:cpuset:/a\n",
      "31 1 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
      { { "sys/fs/cgroup/cpuset/a/cpu.max", "1 1" } },
      NAN,
      INT64_MAX },
    { "rubbish",
      "\n::\n0:\n0::\nx:y:z\n",
      " - \n- cgroup2\n1 2 3 - cgroup2 x y\n\xff\xfe\n",
      { { 0 } },
      NAN,
      INT64_MAX },
    { "rubbish in the limit",
      "0::/a\n",
      V2,
      { { "sys/fs/cgroup/a/cpu.max", "lots of it" },
        { "sys/fs/cgroup/cpu.max", "" },
        { "sys/fs/cgroup/a/memory.max", "-5" } },
      NAN,
      INT64_MAX },
    { "period of nothing",
      "0::/a\n",
      V2,
      { { "sys/fs/cgroup/a/cpu.max", "100 0" } },
      NAN,
      INT64_MAX },
};

START_TEST(limits)
{
    struct fake_root r;
    double cpus;

    fake_root_init(&r);
    if (rows[_i].cgroup)
        fake_root_add(&r, "proc/self/cgroup", rows[_i].cgroup);
    if (rows[_i].mountinfo)
        fake_root_add(&r, "proc/self/mountinfo", rows[_i].mountinfo);
    for (int i = 0; i < 4 && rows[_i].file[i].path; i++)
        fake_root_add(&r, rows[_i].file[i].path, rows[_i].file[i].text);
    cpus = quota_cpus(r.path);
    ck_assert_msg(isnan(cpus) ? isnan(rows[_i].cpus) : cpus == rows[_i].cpus, "%s: %g",
                  rows[_i].what, cpus);
    ck_assert_msg(quota_memory_bytes(r.path) == rows[_i].memory, "%s", rows[_i].what);
    fake_root_fini(&r);
}
END_TEST

START_TEST(load)
{
    struct fake_root r;

    fake_root_init(&r);
    ck_assert(isnan(quota_load(r.path)));
    fake_root_add(&r, "proc/loadavg", "3.25 2.00 1.00 4/567 8910\n");
    ck_assert(quota_load(r.path) == 3.25);
    fake_root_add(&r, "proc/loadavg", "busy\n");
    ck_assert(isnan(quota_load(r.path)));
    fake_root_fini(&r);
    ck_assert(quota_load("") >= 0);
    ck_assert(isnan(quota_cpus("")) || quota_cpus("") > 0);
}
END_TEST

START_TEST(machine_memory)
{
    struct fake_root r;

    fake_root_init(&r);
    ck_assert_int_eq(quota_machine_bytes(r.path), 0);
    fake_root_add(&r, "proc/meminfo", "MemTotal:       24682416 kB\nMemFree: 1 kB\n");
    ck_assert_int_eq(quota_machine_bytes(r.path), INT64_C(24682416) * 1024);
    fake_root_add(&r, "proc/meminfo", "MemTotal: -5 kB\n");
    ck_assert_int_eq(quota_machine_bytes(r.path), 0);
    fake_root_fini(&r);
    ck_assert_int_gt(quota_machine_bytes(""), 0);
}
END_TEST

/* What a process is held by, and what is used there that nobody gives back. */
START_TEST(memory_of)
{
    struct quota_memory m, other;
    struct fake_root r;

    fake_root_init(&r);
    quota_memory_of(r.path, 7, &m);
    ck_assert(m.limit_bytes == 0 && m.used_bytes == 0 && m.group == 0);
    fake_root_add(&r, "proc/meminfo",
                  "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n");
    fake_root_add(&r, "proc/self/mountinfo", V2);
    fake_root_add(&r, "proc/self/cgroup", "0::/agent\n");
    fake_root_add(&r, "proc/7/cgroup", "0::/job/rank\n");
    quota_memory_of(r.path, 7, &m);
    ck_assert(m.limit_bytes == 1024000 && m.used_bytes == 600 * 1024 && m.group == 0);
    fake_root_add(&r, "sys/fs/cgroup/job/memory.max", "5000\n");
    fake_root_add(&r, "sys/fs/cgroup/job/memory.current", "3000\n");
    fake_root_add(&r, "sys/fs/cgroup/job/memory.stat",
                  "anon 500\ninactive_file 700\nactive_file 300\nslab_reclaimable 100\n");
    fake_root_add(&r, "sys/fs/cgroup/job/rank/memory.max", "max\n");
    quota_memory_of(r.path, 7, &m);
    ck_assert(m.limit_bytes == 5000 && m.used_bytes == 1900 && m.group != 0);
    fake_root_add(&r, "proc/8/cgroup", "0::/job/another\n"); /* below the same limit */
    quota_memory_of(r.path, 8, &other);
    ck_assert(other.group == m.group && other.limit_bytes == 5000);
    quota_memory_of(r.path, 0, &other);
    ck_assert(other.group == 0 && other.limit_bytes == 1024000);
    fake_root_add(&r, "proc/8/cgroup", "3:memory:/slurm\n");
    fake_root_add(&r, "proc/self/mountinfo", V1);
    fake_root_add(&r, "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9000\n");
    fake_root_add(&r, "sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "8000\n");
    fake_root_add(&r, "sys/fs/cgroup/memory/slurm/memory.stat",
                  "inactive_file 1\ntotal_inactive_file 2000\ntotal_active_file 100\n");
    quota_memory_of(r.path, 8, &other);
    ck_assert(other.limit_bytes == 9000 && other.used_bytes == 5900);
    fake_root_fini(&r);
    quota_memory_of("", 0, &m);
    ck_assert(m.limit_bytes > 0 && m.used_bytes > 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, limits, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, load);
    tcase_add_test(tc, machine_memory);
    tcase_add_test(tc, memory_of);
}

SUITE_MAIN("quota", add_tests)
