/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_page.c - tests of cmd/status_page.h */
#include "suite.h"

#include "cmd/status_page.h"

#include <math.h>
#include <string.h>

static struct job_status s;

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
    s.equal_predicted_samples_per_s = 9300;
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
}

static char *made(bool ascii)
{
    struct status_page p;

    ck_assert_int_eq(status_page_make(&s, ascii, &p, NULL), 0);
    return p.text;
}

START_TEST(page)
{
    char *text;

    s.worker[1].relative_speed = 0.45;
    s.worker[1].compute_ms = 25.3;
    text = made(true);
    ck_assert_str_eq(
        text,
        "job     digits-20261121-140712-3f9a   running   sync, allreduce   2 workers on 1 node\n"
        "where   epoch 31/100   step 186/600   #######................. 31 %   0:07, ETA 0:16\n"
        "speed   21 900 samples/s (now 22 100)   97 % of ideal (22 600)   2.4x an equal split "
        "(predicted 9 300)\n"
        "plan    generation 1, version 1, global batch 256, 0 re-plans, 0 restarts\n"
        "result  loss 0.142\n"
        "\n"
        "  rank  node    device         step  batch  samples/s  step ms  compute  input  exposed  "
        "wait  speed  state\n"
        "     0  login1  emulated 1.00   186     94      8 030     11.7     11.2    0.1      0.3   "
        "0.1   1.01  compute\n"
        "     1  login1  emulated 1.00   186     94      8 030     11.7     25.3    0.1      0.3   "
        "0.1   0.45  compute\n"
        "\n"
        "slow    rank 1 on login1 runs at 0.45 of its own expected speed: it computes for 25.3 ms "
        "a "
        "step, 11.4 were expected\n");
    free(text);
    s.worker[1].input_ms = 30;
    text = made(false);
    ck_assert_ptr_nonnull(strstr(text, "expected speed: it waits 30.0 ms a step for data\n"));
    ck_assert_ptr_nonnull(strstr(text, "\u2501"));
    free(text);
}
END_TEST

/* Workers that do not keep in step. */
START_TEST(own_paces)
{
    char *text;

    strcpy(s.mode, "async");
    strcpy(s.algorithm, "easgd");
    s.worker[1].group = 1;
    s.worker[1].staleness = 7;
    text = made(true);
    ck_assert_ptr_nonnull(strstr(text, "wait  speed  group  stale  state\n"));
    ck_assert_ptr_nonnull(strstr(text, " 0.1   1.01      1      7  compute\n"));
    free(text);
}
END_TEST

/* A job of which nothing is known, and the ends. */
START_TEST(little_is_known)
{
    char *text;

    job_status_fini(&s);
    strcpy(s.job, "x");
    text = made(true);
    ck_assert_str_eq(text, "job     x   starting\nwhere   step 0\n");
    free(text);
    strcpy(s.waiting, "agents 6/8 up; waiting for c07 (ssh: permission denied)");
    text = made(true);
    ck_assert_str_eq(text, "job     x   starting\nwhere   step 0\n"
                           "note    agents 6/8 up; waiting for c07 (ssh: permission denied)\n");
    free(text);
    s.waiting[0] = '\0';
    s.state = JOB_ENDED;
    s.exit_code = 137;
    strcpy(s.reason, "rank_signal");
    strcpy(s.message, "rank 3 was killed");
    text = made(true);
    ck_assert_str_eq(text, "job     x   ended (rank_signal, exit code 137)\nwhere   step 0\n"
                           "note    rank 3 was killed\n");
    free(text);
}
END_TEST

/* Names that other machines gave cannot drive the terminal. */
START_TEST(foreign_text)
{
    static const char evil[] = "\033[31m\a\302\233x\n";
    char *text;

    strcpy(s.job, evil);
    strcpy(s.message, evil);
    strcpy(s.waiting, evil);
    strcpy(s.mode, evil);
    strcpy(s.reason, "\033c");
    strcpy(s.worker[0].node, evil);
    strcpy(s.worker[0].device, evil);
    strcpy(s.worker[0].state, "\033c");
    s.worker[0].relative_speed = 0.1;
    text = made(true);
    for (const char *c = text; *c; c++)
        ck_assert_msg(*c == '\n' || (*c >= 0x20 && *c != 0x7f), "byte %d", *c);
    free(text);
}
END_TEST

static char *printed(bool color, int rows, int columns, int *ret_lines)
{
    struct status_print o = { .color = color, .rows = rows, .columns = columns };
    struct status_page p;
    char *text;
    size_t n;

    ck_assert_int_eq(status_page_make(&s, false, &p, NULL), 0);
    o.out = open_memstream(&text, &n);
    *ret_lines = status_page_print(&p, &s, &o);
    fclose(o.out);
    status_page_fini(&p);
    return text;
}

START_TEST(printing)
{
    int lines;
    char *text = printed(false, 0, 0, &lines);

    ck_assert_ptr_null(strchr(text, '\033'));
    ck_assert_int_eq(lines, 10);
    free(text);
    strcpy(s.worker[0].state, "killed");
    s.worker[1].relative_speed = 0.5;
    text = printed(true, 0, 0, &lines);
    ck_assert_ptr_nonnull(strstr(text, "\n\033[1m  rank"));
    ck_assert_ptr_nonnull(strstr(text, "\n\033[31m     0  "));
    ck_assert_ptr_nonnull(strstr(text, "\n\033[33m     1  "));
    free(text);
    for (int rows = 1; rows < 14; rows++)
        for (int width = 1; width < 130; width += 7) {
            int seen = 0, at = 0;

            text = printed(false, rows, width, &lines);
            ck_assert_int_le(lines, rows);
            for (const char *c = text; *c; c++) {
                at = *c == '\n' ? 0 : at + (((unsigned char)*c & 0xc0) != 0x80);
                seen += *c == '\n';
                ck_assert(at <= width || strncmp(c - at + 1, "...", 3) == 0 || width < 60);
            }
            ck_assert_int_eq(seen, lines);
            free(text);
        }
}
END_TEST

START_TEST(marks)
{
    struct worker_status w = { .relative_speed = NAN };

    ck_assert_int_eq(status_mark(&w), STATUS_PLAIN);
    w.relative_speed = 0.69;
    ck_assert_int_eq(status_mark(&w), STATUS_SLOW);
    strcpy(w.state, "lost");
    ck_assert_int_eq(status_mark(&w), STATUS_GONE);
}
END_TEST

/* One worker is stopped: the others, who wait for it, are not to blame. */
START_TEST(stalled)
{
    char *text;

    for (int i = 0; i < 2; i++) {
        s.worker[i].last_step_age_s = 4;
        s.worker[i].relative_speed = 0.3;
    }
    strcpy(s.worker[1].state, "wait");
    text = made(true);
    ck_assert_ptr_nonnull(strstr(text, "\nstalled rank 0 on login1 has made no step for 4 s"));
    ck_assert_ptr_null(strstr(text, "rank 1 on"));
    ck_assert_ptr_null(strstr(text, "slow "));
    free(text);
    strcpy(s.worker[0].state, "wait");
    text = made(true);
    ck_assert_ptr_nonnull(strstr(text, "\nstalled no rank has made a step for 4 s"));
    free(text);
    s.worker[0].last_step_age_s = 0.1; /* it goes on */
    text = made(true);
    ck_assert_ptr_null(strstr(text, "stalled"));
    free(text);
    s.worker[0].last_step_age_s = 4;
    s.worker[0].step_ms = 1000; /* slow, but sure */
    text = made(true);
    ck_assert_ptr_null(strstr(text, "stalled"));
    free(text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, page);
    tcase_add_test(tc, own_paces);
    tcase_add_test(tc, little_is_known);
    tcase_add_test(tc, foreign_text);
    tcase_add_test(tc, printing);
    tcase_add_test(tc, marks);
    tcase_add_test(tc, stalled);
}

SUITE_MAIN("status_page", add_tests)
