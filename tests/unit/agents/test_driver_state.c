/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_state.c - a job's way from its agents' start to its end, action by action */
#include "driver_four.h"

START_TEST(good_run)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, 0, 0, 0, false);
    did(&f, "");
    ck_assert_ptr_null(f.s.reason);
    mpirun(&f, 0, 0);
    did(&f, "stop failure;");
    end_two(&f);
    ended(&f, "ok", 0);
    ck_assert(!f.s.failure.set);
    state_fini(&f.s);
}
END_TEST

/* mpirun may be reported first: its ranks have a moment to follow. */
START_TEST(mpirun_before_ranks)
{
    struct fixture f;

    run_four(&f);
    mpirun(&f, 0, 0);
    did(&f, "");
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, 0, 0, 0, false);
    did(&f, "stop failure;");
    ended(&f, "ok", 0);
    state_fini(&f.s);
}
END_TEST

START_TEST(a_rank_is_never_heard_of)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 3; r++)
        exited_before(&f, r, 0, 0, 0, false);
    mpirun(&f, 0, 0);
    did(&f, "");
    f.now_ns = state_deadline(&f.s);
    state_tick(&f.s, f.now_ns);
    did(&f, "stop failure;");
    said(&f, "rank 3 did not report");
    ended(&f, "internal", 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(mpirun_stays)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, 0, 0, 0, false);
    state_heard(&f.s, 0, f.now_ns + 9 * second);
    state_heard(&f.s, 1, f.now_ns + 9 * second);
    f.now_ns += 10 * second;
    state_tick(&f.s, f.now_ns);
    did(&f, "stop failure;");
    ended(&f, "ok", 0);
    state_fini(&f.s);
}
END_TEST

/* mpirun has not been told that a rank has left, and need not be waited for. */
START_TEST(a_rank_lingers)
{
    struct fixture f;
    struct event e;

    run_four(&f);
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 1;
    e.pid = 101;
    e.lingers = true;
    state_event(&f.s, f.s.rank[1].agent, &e, f.now_ns);
    for (int r = 0; r < 4; r++)
        if (r != 1)
            exited_before(&f, r, 0, 0, 0, false);
    state_tick(&f.s, f.now_ns);
    did(&f, "stop failure;");
    ended(&f, "ok", 0);
    ck_assert_ptr_null(strstr(f.said, "mpirun"));
    state_fini(&f.s);
}
END_TEST

static const struct {
    int code, signal;
    bool oom;
    const char *reason;
    int exit_code;
    const char *sentence;
} failure_rows[] = {
    { 1, 0, false, "rank_exit", 1, "rank 2 (node b, pid 102) exited 1, 1:12 after the start" },
    { 7, 0, false, "rank_exit", 7, "exited 7" },
    { 255, 0, false, "rank_exit", 255, "exited 255" },
    { 0, SIGSEGV, false, "rank_signal", 139, "died of signal 11 (Segmentation fault)" },
    { 0, SIGKILL, false, "rank_signal", 137, "died of signal 9 (Killed)" },
    { 0, SIGKILL, true, "oom", 137,
      "was killed: out of memory (it held 812 MB, the limit is 1.1 GB), 1:12 after the start" },
};

START_TEST(rank_fails)
{
    struct fixture f;
    struct event e = event_why(&f, EVENT_RANK_EXIT);

    run_four(&f);
    f.now_ns += 72 * second;
    state_heard(&f.s, 0, f.now_ns);
    state_heard(&f.s, 1, f.now_ns);
    e.rank = 2;
    e.pid = 102;
    e.code = failure_rows[_i].signal ? -1 : failure_rows[_i].code;
    e.signal = failure_rows[_i].signal;
    e.oom = failure_rows[_i].oom;
    e.peak_bytes = 812000000;
    e.limit_bytes = 1073741824;
    state_event(&f.s, 1, &e, f.now_ns);
    did(&f, "lines;stop failure;");
    said(&f, failure_rows[_i].sentence);
    said(&f, "; stopping 3 ranks\n");
    /* What follows is our doing. */
    for (int r = 0; r < 4; r++)
        if (r != 2)
            exited_before(&f, r, 0, SIGTERM, 0, true);
    mpirun(&f, 0, SIGKILL);
    end_two(&f);
    ended(&f, failure_rows[_i].reason, failure_rows[_i].exit_code);
    ck_assert_int_eq(strstr(f.s.message, "lower batch.global, or batch.max") != NULL,
                     failure_rows[_i].oom);
    ck_assert_int_eq(f.s.failure.rank, 2);
    state_fini(&f.s);
}
END_TEST

/* What may have to do with an end is told behind it, and is no cause. */
START_TEST(rank_fails_beside)
{
    struct fixture f;
    struct event e = event_why(&f, EVENT_RANK_EXIT);
    char text[] =
        "eddis-rank (pid 90), the eddis process that ran it, had died and reported nothing";

    run_four(&f);
    e.rank = 2;
    e.pid = 102;
    e.code = -1;
    e.signal = SIGKILL;
    e.text = text;
    state_event(&f.s, 1, &e, f.now_ns);
    said(&f, "died of signal 9 (Killed), ");
    said(&f, " after the start; eddis-rank (pid 90), the eddis process that ran it, had died and "
             "reported nothing; stopping 3 ranks");
    ck_assert_str_eq(f.s.failure.reason, "rank_signal");
    state_fini(&f.s);
}
END_TEST

START_TEST(step_is_named)
{
    struct fixture f;

    run_four(&f);
    progress(&f, 1, 2, 12, 0);
    exited_before(&f, 1, 1, 0, 0, false);
    said(&f, "rank 1 (node a, pid 101) exited 1 at step 12, 0 ms after the start");
    ck_assert_int_eq(f.s.failure.step, 12);
    state_fini(&f.s);
}
END_TEST

/* First is who failed first, not who was heard of first. */
START_TEST(first_by_age)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 5 * second;
    exited_before(&f, 0, 3, 0, second / 10, false);
    did(&f, "lines;stop failure;");
    exited_before(&f, 3, 9, 0, second, false);
    did(&f, "lines;");
    said(&f, "before that: rank 3");
    exited_before(&f, 1, 8, 0, 2 * second, true); /* by us: never counts */
    exited_before(&f, 2, 8, 0, 0, false);         /* later */
    ended(&f, "rank_exit", 9);
    ck_assert_int_eq(f.s.failure.rank, 3);
    state_fini(&f.s);
}
END_TEST

/* What its agent saw counts for more than the reports' ages. */
START_TEST(first_by_sight)
{
    struct fixture f;
    struct event e;

    run_four(&f);
    exited_before(&f, 0, 1, 0, 0, false);
    did(&f, "lines;stop failure;");
    f.now_ns += second;
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 1;
    e.pid = 101;
    e.code = -1;
    e.signal = SIGKILL;
    e.first = true;
    state_event(&f.s, f.s.rank[1].agent, &e, f.now_ns);
    said(&f, "before that: rank 1");
    ended(&f, "rank_signal", 137);
    state_fini(&f.s);
}
END_TEST

/* The wrapper of a killed rank may be late on a busy machine. */
START_TEST(killed_is_first)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 5 * second;
    exited_before(&f, 1, 0, SIGKILL, 0, false);
    did(&f, "lines;stop failure;");
    exited_before(&f, 0, 1, 0, second / 10, false);
    ended(&f, "rank_signal", 137);
    ck_assert_int_eq(f.s.failure.rank, 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(mpirun_killed)
{
    struct fixture f;

    run_four(&f);
    mpirun(&f, 0, SIGKILL);
    did(&f, "stop failure;");
    said(&f, "mpirun died of signal 9 (Killed); stopping 4 ranks");
    exited_before(&f, 0, 0, SIGKILL, 0, false); /* the consequence, later */
    ended(&f, "internal", 1);
    state_fini(&f.s);
}
END_TEST

/* Of another node it is a daemon that ended, which mpirun may wait for without end. */
START_TEST(daemon_killed)
{
    struct fixture f;
    struct event e = event_why(&f, EVENT_MPIRUN_EXIT);

    run_four(&f);
    e.code = -1;
    e.signal = SIGKILL;
    e.text = (char[]){ "mpirun's daemon, orted, died of signal 9 (Killed)" };
    state_event(&f.s, 1, &e, f.now_ns);
    did(&f, "stop failure;");
    said(&f, "node b: mpirun's daemon, orted, died of signal 9 (Killed); stopping 4 ranks");
    ended(&f, "internal", 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(mpirun_cannot_start)
{
    struct fixture f;
    struct event e = event_why(&f, EVENT_MPIRUN_EXIT);
    static const int node[] = { 0, 0, 1, 1 };

    begin_here(&f, 2);
    state_registered(&f.s, 0, "a", f.now_ns);
    state_registered(&f.s, 1, "b", f.now_ns);
    report_why(&f, 0, EVENT_PROFILE);
    report_why(&f, 1, EVENT_PROFILE);
    state_network_known(&f.s, false, f.now_ns);
    state_planned(&f.s, 4, node, f.now_ns, NULL);
    report_why(&f, 0, EVENT_PREPARED);
    report_why(&f, 1, EVENT_PREPARED);
    e.code = 213;
    e.text = (char[]){ "it finds no network" };
    state_event(&f.s, 0, &e, f.now_ns);
    f.now_ns = state_deadline(&f.s);
    state_tick(&f.s, f.now_ns);
    said(&f, "mpirun exited 213: it finds no network");
    ended(&f, "start", 3);
    state_fini(&f.s);
}
END_TEST

/* Every rank's 0 was seen by its wrapper: what mpirun says of it is worth a warning, no more. */
START_TEST(mpirun_disagrees)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, 0, 0, 0, false);
    mpirun(&f, 1, 0);
    said(&f, "mpirun exited 1; every rank has exited with code 0, so the job has succeeded");
    ended(&f, "ok", 0);
    ck_assert(!f.s.failure.set);
    state_fini(&f.s);
}
END_TEST

static const struct {
    int phase; /* of the rank that leaves by exit 0 */
    const char *sentence, *reason;
} left_rows[] = {
    { 2, "rank 1 (node a, pid 101) exited 0 without eddis_close at step 8", "rank_exit" },
    { 6, "mpirun exited 1", "internal" },  /* it had closed its last handle */
    { -1, "mpirun exited 1", "internal" }, /* nobody knows */
};

START_TEST(rank_left)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 4; r++)
        progress(&f, r, r == 1 ? left_rows[_i].phase : 3, 8, 0);
    exited_before(&f, 1, 0, 0, 0, false);
    for (int r = 0; r < 4; r++)
        if (r != 1)
            exited_before(&f, r, 0, SIGTERM, 0, true);
    mpirun(&f, 1, 0);
    said(&f, left_rows[_i].sentence);
    ended(&f, left_rows[_i].reason, 1);
    state_fini(&f.s);
}
END_TEST

static const struct {
    int phase; /* how far it came */
    const char *sentence;
} late_rows[] = {
    { STATE_PHASE_REGISTER, "the agent of this machine took longer than 60 s to register" },
    { STATE_PHASE_PROFILE, "the agent of b took longer than 60 s to measure its devices" },
    { STATE_PHASE_PREPARE, "the agent of b took longer than 60 s to prepare the start" },
    { STATE_PHASE_START, "rank 3 (node b) was not up 60 s after mpirun was started" },
};

START_TEST(phase_is_late)
{
    static const int node[] = { 0, 0, 1, 1 };
    struct fixture f;
    int phase = late_rows[_i].phase;

    begin_here(&f, 2);
    if (phase > STATE_PHASE_REGISTER) {
        state_registered(&f.s, 0, "a", f.now_ns);
        state_registered(&f.s, 1, "b", f.now_ns);
        report_why(&f, 0, EVENT_PROFILE);
    }
    if (phase > STATE_PHASE_PROFILE) {
        report_why(&f, 1, EVENT_PROFILE);
        state_network_known(&f.s, false, f.now_ns);
        state_planned(&f.s, 4, node, f.now_ns, NULL);
        report_why(&f, 0, EVENT_PREPARED);
    }
    if (phase > STATE_PHASE_PREPARE) {
        report_why(&f, 1, EVENT_PREPARED);
        for (int r = 0; r < 3; r++)
            started(&f, r);
    }
    ck_assert_int_eq(f.s.phase, phase);
    f.now_ns += 60 * second;
    state_heard(&f.s, 0, f.now_ns);
    state_heard(&f.s, 1, f.now_ns);
    state_tick(&f.s, f.now_ns - 1);
    ck_assert_ptr_null(f.s.reason);
    state_tick(&f.s, f.now_ns);
    said(&f, late_rows[_i].sentence);
    ended(&f, "start", 3);
    state_fini(&f.s);
}
END_TEST

/* An order that fails before the ranks are up is a failed start, with the node's name. */
START_TEST(order_fails)
{
    static const int node[] = { 0 };
    struct fixture f;

    begin_here(&f, 1);
    state_registered(&f.s, 0, "a", f.now_ns);
    report_why(&f, 0, EVENT_PROFILE);
    state_planned(&f.s, 1, node, f.now_ns, NULL);
    did(&f, "profile;plan;prepare;");
    report_why(&f, 0, EVENT_FAILED);
    did(&f, "stop failure;");
    said(&f, "node a: why");
    ended(&f, "start", 3);
    report_why(&f, 0, EVENT_FAILED); /* the stop too: we go on to the end all the same */
    did(&f, "bye;");
    state_fini(&f.s);
}
END_TEST

START_TEST(agent_is_lost)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 10 * second;
    state_heard(&f.s, 0, f.now_ns);
    state_tick(&f.s, f.now_ns); /* the lease alone is not enough */
    did(&f, "");
    f.now_ns = state_deadline(&f.s);
    ck_assert_int_gt(f.now_ns, 1010 * second);
    state_tick(&f.s, f.now_ns);
    did(&f, "stop failure;");
    said(&f, "node b: no report from its agent for 15.0 s");
    ended(&f, "node_lost", 1);
    report_why(&f, 0, EVENT_STOPPED); /* nobody waits for the lost one's word */
    did(&f, "bye;");
    state_ended(&f.s, 0, "exited 0", f.now_ns);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_BYE);
    f.now_ns = state_deadline(&f.s);
    state_tick(&f.s, f.now_ns); /* but its end is waited for, then enforced */
    did(&f, "kill;");
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    state_fini(&f.s);
}
END_TEST

/* The driver itself was stopped, and looks round before it hears how its agents have ended. */
START_TEST(agent_ends_in_a_pause)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 100 * second;
    state_paused(&f.s, 100 * second, f.now_ns);
    state_tick(&f.s, f.now_ns);
    did(&f, "");
    state_ended(&f.s, 1, "agent did not respond for 10.0 s (timeouts.lease)", f.now_ns);
    did(&f, "stop failure;");
    said(&f, "eddis-run itself was suspended for 100.0 s, longer than timeouts.lease (10 s): its "
             "agents have ended the workers");
    ended(&f, "node_lost", 1);
    state_fini(&f.s);
}
END_TEST

/* A node that Slurm has set down is not waited for; one that is lost already is not lost again. */
START_TEST(agent_is_down)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 5 * second;
    state_node_down(&f.s, 1, f.now_ns);
    did(&f, "stop failure;");
    said(&f, "node b: no report from its agent for 5.0 s (Slurm reports the node as down)");
    ended(&f, "node_lost", 1);
    state_node_down(&f.s, 1, f.now_ns);
    did(&f, "");
    ck_assert_int_eq(f.s.impossible, 0);
    state_fini(&f.s);
}
END_TEST

/* A stop that was wanted brings no deadline nearer, and nobody is lost or blamed behind it. */
START_TEST(job_pauses)
{
    struct fixture f;
    int64_t left_ns;

    run_four(&f);
    left_ns = state_deadline(&f.s) - f.now_ns;
    f.now_ns += 3600 * second;
    state_put_off(&f.s, 3600 * second);
    state_paused(&f.s, 3600 * second, f.now_ns);
    state_waits(&f.s, 1);
    ck_assert_int_ge(state_deadline(&f.s) - f.now_ns, left_ns);
    state_tick(&f.s, f.now_ns);
    did(&f, "");
    state_ended(&f.s, 1, "agent was killed by signal 9", f.now_ns + second);
    said(&f, "node b: its agent was killed by signal 9");
    ck_assert_ptr_null(strstr(f.said, "eddis-run itself"));
    state_fini(&f.s);
}
END_TEST

/* Of an agent that was silent before the pause that is the news. */
START_TEST(agent_was_silent_before_a_pause)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 8 * second;
    state_heard(&f.s, 0, f.now_ns);
    f.now_ns += 100 * second;
    state_paused(&f.s, 100 * second, f.now_ns);
    state_ended(&f.s, 1, "session was lost", f.now_ns);
    said(&f, "node b: its session was lost");
    ck_assert_ptr_null(strstr(f.said, "eddis-run itself"));
    state_fini(&f.s);
    run_four(&f);
    f.now_ns += 8 * second;
    state_heard(&f.s, 0, f.now_ns);
    f.now_ns += 100 * second;
    state_paused(&f.s, 100 * second, f.now_ns);
    state_ended(&f.s, 0, "session was lost", f.now_ns);
    said(&f, "eddis-run itself was suspended for 100.0 s");
    state_fini(&f.s);
}
END_TEST

/* Agents outlive a pause that is shorter than the lease: it is told, and not blamed. */
START_TEST(agent_ends_behind_a_short_pause)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 4 * second;
    state_paused(&f.s, 4 * second, f.now_ns);
    f.now_ns += 3 * second;
    state_ended(&f.s, 1, "agent was killed by signal 9", f.now_ns);
    did(&f, "stop failure;");
    said(&f, "node b: its agent was killed by signal 9; eddis-run itself was suspended for 4.0 s "
             "until 3.0 s before this (timeouts.lease is 10 s)");
    ended(&f, "node_lost", 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(agent_is_lost_behind_a_pause)
{
    struct fixture f;

    run_four(&f);
    f.now_ns += 100 * second;
    state_paused(&f.s, 100 * second, f.now_ns);
    state_heard(&f.s, 0, f.now_ns + second);
    ck_assert_int_eq(state_deadline(&f.s), f.now_ns + 15 * second);
    state_tick(&f.s, f.now_ns + 15 * second);
    did(&f, "stop failure;");
    said(&f, "node b: no report from its agent for 115.0 s");
    state_fini(&f.s);
}
END_TEST

START_TEST(agent_ends)
{
    struct fixture f;

    run_four(&f);
    state_ended(&f.s, 1, "supervisor was killed by signal 9", f.now_ns);
    did(&f, "stop failure;");
    said(&f, "node b: its supervisor was killed by signal 9");
    ended(&f, "node_lost", 1);
    report_why(&f, 0, EVENT_STOPPED);
    did(&f, "bye;");
    state_ended(&f.s, 0, "exited 0", f.now_ns);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    state_fini(&f.s);
}
END_TEST

START_TEST(agent_ends_before_it_registers)
{
    struct fixture f;

    begin_here(&f, 1);
    state_ended(&f.s, 0, "agent exited 1: no room", f.now_ns);
    said(&f, "this machine: its agent exited 1 before it registered: no room");
    ended(&f, "start", 3);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    state_fini(&f.s);
}
END_TEST

/* What they were to begin with never came: it is not theirs to blame. */
START_TEST(agent_ends_before_it_registers_in_a_pause)
{
    struct fixture f;

    begin_here(&f, 1);
    state_paused(&f.s, 15 * second, f.now_ns);
    state_ended(&f.s, 0, "agent did not respond for 10.0 s (timeouts.lease)", f.now_ns);
    said(&f, "eddis-run itself was suspended for 15.0 s, longer than timeouts.lease (10 s): its "
             "agents have ended before they registered");
    ended(&f, "start", 3);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    state_fini(&f.s);
}
END_TEST

START_TEST(nobody_confirms_the_stop)
{
    struct fixture f;

    run_four(&f);
    exited_before(&f, 0, 1, 0, 0, false);
    did(&f, "lines;stop failure;");
    for (int i = 0; i < 100 && f.s.phase == STATE_PHASE_STOP; i++) {
        f.now_ns += second;
        state_heard(&f.s, 0, f.now_ns);
        state_heard(&f.s, 1, f.now_ns);
        state_tick(&f.s, f.now_ns);
    }
    said(&f, "node a did not confirm");
    said(&f, "node b did not confirm");
    ended(&f, "rank_exit", 1);
    did(&f, "bye;");
    state_fini(&f.s);
}
END_TEST

/* What is left behind spoils a good end, and no other. */
START_TEST(left_behind)
{
    struct fixture f;

    run_four(&f);
    for (int r = 0; r < 4; r++)
        exited_before(&f, r, _i ? 7 : 0, 0, 0, false);
    mpirun(&f, _i ? 7 : 0, 0);
    report_why(&f, 0, EVENT_STOPPED);
    report_why(&f, 1, EVENT_STOPPED);
    state_ended(&f.s, 0, "exited 0", f.now_ns);
    state_ended(&f.s, 1, "exited 0", f.now_ns);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_OVER);
    state_left_behind(&f.s, "process 7 does not end");
    ended(&f, _i ? "rank_exit" : "internal", _i ? 7 : 1);
    if (!_i)
        ck_assert_str_eq(f.s.message, "process 7 does not end");
    state_fini(&f.s);
}
END_TEST

/* A caller that takes no action for long loses none. */
START_TEST(many_actions)
{
    struct fixture f;
    struct event e;
    struct action a;
    int n = 0;

    run_four(&f);
    e = event(&f, EVENT_NOTE);
    for (int i = 0; i < 1000; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "note %d.", i);
        e.text = text;
        state_event(&f.s, 0, &e, f.now_ns);
    }
    for (; state_action(&f.s, &a); n++) {
        char text[32];

        (void)snprintf(text, sizeof text, "note %d.", n);
        ck_assert(a.type == ACTION_SAY && strstr(a.text, text));
    }
    ck_assert_int_eq(n, 1000);
    ck_assert(!state_lost_action(&f.s));
    state_fini(&f.s);
}
END_TEST

/* Whatever is said in whatever order: it ends, within bounds, with a reason, and with 0 only when
 * every rank said 0.
 */
START_TEST(any_order)
{
    static const int node[] = { 0, 0, 1, 1 };
    uint64_t seed = 88172645463325252u + (uint64_t)_i;
    struct fixture f;
    bool all_zero;

    begin_here(&f, 2);
    for (int k = 0; k < 400 && f.s.phase != STATE_PHASE_OVER; k++) {
        struct event e;
        int what, agent;

        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        what = (int)(seed % 40);
        agent = (int)(seed / 64 % 2);
        e = event_why(&f, (enum event_type)(seed / 128 % 8));
        e.rank = (int)(seed / 1024 % 6) - 1;
        e.code = seed / 8192 % 8 ? 0 : 3;
        e.signal = seed / 65536 % 16 ? 0 : 9;
        e.by_us = seed / 1048576 % 4 == 0;
        f.now_ns += (int64_t)(seed % 3) * second;
        if (what < 4)
            state_registered(&f.s, agent, "n", f.now_ns);
        else if (what < 30 && f.s.agent[agent].registered)
            state_event(&f.s, agent, &e, f.now_ns);
        else if (what == 30 && seed / 4096 % 8 == 0)
            state_signal(&f.s, seed / 131072 % 2 ? SIGINT : SIGTERM, f.now_ns);
        else if (what == 31 && seed / 4096 % 8 == 0)
            state_ended(&f.s, agent, "ended", f.now_ns);
        else
            state_heard(&f.s, agent, f.now_ns);
        if (f.s.phase == STATE_PHASE_NETWORK)
            state_network_known(&f.s, false, f.now_ns);
        if (f.s.phase == STATE_PHASE_PLAN)
            ck_assert_int_eq(state_planned(&f.s, 4, node, f.now_ns, NULL), 0);
        state_tick(&f.s, f.now_ns);
        drain(&f);
        f.did[0] = f.said[0] = '\0';
    }
    while (f.s.phase != STATE_PHASE_OVER) { /* silence ends everything */
        int64_t at = state_deadline(&f.s);

        ck_assert_int_lt(at, CLOCK_NEVER);
        f.now_ns = at > f.now_ns ? at : f.now_ns;
        state_tick(&f.s, f.now_ns);
        drain(&f);
        f.did[0] = f.said[0] = '\0';
        ck_assert_int_lt(f.now_ns, 100000 * second);
    }
    ck_assert_ptr_nonnull(f.s.reason);
    ck_assert_int_ge(f.s.exit_code, 0);
    all_zero = f.s.n_ranks > 0;
    for (int r = 0; r < f.s.n_ranks; r++)
        all_zero = all_zero && f.s.rank[r].exited && f.s.rank[r].code == 0;
    ck_assert(f.s.exit_code != 0 || all_zero);
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, good_run);
    tcase_add_test(tc, mpirun_before_ranks);
    tcase_add_test(tc, a_rank_is_never_heard_of);
    tcase_add_test(tc, mpirun_stays);
    tcase_add_test(tc, a_rank_lingers);
    tcase_add_loop_test(tc, rank_fails, 0, sizeof failure_rows / sizeof *failure_rows);
    tcase_add_test(tc, rank_fails_beside);
    tcase_add_test(tc, step_is_named);
    tcase_add_test(tc, first_by_age);
    tcase_add_test(tc, first_by_sight);
    tcase_add_test(tc, killed_is_first);
    tcase_add_test(tc, mpirun_killed);
    tcase_add_test(tc, daemon_killed);
    tcase_add_test(tc, mpirun_cannot_start);
    tcase_add_test(tc, mpirun_disagrees);
    tcase_add_loop_test(tc, rank_left, 0, sizeof left_rows / sizeof *left_rows);
    tcase_add_loop_test(tc, phase_is_late, 0, sizeof late_rows / sizeof *late_rows);
    tcase_add_test(tc, order_fails);
    tcase_add_test(tc, agent_is_lost);
    tcase_add_test(tc, agent_is_down);
    tcase_add_test(tc, agent_is_lost_behind_a_pause);
    tcase_add_test(tc, agent_ends);
    tcase_add_test(tc, agent_ends_in_a_pause);
    tcase_add_test(tc, agent_ends_behind_a_short_pause);
    tcase_add_test(tc, agent_was_silent_before_a_pause);
    tcase_add_test(tc, job_pauses);
    tcase_add_test(tc, agent_ends_before_it_registers);
    tcase_add_test(tc, agent_ends_before_it_registers_in_a_pause);
    tcase_add_test(tc, nobody_confirms_the_stop);
    tcase_add_test(tc, many_actions);
    tcase_add_loop_test(tc, left_behind, 0, 2);
    tcase_add_loop_test(tc, any_order, 0, 300);
}

SUITE_MAIN("driver_state", add_tests)
