/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_recovery.c - the driver's state machine over failures: what is recovered from and
 * what is not, for every actor and fault that a node can suffer, and what holds whatever happens in
 * whatever order.
 */
#include "driver_run.h"

/* ---- the fault matrix ---- */

enum when { LAUNCH, MID_STEP, CHECKPOINT, SHUTDOWN, RELAUNCH, WHENS };

enum actor { RANK, AGENT, MPIRUN, DAEMON, SESSION, HOST };

enum fault { EXIT_1, SEGV, KILL, FREEZE, CUT };

/* What is to come of it, by phase: a reason with its exit code, or that the job starts again. */
struct outcome {
    const char *reason; /* NULL: another generation; "": nothing at all */
    int code;
};

#define AGAIN                                                                                      \
    {                                                                                              \
        NULL, 0                                                                                    \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        "", 0                                                                                      \
    }

static const struct {
    enum actor actor;
    enum fault fault;
    struct outcome then[WHENS];
} matrix[] = {
    { RANK, EXIT_1, { { "rank_exit", 1 }, AGAIN, AGAIN, AGAIN, { "rank_exit", 1 } } },
    { RANK, SEGV, { { "rank_signal", 139 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { RANK, KILL, { { "rank_signal", 137 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    /* its node's agent kills it after a lease, so that is a death, too; sooner it hangs */
    { RANK, FREEZE, { NOTHING, AGAIN, AGAIN, AGAIN, NOTHING } },
    { AGENT, KILL, { { "node_lost", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { AGENT, FREEZE, { { "node_lost", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { MPIRUN, EXIT_1, { { "start", 3 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { MPIRUN, KILL, { { "internal", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { DAEMON, KILL, { { "start", 3 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { SESSION, KILL, { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING } },
    { HOST, KILL, { { "node_lost", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { HOST, FREEZE, { { "node_lost", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
    { HOST, CUT, { { "node_lost", 1 }, AGAIN, AGAIN, AGAIN, AGAIN } },
};

static void strike_rank(struct fixture *f, enum fault fault)
{
    if (fault == EXIT_1)
        exited(f, 2, 1, 0, false);
    else if (fault != FREEZE)
        exited(f, 2, 0, fault == SEGV ? SIGSEGV : SIGKILL, false);
    for (int i = 0; fault == FREEZE && i < 70; i++) {
        if (f->s.phase == STATE_PHASE_RUN)
            progress(f, 2, 2, 11, i * second / 2);
        pass(f, second / 2);
    }
}

static void strike(struct fixture *f, enum actor actor, enum fault fault)
{
    switch (actor) {
    case RANK:
        strike_rank(f, fault);
        break;
    case AGENT: /* of the node by ssh: killed, its session ends with it */
        if (fault == KILL)
            state_ended(&f->s, 1, "agent was killed by signal 9", f->now_ns);
        else
            f->silent[1] = true;
        break;
    case MPIRUN:
        mpirun(f, 1, fault == KILL ? SIGKILL : 0);
        break;
    case DAEMON: /* mpirun says so and ends */
        mpirun(f, 205, 0);
        break;
    case SESSION: /* the driver does not even tell */
        break;
    case HOST:
        f->silent[1] = true;
        break;
    }
    for (int i = 0; i < 40; i++) {
        pass(f, second / 2);
        confirm(f, 7);
    }
}

/* As far as `when` says; in SHUTDOWN some ranks have ended well. */
static void go_to(struct fixture *f, enum when when)
{
    begin(f, 3);
    arrive(f);
    launch(f, when == LAUNCH ? STATE_PHASE_START : STATE_PHASE_RUN);
    if (when == LAUNCH)
        return;
    steps(f, 10);
    if (when == CHECKPOINT)
        for (int r = 0; r < RANKS; r++)
            progress(f, r, 5, 10, 0);
    if (when == SHUTDOWN) {
        exited(f, 0, 0, 0, false);
        exited(f, 4, 0, 0, false);
    }
    if (when != RELAUNCH)
        return;
    exited(f, 1, 0, SIGKILL, false);
    confirm(f, 5);
    launch(f, STATE_PHASE_START);
}

START_TEST(fault_matrix)
{
    int cell = _i % WHENS, k = _i / WHENS;
    const struct outcome *want = &matrix[k].then[cell];
    struct fixture f;
    int64_t generation;

    go_to(&f, (enum when)cell);
    generation = f.s.generation;
    strike(&f, matrix[k].actor, matrix[k].fault);
    if (want->reason && !want->reason[0]) {
        ck_assert_msg(!state_is_ending(&f.s), "%s", f.said);
        ck_assert(f.s.phase <= STATE_PHASE_RUN && !is_stopping(&f.s));
        ck_assert_int_eq(f.s.generation, generation);
        state_fini(&f.s);
        return;
    }
    if (!want->reason) {
        ck_assert_msg(!state_is_ending(&f.s), "cell %d of row %d: %s", cell, k, f.said);
        ck_assert_int_eq(f.s.generation, generation + 1);
        ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
        launch(&f, STATE_PHASE_RUN);
    } else {
        ck_assert_msg(state_is_ending(&f.s), "cell %d of row %d goes on: %s", cell, k, f.said);
        ck_assert_str_eq(f.s.reason, want->reason);
        ck_assert_int_eq(f.s.exit_code, want->code);
        wind_up(&f);
    }
    state_fini(&f.s);
}
END_TEST

/* ---- how it goes on ---- */

START_TEST(goes_on_with_who_is_left)
{
    struct fixture f;
    char text[256];

    run(&f, 3);
    f.silent[2] = true; /* its cable is cut */
    pass(&f, 14 * second);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN); /* never sooner */
    pass(&f, 2 * second);
    said(&f, "node c: no report from its agent for 15.0 s (timeouts.node_lost)");
    ck_assert_int_eq(f.s.phase, STATE_PHASE_STOP);
    ck_assert_int_eq(f.revive[2], 1); /* its old self is shut out, and a new one called for */
    confirm(&f, 1000);                /* the cut one is not waited for */
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    state_restart_text(&f.s, 2, text, sizeof text);
    ck_assert_str_eq(text, "restarting from step 1000 on 2 nodes (start 2, node loss 1)");
    launch(&f, STATE_PHASE_RUN);
    ck_assert_int_eq(f.s.n_ranks, 3);
    ck_assert(!state_is_known(&f.s, 2));
    comes(&f, 2); /* joined again; it has its part in the next generation */
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN);
    ck_assert(state_is_usable(&f.s, 2) && !f.s.agent[2].part);
    pass(&f, second); /* the first step is the end of the recovery */
    steps(&f, 3);
    ck_assert_int_eq(f.ordered[ACTION_RECOVERED], 1);
    ck_assert_int_gt(f.s.recovery_ns, 15 * second);
    state_ended(&f.s, 2, "agent exited 1", f.now_ns); /* it is nobody's loss now */
    drain(&f);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN);
    pass(&f, second);
    exited(&f, 0, 0, SIGSEGV, false);
    confirm(&f, 2000);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP); /* for a moment: it may be back at once */
    ck_assert_int_eq(f.revive[2], 2);
    comes(&f, 2);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    launch(&f, STATE_PHASE_RUN);
    ck_assert_int_eq(f.s.n_ranks, RANKS);
    for (int r = 0; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    mpirun(&f, 0, 0);
    wind_up(&f);
    ck_assert_str_eq(f.s.reason, "ok");
    ck_assert_int_eq(f.s.restarts, 1);
    ck_assert_int_eq(f.s.node_losses, 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(an_older_generation_is_not_heard)
{
    struct fixture f;
    struct event e;

    run(&f, 3);
    exited(&f, 3, 0, SIGKILL, false);
    confirm(&f, 10);
    launch(&f, STATE_PHASE_RUN);
    e = event(&f, EVENT_RANK_EXIT);
    e.generation = 1;
    e.rank = 0;
    e.code = 2;
    state_event(&f.s, 0, &e, f.now_ns);
    e.type = EVENT_STOPPED;
    state_event(&f.s, 1, &e, f.now_ns);
    e.type = EVENT_FAILED;
    state_event(&f.s, 1, &e, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_RUN);
    ck_assert(!f.s.rank[0].exited && !f.s.agent[1].stopped);
    state_fini(&f.s);
}
END_TEST

START_TEST(first_failure_decides)
{
    struct fixture f;
    struct event e;

    run(&f, 3); /* heard first: a usage error; it was earlier: a death */
    f.now_ns += 5 * second;
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 0;
    e.code = 2;
    state_event(&f.s, 0, &e, f.now_ns);
    drain(&f);
    ck_assert(state_is_ending(&f.s));
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 4;
    e.code = -1;
    e.signal = SIGSEGV;
    e.age_ns = second;
    state_event(&f.s, 2, &e, f.now_ns);
    drain(&f);
    said(&f, "before that: rank 4 (node c, pid 0) died of signal 11");
    ck_assert(!state_is_ending(&f.s) && f.s.reason == NULL);
    confirm(&f, 10);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    state_fini(&f.s);

    run(&f, 3); /* and the other way round */
    f.now_ns += 5 * second;
    exited(&f, 4, 0, SIGSEGV, false);
    ck_assert(!state_is_ending(&f.s));
    e = event(&f, EVENT_RANK_EXIT);
    e.rank = 0;
    e.code = 2;
    e.age_ns = second;
    state_event(&f.s, 0, &e, f.now_ns);
    drain(&f);
    ck_assert(state_is_ending(&f.s));
    ck_assert_int_eq(f.s.exit_code, 2);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* What a lost node brings about elsewhere is not what failed first. */
START_TEST(a_lost_node_is_to_blame)
{
    struct fixture f;

    run(&f, 3);
    f.silent[1] = true;
    pass(&f, 5 * second);
    exited(&f, 4, 1, 0, false);
    confirm(&f, 10);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_STOP); /* the silent one may still run */
    pass(&f, 12 * second);
    said(&f, "before that: node b: no report");
    ck_assert_str_eq(f.s.before.reason, "node_lost");
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    state_fini(&f.s);
}
END_TEST

START_TEST(used_up)
{
    struct fixture f;

    run(&f, 1);
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, -1);
    ck_assert(f.s.resume_known && f.s.resume_step < 0);
    launch(&f, STATE_PHASE_RUN);
    steps(&f, 20);
    exited(&f, 2, 9, 0, false);
    said(&f, "exited 9 at step 20");
    said(&f, "; not started again: all restarts are used up");
    wind_up(&f);
    ck_assert_str_eq(f.s.reason, "rank_exit");
    ck_assert_int_eq(f.s.exit_code, 9);
    ck_assert_int_eq(f.s.restarts, 1);
    state_fini(&f.s);
}
END_TEST

START_TEST(nobody_is_left)
{
    struct fixture f;

    run(&f, 3);
    for (int i = 0; i < NODES; i++)
        f.silent[i] = true;
    pass(&f, 20 * second);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
    pass(&f, 61 * second);
    said(&f, "the job cannot continue: no node is left");
    ck_assert_str_eq(f.s.reason, "node_lost");
    ck_assert_int_eq(f.s.exit_code, 1);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* Where nothing can be started again nobody is waited for. */
START_TEST(all_is_gone)
{
    struct fixture f;

    run(&f, 3);
    state_ended(&f.s, 0, "agent has left", f.now_ns);
    pass(&f, 2 * second);
    ck_assert(f.s.agent[0].starting);
    state_no_more_starts(&f.s, "Slurm's job 1 is over");
    state_not_started(&f.s, 0, "Slurm's job 1 is over", f.now_ns);
    for (int i = 1; i < NODES; i++)
        state_ended(&f.s, i, "agent has left", f.now_ns);
    pass(&f, 2 * second);
    said(&f, "the job cannot continue: Slurm's job 1 is over");
    ck_assert_str_eq(f.s.message, "Slurm's job 1 is over");
    ck_assert_str_eq(f.s.reason, "node_lost");
    for (int i = 0; i < NODES; i++)
        ck_assert(!f.s.agent[i].starting);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

START_TEST(nodes_left_are_too_few)
{
    struct fixture f;

    run(&f, 3);
    exited(&f, 1, 0, SIGSEGV, false);
    confirm(&f, 10);
    state_unplannable(&f.s, "batch.global is 512, too large for 2 workers", f.now_ns);
    drain(&f);
    said(&f, "the job cannot continue: batch.global is 512");
    ck_assert_str_eq(f.s.reason, "rank_signal");
    ck_assert_int_eq(f.s.exit_code, 139);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- whatever happens ---- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

/* Answer what the machine asks for, or let it be refused. */
static void answer(struct fixture *f, uint64_t *seed)
{
    int node[RANKS], n = 0;

    for (int r = 0; r < RANKS; r++)
        if (state_is_usable(&f->s, rank_node[r]))
            node[n++] = rank_node[r];
    if (f->s.phase == STATE_PHASE_NETWORK && next(seed) % 3)
        ck_assert_int_eq(state_network_try(&f->s, f->now_ns, NULL), 0);
    else if (f->s.phase == STATE_PHASE_NETWORK)
        state_network_known(&f->s, next(seed) % 2, f->now_ns);
    else if (f->s.phase == STATE_PHASE_PLAN && (n == 0 || next(seed) % 16 == 0))
        state_unplannable(&f->s, "it cannot be", f->now_ns);
    else if (f->s.phase == STATE_PHASE_PLAN)
        ck_assert_int_eq(state_planned(&f->s, n, node, f->now_ns, NULL), 0);
}

static void random_event(struct fixture *f, uint64_t *seed, int agent)
{
    struct event e = event(f, (enum event_type)(next(seed) % (EVENT_LEFT + 1)));

    e.generation = f->s.generation - (next(seed) % 8 == 0);
    e.rank = (int)(next(seed) % (RANKS + 2)) - 1;
    e.code = next(seed) % 4 ? 0 : (int)(next(seed) % 4);
    e.signal = next(seed) % 12 ? 0 : 9;
    e.by_us = next(seed) % 4 == 0;
    e.age_ns = (int64_t)(next(seed) % 2) * second;
    e.step = (int64_t)(next(seed) % 100) - 1;
    if (state_is_known(&f->s, agent))
        state_event(&f->s, agent, &e, f->now_ns);
}

static void random_move(struct fixture *f, uint64_t *seed)
{
    int agent = (int)(next(seed) % NODES), what = (int)(next(seed) % 40);

    if (f->s.agent[agent].ended && !f->s.agent[agent].starting)
        return; /* nothing comes from there */
    if (what < 6)
        state_registered(&f->s, agent, "n", f->now_ns);
    else if (what < 26)
        random_event(f, seed, agent);
    else if (what < 30 && f->s.n_ranks)
        progress(f, (int)(next(seed) % (unsigned)f->s.n_ranks), (int)(next(seed) % 7),
                 (int64_t)(next(seed) % 50), (int64_t)(next(seed) % 40) * second);
    else if (what == 30 && next(seed) % 16 == 0)
        state_signal(&f->s, next(seed) % 2 ? SIGINT : SIGTERM, f->now_ns);
    else if (what == 31)
        state_ended(&f->s, agent, "agent exited 1", f->now_ns);
    else if (what == 32)
        state_not_started(&f->s, agent, "n: no such host", f->now_ns);
    else
        state_heard(&f->s, agent, f->now_ns);
}

/* What must hold between two looks. */
static void check_step(const struct fixture *f, const struct state *before,
                       const struct state_agent *was)
{
    bool left_stop = is_stopping(before) && !is_stopping(&f->s);

    ck_assert_int_le(f->s.restarts, f->s.o.restarts);
    ck_assert(f->s.restarts == before->restarts || f->s.restarts == 0 ||
              (f->s.restarts == before->restarts + 1 && f->s.generation == before->generation + 1));
    ck_assert(f->s.generation >= before->generation || f->s.generation == 0);
    ck_assert(!(f->s.generation == 0 && before->generation > 1));
    for (int i = 0; left_stop && i < NODES; i++)
        ck_assert_msg(!was[i].part || f->s.agent[i].stopped || was[i].stopped ||
                          f->s.agent[i].lost || was[i].lost || f->s.agent[i].ended ||
                          was[i].ended || f->s.agent[i].starting,
                      "node %d had not confirmed: %s", i, f->said);
}

START_TEST(any_order)
{
    uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)_i * UINT64_C(2654435761);
    struct fixture f;

    begin(&f, (int)(next(&seed) % 4));
    for (int i = 0; i < NODES; i++)
        f.s.agent[i].remote = next(&seed) % 2;
    for (int k = 0; k < 3000 && f.s.phase != STATE_PHASE_OVER; k++) {
        struct state_agent was[NODES];
        struct state before = f.s;

        memcpy(was, f.s.agent, sizeof was);
        f.now_ns += (int64_t)(next(&seed) % 3) * second / 4;
        random_move(&f, &seed);
        drain(&f);
        check_step(&f, &before, was);
        before = f.s;
        memcpy(was, f.s.agent, sizeof was);
        answer(&f, &seed);
        drain(&f);
        state_tick(&f.s, f.now_ns);
        drain(&f);
        check_step(&f, &before, was);
        f.said[0] = '\0';
    }
    if (!state_is_ending(&f.s))
        state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    while (f.s.phase != STATE_PHASE_OVER) { /* silence ends everything */
        int64_t at = state_deadline(&f.s);

        ck_assert_int_lt(at, CLOCK_NEVER);
        f.now_ns = at > f.now_ns ? at : f.now_ns;
        state_tick(&f.s, f.now_ns);
        drain(&f);
        ck_assert_int_lt(f.now_ns, 1000000 * second);
    }
    ck_assert_ptr_nonnull(f.s.reason);
    ck_assert_int_ge(f.s.exit_code, 0);
    if ((f.s.outcome == STATE_OUTCOME_FAILED || f.s.outcome == STATE_OUTCOME_UNWANTED) &&
        f.s.failure.set && f.s.failure.rank >= 0)
        ck_assert_int_eq(f.s.exit_code, f.s.failure.exit_code);
    state_fini(&f.s);
}
END_TEST

/* ---- mpirun and its daemons ---- */

static void mpirun_ended(struct fixture *f, int agent, int code, int sig, int64_t age_ns,
                         bool by_us)
{
    static char daemon[] = "mpirun's daemon, orted, has ended";
    struct event e = event(f, EVENT_MPIRUN_EXIT);

    e.code = sig ? -1 : code;
    e.signal = sig;
    e.age_ns = age_ns;
    e.by_us = by_us;
    e.text = agent ? daemon : e.text;
    state_event(&f->s, agent, &e, f->now_ns);
    drain(f);
}

/* A daemon that has lost mpirun is heard of first; which of both was, ages and sense tell. */
START_TEST(mpirun_heard_second)
{
    static const struct {
        int daemon_signal, code, signal;
        int64_t later_ns; /* than the daemon's, by the reports' ages */
        bool by_us, first;
    } row[] = {
        { 0, 0, SIGKILL, -CLOCK_MS, false, true },
        { 0, 0, SIGKILL, 50 * CLOCK_MS, false, true }, /* its report was on the way for longer */
        { 0, 0, SIGKILL, 3 * CLOCK_S, false, false },
        { 0, 0, SIGKILL, -CLOCK_MS, true, false },            /* by the stop */
        { 0, 1, 0, -CLOCK_MS, false, false },                 /* it tells of the daemon */
        { SIGKILL, 0, SIGSEGV, 50 * CLOCK_MS, false, false }, /* a killed daemon was first */
        { SIGKILL, 0, SIGSEGV, -50 * CLOCK_MS, false, true },
    };
    int64_t age_ns = row[_i].later_ns < 0 ? -row[_i].later_ns : 0;
    struct fixture f;

    run(&f, 3);
    for (int r = 2; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    mpirun_ended(&f, 1, 1, row[_i].daemon_signal, 0, false);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_STOP);
    said(&f, "node b: mpirun's daemon, orted, has ended; stopping 2 ranks\n");
    f.now_ns += row[_i].later_ns < 0 ? 0 : row[_i].later_ns;
    mpirun_ended(&f, 0, row[_i].code, row[_i].signal, age_ns, row[_i].by_us);
    ck_assert_int_eq(strstr(f.said, "before that: mpirun died of signal") != NULL, row[_i].first);
    ck_assert_int_eq(f.s.failure.signal, row[_i].first ? row[_i].signal : row[_i].daemon_signal);
    ck_assert_int_eq(f.ordered[ACTION_STOP], 1);
    confirm(&f, 10);
    ck_assert_int_eq(f.s.generation, 2); /* recovered from once, whoever it was */
    state_fini(&f.s);
}
END_TEST

/* That a network of an earlier job has changed is no reason to die of a signal. */
START_TEST(killed_over_a_cached_network)
{
    struct fixture f;

    begin(&f, 3);
    for (int i = 0; i < NODES; i++)
        comes(&f, i);
    state_network_known(&f.s, true, f.now_ns);
    drain(&f);
    launch(&f, STATE_PHASE_RUN);
    mpirun_ended(&f, _i, 0, SIGKILL, 0, false);
    ck_assert_int_eq(f.ordered[ACTION_FORGET], 0);
    ck_assert_str_eq(f.s.reason, "internal");
    ck_assert_int_eq(f.s.exit_code, 1);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- a job whose work is done ---- */

static void run_cached(struct fixture *f, int restarts, enum state_phase to)
{
    begin(f, restarts);
    for (int i = 0; i < NODES; i++)
        comes(f, i);
    state_network_known(&f->s, true, f->now_ns);
    drain(f);
    launch(f, to);
}

static void ends_well(struct fixture *f)
{
    said(f, "; every rank has exited with code 0, so the job has succeeded\n");
    ck_assert_int_eq(f->ordered[ACTION_FORGET], 0);
    ck_assert(!f->s.failure.set);
    wind_up(f);
    ck_assert_str_eq(f->s.reason, "ok");
    ck_assert_int_eq(f->s.exit_code, 0);
    ck_assert_int_eq(f->s.restarts, 0);
    state_fini(&f->s);
}

/* Whatever its launcher and its nodes do then, it does not run again. */
START_TEST(done_is_done)
{
    struct fixture f;

    run_cached(&f, _i % 2 ? 3 : 0, STATE_PHASE_RUN);
    for (int r = 0; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    switch (_i / 2) {
    case 0:
        mpirun_ended(&f, 0, 1, 0, 0, false);
        break;
    case 1:
        mpirun_ended(&f, 0, 0, SIGKILL, 0, false);
        break;
    case 2:
        mpirun_ended(&f, 1, 1, 0, 0, false); /* a daemon */
        break;
    case 3:
        state_ended(&f.s, 2, "agent was killed by signal 9", f.now_ns);
        drain(&f);
        break;
    }
    ends_well(&f);
}
END_TEST

/* mpirun ends the others as soon as one has ended without MPI_Finalize, and nodes report when they
 * come to it.
 */
START_TEST(done_is_heard_of_late)
{
    struct fixture f;

    run_cached(&f, 3, STATE_PHASE_RUN);
    for (int r = 1; r < RANKS; r++)
        exited(&f, r, 0, 0, false);
    mpirun_ended(&f, 1, 1, 0, 0, false);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_STOP);
    exited(&f, 0, 0, 0, false);
    ends_well(&f);
}
END_TEST

/* A program that is told to end may exit 0 in the midst of its work; one that is leaving may not.
 */
START_TEST(told_to_end)
{
    struct fixture f;

    run_cached(&f, 0, STATE_PHASE_RUN);
    for (int r = 0; r < RANKS; r++)
        progress(&f, r, _i ? 6 : 2, 10, 0);
    for (int r = 0; r < RANKS; r++)
        exited(&f, r, 0, 0, true);
    mpirun_ended(&f, 0, 0, SIGKILL, 0, false);
    if (_i) {
        ends_well(&f);
        return;
    }
    wind_up(&f);
    ck_assert_str_eq(f.s.reason, "internal");
    ck_assert_int_eq(f.s.exit_code, 1);
    state_fini(&f.s);
}
END_TEST

/* A node lost hours into a run that tells of no step: mpirun says it first, and no network of an
 * earlier job is to blame.
 */
START_TEST(no_second_run_over_a_network)
{
    struct fixture f;

    run_cached(&f, 3, STATE_PHASE_RUN);
    pass(&f, 2 * 3600 * second);
    f.silent[2] = true;
    pass(&f, 5 * second);
    mpirun_ended(&f, 0, 1, 0, 0, false);
    pass(&f, 3 * second); /* ranks of node c are not heard of */
    said(&f, "; not started again: no finished step is known");
    ck_assert_int_eq(f.ordered[ACTION_FORGET], 0);
    wind_up(&f);
    said(&f, "before that: node c: no report from its agent");
    ck_assert_str_eq(f.s.reason, "node_lost");
    ck_assert_int_eq(f.ordered[ACTION_NETWORK], 1);
    ck_assert_int_eq(f.s.generation, 1);
    state_fini(&f.s);
}
END_TEST

/* What failed over the network is forgotten with it: the next failure is one of its own. */
START_TEST(a_blamed_launch_is_forgotten)
{
    struct fixture f;

    run_cached(&f, 0, STATE_PHASE_START);
    mpirun_ended(&f, 0, 1, 0, 0, false);
    pass(&f, 3 * second);
    said(&f, "it is measured again");
    confirm(&f, -1);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_NETWORK);
    ck_assert(!f.s.failure.set);
    state_ended(&f.s, 1, "agent exited 3", f.now_ns);
    said(&f, "node b: its agent exited 3");
    wind_up(&f);
    ck_assert_str_eq(f.s.reason, "node_lost");
    ck_assert_int_eq(f.s.exit_code, 3);
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, done_is_done, 0, 8);
    tcase_add_test(tc, done_is_heard_of_late);
    tcase_add_loop_test(tc, told_to_end, 0, 2);
    tcase_add_test(tc, no_second_run_over_a_network);
    tcase_add_test(tc, a_blamed_launch_is_forgotten);
    tcase_add_loop_test(tc, mpirun_heard_second, 0, 7);
    tcase_add_loop_test(tc, killed_over_a_cached_network, 0, 2);
    tcase_add_loop_test(tc, fault_matrix, 0, WHENS * (int)(sizeof matrix / sizeof *matrix));
    tcase_add_test(tc, goes_on_with_who_is_left);
    tcase_add_test(tc, an_older_generation_is_not_heard);
    tcase_add_test(tc, first_failure_decides);
    tcase_add_test(tc, a_lost_node_is_to_blame);
    tcase_add_test(tc, used_up);
    tcase_add_test(tc, nobody_is_left);
    tcase_add_test(tc, all_is_gone);
    tcase_add_test(tc, nodes_left_are_too_few);
    tcase_add_loop_test(tc, any_order, 0, 400);
}

SUITE_MAIN("driver_recovery", add_tests)
