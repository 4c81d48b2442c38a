/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_event.h - what an agent reports to the driver as it happens */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_EVENT_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_EVENT_H

#include "lib/model/program_facts.h"
#include "protocol_order.h"

#include <stdbool.h>
#include <stdint.h>

/* Types of events; names in quotes are members of struct event. */
enum event_type {
    EVENT_PROFILE,
    EVENT_UNMEASURED, /* no profile yet: the driver must first allow this agent to measure */
    EVENT_PREPARED,
    EVENT_CHECKED,
    EVENT_RANK_STARTED,
    EVENT_RANK_EXIT,
    EVENT_MPIRUN_EXIT,
    EVENT_RELAY,     /* mpirun wants a daemon on relay.host */
    EVENT_NETWORK,   /* text: result of the network probe or check (lib/model/network.h), in parts
                      * (parts.h); "more_bytes" are still to come */
    EVENT_CHOICE,    /* text: the communication settings that rank 0 chose, lib/model/choice.h */
    EVENT_COMMITTED, /* rank 0 waits for the job's mode; "model_bytes" */
    EVENT_STOPPED,   /* "step": that of the newest checkpoint; -1: none; or PROTOCOL_STEP_UNKNOWN */
    EVENT_LOGS,      /* the requested part of the rank's log has been sent; "log_end" */
    EVENT_FAILED,    /* an order could not be carried out; text: the reason */
    EVENT_UNSETTLED, /* as EVENT_FAILED, for ORDER_SETTLE, for which the ranks wait */
    EVENT_NOTE,      /* message to the user */
    EVENT_QUIET,     /* a rank without known steps is idle for "quiet_ns"; 0: active again */
    EVENT_PLACE,     /* a rank's location in its code, see agents/node/watch/stack_inspect.h */
    EVENT_SIGNAL,    /* Slurm has sent the agents' step this signal: SIGTERM or SIGUSR1 */
    EVENT_REFUSED, /* mpirun or its daemon rejected `refused` connections from the address `text` */
    EVENT_LEFT,    /* no process or file of the job is on the node; the agent exits */
};

/* Something that happened on a node; booleans and sizes are those of a rank that has ended. */
struct event {
    enum event_type type;
    int64_t age_ns; /* its age when it was sent */
    int64_t generation;
    int rank; /* -1: none */
    int pid;
    int code;     /* exit code; -1: ended by a signal */
    int signal;   /* 0: none */
    bool by_us;   /* it ended after the agent had begun to stop it */
    bool oom;     /* killed by the kernel for lack of memory, or exited EXIT_MEMORY */
    bool lingers; /* left the job without MPI_Finalize; mpirun notices only when it is stopped */
    bool echo;    /* its output shows that it failed only because another rank did */
    bool alone;   /* it trained without a connection to any other rank, as far as can be seen */
    bool first;   /* killed before another rank of the node failed, but reported after it */
    union { /* one number, whose meaning follows from the type; "step" on the wire; -1: none */
        int64_t step;
        int64_t model_bytes; /* EVENT_COMMITTED: bytes of the model's parameters */
        int64_t quiet_ns;    /* EVENT_QUIET: time for which the rank has been idle */
        int64_t more_bytes;  /* EVENT_NETWORK: bytes of the text in later events */
        int64_t log_end;     /* EVENT_LOGS: offset in the log file behind the last chunk */
    };
    struct program program; /* with EVENT_COMMITTED */
    int64_t peak_bytes;     /* largest memory of one of the rank's processes; 0: unknown */
    int64_t limit_bytes;    /* with oom: memory of its control group or machine; 0: unknown */
    int64_t refused;        /* connections rejected since the previous such event of that address */
    struct relay relay;
    char *text;       /* meaning depends on the type; "" if unused */
    char *last_lines; /* last output of a failed rank, at most PROTOCOL_LAST_LINES lines; or "" */
};

#endif
