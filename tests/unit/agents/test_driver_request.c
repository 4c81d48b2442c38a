/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_request.c - a job that is told to end: by signals, by --stop and by its time */
#include "driver_four.h"

enum { DONE = 6 }; /* of enum eddis_phase */

START_TEST(ctrl_c)
{
    struct fixture f;

    run_four(&f);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop orderly;");
    exited_before(&f, 0, 0, SIGTERM, 0, true);
    exited_before(&f, 1, 1, 0, 0, false); /* dies while stopping: not the reason */
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop kill;");
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "");
    end_two(&f);
    ended(&f, "interrupted", 130);
    ck_assert(!f.s.failure.set);
    state_fini(&f.s);
}
END_TEST

START_TEST(ctrl_c_before_the_launch)
{
    struct fixture f;

    begin_here(&f, 1);
    state_registered(&f.s, 0, "a", f.now_ns);
    did(&f, "profile;");
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "bye;");
    state_ended(&f.s, 0, "exited 0", f.now_ns);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

static void all_steps(struct fixture *f, int64_t steps)
{
    for (int r = 0; r < 4; r++)
        progress(f, r, 2, steps, 0);
}

static void exit_well(struct fixture *f)
{
    for (int r = 0; r < 4; r++)
        exited_before(f, r, 0, 0, 0, false);
    mpirun(f, 0, 0);
}

/* Both agents live, and timeouts.checkpoint is over. */
static void wait_too_long(struct fixture *f)
{
    f->now_ns += 120 * second;
    state_heard(&f->s, 0, f->now_ns);
    state_heard(&f->s, 1, f->now_ns);
    state_tick(&f->s, f->now_ns);
}

START_TEST(preempted_with_checkpoint)
{
    static const int signals[] = { SIGTERM, SIGUSR1, SIGHUP };
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "checkpoint;");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "preempted", 75);
    state_fini(&f.s);
}
END_TEST

/* Ranks that go at their own paces count steps of their own, more than the job's or fewer: its
 * checkpoints are numbered by its own.
 */
START_TEST(preempted_at_own_paces)
{
    static const int64_t job[] = { 8, 12 };
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    state_steps(&f.s, job[_i]);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    exit_well(&f);
    state_checkpoint_seen(&f.s, job[_i] - 1);
    ended(&f, "preempted", 143);
    state_checkpoint_seen(&f.s, job[_i]);
    ended(&f, "preempted", 75);
    state_fini(&f.s);
}
END_TEST

/* What a rank fails of then has failed first, unless the checkpoint comes; a node that is lost
 * meanwhile is told of all the same.
 */
START_TEST(failed_while_saving)
{
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    exited_before(&f, 0, 0, SIGTERM, 0, false); /* as it was told */
    ck_assert(!state_failure_reported(&f.s)->set);
    exited_before(&f, 1, 1, 0, 0, false);
    exited_before(&f, 2, 1, 0, second, false); /* it was earlier */
    ck_assert(state_failure_reported(&f.s)->set && !f.s.failure.set);
    ck_assert_int_eq(state_failure_reported(&f.s)->rank, 2);
    did(&f, "checkpoint;");
    state_ended(&f.s, 1, "exited 3", f.now_ns);
    did(&f, "stop failure;");
    ended(&f, "preempted", 143);
    state_checkpoint_seen(&f.s, 10);
    ended(&f, "preempted", 75);
    ck_assert(!state_failure_reported(&f.s)->set);
    state_fini(&f.s);
}
END_TEST

START_TEST(preempted_without_checkpoint)
{
    struct fixture f;

    run_four(&f);
    state_signal(&f.s, SIGTERM, f.now_ns); /* no step yet: nothing to save */
    did(&f, "stop orderly;");
    ended(&f, "preempted", 143);
    state_fini(&f.s);

    run_four(&f); /* it takes too long */
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    wait_too_long(&f);
    did(&f, "stop orderly;");
    ended(&f, "preempted", 143);
    state_fini(&f.s);

    run_four(&f); /* the program ends without writing one */
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    exit_well(&f);
    ended(&f, "preempted", 143);
    state_checkpoint_seen(&f.s, 10); /* found after all */
    ended(&f, "preempted", 75);
    state_fini(&f.s);

    run_four(&f); /* a second TERM does not wait */
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    state_signal(&f.s, SIGTERM, f.now_ns + second); /* the same one, by way of a wrapper */
    did(&f, "checkpoint;");
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second);
    did(&f, "stop orderly;");
    state_fini(&f.s);
}
END_TEST

/* As a preempted one, but it is another end; --stop is 0. */
START_TEST(interrupted_with_checkpoint)
{
    static const int signals[] = { SIGINT, 0 };
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "checkpoint;");
    said(&f, signals[_i] ? "then stopping (4 ranks); press Ctrl-C again to kill at once"
                         : "then stopping (4 ranks); run --stop again to kill at once");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "interrupted", 130);
    ck_assert_str_eq(f.s.message,
                     signals[_i] ? "stopped by Ctrl-C" : "stopped by eddis-run --stop");
    state_fini(&f.s);

    run_four(&f); /* it takes too long */
    all_steps(&f, 10);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "checkpoint;");
    wait_too_long(&f);
    said(&f, "no checkpoint within 120 s (timeouts.checkpoint)");
    did(&f, "stop orderly;");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);

    run_four(&f); /* something fails meanwhile */
    all_steps(&f, 10);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "checkpoint;");
    mpirun(&f, 0, SIGKILL);
    did(&f, "stop failure;");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

START_TEST(interrupted_twice)
{
    static const int signals[] = { SIGINT, 0 };
    struct fixture f;

    run_four(&f); /* the second one does not wait */
    all_steps(&f, 10);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "checkpoint;");
    state_signal(&f.s, signals[_i], f.now_ns);
    said(&f, "without waiting for the checkpoint");
    did(&f, "stop kill;");
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);

    run_four(&f); /* behind SIGTERM it is the first one, and the checkpoint is under way */
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    state_signal(&f.s, signals[_i], f.now_ns + 20 * second);
    did(&f, "");
    said(&f, "waiting for a checkpoint that was already requested, then stopping (4 ranks)");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    ended(&f, "interrupted", 130);
    state_fini(&f.s);

    run_four(&f);
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    state_signal(&f.s, signals[_i], f.now_ns);
    state_signal(&f.s, signals[_i], f.now_ns);
    said(&f, "without waiting for the checkpoint");
    did(&f, "stop kill;");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

/* Where none can be written, nobody waits for one. */
START_TEST(interrupted_without_checkpoint)
{
    struct fixture f;

    run_four(&f); /* no step yet */
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop orderly;");
    state_fini(&f.s);

    run_four(&f); /* no folder */
    f.s.o.unsaved = true;
    all_steps(&f, 10);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop orderly;");
    state_fini(&f.s);

    run_four(&f); /* a worker has left */
    all_steps(&f, 10);
    progress(&f, 3, DONE, 10, 0);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop orderly;");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

/* A rank on its last way: it found no step left. */
static void trained(struct fixture *f, int rank, int phase)
{
    send_progress(f, &(struct progress){ .rank = rank,
                                         .pid = 100 + rank,
                                         .phase = phase,
                                         .waits_for = -1,
                                         .steps_done = 10,
                                         .steps_here = 10,
                                         .trained = true });
}

static void all_trained_one_left(struct fixture *f)
{
    run_four(f);
    for (int r = 0; r < 4; r++)
        trained(f, r, r == 3 ? DONE : 2);
}

/* All is trained, and some have left: the others, one of which saves the model, may finish. */
START_TEST(told_while_it_finishes)
{
    static const int signals[] = { SIGTERM, SIGINT, 0 };
    struct fixture f;

    all_trained_one_left(&f);
    state_signal(&f.s, signals[_i], f.now_ns);
    said(&f, "all steps are done: waiting for the workers to finish");
    did(&f, "");
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "ok", 0);
    ck_assert_str_eq(f.s.message, "");
    state_fini(&f.s);

    all_trained_one_left(&f); /* they take too long */
    state_signal(&f.s, signals[_i], f.now_ns);
    wait_too_long(&f);
    said(&f,
         "all steps are done, but the workers have not ended within 120 s (timeouts.checkpoint)");
    did(&f, "stop orderly;");
    ended(&f, signals[_i] == SIGTERM ? "preempted" : "interrupted",
          128 + (signals[_i] == SIGTERM ? SIGTERM : SIGINT));
    state_fini(&f.s);

    run_four(&f); /* in its last step a rank fails after all */
    all_steps(&f, 10);
    trained(&f, 3, DONE);
    state_signal(&f.s, signals[_i], f.now_ns);
    did(&f, "");
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, r == 0 ? 3 : 0, 0, 0, false);
    mpirun(&f, 3, 0);
    did(&f, "stop failure;");
    ended(&f, signals[_i] == SIGTERM ? "preempted" : "interrupted",
          128 + (signals[_i] == SIGTERM ? SIGTERM : SIGINT));
    state_fini(&f.s);
}
END_TEST

START_TEST(told_twice_while_it_finishes)
{
    struct fixture f;

    all_trained_one_left(&f);
    state_signal(&f.s, SIGINT, f.now_ns);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop kill;");
    ended(&f, "interrupted", 130);
    state_fini(&f.s);

    all_trained_one_left(&f);
    state_signal(&f.s, SIGTERM, f.now_ns);
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second);
    did(&f, "stop orderly;");
    ended(&f, "preempted", 143);
    state_fini(&f.s);
}
END_TEST

/* With several models one may have found no sample for a step yet, or be heard of later. */
START_TEST(told_before_the_first_step_of_some)
{
    struct fixture f;

    run_four(&f);
    progress(&f, 1, 2, 4, 0);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    state_checkpoint_seen(&f.s, 4);
    exit_well(&f);
    ended(&f, "preempted", 75);
    state_fini(&f.s);
}
END_TEST

/* Slurm's SIGTERM is another wish than the Ctrl-C that the job saves for: it cuts nothing short. */
START_TEST(preempted_while_interrupted)
{
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "checkpoint;");
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second);
    did(&f, "");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    ended(&f, "interrupted", 130);
    state_fini(&f.s);

    run_four(&f); /* who repeats it does not wait */
    all_steps(&f, 10);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "checkpoint;");
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second);
    did(&f, "");
    state_signal(&f.s, SIGTERM, f.now_ns + 6 * second);
    did(&f, "stop orderly;");
    state_fini(&f.s);
}
END_TEST

/* What the generation went on from is no checkpoint of it, although a rank was not heard of yet. */
START_TEST(told_early_with_an_older_checkpoint)
{
    struct fixture f;

    run_four(&f);
    f.s.resume_step = 5;
    progress(&f, 1, 2, 8, 0);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    state_checkpoint_seen(&f.s, 5);
    wait_too_long(&f);
    ended(&f, "preempted", 143);
    state_fini(&f.s);
}
END_TEST

START_TEST(user_2)
{
    struct fixture f;

    begin_here(&f, 1);
    state_signal(&f.s, SIGUSR2, f.now_ns);
    did(&f, "");
    state_fini(&f.s);
    run_four(&f);
    state_signal(&f.s, SIGUSR2, f.now_ns);
    did(&f, "signal;");
    state_fini(&f.s);
}
END_TEST

static void let_pass(struct fixture *f, int64_t seconds)
{
    f->now_ns += seconds * second;
    state_heard(&f->s, 0, f->now_ns);
    state_heard(&f->s, 1, f->now_ns);
    ck_assert_int_le(state_deadline(&f->s), f->now_ns);
    state_tick(&f->s, f->now_ns);
}

START_TEST(time_is_over)
{
    struct fixture f;

    run_four(&f); /* no step yet: nothing to save */
    let_pass(&f, 3600);
    did(&f, "stop orderly;");
    ended(&f, "timeout", 124);
    state_fini(&f.s);

    run_four(&f); /* no folder */
    f.s.o.unsaved = true;
    all_steps(&f, 10);
    let_pass(&f, 3600);
    did(&f, "stop orderly;");
    ended(&f, "timeout", 124);
    state_fini(&f.s);
}
END_TEST

START_TEST(time_is_over_with_checkpoint)
{
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    let_pass(&f, 3600);
    said(&f, "(timeouts.job); asking for a checkpoint, then stopping");
    did(&f, "checkpoint;");
    ck_assert_int_gt(state_deadline(&f.s), f.now_ns);
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "timeout", 124);
    state_fini(&f.s);

    run_four(&f); /* it takes too long */
    all_steps(&f, 10);
    let_pass(&f, 3600);
    did(&f, "checkpoint;");
    let_pass(&f, 120);
    said(&f, "no checkpoint within 120 s (timeouts.checkpoint)");
    did(&f, "stop orderly;");
    ended(&f, "timeout", 124);
    state_fini(&f.s);

    run_four(&f); /* it is over while the job saves already */
    all_steps(&f, 10);
    f.now_ns += 3599 * second;
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    f.now_ns += 2 * second;
    state_heard(&f.s, 0, f.now_ns);
    state_heard(&f.s, 1, f.now_ns);
    state_tick(&f.s, f.now_ns);
    did(&f, "");
    ck_assert_int_gt(state_deadline(&f.s), f.now_ns);
    state_fini(&f.s);
}
END_TEST

/* While the time's checkpoint is written, a signal counts as it does elsewhere. */
START_TEST(time_is_over_and_asked)
{
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    let_pass(&f, 3600);
    did(&f, "checkpoint;");
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second); /* waits for that checkpoint, too */
    did(&f, "");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    ended(&f, "preempted", 75);
    state_fini(&f.s);

    run_four(&f);
    all_steps(&f, 10);
    let_pass(&f, 3600);
    did(&f, "checkpoint;");
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

static void agent_got(struct fixture *f, int agent, int sig)
{
    struct event e = event_why(f, EVENT_SIGNAL);

    e.signal = sig;
    state_event(&f->s, agent, &e, f->now_ns);
}

/* What Slurm sends to the agents' step is as what it sends here. */
START_TEST(preempted_by_an_agent)
{
    static const int signals[] = { SIGTERM, SIGUSR1 };
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    agent_got(&f, 1, SIGUSR2); /* which says nothing */
    did(&f, "");
    agent_got(&f, 1, signals[_i]);
    said(&f, _i ? "User defined signal 1 on b: asking for a checkpoint"
                : "Terminated on b: asking for a checkpoint");
    did(&f, "checkpoint;");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "preempted", 75);
    ck_assert_str_eq(f.s.message, _i ? "stopped by SIGUSR1 on b" : "stopped by SIGTERM on b");
    state_fini(&f.s);

    run_four(&f); /* before the first step */
    agent_got(&f, 0, signals[_i]);
    did(&f, "stop orderly;");
    ended(&f, "preempted", 143);
    state_fini(&f.s);
}
END_TEST

/* What came with the end of the job's time in Slurm is said as that: 124, unless it was saved. */
START_TEST(at_slurms_limit)
{
    struct fixture f;

    run_four(&f);
    state_at_limit(&f.s); /* of a job that runs on nothing is said */
    ck_assert_str_eq(f.s.message, "");
    all_steps(&f, 10);
    agent_got(&f, 1, SIGUSR1);
    did(&f, "checkpoint;");
    state_at_limit(&f.s);
    state_at_limit(&f.s);
    ck_assert_str_eq(f.s.message, "stopped by Slurm's time limit (SIGUSR1 on b)");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "preempted", 75);
    state_fini(&f.s);

    run_four(&f); /* before the first step, and told when the end is decided */
    state_signal(&f.s, SIGUSR1, f.now_ns);
    did(&f, "stop orderly;");
    state_at_limit(&f.s);
    ended(&f, "timeout", 124);
    ck_assert_str_eq(f.s.message, "stopped by Slurm's time limit (SIGUSR1)");
    state_fini(&f.s);

    run_four(&f); /* the limit itself, behind its warning */
    all_steps(&f, 10);
    state_signal(&f.s, SIGUSR1, f.now_ns);
    did(&f, "checkpoint;");
    state_at_limit(&f.s);
    f.now_ns += 20 * CLOCK_S;
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "stop orderly;");
    ck_assert_int_eq(f.s.preempt_count, 2);
    ended(&f, "timeout", 124);
    ck_assert_str_eq(f.s.message, "stopped by Slurm's time limit (SIGTERM)");
    state_fini(&f.s);

    run_four(&f); /* Ctrl-C is no signal of Slurm's */
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "stop orderly;");
    state_at_limit(&f.s);
    ended(&f, "interrupted", 130);
    state_fini(&f.s);
}
END_TEST

/* One signal, and no second one: the nodes of a large job hear of it seconds apart. */
START_TEST(preempted_on_all_nodes)
{
    struct fixture f;

    run_four(&f);
    all_steps(&f, 10);
    agent_got(&f, 0, SIGTERM);
    did(&f, "checkpoint;");
    f.now_ns += 5 * second;
    agent_got(&f, 1, SIGTERM);
    agent_got(&f, 1, SIGUSR1);
    did(&f, "");
    state_signal(&f.s, SIGTERM, f.now_ns + 3 * second); /* here, too, at last */
    state_signal(&f.s, SIGTERM, f.now_ns + 4 * second);
    did(&f, "");
    state_signal(&f.s, SIGTERM, f.now_ns + 6 * second); /* that is another one */
    did(&f, "stop orderly;");
    state_fini(&f.s);

    run_four(&f); /* the driver first */
    all_steps(&f, 10);
    state_signal(&f.s, SIGTERM, f.now_ns);
    did(&f, "checkpoint;");
    f.now_ns += 5 * second;
    agent_got(&f, 0, SIGTERM);
    agent_got(&f, 1, SIGTERM);
    did(&f, "");
    ck_assert_str_eq(f.s.message, "stopped by SIGTERM");
    state_fini(&f.s);

    run_four(&f); /* nor is it one behind Ctrl-C */
    all_steps(&f, 10);
    state_signal(&f.s, SIGINT, f.now_ns);
    did(&f, "checkpoint;");
    f.now_ns += 5 * second;
    agent_got(&f, 0, SIGTERM);
    did(&f, "");
    ck_assert_str_eq(f.s.message, "stopped by Ctrl-C");
    state_fini(&f.s);

    run_four(&f); /* nobody has asked for what the job's time has asked for */
    all_steps(&f, 10);
    let_pass(&f, 3600);
    did(&f, "checkpoint;");
    agent_got(&f, 1, SIGTERM);
    did(&f, "");
    state_checkpoint_seen(&f.s, 10);
    exit_well(&f);
    ended(&f, "preempted", 75);
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, ctrl_c);
    tcase_add_test(tc, ctrl_c_before_the_launch);
    tcase_add_loop_test(tc, preempted_with_checkpoint, 0, 3);
    tcase_add_loop_test(tc, preempted_at_own_paces, 0, 2);
    tcase_add_test(tc, preempted_without_checkpoint);
    tcase_add_test(tc, failed_while_saving);
    tcase_add_loop_test(tc, interrupted_with_checkpoint, 0, 2);
    tcase_add_loop_test(tc, interrupted_twice, 0, 2);
    tcase_add_test(tc, interrupted_without_checkpoint);
    tcase_add_loop_test(tc, told_while_it_finishes, 0, 3);
    tcase_add_test(tc, told_twice_while_it_finishes);
    tcase_add_test(tc, told_before_the_first_step_of_some);
    tcase_add_test(tc, preempted_while_interrupted);
    tcase_add_test(tc, told_early_with_an_older_checkpoint);
    tcase_add_test(tc, user_2);
    tcase_add_test(tc, time_is_over);
    tcase_add_test(tc, time_is_over_with_checkpoint);
    tcase_add_test(tc, time_is_over_and_asked);
    tcase_add_loop_test(tc, preempted_by_an_agent, 0, 2);
    tcase_add_test(tc, at_slurms_limit);
    tcase_add_test(tc, preempted_on_all_nodes);
}

SUITE_MAIN("driver_wish", add_tests)
