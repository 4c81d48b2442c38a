/* SPDX-License-Identifier: Apache-2.0 */
/* state_input.h - what can happen to the state machine, and the handlers of that; see state_table.c
 *
 * A handler is called in phases that its row of the table names, and in no other.
 */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_INPUT_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_INPUT_H

#include "state_impl.h"

enum input_type {
    INPUT_REGISTERED,
    INPUT_PROFILED,
    INPUT_UNMEASURED,     /* an agent has no profile and wants a turn to measure */
    INPUT_PROFILE_FAILED, /* of an agent that has not been measured */
    INPUT_PREPARED,
    INPUT_CHECKED,
    INPUT_RANK_STARTED,
    INPUT_RANK_EXIT,
    INPUT_MPIRUN_EXIT,
    INPUT_DAEMON_EXIT, /* of another node than that of mpirun */
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
    /* of time */
    INPUT_SILENT, /* an agent, for too long */
    INPUT_LOOK_FOR_HANG,
    INPUT_LATE, /* the phase */
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
    int agent; /* INPUT_PREEMPT: that has got the signal; -1: the driver itself */
    int64_t now_ns;
    const struct event *event;       /* of an agent */
    const struct progress *progress; /* INPUT_PROGRESS */
    const char *text;                /* what people are told, or the name of a host */
    const char *reason, *again;      /* INPUT_FAIL; INPUT_INTERRUPT: how to ask again */
    int exit_code, signal;
    int64_t step, from_ns;
    bool cached;
    struct state_rank *rank; /* INPUT_PLANNED, INPUT_NETWORK_TRY: the new ones, theirs to keep */
    int n_ranks;
};

enum cell_kind { CELL_IMPOSSIBLE, CELL_IGNORE, CELL_HANDLER };

/* Let the handler of this input in the present phase see to it. */
void state_take(struct state *s, const struct state_input *in);

/* state_table.c, for its test: is_whole says that a cell with a handler has one */
enum cell_kind state_cell(enum input_type type, enum state_phase phase);
bool state_cell_is_whole(enum input_type type, enum state_phase phase);
const char *state_input_name(enum input_type type);

typedef void state_handler_fn(struct state *s, const struct state_input *in);

/* state_agent.c */
state_handler_fn state_agent_registered;    /* REGISTER */
state_handler_fn state_agent_is_back;       /* later */
state_handler_fn state_agent_is_late;       /* when all are to leave */
state_handler_fn state_agent_measured;      /* PROFILE */
state_handler_fn state_agent_measured_late; /* for a generation to come */
state_handler_fn state_agent_regrouped;     /* REGROUP */
state_handler_fn state_agent_wants_turn;
state_handler_fn state_agent_measure_failed;
state_handler_fn state_agent_note;
state_handler_fn state_agent_silent;
state_handler_fn state_agent_ended;
state_handler_fn state_agent_not_started;
state_handler_fn state_agent_left; /* one that has to */
state_handler_fn state_agent_revive;

/* state_launch.c */
/* Take over in->rank [in->n_ranks] as the ranks of the generation to come, make their nodes its
 * parts, forget the one before, and enter the phase next.
 */
void state_place(struct state *s, const struct state_input *in, enum state_phase next);
state_handler_fn state_launch_planned;
state_handler_fn state_launch_prepared;
state_handler_fn state_launch_prepared_late; /* for state_is_echo */
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

/* state_wish.c */
state_handler_fn state_wish_interrupt;         /* no rank runs */
state_handler_fn state_wish_interrupt_running; /* RUN */
state_handler_fn state_wish_quit;
state_handler_fn state_wish_preempt;         /* no rank runs */
state_handler_fn state_wish_preempt_running; /* RUN */
state_handler_fn state_wish_usr2;
state_handler_fn state_wish_checkpoint_seen;
state_handler_fn state_wish_checkpoint_late;
state_handler_fn state_wish_job_late;         /* no rank runs */
state_handler_fn state_wish_job_late_running; /* RUN */
state_handler_fn state_wish_finish;
state_handler_fn state_wish_fail;
state_handler_fn state_wish_unplannable;

/* state_stop.c */
state_handler_fn state_stop_confirmed;
state_handler_fn state_stop_confirmed_late;
state_handler_fn state_stop_late;
state_handler_fn state_stop_regroup;
state_handler_fn state_stop_bye_from;
state_handler_fn state_stop_bye_late;

#endif
