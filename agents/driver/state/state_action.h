/* SPDX-License-Identifier: Apache-2.0 */
/* state_action.h - what the state machine wants done, for the caller to take and do */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_ACTION_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_ACTION_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>

enum action_type {
    ACTION_PROFILE,    /* order .agent (-1: all) to tell its profile if it need not measure */
    ACTION_MEASURE,    /* it is .agent's turn to measure */
    ACTION_NETWORK,    /* answer with state_network_try, state_network_known or state_fail */
    ACTION_FORGET,     /* the cached network did not work: drop it */
    ACTION_PLAN,       /* make a plan of the usable nodes and call state_planned, state_finish,
                        * state_unplannable or state_fail */
    ACTION_PREPARE,    /* order the parts to prepare */
    ACTION_CHECK,      /* order the parts to check */
    ACTION_START,      /* order the first part to start mpirun */
    ACTION_CHECKPOINT, /* publish a plan that says: write a checkpoint and stop */
    ACTION_SIGNAL,     /* hand SIGUSR2 on to the ranks */
    ACTION_LOOK,       /* ask the parts where their ranks stand: a hang was found */
    ACTION_STOP,       /* order the parts to stop by .ladder */
    ACTION_REVIVE,     /* start .agent again, shutting out what there may be of it */
    ACTION_RECOVERED,  /* the generation has done its first step: .text */
    ACTION_BYE,        /* order every agent to leave */
    ACTION_KILL,       /* some agents did not end by themselves: end their process trees */
    ACTION_SAY,        /* tell people .text */
    ACTION_LAST_LINES, /* show the last output of .rank, which came with this event */
};

struct action {
    enum action_type type;
    enum stop_ladder ladder;
    int agent, rank;
    char text[600];
};

struct action_queue {
    struct action *at; /* [room], of which n are waiting, oldest first */
    int n, room;
    int lost; /* that found no memory */
};

struct state;

/* Take the oldest action; false when there is none. */
bool state_action(struct state *s, struct action *ret);

/* Whether an action was lost, for there was no memory for it; false from then on. */
bool state_lost_action(struct state *s);

#endif
