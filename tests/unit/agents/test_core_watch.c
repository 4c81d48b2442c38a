/* SPDX-License-Identifier: Apache-2.0 */
/* test_core_watch.c - tests of agents/node/watch/core_watch.h */
#include "agents/node/watch/core_watch.h"

#include "suite.h"

#include "lib/base/clock.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 120, PATH = 512 };

static struct core_watch *watch;

static void set_up(void)
{
    watch = core_watch_open("", 2);
    ck_assert_ptr_nonnull(watch);
}

/* A process on the first core that this one may use: busy, or asleep. */
static pid_t start(bool busy)
{
    pid_t pid = fork();
    cpu_set_t all, one;

    ck_assert_int_ge(pid, 0);
    if (pid)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) == 0)
        for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
            if (CPU_ISSET(i, &all))
                CPU_SET(i, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    while (busy)
        ;
    for (;;)
        (void)pause();
}

static void end(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static pid_t sleeper; /* of a machine that is files; 0: it is this one */

static void tear_down(void)
{
    core_watch_close(watch);
    if (sleeper)
        end(sleeper);
    sleeper = 0;
}

static double lost(enum core_loss_kind kind)
{
    return core_watch_loss(watch, 0).part[kind];
}

/* Until more than that is lost; NAN: until it is not known. */
static void await_loss(enum core_loss_kind kind, double least)
{
    int64_t until_ns = clock_after_ns(clock_now_ns(), PATIENCE_S * CLOCK_S);

    while (isnan(least) ? !isnan(lost(kind)) : !(lost(kind) > least)) {
        ck_assert_msg(clock_now_ns() < until_ns, "%d: %g of it are lost", (int)kind, lost(kind));
        core_watch_take(watch, clock_now_ns());
        clock_sleep_until_ns(clock_after_ns(clock_now_ns(), 20 * CLOCK_MS));
    }
}

START_TEST(others_on_its_core)
{
    pid_t rank = start(false), other = start(true);

    core_watch_set(watch, 0, rank, rank);
    await_loss(CORE_LOSS_OTHERS, 0.1);
    ck_assert_double_ge(lost(CORE_LOSS_STOLEN), 0);
    ck_assert(isnan(core_watch_loss(watch, 1).part[CORE_LOSS_OTHERS])); /* it is not there */
    end(other);
    end(rank);
}
END_TEST

START_TEST(between_readings)
{
    int64_t now_ns = clock_now_ns();
    pid_t rank = start(true);

    core_watch_set(watch, 0, rank, rank);
    core_watch_take(watch, now_ns);
    core_watch_take(watch, now_ns); /* too early */
    ck_assert(isnan(lost(CORE_LOSS_OTHERS)));
    await_loss(CORE_LOSS_OTHERS, -1);
    ck_assert_double_le(lost(CORE_LOSS_OTHERS), 1);
    end(rank);
    await_loss(CORE_LOSS_OTHERS, NAN);
}
END_TEST

static bool put(const char *group, const char *name, const char *text)
{
    char path[2 * PATH];
    FILE *f;
    bool ok;

    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    f = fopen(path, "we");
    ok = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && ok;
}

/* Make a group below this process's own that may use a tenth of a core. */
static bool make_group(char *ret, size_t size)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool made = false;
    char line[PATH];

    while (f && !made && fgets(line, sizeof line, f)) {
        bool old = strstr(line, ":cpu:") != NULL;
        char *own = strrchr(line, ':') + 1;

        if (!old && strncmp(line, "0::", 3) != 0)
            continue;
        own[strcspn(own, "\n")] = '\0';
        (void)snprintf(ret, size, "/sys/fs/cgroup%s%s/eddis-test-%d", old ? "/cpu" : "", own,
                       (int)getpid());
        if (mkdir(ret, 0700) < 0)
            continue;
        made = old ? put(ret, "cpu.cfs_period_us", "20000") && put(ret, "cpu.cfs_quota_us", "2000")
                   : put(ret, "cpu.max", "2000 20000");
        if (!made)
            (void)rmdir(ret);
    }
    if (f)
        (void)fclose(f);
    return made;
}

START_TEST(quota_of_its_group)
{
    char group[PATH + 64], number[16];
    pid_t rank = start(true);

    (void)snprintf(number, sizeof number, "%d", (int)rank);
    if (!make_group(group, sizeof group)) {
        puts("SKIP quota_of_its_group: no control group of processor time can be made here");
        end(rank);
        return;
    }
    core_watch_set(watch, 0, rank, rank);
    await_loss(CORE_LOSS_OTHERS, -1);
    if (put(group, "cgroup.procs", number))
        await_loss(CORE_LOSS_THROTTLED, 0.1);
    else
        puts("SKIP quota_of_its_group: no process can be moved to a control group here");
    end(rank);
    ck_assert_int_eq(rmdir(group), 0);
}
END_TEST

/* ---- machines that are files ---- */

#define CORE "sys/devices/system/cpu/cpu%d/"

static int core;
static int64_t later_ns;

static void file(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write a file of the machine. */
static void file(const char *text, const char *format, ...)
{
    char name[PATH], *slash;
    cleanup_free char *path = NULL;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    path = file_join(scratch, "%s", name);
    slash = strrchr(path, '/');
    *slash = '\0';
    ck_assert_int_eq(file_mkdirs(path, 0755, NULL), 0);
    *slash = '/';
    ck_assert_int_eq(file_write_atomic(path, text, strlen(text), 0644, NULL), 0);
}

/* What the only core has done, in hundredths of a second. */
static void stat_file(int busy, int idle, int stolen)
{
    char text[PATH];

    (void)snprintf(text, sizeof text, "cpu  1 2 3 4 5 6 7 8 0 0\ncpu%d %d 0 0 %d 0 0 0 %d 0 0\n",
                   core, busy, idle, stolen);
    file(text, "proc/stat");
}

static void periods_file(const char *group, int periods, int throttled)
{
    char text[PATH];

    (void)snprintf(text, sizeof text,
                   "usage_usec 5\nnr_periods %d\nnr_throttled %d\nthrottled_usec 77\n", periods,
                   throttled);
    file(text, "sys/fs/cgroup/%s/cpu.stat", group);
}

static void groups_file(const char *text)
{
    file(text, "proc/%d/cgroup", (int)sleeper);
}

static void machine_begin(void)
{
    cpu_set_t cores;

    core_watch_close(watch);
    watch = core_watch_open(scratch, 1);
    ck_assert_ptr_nonnull(watch);
    sleeper = start(false);
    for (;;) { /* until it has bound itself */
        ck_assert_int_eq(sched_getaffinity(sleeper, sizeof cores, &cores), 0);
        if (CPU_COUNT(&cores) == 1)
            break;
    }
    for (core = 0; !CPU_ISSET(core, &cores);)
        core++;
    core_watch_set(watch, 0, sleeper, sleeper);
    later_ns = clock_now_ns();
    stat_file(100, 100, 100);
}

static void look(void)
{
    core_watch_take(watch, later_ns);
    later_ns += 3600 * CLOCK_S;
}

/* Look twice with these groups, of which text's processes are, and return what is throttled. */
static double throttled_between(const char *text, const char *group, const char *above)
{
    groups_file(text);
    periods_file(group, 100, 50);
    if (above)
        periods_file(above, 0, 0);
    look();
    stat_file(200, 200, 100);
    periods_file(group, 140, 60);
    look();
    return lost(CORE_LOSS_THROTTLED);
}

START_TEST(machine_of_nothing)
{
    machine_begin();
    look();
    look();
    for (int i = 0; i < CORE_LOSSES; i++)
        ck_assert(isnan(lost(i)));
    ck_assert(isnan(core_watch_loss(watch, 0).celsius));
}
END_TEST

START_TEST(stolen_and_others)
{
    machine_begin();
    look();
    stat_file(150, 120, 130);
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_STOLEN), 0.3, 1e-9);
    ck_assert_double_eq_tol(lost(CORE_LOSS_OTHERS), 0.5, 0.05); /* the rank sleeps, or begins to */
    ck_assert(isnan(lost(CORE_LOSS_THROTTLED)));
    ck_assert(isnan(lost(CORE_LOSS_CLOCK)));
    ck_assert(isnan(lost(CORE_LOSS_HEAT)));
}
END_TEST

START_TEST(groups_of_version_2)
{
    machine_begin();
    file("usage_usec 5\nuser_usec 3\n", "sys/fs/cgroup/cpu.stat"); /* the root has no periods */
    ck_assert_double_eq_tol(throttled_between("0::/job/rank\n", "job/rank", "job"), 0.25, 1e-9);
    periods_file("job", 60, 30); /* the quota above it */
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_THROTTLED), 0.5, 1e-9);
    look();
    ck_assert(isnan(lost(CORE_LOSS_THROTTLED))); /* no period has passed */
    groups_file("0::/other\n");
    periods_file("other", 1000, 1000);
    look();
    ck_assert(isnan(lost(CORE_LOSS_THROTTLED))); /* what the other counted before is not its own */
    periods_file("other", 1010, 1001);
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_THROTTLED), 0.1, 1e-9);
}
END_TEST

/* _i: how the controllers are mounted, alone or beside version 2. */
START_TEST(groups_of_version_1)
{
    static const char *const row[][2] = {
        { "9:memory:/m\n4:cpu:/job\n1:cpuset:/c\n", "cpu/job" },
        { "4:cpu,cpuacct:/job\n0::/unified\n", "cpu,cpuacct/job" },
        { "4:cpuacct,cpu:/job\n", "cpuacct,cpu/job" },
        { "2:cpuset:/c\n4:cpu:/\n", "cpu" },
    };

    machine_begin();
    ck_assert_double_eq_tol(throttled_between(row[_i][0], row[_i][1], NULL), 0.25, 1e-9);
}
END_TEST

START_TEST(clock_below_the_highest)
{
    machine_begin();
    file("3000000\n", CORE "cpufreq/cpuinfo_max_freq", core);
    file("1800000\n", CORE "cpufreq/scaling_cur_freq", core);
    look();
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_CLOCK), 0.4, 1e-9);
}
END_TEST

/* A second of the core passes between looks: a hundred of its ticks. */
START_TEST(heat)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);

    machine_begin();
    file("1000\n", CORE "thermal_throttle/core_throttle_total_time_ms", core);
    look();
    stat_file(100 + (int)ticks, 100, 100);
    file("1200\n", CORE "thermal_throttle/core_throttle_total_time_ms", core);
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_HEAT), 0.2, 1e-6);
    file("70\n", CORE "thermal_throttle/package_throttle_total_time_ms", core);
    look();
    stat_file(100 + 2 * (int)ticks, 100, 100);
    file("670\n", CORE "thermal_throttle/package_throttle_total_time_ms", core);
    look();
    ck_assert_double_eq_tol(lost(CORE_LOSS_HEAT), 0.6, 1e-6);
}
END_TEST

START_TEST(temperature)
{
    machine_begin();
    file("acpitz\n", "sys/class/hwmon/hwmon0/name");
    file("90000\n", "sys/class/hwmon/hwmon0/temp1_input"); /* of what, nobody knows */
    file("coretemp\n", "sys/class/hwmon/hwmon2/name");
    file("-274000\n", "sys/class/hwmon/hwmon2/temp1_input");
    look();
    look();
    ck_assert(isnan(core_watch_loss(watch, 0).celsius));
    file("61500\n", "sys/class/hwmon/hwmon2/temp1_input");
    look();
    ck_assert_double_eq_tol(core_watch_loss(watch, 0).celsius, 61.5, 1e-9);
    file("x86_pkg_temp\n", "sys/class/thermal/thermal_zone1/type");
    file("71000\n", "sys/class/thermal/thermal_zone1/temp");
    look();
    ck_assert_double_eq_tol(core_watch_loss(watch, 0).celsius, 71, 1e-9);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, others_on_its_core);
    tcase_add_test(tc, between_readings);
    tcase_add_test(tc, quota_of_its_group);
    tcase_add_test(tc, machine_of_nothing);
    tcase_add_test(tc, stolen_and_others);
    tcase_add_test(tc, groups_of_version_2);
    tcase_add_loop_test(tc, groups_of_version_1, 0, 4);
    tcase_add_test(tc, clock_below_the_highest);
    tcase_add_test(tc, heat);
    tcase_add_test(tc, temperature);
}

SUITE_MAIN("core_watch", add_tests)
