/* SPDX-License-Identifier: Apache-2.0 */
/* state_phase.h - the phases of a job, what becomes of it, and what others may know of both */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_PHASE_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_PHASE_H

#include "agents/job/status_json.h"

#include <stdbool.h>

enum state_phase {
    STATE_PHASE_REGISTER,      /* agents were started and have to dial back */
    STATE_PHASE_PROFILE,       /* measuring */
    STATE_PHASE_NETWORK,       /* the caller has been asked for the next network to try */
    STATE_PHASE_PROBE_PREPARE, /* nodes make ready for its probe, ... */
    STATE_PHASE_PROBE_START,   /* its mpirun was ordered, not all ranks are up, ... */
    STATE_PHASE_PROBE_RUN,     /* all are up, ... */
    STATE_PHASE_PROBE_STOP,    /* and whatever is left of it has to go */
    STATE_PHASE_PLAN,          /* the caller has been asked for a plan */
    STATE_PHASE_PREPARE,       /* nodes make their boards */
    STATE_PHASE_CHECK,         /* nodes look for what they must share */
    STATE_PHASE_START,         /* mpirun was ordered, not all ranks are up */
    STATE_PHASE_RUN,           /* all are up */
    STATE_PHASE_STOP,          /* whatever is left has to go */
    STATE_PHASE_REGROUP,       /* nodes that can come back at once may do so before the next plan */
    STATE_PHASE_BYE,           /* agents have to end */
    STATE_PHASE_OVER,
    STATE_PHASES,
};

/* What becomes of the job. */
enum state_outcome {
    STATE_OUTCOME_OPEN,     /* it goes on */
    STATE_OUTCOME_SAVING,   /* it goes on to a checkpoint and ends then */
    STATE_OUTCOME_FAILED,   /* it ends by .failure, unless one is heard of that came before it */
    STATE_OUTCOME_UNWANTED, /* the same; as somebody has asked for the end, too, no earlier one
                             * makes it start again */
    STATE_OUTCOME_OK,       /* this and all below are final */
    STATE_OUTCOME_PREEMPTED,
    STATE_OUTCOME_INTERRUPTED,
    STATE_OUTCOME_QUIT,
    STATE_OUTCOME_TIMEOUT,
    STATE_OUTCOME_FAULT, /* the caller cannot go on */
    STATE_OUTCOMES,
};

enum state_network { STATE_NETWORK_UNKNOWN, STATE_NETWORK_WORKS, STATE_NETWORK_CACHED };
enum state_checkpoint { STATE_CHECKPOINT_UNASKED, STATE_CHECKPOINT_ASKED, STATE_CHECKPOINT_SEEN };

struct state;

/* Whether the job's end is decided. */
bool state_is_ending(const struct state *s);

/* The state of the job as status documents name it. */
enum job_state state_shown(const struct state *s);

/* Whether mpirun was ordered and nothing has been stopped since, of the probe or of the job. */
bool state_is_up(const struct state *s);

/* Whether all ranks are up besides, of the probe or of the job. */
bool state_all_up(const struct state *s);

/* Whether workers may tell of their progress: they were ordered and may still be there. */
bool state_has_workers(const struct state *s);

#endif
