/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_waits.c - the driver's state machine: ranks that hang, signals while it recovers,
 * networks that are tried.
 */
#include "driver_run.h"

/* ---- hangs ---- */

static void stand_still(struct fixture *f, const int *phase, int64_t still_ns)
{
    for (int r = 0; r < RANKS; r++)
        progress(f, r, phase[r], 1042, still_ns);
    state_tick(&f->s, f->now_ns);
    drain(f);
}

START_TEST(hang)
{
    static const struct {
        int phase[RANKS];
        int rank; /* -1: none */
        const char *text;
    } row[] = {
        { { 3, 3, 2, 3, 3 },
          2,
          "rank 2 (node b, pid 102) has made no step for 0:30 (timeouts.hang is 0:30); last step "
          "1041, computing; ranks 0, 1, 3, 4 wait for it" },
        { { 1, 3, 3, 3, 3 }, 0, "waiting for data; ranks 1-4 wait for it" },
        { { 3, 3, 3, 3, 3 }, 0, "waiting for other ranks; all ranks wait for each other" },
        { { 3, 5, 3, 6, 6 }, 1, "writing a checkpoint; ranks 0, 2 wait for it" },
        { { 6, 6, 6, 4, 6 }, 3, "last step 1041, evaluating; stopping 5 ranks\n" },
        { { 6, 6, 6, 6, 6 }, -1, "" },
    };
    struct fixture f;

    run(&f, 0);
    stand_still(&f, row[_i].phase, 30 * second - 1);
    ck_assert(!state_is_ending(&f.s));
    stand_still(&f, row[_i].phase, 30 * second);
    if (row[_i].rank < 0) {
        ck_assert(!state_is_ending(&f.s));
    } else {
        said(&f, row[_i].text);
        ck_assert_str_eq(f.s.reason, "hang");
        ck_assert_int_eq(f.s.exit_code, 124);
        ck_assert_int_eq(f.s.failure.rank, row[_i].rank);
        wind_up(&f);
    }
    state_fini(&f.s);
}
END_TEST

static void stand_waiting(struct fixture *f, int rank, int phase, int64_t still_ns, int waits_for)
{
    const struct progress p = { .rank = rank,
                                .phase = phase,
                                .steps_done = 1042,
                                .steps_here = 1042,
                                .waits_for = waits_for,
                                .page_age_ns = still_ns,
                                .phase_age_ns = still_ns };

    state_progress(&f->s, &p, f->now_ns);
}

/* Where steps are those that ranks print, the job hangs when the rank that is furthest does. */
START_TEST(furthest_hangs)
{
    struct fixture f;

    run(&f, 0);
    f.s.o.furthest = true;
    for (int r = 0; r < 4; r++) /* the last one prints nothing */
        progress(&f, r, 2, r == 1 ? 20 : 11, r == 1 ? 0 : 60 * second);
    f.s.rank[4].phase = -1;
    pass(&f, second);
    ck_assert_ptr_null(f.s.reason);
    progress(&f, 1, 2, 20, 30 * second);
    pass(&f, second);
    ck_assert_str_eq(f.s.reason, "hang");
    said(&f, "rank 0 (node a, pid 100) has made no step for");
    state_fini(&f.s);
}
END_TEST

static void echoed(struct fixture *f, int rank, bool echo)
{
    struct event e = event(f, EVENT_RANK_EXIT);

    e.rank = rank;
    e.pid = 100 + rank;
    e.code = 1;
    e.echo = echo;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
    drain(f);
}

/* A rank that another made fail is not the first failure, in whatever order they are heard. */
START_TEST(echo_is_not_first)
{
    struct fixture f;

    run(&f, 0);
    echoed(&f, 3, _i == 0);
    f.now_ns += _i == 0 ? CLOCK_MS : -CLOCK_MS;
    echoed(&f, 1, _i != 0);
    ck_assert_int_eq(f.s.failure.rank, _i == 0 ? 1 : 3);
    state_fini(&f.s);
}
END_TEST

/* Who is known to wait for another does not hang, whatever else it is about. */
START_TEST(hang_behind_waits)
{
    static const struct {
        int phase[RANKS], waits_for[RANKS];
        int rank; /* -1: none */
        const char *text;
    } row[] = {
        { { 5, 5, 5, 5, 5 }, /* in a checkpoint: 4 waits for 3, 3 for 2, 2 does not wait */
          { 2, 0, -1, 2, 3 },
          2,
          "rank 2 (node b, pid 102) has made no step for 0:30 (timeouts.hang is 0:30); last step "
          "1041, writing a checkpoint; ranks 0, 1, 3, 4 wait for it" },
        { { 4, 4, 4, 4, 4 }, { 3, 3, 3, -1, 3 }, 3, "evaluating; ranks 0-2, 4 wait for it" },
        { { 5, 5, 5, 5, 5 }, /* 0 waits for a circle of 1, 2 and 4 */
          { 3, 2, 4, 1, 1 },
          1,
          "all ranks wait for each other" },
        { { 3, 3, 3, 3, 3 }, /* nobody says for whom 4 waits, but all others do for it */
          { 1, 2, 3, 4, -1 },
          4,
          "all ranks wait for each other" },
        { { 3, 3, 3, 6, 3 }, { 3, 3, 3, -1, 3 }, 3, "leaving; ranks 0-2, 4 wait for it" },
        { { 2, 6, 6, 6, 6 }, { -1, 0, 0, 0, 0 }, 0, "computing; ranks 1-4 wait for it" },
        /* nobody is at work: 2 is stuck on its way out, or all are */
        { { 6, 6, 6, 6, 6 }, { 2, 0, -1, 2, 1 }, 2, "leaving; ranks 0, 1, 3, 4 wait for it" },
        { { 6, 6, 6, 6, 6 }, { 1, 2, 0, 0, 0 }, 2, "leaving; all ranks wait for each other" },
        { { 5, 5, 5, 5, 5 }, { 0, 1, 2, 3, 4 }, 0, "last step 1041, writing a checkpoint; stop" },
        { { 5, 5, 5, 5, 5 }, { 7, 7, 7, 7, 7 }, 0, "last step 1041, writing a checkpoint; stop" },
    };
    struct fixture f;

    run(&f, 0);
    for (int r = 0; r < RANKS; r++)
        stand_waiting(&f, r, row[_i].phase[r], 30 * second, row[_i].waits_for[r]);
    state_tick(&f.s, f.now_ns);
    drain(&f);
    ck_assert_str_eq(f.s.reason, "hang");
    ck_assert_int_eq(f.s.failure.rank, row[_i].rank);
    said(&f, row[_i].text);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

START_TEST(no_hang_behind_waits)
{
    struct fixture f;

    run(&f, 0); /* they wait for one that has begun to write a moment ago */
    for (int r = 1; r < RANKS; r++)
        stand_waiting(&f, r, 5, 500 * second, r - 1);
    progress(&f, 0, 5, 10, 29 * second);
    pass(&f, second);
    ck_assert(!state_is_ending(&f.s));
    progress(&f, 0, 6, 10, 0); /* and is leaving now */
    pass(&f, second);
    ck_assert(!state_is_ending(&f.s));
    state_fini(&f.s);
}
END_TEST

START_TEST(no_hang)
{
    struct fixture f;

    begin(&f, 0); /* before the first step nobody knows how long it takes */
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    for (int r = 0; r < RANKS; r++)
        progress(&f, r, 3, 0, 500 * second);
    pass(&f, second);
    ck_assert(!state_is_ending(&f.s));
    state_fini(&f.s);

    run(&f, 0); /* waiters alone do not make one: rank 4 gets on, slowly */
    for (int r = 0; r < 4; r++)
        progress(&f, r, 3, 10, 500 * second);
    progress(&f, 4, 2, 10, 5 * second);
    pass(&f, second);
    ck_assert(!state_is_ending(&f.s));
    state_fini(&f.s);

    run(&f, 0); /* a program without a page is watched from outside only */
    for (int r = 0; r < RANKS; r++)
        f.s.rank[r].phase = -1;
    pass(&f, 300 * second);
    ck_assert(!state_is_ending(&f.s));
    state_fini(&f.s);

    run(&f, 0); /* and an agent that is silent is lost, not hanging */
    f.silent[0] = f.silent[1] = f.silent[2] = true;
    pass(&f, 16 * second);
    ck_assert_str_eq(f.s.reason, "node_lost");
    state_fini(&f.s);
}
END_TEST

/* A rank of a generation without a step.  phase -1: no page. */
static void stand_before(struct fixture *f, int rank, int phase, int64_t still_ns, int64_t steps)
{
    const struct progress p = { .rank = rank,
                                .phase = phase,
                                .steps_total = steps,
                                .waits_for = -1,
                                .page_age_ns = -1,
                                .phase_age_ns = still_ns };

    if (phase >= 0)
        state_progress(&f->s, &p, f->now_ns);
}

/* Loading data may take long; what is stuck before the first step is found all the same. */
START_TEST(first_step)
{
    static const struct {
        int phase[RANKS];
        int64_t still_s, steps; /* still_s -1: they are in eddis_open */
        int rank;               /* -1: none */
        const char *text;
    } row[] = {
        { { 3, 3, 2, 3, 3 },
          1800,
          60,
          2,
          "rank 2 (node b, pid 102) has not reached its first step within 30:00 "
          "(timeouts.first_step): computing; ranks 0, 1, 3, 4 wait for it; stopping 5 ranks; not "
          "started again: no worker had finished a step" },
        { { 0, 0, 0, 0, 0 }, 1800, 60, 0, "(timeouts.first_step): starting; stopping" },
        { { 3, 3, 3, 3, 3 },
          1800,
          60,
          0,
          "waiting for other ranks; all ranks wait for each other" },
        { { 0, 0, 0, -1, 0 },
          -1,
          0,
          3,
          "rank 3 (node c, pid 103) has not reached its first step within 30:00 "
          "(timeouts.first_step): the other ranks wait for it in eddis_open; stopping" },
        { { 0, 0, 0, 0, 0 }, -1, 0, 0, "(timeouts.first_step): starting; stopping" },
        { { 3, 3, 2, 3, 3 }, 1799, 60, -1, "" },    /* it has time yet */
        { { 0, 0, 0, 0, 0 }, 1800, 0, -1, "" },     /* shares buffers, and makes no steps */
        { { 0, -1, -1, -1, -1 }, 1800, 0, -1, "" }, /* one tells of others, by eddis_progress */
        { { -1, -1, -1, -1, -1 }, 1800, 0, -1, "" },
    };
    struct fixture f;

    begin(&f, 3);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    if (row[_i].still_s < 0)
        pass(&f, 1799 * second);
    for (int r = 0; r < RANKS; r++)
        stand_before(&f, r, row[_i].phase[r], row[_i].still_s < 0 ? -1 : row[_i].still_s * second,
                     row[_i].steps);
    if (row[_i].still_s < 0)
        pass(&f, row[_i].phase[3] < 0 ? 2 * second : 1801 * second);
    for (int r = 0; row[_i].still_s < 0 && r < RANKS && !state_is_ending(&f.s); r++)
        stand_before(&f, r, row[_i].phase[r], -1, row[_i].steps);
    pass(&f, second);
    if (row[_i].rank < 0) {
        ck_assert(!state_is_ending(&f.s));
    } else {
        said(&f, row[_i].text);
        ck_assert_str_eq(f.s.reason, "hang");
        ck_assert_int_eq(f.s.exit_code, 124);
        ck_assert_int_eq(f.s.failure.rank, row[_i].rank);
        wind_up(&f);
    }
    state_fini(&f.s);
}
END_TEST

/* ---- what MPI lacks ---- */

/* It is in mpirun's log alone when the rank has printed nothing. */
START_TEST(words_of_mpi)
{
    static const struct {
        const char *of_rank, *of_mpi, *text;
    } row[] = {
        { "", "mmap(2): Cannot allocate memory\n",
          "rank 1 has printed nothing; MPI's own messages are in mpirun.log" },
        { "no such file\n", "mmap(2): Cannot allocate memory\n", NULL },
        { "", "", NULL },
    };
    struct event e;
    struct fixture f;

    begin(&f, 3);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 1;
    e.pid = 101;
    e.code = 1;
    e.last_lines = (char *)(uintptr_t)row[_i].of_rank;
    state_event(&f.s, f.s.rank[1].agent, &e, f.now_ns);
    drain(&f);
    e = event(&f, EVENT_MPIRUN_EXIT);
    e.signal = SIGKILL;
    e.by_us = true;
    e.last_lines = (char *)(uintptr_t)row[_i].of_mpi;
    state_event(&f.s, 0, &e, f.now_ns);
    drain(&f);
    if (row[_i].text)
        said(&f, row[_i].text);
    ck_assert_int_eq(strstr(f.s.message, "; see mpirun.log") != NULL, row[_i].text != NULL);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- signals while it recovers ---- */

START_TEST(ctrl_c_in_recovery)
{
    struct fixture f;

    run(&f, 3); /* while everything of the failed generation is being stopped */
    exited(&f, 1, 0, SIGSEGV, false);
    state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_STOP); /* it still confirms */
    state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    said(&f, "killing all processes that are left");
    wind_up(&f);
    ck_assert_str_eq(f.s.reason, "interrupted");
    ck_assert_int_eq(f.s.exit_code, 130);
    ck_assert_int_eq(f.s.generation, 1);
    state_fini(&f.s);

    run(&f, 3); /* while it waits for a node */
    state_ended(&f.s, 2, "agent was killed by signal 9", f.now_ns);
    drain(&f);
    confirm(&f, 10);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
    state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_BYE);
    ck_assert_int_eq(f.s.exit_code, 130);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

START_TEST(preempted_in_recovery)
{
    struct fixture f;

    run(&f, 3); /* what is on the disk is all there is: it can be gone on with */
    exited(&f, 1, 0, SIGSEGV, false);
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    confirm(&f, 1000);
    ck_assert_str_eq(f.s.reason, "preempted");
    ck_assert_int_eq(f.s.exit_code, 75);
    wind_up(&f);
    state_fini(&f.s);

    run(&f, 3);
    exited(&f, 1, 0, SIGSEGV, false);
    confirm(&f, -1);
    launch(&f, STATE_PHASE_START);
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.exit_code, 143);
    wind_up(&f);
    state_fini(&f.s);

    run(&f, 3); /* told by the nodes when they stop, if the driver cannot see the folder */
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.ordered[ACTION_CHECKPOINT], 1);
    for (int r = 0; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    ck_assert_int_eq(f.s.exit_code, 143);
    confirm(&f, 10);
    ck_assert_int_eq(f.s.exit_code, 75);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* What it went on from itself is a checkpoint, too, while it has none of its own. */
START_TEST(preempted_resumed_job)
{
    struct fixture f;

    run(&f, 3);
    f.s.o.resumes = true;
    exited(&f, 1, 0, SIGSEGV, false);
    confirm(&f, -1);
    launch(&f, STATE_PHASE_START);
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.exit_code, 75);
    wind_up(&f);
    state_fini(&f.s);

    begin(&f, 3); /* before its first step */
    f.s.o.resumes = true;
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.exit_code, 75);
    wind_up(&f);
    state_fini(&f.s);

    run(&f, 3); /* what it has trained since is lost */
    f.s.o.resumes = true;
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.ordered[ACTION_CHECKPOINT], 1);
    for (int r = 0; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.exit_code, 143);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- the network ---- */

static void probe(struct fixture *f)
{
    ck_assert_int_eq(state_network_try(&f->s, f->now_ns, NULL), 0);
    drain(f);
    ck_assert_int_eq(f->s.generation, 0);
    ck_assert_int_eq(f->s.n_ranks, NODES);
    report_parts(f, EVENT_PREPARED);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_PROBE_START); /* nothing to be shared */
    for (int r = 0; r < NODES; r++)
        started(f, r);
}

START_TEST(network_is_probed)
{
    struct fixture f;

    begin(&f, 3);
    for (int i = 0; i < NODES; i++)
        comes(&f, i);
    probe(&f); /* the first candidate: one pair does not answer */
    state_network_failed(&f.s, "a got no answer from c", f.now_ns);
    exited(&f, 0, 1, 0, false);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PROBE_STOP);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_NETWORK);
    ck_assert_str_eq(f.s.probe_trouble, "a got no answer from c");
    probe(&f); /* the second is slow, though mpirun has reached all */
    pass(&f, 31 * second);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PROBE_RUN);
    said(&f, "the network between the nodes is slow: it is still being measured");
    pass(&f, 121 * second);
    ck_assert_str_eq(f.s.probe_trouble, "it is too slow to be measured, though its nodes answer");
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_NETWORK);
    ck_assert_int_eq(state_network_try(&f.s, f.now_ns, NULL), 0); /* one where mpirun hangs */
    drain(&f);
    report_parts(&f, EVENT_PREPARED);
    pass(&f, 31 * second);
    ck_assert_str_eq(f.s.probe_trouble, "its measurement took too long");
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_NETWORK);
    probe(&f); /* the last one works */
    tell(&f, 0, EVENT_NETWORK);
    for (int r = 0; r < NODES; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    ck_assert_int_eq(f.s.generation, 1);
    ck_assert(!state_is_ending(&f.s) && f.s.restarts == 0);
    launch(&f, STATE_PHASE_RUN);
    state_fini(&f.s);
}
END_TEST

START_TEST(node_lost_in_the_probe)
{
    struct fixture f;

    begin(&f, 3);
    for (int i = 0; i < NODES; i++)
        comes(&f, i);
    probe(&f);
    f.silent[2] = true;
    pass(&f, 16 * second);
    ck_assert_str_eq(f.s.reason, "node_lost");
    ck_assert_int_eq(f.s.exit_code, 3); /* the job could not start */
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* Where checkpoints are written the nodes find that of an earlier start when the probe ends: it is
 * the one that the job goes on from.
 */
START_TEST(preempted_behind_the_probe)
{
    struct fixture f;

    begin(&f, 3);
    f.s.o.resumes = true;
    for (int i = 0; i < NODES; i++)
        comes(&f, i);
    probe(&f);
    tell(&f, 0, EVENT_NETWORK);
    for (int r = 0; r < NODES; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    confirm(&f, 11);
    ck_assert_int_eq(f.s.resume_step, -1);
    launch(&f, STATE_PHASE_START);
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.exit_code, 75);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* A network that another job has measured is probed once more when the launch over it fails. */
START_TEST(cached_network)
{
    struct fixture f;

    begin(&f, 3);
    for (int i = 0; i < NODES; i++)
        comes(&f, i);
    state_network_known(&f.s, true, f.now_ns);
    drain(&f);
    launch(&f, STATE_PHASE_START);
    mpirun(&f, 1, 0);
    pass(&f, 3 * second);
    said(&f, "the network may have changed since an earlier job measured it");
    ck_assert_int_eq(f.ordered[ACTION_FORGET], 1);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_NETWORK);
    probe(&f);
    tell(&f, 0, EVENT_NETWORK);
    for (int r = 0; r < NODES; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    confirm(&f, -1);
    launch(&f, STATE_PHASE_START);
    mpirun(&f, 1, 0); /* it was not the network */
    pass(&f, 3 * second);
    ck_assert_str_eq(f.s.reason, "start");
    ck_assert_int_eq(f.s.exit_code, 3);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* Who has told the job to end is not answered with another generation, whatever failed first. */
START_TEST(no_restart_after_a_signal)
{
    static const int signals[] = { SIGINT, SIGQUIT, SIGTERM };
    struct fixture f;
    struct event e;

    run(&f, 3);
    exited(&f, 1, 2, 0, false);
    ck_assert(state_is_ending(&f.s));
    state_signal(&f.s, signals[_i], f.now_ns);
    drain(&f);
    e = event(&f, EVENT_RANK_EXIT); /* heard of later, and to be recovered from */
    e.rank = 3;
    e.pid = 103;
    e.code = -1;
    e.signal = SIGSEGV;
    e.age_ns = second;
    state_event(&f.s, 2, &e, f.now_ns);
    drain(&f);
    ck_assert_str_eq(f.s.reason, "rank_signal");
    ck_assert_int_eq(f.s.exit_code, 139);
    wind_up(&f);
    ck_assert_int_eq(f.s.restarts, 0);
    state_fini(&f.s);
}
END_TEST

/* While a checkpoint is being written because the job has to go, it does not start again. */
START_TEST(node_lost_while_preempted)
{
    struct fixture f;

    run(&f, 3);
    state_signal(&f.s, SIGTERM, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.ordered[ACTION_CHECKPOINT], 1);
    state_ended(&f.s, 1, "agent was killed by signal 9", f.now_ns);
    drain(&f);
    said(&f, "node b: its agent was killed by signal 9");
    ck_assert_str_eq(f.s.reason, "preempted");
    ck_assert_int_eq(f.s.exit_code, 143);
    confirm(&f, _i ? 10 : 9); /* the one that was asked for may have been whole by then */
    ck_assert_int_eq(f.s.exit_code, _i ? 75 : 143);
    wind_up(&f);
    ck_assert_int_eq(f.s.restarts, 0);
    state_fini(&f.s);
}
END_TEST

/* It is written, but who has written it does not go. */
START_TEST(preempted_and_nobody_goes)
{
    struct fixture f;

    run(&f, 3);
    state_signal(&f.s, SIGTERM, f.now_ns);
    state_checkpoint_seen(&f.s, 10);
    pass(&f, 121 * second);
    ck_assert_str_eq(f.s.reason, "preempted");
    ck_assert_int_eq(f.s.exit_code, 75);
    said(&f, "the checkpoint is written, but the workers have not ended within 120 s "
             "(timeouts.checkpoint); stopping");
    state_fini(&f.s);
}
END_TEST

/* An agent that comes back and ends again, and again, is started less and less often. */
START_TEST(an_agent_that_never_lasts)
{
    struct fixture f;

    run(&f, 3);
    state_ended(&f.s, 2, "agent exited 1", f.now_ns);
    drain(&f);
    confirm(&f, 10);
    pass(&f, 6 * second);
    launch(&f, STATE_PHASE_RUN);
    steps(&f, 20);
    for (int i = 0; i < 240; i++) {
        steps(&f, 21 + i);
        pass(&f, second / 2);
        if (!f.s.agent[2].starting)
            continue;
        comes(&f, 2);
        state_ended(&f.s, 2, "agent exited 1", f.now_ns);
        drain(&f);
    }
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN);
    ck_assert_int_ge(f.revive[2], 4);
    ck_assert_int_le(f.revive[2], 10);
    state_fini(&f.s);
}
END_TEST

/* An agent speaks for the ranks of its node only. */
START_TEST(ranks_of_others)
{
    struct fixture f;
    struct event e;

    run(&f, 3);
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 4;
    e.pid = 1;
    e.code = 9;
    state_event(&f.s, 0, &e, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN);
    ck_assert(!f.s.rank[4].exited && f.s.rank[4].pid == 104);
    e.type = EVENT_RANK_STARTED;
    state_event(&f.s, 1, &e, f.now_ns);
    ck_assert_int_eq(f.s.rank[4].pid, 104);
    state_fini(&f.s);
}
END_TEST

/* Why it is not started again, of every row of scheduler/recovery.h that says no. */
START_TEST(why_not_again)
{
    struct fixture f;

    run(&f, 3);
    exited(&f, 1, 127, 0, false);
    said(&f, "not started again: exit codes 2, 126 and 127 say that the program cannot run");
    state_fini(&f.s);

    begin(&f, 3);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    progress(&f, 1, 2, 0, 0);
    exited(&f, 1, 0, SIGSEGV, false);
    said(&f, "not started again: no worker had finished a step");
    ck_assert_ptr_null(strstr(f.said, "libeddis"));
    state_fini(&f.s);

    begin(&f, 3);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    exited(&f, 1, 1, 0, false);
    said(&f, "not started again: no finished step is known: no worker has used libeddis yet, or "
             "reported a step by progress.pattern");
    state_fini(&f.s);

    begin(&f, 3);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    exited(&f, 1, 0, SIGSEGV, false);
    said(&f, "not started again: no finished step is known; set restarts, for example with "
             "--restarts 3, to restart the job nevertheless");
    state_fini(&f.s);

    begin(&f, 0); /* nobody expects it */
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    exited(&f, 1, 0, SIGSEGV, false);
    ck_assert_ptr_null(strstr(f.said, "not started again"));
    state_fini(&f.s);

    begin(&f, 3); /* it has not started at all */
    arrive(&f);
    launch(&f, STATE_PHASE_START);
    mpirun(&f, 1, 0);
    pass(&f, 3 * second);
    ck_assert_ptr_null(strstr(f.said, "not started again"));
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, hang, 0, 6);
    tcase_add_loop_test(tc, echo_is_not_first, 0, 2);
    tcase_add_test(tc, furthest_hangs);
    tcase_add_loop_test(tc, hang_behind_waits, 0, 8);
    tcase_add_test(tc, no_hang_behind_waits);
    tcase_add_test(tc, no_hang);
    tcase_add_loop_test(tc, first_step, 0, 9);
    tcase_add_loop_test(tc, words_of_mpi, 0, 3);
    tcase_add_test(tc, ctrl_c_in_recovery);
    tcase_add_test(tc, preempted_in_recovery);
    tcase_add_test(tc, preempted_resumed_job);
    tcase_add_test(tc, network_is_probed);
    tcase_add_test(tc, preempted_behind_the_probe);
    tcase_add_test(tc, node_lost_in_the_probe);
    tcase_add_test(tc, cached_network);
    tcase_add_loop_test(tc, no_restart_after_a_signal, 0, 3);
    tcase_add_loop_test(tc, node_lost_while_preempted, 0, 2);
    tcase_add_test(tc, preempted_and_nobody_goes);
    tcase_add_test(tc, an_agent_that_never_lasts);
    tcase_add_test(tc, ranks_of_others);
    tcase_add_test(tc, why_not_again);
}

SUITE_MAIN("driver_waits", add_tests)
