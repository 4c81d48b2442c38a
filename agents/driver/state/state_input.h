/* SPDX-License-Identifier: Apache-2.0 */
/* state_input.h - inputs of the state machine and their handlers; see state_table.c
 *
 * A handler is called only in the phases that its row of the table names.
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_INPUT_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_INPUT_H

#include "state_impl.h"

enum input_type {
    INPUT_REGISTERED,
    INPUT_PROFILED,
    INPUT_UNMEASURED,     /* an agent has no stored profile, and waits for its turn to measure */
    INPUT_GPUS,           /* an agent has locked its node's GPUs */
    INPUT_PROFILE_FAILED, /* ORDER_PROFILE failed on an agent that is not measured */
    INPUT_PREPARED,
    INPUT_CHECKED,
    INPUT_RANK_STARTED,
    INPUT_RANK_EXIT,
    INPUT_MPIRUN_EXIT,
    INPUT_DAEMON_EXIT, /* mpirun's daemon ended on a node other than that of mpirun */
    INPUT_PROBE_RESULT,
    INPUT_STOPPED,
    INPUT_ORDER_FAILED,
    INPUT_NOTE,
    INPUT_PROGRESS,
    INPUT_AGENT_ENDED,
    INPUT_NOT_STARTED,
    INPUT_NETWORK_TRY,
    INPUT_NETWORK_FAILED,
    INPUT_NETWORK_KNOWN,
    INPUT_PLANNED,
    INPUT_FINISH,
    INPUT_UNPLANNABLE,
    INPUT_FAIL,
    INPUT_INTERRUPT,
    INPUT_QUIT,
    INPUT_PREEMPT,
    INPUT_USR2,
    INPUT_CHECKPOINT_SEEN,
    INPUT_BYE_FROM,
    /* inputs from the clock */
    INPUT_SILENT, /* an agent was silent for too long */
    INPUT_LOOK_FOR_HANG,
    INPUT_LATE, /* the phase has reached its deadline */
    INPUT_PROBE_LATE,
    INPUT_REGROUPED,
    INPUT_SETTLED,
    INPUT_CHECKPOINT_LATE,
    INPUT_JOB_LATE,
    INPUT_REVIVE, /* an agent may be started again */
    INPUTS,
};

struct state_input {
    enum input_type type;
    /* agent of the input; INPUT_PREEMPT: agent that received the signal, -1: the driver itself */
    int agent;
    int64_t now_ns;
    /* event of an agent, borrowed; NULL: the input is no event of an agent */
    const struct event *event;
    const struct progress *progress; /* INPUT_PROGRESS */
    const char *text;                /* sentence for the user, or the name of a host; borrowed */
    /* INPUT_FAIL: reason of the job's end; INPUT_INTERRUPT: words for how the user can repeat it */
    const char *reason, *again;
    int exit_code, signal;
    int64_t step, from_ns;
    bool cached;
    /* INPUT_PLANNED, INPUT_NETWORK_TRY: ranks, which the handler takes over */
    struct state_rank *rank;
    int n_ranks;
};

enum cell_kind { CELL_IMPOSSIBLE, CELL_IGNORE, CELL_HANDLER };

/* Pass an input to the handler that the table has for it in the present phase; without a handler,
 * count the input as impossible or ignore it, as the table says.
 */
void state_take(struct state *s, const struct state_input *in);

/* Return what the table says for this input in this phase: count it as impossible, ignore it, or
 * call a handler.
 */
enum cell_kind state_cell(enum input_type type, enum state_phase phase);
/* Check whether the table has a handler for this input in this phase, if it says to call one. */
bool state_cell_is_whole(enum input_type type, enum state_phase phase);

/* Handle one input: change the state and queue actions. in is borrowed for the call. */
typedef void state_handler_fn(struct state *s, const struct state_input *in);

/* state_agent.c */
state_handler_fn state_agent_registered;    /* in REGISTER */
state_handler_fn state_agent_is_back;       /* in later phases: request the agent's profile */
state_handler_fn state_agent_is_late;       /* in BYE and OVER: it registers too late */
state_handler_fn state_agent_measured;      /* in PROFILE */
state_handler_fn state_agent_measured_late; /* in later phases, for the next generation */
state_handler_fn state_agent_regrouped;     /* in REGROUP */
state_handler_fn state_agent_wants_turn;
state_handler_fn state_agent_has_gpus;
state_handler_fn state_agent_measure_failed;
state_handler_fn state_agent_note;
state_handler_fn state_agent_silent;
state_handler_fn state_agent_ended;
state_handler_fn state_agent_not_started;
state_handler_fn state_agent_left; /* in BYE and OVER */
state_handler_fn state_agent_revive;

/* state_launch.c */
/* Take over in->rank [in->n_ranks] as the ranks of the next generation, and mark their nodes as
 * parts of this generation. Reset the record of the previous generation, and enter the phase
 * `next`.
 */
void state_place(struct state *s, const struct state_input *in, enum state_phase next);
state_handler_fn state_launch_planned;
state_handler_fn state_launch_prepared;
state_handler_fn state_launch_prepared_late; /* while stopping: recorded for state_is_echo */
state_handler_fn state_launch_checked;
state_handler_fn state_launch_order_failed;
state_handler_fn state_launch_stop_failed;
state_handler_fn state_launch_agent_late;
state_handler_fn state_launch_rank_late;

/* state_probe.c */
state_handler_fn state_probe_known;
state_handler_fn state_probe_try;
state_handler_fn state_probe_fails;
state_handler_fn state_probe_prepared;
state_handler_fn state_probe_result;
state_handler_fn state_probe_late;

/* state_rank.c */
state_handler_fn state_rank_started;
state_handler_fn state_rank_started_late;
state_handler_fn state_rank_exit;
state_handler_fn state_rank_exit_late;
state_handler_fn state_rank_mpirun_exit;
state_handler_fn state_rank_mpirun_exit_late;
state_handler_fn state_rank_daemon_exit;
state_handler_fn state_rank_settled;

/* state_hang.c */
state_handler_fn state_hang_progress;
state_handler_fn state_hang_look;

/* state_request.c */
state_handler_fn state_request_interrupt;         /* no rank runs */
state_handler_fn state_request_interrupt_running; /* RUN */
state_handler_fn state_request_quit;
state_handler_fn state_request_preempt;         /* no rank runs */
state_handler_fn state_request_preempt_running; /* RUN */
state_handler_fn state_request_usr2;
state_handler_fn state_request_checkpoint_seen;
state_handler_fn state_request_checkpoint_late;
state_handler_fn state_request_job_late;         /* no rank runs */
state_handler_fn state_request_job_late_running; /* RUN */
state_handler_fn state_request_finish;
state_handler_fn state_request_fail;
state_handler_fn state_request_unplannable;

/* state_stop.c */
state_handler_fn state_stop_confirmed;
state_handler_fn state_stop_confirmed_late;
state_handler_fn state_stop_late;
state_handler_fn state_stop_regroup;
state_handler_fn state_stop_bye_from;
state_handler_fn state_stop_bye_late;

#endif
