/* SPDX-License-Identifier: Apache-2.0 */
/* state_phase.h - phases and outcomes of a job, and questions about both */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_PHASE_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_PHASE_H

#include "agents/job/status_json.h"

#include <stdbool.h>

enum state_phase {
    STATE_PHASE_REGISTER,      /* agents were started and have to connect to the driver */
    STATE_PHASE_PROFILE,       /* agents report or measure their profiles */
    STATE_PHASE_NETWORK,       /* the caller was asked for the next network to try */
    STATE_PHASE_PROBE_PREPARE, /* nodes prepare the network's probe, ... */
    STATE_PHASE_PROBE_START,   /* the probe's mpirun was ordered, not all ranks are up, ... */
    STATE_PHASE_PROBE_RUN,     /* all ranks of the probe are up, ... */
    STATE_PHASE_PROBE_STOP,    /* and processes that remain of the probe are being stopped */
    STATE_PHASE_PLAN,          /* the caller was asked for a plan */
    STATE_PHASE_PREPARE,       /* nodes make their boards */
    STATE_PHASE_CHECK,   /* nodes check the shared checkpoint folder, and in a check the program */
    STATE_PHASE_START,   /* mpirun was ordered, not all ranks are up */
    STATE_PHASE_RUN,     /* all ranks are up */
    STATE_PHASE_STOP,    /* the processes that remain are being stopped */
    STATE_PHASE_REGROUP, /* agents that can return immediately may do so before the next plan */
    STATE_PHASE_BYE,     /* agents were ordered to leave */
    STATE_PHASE_OVER,
    STATE_PHASES,
};

/* Outcomes of the job. */
enum state_outcome {
    STATE_OUTCOME_OPEN,   /* the job continues */
    STATE_OUTCOME_SAVING, /* the job continues to a checkpoint, and then ends */
    STATE_OUTCOME_FAILED, /* the job ends by .failure, unless an earlier failure is reported */
    /* as STATE_OUTCOME_FAILED, but the user has asked for the end, so that an earlier failure does
     * not restart the job
     */
    STATE_OUTCOME_UNWANTED,
    STATE_OUTCOME_OK, /* this outcome and all below are final */
    STATE_OUTCOME_PREEMPTED,
    STATE_OUTCOME_INTERRUPTED,
    STATE_OUTCOME_QUIT,
    STATE_OUTCOME_TIMEOUT,
    STATE_OUTCOME_FAULT, /* the caller cannot continue */
    STATE_OUTCOMES,
};

enum state_network { STATE_NETWORK_UNKNOWN, STATE_NETWORK_WORKS, STATE_NETWORK_CACHED };
enum state_checkpoint { STATE_CHECKPOINT_UNASKED, STATE_CHECKPOINT_ASKED, STATE_CHECKPOINT_SEEN };

struct state;

/* Check whether the job's end is decided. */
bool state_is_ending(const struct state *s);

/* Return the state of the job for status documents. */
enum job_state state_shown(const struct state *s);

/* Check whether mpirun was ordered, for the probe or the job, and nothing has been stopped since.
 */
bool state_is_up(const struct state *s);

/* Check whether all ranks, of the probe or of the job, are up and not being stopped. */
bool state_all_up(const struct state *s);

/* Return the agent whose node is the next to lock its GPUs, in PROFILE of a job that waits for
 * them; -1: none.  The order is that of machines and hosts, the same for all jobs: a job that waits
 * for a node's GPUs has those of nodes before it only, so no two jobs wait for each other.
 */
int state_next_for_gpus(const struct state *s);

/* Check whether workers may report progress: mpirun was ordered for the job, and workers may still
 * exist.
 */
bool state_has_workers(const struct state *s);

#endif
