/* SPDX-License-Identifier: Apache-2.0 */
/* state_action.h - actions that the state machine asks its caller to perform */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_ACTION_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_ACTION_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>

enum action_type {
    /* order .agent (-1: all, or in a job that waits for GPUs, state_next_for_gpus) to report its
     * profile if the profile is stored
     */
    ACTION_PROFILE,
    ACTION_MEASURE, /* order .agent to measure: it is the agent's turn on its machine */
    ACTION_NETWORK, /* answer with state_network_try, state_network_known or state_fail */
    ACTION_FORGET,  /* drop the network from the cache: it did not work */
    /* make a plan for the usable nodes, and call state_planned, state_finish, state_unplannable or
     * state_fail
     */
    ACTION_PLAN,
    ACTION_PREPARE,    /* order the parts to prepare */
    ACTION_CHECK,      /* order the parts to check */
    ACTION_START,      /* order the first part to start mpirun */
    ACTION_CHECKPOINT, /* publish a plan that makes the ranks write a checkpoint and stop */
    ACTION_SIGNAL,     /* pass SIGUSR2 on to the ranks */
    ACTION_LOOK,       /* ask the parts where their ranks stand: a hang was found */
    ACTION_STOP,       /* order the parts to stop by .ladder */
    ACTION_REVIVE,     /* start .agent again, and reject requests of the previous process */
    ACTION_RECOVERED,  /* report .text, which says that the generation has done its first step */
    ACTION_BYE,        /* order every agent to leave */
    ACTION_KILL,       /* kill the process trees of agents that did not end by themselves */
    ACTION_SAY,        /* print .text for the user */
    ACTION_LAST_LINES, /* show the last output of .rank (-1: mpirun), which came with the event just
                          handled */
};

struct action {
    enum action_type type;
    enum stop_ladder ladder;
    int agent, rank;
    char text[600];
};

struct action_queue {
    /* [room + 1] actions; the first n are queued, oldest first; the last takes those that are lost
     */
    struct action *at;
    int n, room;
    int lost; /* number of actions lost for lack of memory since the last state_lost_action */
};

struct state;

/* Move the oldest queued action to *ret.  Return false if the queue is empty. */
bool state_action(struct state *s, struct action *ret);

/* Check whether an action was lost for lack of memory since the last call of this function, and
 * reset the count of lost actions.
 */
bool state_lost_action(struct state *s);

#endif
