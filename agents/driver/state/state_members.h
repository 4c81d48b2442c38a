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
    STATE_MEASURES_LOOKS, /* its profile was requested; the answer shows whether the devices were
                             measured before */
    STATE_MEASURES_WAITS, /* they were not, and another agent of its machine reports or measures: it
                             waits for its time slot */
    STATE_MEASURES,       /* it was ordered to measure */
};

struct state_agent {
    bool remote;                 /* its process is on another machine; set by the caller */
    bool registered, profiled;   /* by the agent's present process */
    char machine[BOOT_ID_CHARS]; /* equal for nodes on one machine; "": not known to share one; set
                                    by the caller before it registers */
    enum state_measuring measuring;
    bool starting; /* its process is being started again */
    bool lost;     /* it was silent for too long: nothing is expected of it */
    bool ended;    /* nothing of it is left */
    bool part, prepared, checked, stopped; /* about the present generation */
    int failed_starts;                     /* consecutive starts that ended before it got ranks */
    bool idle_end;                         /* its last process ended without ever having ranks */
    int64_t revive_ns;                     /* earliest time of its next start */
    int64_t heard_ns;
    bool waits; /* it waits by order through the driver's latest pause */
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
    int64_t steps;      /* steps done; -1: unknown */
    bool stepped;       /* it has finished a step of this generation */
    int64_t peak_bytes; /* valid once it has exited; as in struct event */
    int64_t at_once;    /* most samples held in its present step; 0: none has begun */
    int phase;          /* enum state_rank_phase; -1: it has no progress page */
    bool opens;         /* it is inside eddis_open */
    bool will_step;     /* its model or its number of steps is known */
    bool trained;       /* it found no step left to do */
    bool ended;         /* it has ended its steps by itself, and waits for the others */
    int64_t ended_ns;   /* when its progress page first reported that; 0: it has not */
    int64_t page_ns;    /* when its last progress page came; 0: none has */
    bool told;          /* it reports the numbers of its steps and nothing else */
    int waits_for;      /* the rank that it waits for; -1: none known */
    int64_t still_ns;   /* time without a new step or phase, at the last report */
    bool quiet;         /* it has no progress page, and neither prints nor computes ... */
    int64_t quiet_ns;   /* ... since this time */
    bool looked;        /* its agent has answered where it stands ... */
    char where[256];    /* ... with this text, "it waits in ..."; "": unknown */
    int place;          /* ... and this location, enum state_place */
    int64_t moved_ns;   /* when its steps or phase last changed, by this machine's clock */
};

#endif
