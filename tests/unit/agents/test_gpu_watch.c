/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_watch.c - tests of agents/node/watch/gpu_watch.h: the process is this test, which writes
 * readings to its pipe
 */
#include "agents/node/watch/gpu_watch.h"

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/model/gpu_state_json.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gpu_watch *watch;
static struct order_rank rank[3];
static char watched[1024]; /* the ids that the process got */
static int out = -1;       /* end of the pipe, as the process has it */
static pid_t process;
static int64_t now_ns = CLOCK_S;

int __wrap_spawn_start(const struct spawn *s, pid_t *ret, struct eddis_error *err);
int __wrap_program_path(const char *name, char *ret, size_t size, struct eddis_error *err);

int __wrap_spawn_start(const struct spawn *s, pid_t *ret, struct eddis_error *err)
{
    snprintf(watched, sizeof watched, "%s", s->argv[2]);
    out = dup(s->out);
    process = fork();
    if (process == 0) {
        (void)pause();
        _exit(0);
    }
    *ret = process;
    return process > 0 && out >= 0 ? 0 : -1;
}

int __wrap_program_path(const char *name, char *ret, size_t size, struct eddis_error *err)
{
    snprintf(ret, size, "/%s", name);
    return 0;
}

static void begin(const char *first, const char *second)
{
    snprintf(rank[0].device_id, sizeof rank[0].device_id, "%s", first);
    snprintf(rank[1].device_id, sizeof rank[1].device_id, "%s", second);
    snprintf(rank[2].device_id, sizeof rank[2].device_id, "numa:0");
    watch = gpu_watch_open(rank, 3);
    ck_assert_ptr_nonnull(watch);
    gpu_watch_take(watch, now_ns);
}

static void end(void)
{
    ck_assert_int_eq(gpu_watch_close(watch), process);
    ck_assert_int_eq(waitpid(process, NULL, 0), process);
    (void)close(out);
}

/* Let the process say this of a GPU. */
static void read_gpu(const char *id, int64_t reading, enum gpu_slowed slowed, double clock_mhz,
                     int64_t xids)
{
    struct gpu_state s = { .reading = reading,
                           .busy = NAN,
                           .clock_mhz = clock_mhz,
                           .clock_most_mhz = NAN,
                           .slowed = slowed,
                           .watts = NAN,
                           .watts_most = NAN,
                           .celsius = NAN,
                           .ecc_corrected = -1,
                           .ecc_uncorrected = -1,
                           .xid = xids ? 79 : 0,
                           .xids = xids,
                           .others = -1 };
    char *text;

    snprintf(s.id, sizeof s.id, "%s", id);
    text = fields_text(&gpu_state_table, &s);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_gt(dprintf(out, "%s\n", text), 0);
    free(text);
    gpu_watch_take(watch, now_ns);
}

static const char *of(int i)
{
    static struct gpu_state s;

    s = gpu_watch_state(watch, i, now_ns);
    return s.reading ? s.id : "";
}

/* Of a rank's GPUs the one that slows it is reported. */
START_TEST(groups)
{
    begin("GPU-a,GPU-b", "GPU-c,GPU-d");
    ck_assert_str_eq(watched, "GPU-a,GPU-b,GPU-c,GPU-d");
    ck_assert_str_eq(of(0), "");
    read_gpu("GPU-b", 1, GPU_SLOWED_NOT, 1400, 0);
    ck_assert_str_eq(of(0), "GPU-b");
    read_gpu("GPU-a", 1, GPU_SLOWED_NOT, 1300, 0);
    ck_assert_str_eq(of(0), "GPU-a");
    read_gpu("GPU-b", 2, GPU_SLOWED_HEAT, 1350, 0);
    ck_assert_str_eq(of(0), "GPU-b");
    read_gpu("GPU-b", 3, GPU_SLOWED_IDLE, 200, 0);
    ck_assert_str_eq(of(0), "GPU-a");
    read_gpu("GPU-a", 2, GPU_SLOWED_NOT, NAN, 0);
    read_gpu("GPU-b", 4, GPU_SLOWED_NOT, 1400, 0);
    ck_assert_str_eq(of(0), "GPU-b");
    ck_assert_str_eq(of(1), "");
    ck_assert_str_eq(of(2), "");
    read_gpu("GPU-d", 1, GPU_SLOWED_NOT, 1400, 0);
    ck_assert_str_eq(of(1), "GPU-d");
    now_ns += 30 * CLOCK_S;
    ck_assert_str_eq(of(1), "");
    end();
}
END_TEST

/* Of a rank with several GPUs all that are known are reported, in their order. */
START_TEST(all)
{
    struct gpu_state ret[GPU_MOST];

    begin("GPU-a,GPU-b", "GPU-c");
    ck_assert_int_eq(gpu_watch_states(watch, 0, now_ns, ret), 0);
    read_gpu("GPU-b", 1, GPU_SLOWED_HEAT, 1400, 0);
    read_gpu("GPU-c", 1, GPU_SLOWED_NOT, 1400, 0);
    ck_assert_int_eq(gpu_watch_states(watch, 0, now_ns, ret), 1);
    read_gpu("GPU-a", 1, GPU_SLOWED_NOT, 1300, 0);
    ck_assert_int_eq(gpu_watch_states(watch, 0, now_ns, ret), 2);
    ck_assert_str_eq(ret[0].id, "GPU-a");
    ck_assert_str_eq(ret[1].id, "GPU-b");
    ck_assert_str_eq(of(0), "GPU-b"); /* the cause of a straggler */
    ck_assert_int_eq(gpu_watch_states(watch, 1, now_ns, ret), 0);
    now_ns += 30 * CLOCK_S;
    ck_assert_int_eq(gpu_watch_states(watch, 0, now_ns, ret), 0);
    end();
}
END_TEST

/* News of each GPU of a rank are reported once. */
START_TEST(news)
{
    char text[300];

    begin("GPU-a,GPU-b", "GPU-b");
    for (int i = 0; i < 2; i++) {
        read_gpu(i ? "GPU-b" : "GPU-a", 1, GPU_SLOWED_NOT, 1400, 3);
        ck_assert(!gpu_watch_news(watch, 0, text, sizeof text));
    }
    read_gpu("GPU-b", 2, GPU_SLOWED_NOT, 1400, 4);
    for (int i = 0; i < 2; i++) {
        ck_assert(gpu_watch_news(watch, i, text, sizeof text));
        ck_assert_ptr_nonnull(strstr(text, "GPU GPU-b reports the critical error Xid 79"));
        ck_assert(!gpu_watch_news(watch, i, text, sizeof text));
    }
    end();
}
END_TEST

/* The longest ids of one GPU, and the most GPUs of one rank */
START_TEST(long_lists)
{
    char id[64], list[DEVICE_ID] = "";
    size_t n = 0;

    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    memcpy(id, "GPU-", 4);
    while (n + sizeof id < sizeof list)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? "," : "", id);
    begin(list, id);
    read_gpu(id, 1, GPU_SLOWED_NOT, 1400, 0);
    ck_assert_str_eq(of(0), id);
    ck_assert_str_eq(of(1), id);
    ck_assert_int_le(gpu_watch_states(watch, 0, now_ns, (struct gpu_state[GPU_MOST]){ 0 }),
                     GPU_MOST);
    end();
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, groups);
    tcase_add_test(tc, all);
    tcase_add_test(tc, news);
    tcase_add_test(tc, long_lists);
}

SUITE_MAIN("gpu_watch", add_tests)
