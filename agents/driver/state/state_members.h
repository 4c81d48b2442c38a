/* SPDX-License-Identifier: Apache-2.0 */
/* state_members.h - the state machine's records of nodes and of ranks */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_MEMBERS_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_MEMBERS_H

#include "lib/base/boot_id.h"

#include <stdbool.h>
#include <stdint.h>

/* Progress of a newly started agent in measuring its devices. */
enum state_measuring {
    STATE_MEASURES_NOTHING,
    /* the profile was requested; the answer shows whether the devices were measured before */
    STATE_MEASURES_LOOKS,
    /* the devices were not measured, and another agent of the machine reports or measures: the
     * agent waits for its turn
     */
    STATE_MEASURES_WAITS,
    STATE_MEASURES, /* the agent was ordered to measure */
};

struct state_agent {
    bool remote; /* the agent's process is on another machine; set by the caller */
    /* the agent's present process has registered, and has reported its profile */
    bool registered, profiled;
    bool has_gpus; /* the node has locked its GPUs in PROFILE */
    /* id that is equal for nodes on one machine; "": unknown; set by the caller before the agent
     * registers
     */
    char machine[BOOT_ID_CHARS];
    enum state_measuring measuring;
    bool starting; /* the agent's process is being started again */
    bool lost;     /* the agent was silent for too long: no message of it is expected */
    bool ended;    /* no process of the agent remains */
    /* present generation: the node has ranks; has prepared; checked; stopped */
    bool part, prepared, checked, stopped;
    int failed_starts; /* number of consecutive starts that ended before the agent got ranks */
    bool idle_end;     /* the agent's last process ended without having had ranks */
    int64_t revive_ns; /* earliest time of the agent's next start */
    int64_t heard_ns;
    bool waits; /* the agent waits by order during the driver's latest pause */
    char host[256];
};

/* Phases of a rank, numbered as enum eddis_phase of lib/eddis.h. */
enum state_rank_phase {
    STATE_RANK_START,
    STATE_RANK_INPUT,
    STATE_RANK_COMPUTE,
    STATE_RANK_WAIT,
    STATE_RANK_EVALUATE,
    STATE_RANK_CHECKPOINT,
    STATE_RANK_DONE,
};

/* Locations of a rank, numbered as the codes of EVENT_PLACE. */
enum state_place { STATE_PLACE_UNKNOWN, STATE_PLACE_COLLECTIVE, STATE_PLACE_ELSEWHERE };

struct state_rank {
    int agent, pid, code, signal; /* as in struct event */
    bool started, exited, by_us, oom, lingers;
    int64_t steps;      /* number of steps done; -1: unknown */
    bool stepped;       /* the rank has finished a step of this generation */
    int64_t peak_bytes; /* valid after the rank has exited; as in struct event */
    int64_t at_once; /* most samples that the rank held in its present step; 0: no step has begun */
    int phase;       /* enum state_rank_phase; -1: the rank has no progress page */
    bool opens;      /* the rank is inside eddis_open */
    bool will_step;  /* the rank's model or its number of steps is known */
    bool trained;    /* the rank found no step left to do */
    bool ended;      /* the rank has ended its steps by itself, and waits for the other ranks */
    int64_t ended_ns; /* time at which `ended` was first reported; 0: never */
    int64_t page_ns;  /* time at which the last progress page arrived; 0: none has */
    bool steps_only;  /* the rank reports only the numbers of its steps */
    bool combines;    /* the program combines its gradients itself, by its own collectives */
    int waits_for;    /* rank for which this rank waits; -1: none known */
    int64_t still_ns; /* time without a new step or phase, at the last report */
    bool quiet;       /* the rank has no progress page, and neither prints nor computes ... */
    int64_t quiet_ns; /* ... since this time */
    bool answered;    /* the agent has answered ORDER_LOOK for the rank ... */
    char where[256]; /* ... with this description of its location, "it waits in ..."; "": unknown */
    int place;       /* ... and with this kind of location, enum state_place */
    /* time at which the rank's steps or phase last changed, by this machine's clock */
    int64_t moved_ns;
};

#endif
