/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_page.c - tests of cmd/status/status_page.h */
#include "suite.h"

#include "cmd/status/status_page.h"

#include <math.h>
#include <string.h>

static struct job_status s;
static char *text; /* of the newest page */

static void set_up(void)
{
    job_status_init(&s);
    strcpy(s.job, "digits-20261121-140712-3f9a");
    s.state = JOB_RUNNING;
    strcpy(s.mode, "sync");
    strcpy(s.algorithm, "allreduce");
    s.n_nodes = 1;
    s.plan_version = s.generation = s.generations = 1;
    s.global_batch = 256;
    s.steps_done = 186;
    s.steps_total = 600;
    s.epoch = 31;
    s.epochs = 100;
    s.loss = 0.142;
    s.wall_s = 7.2;
    s.eta_s = 16;
    s.samples_per_s = 21900;
    s.recent_samples_per_s = 22100;
    s.ideal_samples_per_s = 22600;
    s.predicted_samples_per_s = 22400;
    s.equal_predicted_samples_per_s = 9300;
    s.emulated = true;
    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct worker_status *w = &s.worker[i];

        strcpy(w->node, "login1");
        strcpy(w->device, "emulated 1.00");
        strcpy(w->state, "compute");
        w->steps_done = 186;
        w->batch = 94;
        w->samples_per_s = 8030;
        w->step_ms = 11.7;
        w->compute_ms = 11.2;
        w->input_ms = 0.1;
        w->exposed_ms = 0.3;
        w->wait_ms = 0.1;
        w->expected_ms = 11.4;
        w->relative_speed = 1.01;
    }
}

static void tear_down(void)
{
    job_status_fini(&s);
    free(text);
    text = NULL;
}

static void make(bool ascii)
{
    struct status_page p;

    free(text);
    ck_assert_int_eq(status_page_make(&s, &(struct status_page_form){ .ascii = ascii }, &p, NULL),
                     0);
    text = p.text;
}

static void check_has(const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in: %s", words, text);
}

static void check_has_not(const char *words)
{
    ck_assert_msg(!strstr(text, words), "\"%s\" in: %s", words, text);
}

START_TEST(page)
{
    s.worker[1].relative_speed = 0.45; /* nobody is named for that */
    s.worker[1].compute_ms = 25.3;
    make(true);
    ck_assert_str_eq(
        text,
        "job     digits-20261121-140712-3f9a   running   sync, allreduce   2 workers on 1 node   "
        "emulated devices\n"
        "where   epoch 31/100   step 186/600   #######................. 31 %   0:07, ETA 0:16\n"
        "speed   21 900 samples/s (now 22 100)   97 % of ideal (22 600)   2.4x an equal split "
        "(predicted 9 300)\n"
        "plan    attempt 1, version 1, global batch 256, 0 re-plans, 0 restarts\n"
        "result  loss 0.142\n"
        "\n"
        "  rank  node    device         step  batch  samples/s  step ms  compute  input  exposed  "
        "wait  speed  state\n"
        "     0  login1  emulated 1.00   186     94      8 030     11.7     11.2    0.1      0.3   "
        "0.1   1.01  compute\n"
        "     1  login1  emulated 1.00   186     94      8 030     11.7     25.3    0.1      0.3   "
        "0.1   0.45  compute\n"
        "\n");
    make(false);
    check_has("\u2501");
}
END_TEST

/* Of a program whose samples are unknown: its own time of a step in their place. */
START_TEST(no_samples)
{
    s.samples_per_s = s.recent_samples_per_s = NAN;
    for (int i = 0; i < s.n_workers; i++)
        s.worker[i].samples_per_s = NAN;
    make(true);
    check_has("speed   11.7 ms a step\n");
    check_has("    94    11.3 ms     11.7 ");
}
END_TEST

/* Only the driver names, and in its words. */
START_TEST(named_is_slow)
{
    struct worker_status *w = &s.worker[1];

    strcpy(w->straggler, "processor");
    w->straggler_times = 3.04;
    strcpy(w->straggler_says, "takes 3.0 times as long");
    make(true);
    check_has("\n\nslow    rank 1 on login1 takes 3.0 times as long\n");
    w->straggler[0] = '\0'; /* it is over */
    make(true);
    check_has_not("slow ");
    s.all_slow_times = 2.04;
    make(true);
    check_has("\n\nslow    most workers take 2.0 times as long as before\n");
}
END_TEST

static void many_workers(int n)
{
    const struct worker_status one = s.worker[0];

    ck_assert_int_eq(job_status_resize(&s, n, NULL), 0);
    for (int i = 0; i < n; i++) {
        s.worker[i] = one;
        s.worker[i].rank = i;
    }
}

static int count(const char *what)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

START_TEST(many_are_slow)
{
    many_workers(47);
    for (int i = 0; i < 46; i++) {
        strcpy(s.worker[i].straggler, "compute");
        s.worker[i].straggler_times = 2 + 0.01 * i;
        (void)snprintf(s.worker[i].straggler_says, sizeof s.worker[i].straggler_says, "says %d", i);
    }
    strcpy(s.worker[46].straggler, "input");
    s.worker[46].straggler_times = 100;
    make(true);
    ck_assert_int_eq(count("\nslow "), 11);
    check_has("\n\nslow    rank 46 on login1 ");
    check_has("\nslow    rank 45 on login1 says 45\n");
    check_has("\nslow    rank 37 on login1 says 37\n");
    check_has_not("slow    rank 36");
    check_has("\nslow    and 37 more workers\n");
    for (int i = 0; i < 37; i++)
        s.worker[i].straggler[0] = '\0';
    make(true);
    ck_assert_int_eq(count("\nslow "), 10);
    check_has_not(" more\n");
}
END_TEST

static void check_where(int columns, const char *line)
{
    struct status_page p;

    ck_assert_int_eq(
        status_page_make(&s, &(struct status_page_form){ true, false, columns }, &p, NULL), 0);
    ck_assert_msg(strstr(p.text, line), "%d columns: %s", columns, p.text);
    status_page_fini(&p);
}

/* What a GPU does takes the place of times; of one that was not read nothing is known, and a narrow
 * window leaves out most, but not why its clock is low.
 */
START_TEST(gpus)
{
    struct status_page p;

    s.worker[0].gpu = (struct gpu_state){ .reading = 1,
                                          .busy = NAN,
                                          .clock_mhz = 1005,
                                          .clock_most_mhz = 1410,
                                          .slowed = GPU_SLOWED_HEAT,
                                          .watts = 250,
                                          .watts_most = NAN,
                                          .celsius = 86,
                                          .ecc_uncorrected = -1,
                                          .xids = 2,
                                          .others = -1,
                                          .numa = 1,
                                          .nvlinks = 12,
                                          .nic = "mlx5_0 PIX" };
    ck_assert_int_eq(status_page_make(&s, &(struct status_page_form){ .gpus = true }, &p, NULL), 0);
    ck_assert_ptr_nonnull(
        strstr(p.text, "SM MHz  power W  temp  PCIe  NVLink  NUMA  NIC         others  errors"));
    ck_assert_ptr_nonnull(strstr(
        p.text, "     -       -  1005 of 1410      250  86 C  -         12     1  mlx5_0 PIX  "
                "     -       2"));
    ck_assert_ptr_nonnull(strstr(p.text, "  heat\n"));
    ck_assert_ptr_null(strstr(p.text, "step ms"));
    status_page_fini(&p);
    ck_assert_int_eq(
        status_page_make(&s, &(struct status_page_form){ .gpus = true, .columns = 50 }, &p, NULL),
        0);
    ck_assert(strstr(p.text, "SM MHz") && strstr(p.text, "why low") && !strstr(p.text, "PCIe"));
    ck_assert(!strstr(p.text, "NUMA") && !strstr(p.text, "NIC"));
    status_page_fini(&p);
}
END_TEST

/* Of a worker with several GPUs each has a row; what is the worker's own is in the first. */
START_TEST(several_gpus)
{
    struct status_page p;

    s.worker[0].relative_speed = 0.75;
    strcpy(s.worker[0].device, "2 x V100");
    strcpy(s.worker[0].state, "compute");
    s.worker[0].n_gpus = 2;
    for (int i = 0; i < 2; i++) {
        s.worker[0].gpus[i] =
            (struct gpu_state){ .reading = 1, .clock_mhz = 1000 + i, .clock_most_mhz = NAN };
        snprintf(s.worker[0].gpus[i].pci, sizeof s.worker[0].gpus[i].pci, "0000:%d7:00.0", i + 1);
    }
    ck_assert_int_eq(status_page_make(&s, &(struct status_page_form){ .gpus = true }, &p, NULL), 0);
    ck_assert_ptr_nonnull(strstr(p.text, "0000:17:00.0 of 2 x V100"));
    ck_assert_ptr_nonnull(strstr(p.text, "0000:27:00.0 of 2 x V100"));
    ck_assert(strstr(p.text, "  1000 ") && strstr(p.text, "  1001 "));
    ck_assert_ptr_nonnull(strstr(p.text, "0.75  compute"));
    ck_assert_ptr_null(strstr(strstr(p.text, "0.75  compute") + 1, "0.75  compute"));
    status_page_fini(&p);
}
END_TEST

/* In a narrow window the bar is shorter, so that the times stay. */
START_TEST(narrow_bar)
{
    s.epoch = 103;
    s.epochs = 40000;
    s.steps_done = 60512;
    s.steps_total = 240000;
    s.wall_s = 7325;
    s.eta_s = 21900;
    check_where(100,
                "\nwhere   epoch 103/40000   step 60512/240000   ######.................. 25 %   "
                "2:02:05, ETA 6:05:00\n");
    check_where(80, "\nwhere   epoch 103/40000   step 60512/240000   ##.... 25 %   "
                    "2:02:05, ETA 6:05:00\n");
    check_where(75, "\nwhere   epoch 103/40000   step 60512/240000 25 %   2:02:05, ETA 6:05:00\n");
}
END_TEST

/* What of the job and its speed a narrow window has no room for is told in another line. */
START_TEST(narrow_parts)
{
    check_where(80, "job     digits-20261121-140712-3f9a   running   sync, allreduce\n"
                    "        2 workers on 1 node   emulated devices\n");
    check_where(80, "\nspeed   21 900 samples/s (now 22 100)   97 % of ideal (22 600)\n"
                    "        2.4x an equal split (predicted 9 300)\n");
    check_where(104, "2 workers on 1 node   emulated devices\nwhere");
    check_where(20,
                "job     digits-20261121-140712-3f9a\n        running\n        sync, allreduce\n");
}
END_TEST

/* Of real devices the prediction for an equal split leaves out communication. */
START_TEST(real_devices)
{
    s.emulated = false;
    make(true);
    check_has("97 % of ideal (22 600)\n");
    s.equal_measured_samples_per_s = 9200;
    make(true);
    check_has("   2.4x an equal split (measured 9 200)\n");
}
END_TEST

/* What is in force, since when, why, and what it gives. */
START_TEST(plan_in_force)
{
    s.plan_version = 3;
    s.replans = 1;
    s.n_plans = 2;
    s.plan[0] = (struct plan_status){ .generation = 1, .version = 1, .samples_per_s = 613 };
    s.plan[1] = (struct plan_status){ .generation = 1,
                                      .version = 3,
                                      .since = 28,
                                      .samples_per_s = 1203,
                                      .ideal_samples_per_s = 1300,
                                      .reason = "rank 3 is slow\033[2J" };
    make(true);
    check_has("samples/s (now 22 100)   2.4x an equal split");
    check_has("plan    attempt 1, version 3 from step 28, global batch 256, 1 re-plan, 0 "
              "restarts\n"
              "        1 203 samples/s, 93 % of its ideal; why: rank 3 is slow?[2J\n");
    s.plan[1].since = -1; /* nobody has done a step of it */
    s.plan[1].samples_per_s = NAN;
    make(true);
    check_has("version 3, global batch 256");
    check_has("\n        not measured yet; why: rank 3");
}
END_TEST

/* Workers that do not keep in step. */
START_TEST(own_paces)
{
    strcpy(s.mode, "async");
    strcpy(s.algorithm, "easgd");
    s.worker[1].group = 1;
    s.worker[1].staleness = 7;
    make(true);
    check_has("wait  speed  group  stale  state\n");
    check_has(" 0.1   1.01      1      7  compute\n");
}
END_TEST

/* A job of which nothing is known, and the ends. */
START_TEST(little_is_known)
{
    job_status_fini(&s);
    strcpy(s.job, "x");
    make(true);
    ck_assert_str_eq(text, "job     x   starting\nwhere   step 0\n");
    strcpy(s.waiting, "agents 6/8 up; waiting for c07 (ssh: permission denied)");
    make(true);
    ck_assert_str_eq(text, "job     x   starting\nwhere   step 0\n"
                           "note    agents 6/8 up; waiting for c07 (ssh: permission denied)\n");
    s.waiting[0] = '\0';
    s.state = JOB_ENDED;
    s.exit_code = 137;
    strcpy(s.reason, "rank_signal");
    strcpy(s.message, "rank 3 was killed");
    make(true);
    ck_assert_str_eq(text, "job     x   ended (rank_signal, exit code 137)\nwhere   step 0\n"
                           "note    rank 3 was killed\n");
}
END_TEST

/* Names that other machines gave cannot drive the terminal. */
START_TEST(foreign_text)
{
    static const char evil[] = "\033[31m\a\302\233x\n";

    strcpy(s.job, evil);
    strcpy(s.message, evil);
    strcpy(s.waiting, evil);
    strcpy(s.mode, evil);
    strcpy(s.reason, "\033c");
    strcpy(s.worker[0].node, evil);
    strcpy(s.worker[0].device, evil);
    strcpy(s.worker[0].state, "\033c");
    strcpy(s.worker[0].straggler, "input");
    strcpy(s.worker[0].straggler_says, evil);
    make(true);
    for (const char *c = text; *c; c++)
        ck_assert_msg(*c == '\n' || (*c >= 0x20 && *c != 0x7f), "byte %d", *c);
}
END_TEST

/* Print the page to text.  Return the number of its lines. */
static int print(bool color, int rows, int columns)
{
    struct status_print o = { .color = color, .rows = rows, .columns = columns };
    struct status_page p;
    size_t n;
    int lines;

    free(text);
    ck_assert_int_eq(
        status_page_make(&s, &(struct status_page_form){ false, false, columns }, &p, NULL), 0);
    o.out = open_memstream(&text, &n);
    lines = status_page_print(&p, &s, &o);
    fclose(o.out);
    status_page_fini(&p);
    return lines;
}

START_TEST(printing)
{
    ck_assert_int_eq(print(false, 0, 0), 10);
    check_has_not("\033");
    strcpy(s.worker[0].state, "killed");
    strcpy(s.worker[1].straggler, "input");
    print(true, 0, 0);
    check_has("\n\033[1m  rank");
    check_has("\n\033[31m     0  ");
    check_has("\n\033[33m     1  ");
    for (int rows = 1; rows < 14; rows++)
        for (int width = 1; width < 130; width += 7) {
            int seen = 0, at = 0, lines = print(false, rows, width);

            ck_assert_int_le(lines, rows);
            for (const char *c = text; *c; c++) {
                at = *c == '\n' ? 0 : at + (((unsigned char)*c & 0xc0) != 0x80);
                seen += *c == '\n';
                ck_assert(at <= width || strncmp(c - at + 1, "...", 3) == 0 || width < 60);
            }
            ck_assert_int_eq(seen, lines);
        }
}
END_TEST

/* A window may be too narrow for all: never without who it is, how fast and in which state. */
START_TEST(narrow)
{
    strcpy(s.mode, "async");
    strcpy(s.algorithm, "easgd");
    strcpy(s.worker[0].state, "stopped by eddis");
    for (int width = 36; width < 130; width++) {
        print(false, 0, width);
        ck_assert_msg(strstr(text, "speed") && strstr(text, "  state\n"), "%d: %s", width, text);
        ck_assert_msg(strstr(text, "1.01") && strstr(text, "  stopped by eddis\n"), "%d", width);
    }
    strcpy(s.mode, "sync");
    strcpy(s.algorithm, "allreduce");
    strcpy(s.worker[0].state, "compute");
    print(false, 0, 80);
    check_has("\n  rank  node    step  samples/s  compute  input  exposed  wait  speed  state\n"
              "     0  login1   186      8 030     11.2    0.1      0.3   0.1   1.01  compute\n");
}
END_TEST

START_TEST(marks)
{
    struct worker_status w = { .relative_speed = 0.1 };

    ck_assert_int_eq(status_mark(&w), STATUS_PLAIN);
    strcpy(w.straggler, "input");
    ck_assert_int_eq(status_mark(&w), STATUS_SLOW);
    strcpy(w.state, "lost");
    ck_assert_int_eq(status_mark(&w), STATUS_GONE);
}
END_TEST

/* One worker is stopped: the others, who wait for it, are not to blame. */
START_TEST(stalled)
{
    for (int i = 0; i < 2; i++) {
        s.worker[i].last_step_age_s = 4;
        strcpy(s.worker[i].straggler, "input");
    }
    strcpy(s.worker[1].state, "wait");
    make(true);
    check_has("\nstalled rank 0 on login1 has made no step for 4 s");
    check_has_not("rank 1 on");
    check_has_not("slow ");
    strcpy(s.worker[0].state, "wait");
    make(true);
    check_has("\nstalled no rank has made a step for 4 s");
    s.worker[0].last_step_age_s = 0.1; /* it goes on */
    make(true);
    check_has_not("stalled");
    s.worker[0].last_step_age_s = 4;
    s.worker[0].step_ms = 1000; /* slow, but sure */
    make(true);
    check_has_not("stalled");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, page);
    tcase_add_test(tc, named_is_slow);
    tcase_add_test(tc, no_samples);
    tcase_add_test(tc, many_are_slow);
    tcase_add_test(tc, narrow_bar);
    tcase_add_test(tc, narrow_parts);
    tcase_add_test(tc, real_devices);
    tcase_add_test(tc, gpus);
    tcase_add_test(tc, several_gpus);
    tcase_add_test(tc, plan_in_force);
    tcase_add_test(tc, own_paces);
    tcase_add_test(tc, little_is_known);
    tcase_add_test(tc, foreign_text);
    tcase_add_test(tc, printing);
    tcase_add_test(tc, marks);
    tcase_add_test(tc, narrow);
    tcase_add_test(tc, stalled);
}

SUITE_MAIN("status_page", add_tests)
