/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_view.c - tests of cmd/run/view/run_view.h */
#include "cmd/run/view/run_view.h"

#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct job_status example(void)
{
    struct job_status s;

    job_status_init(&s);
    s.state = JOB_RUNNING;
    s.epoch = 31;
    s.epochs = 100;
    s.steps_done = 180;
    s.steps_total = 600;
    s.loss = 0.142;
    s.recent_samples_per_s = 21900;
    s.recent_ideal_samples_per_s = 22600;
    s.eta_s = 3605;
    return s;
}

#define FIGURES "  loss 0.142  21 900 samples/s  97 %  ETA 1:00:05"

START_TEST(line)
{
    const struct {
        struct run_view v;
        const char *text;
    } rows[] = {
        { { .columns = 10 }, "epoch 31/100" FIGURES }, /* not a terminal: whole */
        { { .terminal = true, .columns = 100 }, "epoch 31/100 #####..........." FIGURES },
        { { .terminal = true, .columns = 79 }, "epoch 31/100 #####..........." FIGURES },
        { { .terminal = true, .columns = 78 }, "epoch 31/100" FIGURES },
        { { .terminal = true, .columns = 62 }, "epoch 31/100" FIGURES },
        { { .terminal = true, .columns = 40 }, "epoch 31/100  loss 0.142  21 900 sample" },
        { { .terminal = true, .columns = 1 }, "" },
    };
    struct job_status s = example();
    char text[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run_view_text(&rows[i].v, &s, text, sizeof text);
        ck_assert_str_eq(text, rows[i].text);
    }
    run_view_text(&rows[0].v, &s, text, 6); /* never beyond the room */
    ck_assert_str_eq(text, "epoch");
}
END_TEST

/* Of a program of which little is known. */
START_TEST(little)
{
    struct run_view v = { .terminal = true, .columns = 80 };
    struct job_status s;
    char text[64];

    job_status_init(&s);
    s.steps_done = 7;
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_str_eq(text, "step 7");
}
END_TEST

/* Of a program whose samples are unknown. */
START_TEST(no_samples)
{
    struct run_view v = { .columns = 80 };
    struct job_status s;
    char text[64];

    job_status_init(&s);
    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    s.steps_done = 7;
    s.worker[0].step_ms = 50;
    s.worker[1].step_ms = 61.23;
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_str_eq(text, "step 7  61.2 ms a step");
    job_status_fini(&s);
}
END_TEST

/* While nobody makes steps, as when a node is silent, there is no rate. */
START_TEST(no_steps)
{
    struct run_view v = { .columns = 80 };
    struct job_status s = example();
    char text[128];

    ck_assert_int_eq(job_status_resize(&s, 2, NULL), 0);
    for (int i = 0; i < 2; i++) {
        s.worker[i].step_ms = 50;
        s.worker[i].last_step_age_s = 12 + i;
    }
    s.recent_samples_per_s = s.eta_s = NAN;
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_str_eq(text, "epoch 31/100  loss 0.142  no step for 0:12");
    strcpy(s.worker[0].state, "exited");
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_str_eq(text, "epoch 31/100  loss 0.142  no step for 0:13");
    job_status_fini(&s);
}
END_TEST

/* Whoever watches sees it before the next failure costs what was trained since. */
START_TEST(no_checkpoint)
{
    struct run_view v = { .columns = 10 };
    struct job_status s = example();
    char text[128];

    strcpy(s.checkpoints.reason, "No space left on device");
    s.checkpoints.failed = 1;
    s.checkpoints.newest = -1;
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "epoch 31/100  loss 0.142  NO CHECKPOINT  "));
    s.checkpoints.newest = 40;
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "  NO CHECKPOINT since step 40  "));
    s.checkpoints.reason[0] = '\0'; /* the next one was written */
    run_view_text(&v, &s, text, sizeof text);
    ck_assert_ptr_null(strstr(text, "CHECKPOINT"));
}
END_TEST

START_TEST(beautiful)
{
    struct run_view v = { .terminal = true, .columns = 100, .utf8 = true, .colour = true };
    struct job_status s = example();
    char text[512];

    run_view_text(&v, &s, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\033[32m━━━━"));
    ck_assert_ptr_nonnull(strstr(text, "\033[0m" FIGURES));
}
END_TEST

/* A color code takes no column and stays whole; no other sequence reaches the terminal. */
START_TEST(added_rows)
{
    const struct {
        const char *text, *row;
    } rows[] = {
        { "c01:0:\tup", "c01:0: up" },
        { "\033[1;31m0123456789", "\033[1;31m012345678" }, /* cut: 9 of 10 columns */
        { "x\033[31", "x?[31" },
        { "x\033[2J", "x?[2J" },
        { "x\033", "x?" },
        { "\033]0;m", "?]0;m" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_view v = { .columns = 10 };
        char *text = strdup(rows[i].text); /* a sanitizer finds a byte read beyond it */

        run_view_add_row(&v, text);
        ck_assert_int_eq(v.n_rows, 1);
        ck_assert_str_eq(v.row[0], rows[i].row);
        free(text);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, line);
    tcase_add_test(tc, little);
    tcase_add_test(tc, no_samples);
    tcase_add_test(tc, beautiful);
    tcase_add_test(tc, no_steps);
    tcase_add_test(tc, no_checkpoint);
    tcase_add_test(tc, added_rows);
}

SUITE_MAIN("run_view", add_tests)
