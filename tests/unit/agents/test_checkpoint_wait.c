/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_wait.c - tests of agents/driver/checkpoints/checkpoint_wait.h: whose answer it is
 */
#include "agents/driver/checkpoints/checkpoint_wait.h"

#include "agents/driver/driver.h"
#include "held_thread.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <string.h>

/* Until it has been told, and what was asked before it. */
static void pass(struct file_thread *t, struct held *h)
{
    let_go(h);
    while (!h->done) {
        (void)poll(&(struct pollfd){ .fd = file_thread_fd(t), .events = POLLIN }, 1, 10000);
        file_thread_turn(t);
    }
}

/* A look was given up since the job left its phase; the next generation's look is another. */
START_TEST(late_answer)
{
    char resume[] = "auto";
    struct job job = { .checkpoint.resume = resume };
    struct driver_options o = { .job = &job };
    struct job_run run = { .o = &o, .checkpoint_dir = scratch };
    struct checkpoint_wait w = { .run = &run };
    struct held held[3];

    ck_assert_int_eq(file_thread_start(&run.reader, NULL), 0);
    hold(run.reader, &held[0]);
    run.state.generation = 2;
    run.state.phase = STATE_PHASE_PLAN;
    ck_assert(!checkpoint_wait_ready(&w));
    run.state.phase = STATE_PHASE_STOP;
    checkpoint_wait_tick(&w, 0);
    hold(run.reader, &held[1]);
    hold(run.reader, &held[2]);
    run.state.generation = 3;
    run.state.phase = STATE_PHASE_PLAN;
    ck_assert(!checkpoint_wait_ready(&w));
    pass(run.reader, &held[0]);
    pass(run.reader, &held[1]);
    ck_assert(!checkpoint_wait_ready(&w)); /* the first look alone is over */
    pass(run.reader, &held[2]);
    ck_assert(file_thread_settle(run.reader, clock_after_ns(clock_now_ns(), 60 * CLOCK_S)));
    file_thread_turn(run.reader);
    ck_assert(checkpoint_wait_ready(&w));
    file_thread_stop(run.reader);
    state_fini(&run.state);
}
END_TEST

/* No node has told of a checkpoint, for its agent was killed: the look in the job's folder knows,
 * but of a folder that nodes share, or have each.
 */
START_TEST(none_to_go_on_from)
{
    char resume[] = "auto", far[] = "elsewhere.example", text[200];
    struct job_host host = { .host = far };
    struct job job = { .checkpoint = { .resume = resume, .dir = _i == 1 ? scratch : NULL },
                       .host = &host,
                       .n_hosts = _i == 2 };
    struct driver_options o = { .job = &job };
    struct job_run run = { .o = &o, .checkpoint_dir = scratch };
    struct checkpoint_wait w = { .run = &run };

    ck_assert_int_eq(file_thread_start(&run.reader, NULL), 0);
    run.state.generation = 2;
    run.state.phase = STATE_PHASE_PLAN;
    run.state.resume_step = run.state.begun_step = -1;
    ck_assert(!checkpoint_wait_ready(&w));
    ck_assert(file_thread_settle(run.reader, clock_after_ns(clock_now_ns(), 60 * CLOCK_S)));
    file_thread_turn(run.reader);
    state_restart_text(&run.state, 1, text, sizeof text);
    ck_assert_ptr_nonnull(
        strstr(text, _i ? "from the newest checkpoint on" : "from the beginning"));
    file_thread_stop(run.reader);
    state_fini(&run.state);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, late_answer);
    tcase_add_loop_test(tc, none_to_go_on_from, 0, 3);
}

SUITE_MAIN("checkpoint-wait", add_tests)
