/* SPDX-License-Identifier: Apache-2.0 */
/* state_members.h - what the state machine knows of a node and of a rank */
#ifndef EDDIS_AGENTS_DRIVER_STATE_STATE_MEMBERS_H
#define EDDIS_AGENTS_DRIVER_STATE_STATE_MEMBERS_H

#include "lib/base/boot_id.h"

#include <stdbool.h>
#include <stdint.h>

/* How far a start of an agent is with its devices. */
enum state_measuring {
    STATE_MEASURES_NOTHING,
    STATE_MEASURES_LOOKS, /* whether they were measured before: it was asked for their profile */
    STATE_MEASURES_WAITS, /* they were not, and another agent of its machine looks or measures */
    STATE_MEASURES,       /* it is its turn */
};

struct state_agent {
    bool remote;                 /* its process is not on this machine; the caller's to set */
    bool registered, profiled;   /* this start of it */
    char machine[BOOT_ID_CHARS]; /* the same on all nodes that share one; "": it has one for itself,
                                  * as far as is known; the caller's to set before it registers */
    enum state_measuring measuring;
    bool starting; /* again */
    bool lost;     /* not heard of for too long: nothing is expected of it */
    bool ended;    /* nothing of it is left */
    bool part, prepared, checked, stopped; /* of the generation */
    int failed_starts;                     /* running, that did not come to having ranks */
    bool idle_end;                         /* its last agent ended without ever having ranks */
    int64_t revive_ns;                     /* not before then */
    int64_t heard_ns;
    bool waits; /* through the driver's latest pause, by order */
    char host[256];
};

/* What a rank is doing, as enum eddis_phase of lib/eddis.h numbers it. */
enum state_rank_phase {
    STATE_RANK_START,
    STATE_RANK_INPUT,
    STATE_RANK_COMPUTE,
    STATE_RANK_WAIT,
    STATE_RANK_EVALUATE,
    STATE_RANK_CHECKPOINT,
    STATE_RANK_DONE,
};

/* Where a rank stands, as codes of EVENT_PLACE. */
enum state_place { STATE_PLACE_UNKNOWN, STATE_PLACE_COLLECTIVE, STATE_PLACE_ELSEWHERE };

struct state_rank {
    int agent, pid, code, signal; /* as in struct event */
    bool started, exited, by_us, oom, lingers;
    int64_t steps;      /* done; -1 unknown */
    bool stepped;       /* it has finished a step of this generation */
    int64_t peak_bytes; /* once it has exited; as in struct event */
    int64_t at_once;    /* samples that it holds at most in its present step; 0: none has begun */
    int phase;          /* enum state_rank_phase; -1: it has no page */
    bool opens;         /* it has come to eddis_open and not out of it */
    bool will_step;     /* its model or its number of steps is known */
    bool trained;       /* it found no step left */
    bool ended;         /* it has ended its steps by itself, and waits for the others */
    int64_t ended_ns;   /* when its page said so first; 0: it has not */
    int64_t page_ns;    /* when its last page came; 0: none has */
    bool told;          /* of its steps their numbers are known, and nothing else */
    int waits_for;      /* the rank without which it cannot go on; -1: none that is known */
    int64_t still_ns;   /* without a step or another phase, when it was last reported */
    bool quiet;         /* without a page: it neither prints nor computes ... */
    int64_t quiet_ns;   /* ... since then */
    bool looked;        /* its agent was asked where it stands, and has answered ... */
    char where[256];    /* ... "it waits in ..."; "": unknown */
    int place;          /* ... and whether in a collective operation; see enum state_place */
    int64_t moved_ns;   /* when its steps or phase last changed, as seen from here */
};

#endif
