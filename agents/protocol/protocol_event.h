/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_event.h - events, which an agent reports to the driver as they happen */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_EVENT_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_EVENT_H

#include "lib/model/program_facts.h"
#include "protocol_order.h"

#include <stdbool.h>
#include <stdint.h>

/* Types of events; names in quotes are members of struct event that have a value */
enum event_type {
    EVENT_PROFILE,
    /* the node has no profile yet: the driver must first allow this agent to measure */
    EVENT_UNMEASURED,
    EVENT_GPUS, /* the node has locked its GPUs, for which the order to profile made it wait */
    EVENT_PREPARED,
    EVENT_CHECKED, /* text: versions of the program's Python (program_versions.h), or "" */
    EVENT_RANK_STARTED,
    EVENT_RANK_EXIT,
    EVENT_MPIRUN_EXIT,
    EVENT_RELAY, /* mpirun wants a daemon on relay.host */
    /* text: result of the network probe or check (lib/model/network.h), in parts (parts.h);
     * "more_bytes"
     */
    EVENT_NETWORK,
    EVENT_CHOICE,    /* text: the communication settings that rank 0 chose, lib/model/choice.h */
    EVENT_COMMITTED, /* rank 0 waits for the job's mode; "model_bytes" */
    EVENT_STOPPED,   /* "step": step of the newest checkpoint; -1: none; or PROTOCOL_STEP_UNKNOWN */
    /* the requested part of the rank's log has been sent; "log_end", "order" */
    EVENT_LOGS,
    EVENT_FAILED, /* an order could not be carried out; text: the reason */
    /* ORDER_SETTLE could not be carried out, for which the ranks wait; text: the reason */
    EVENT_UNSETTLED,
    EVENT_NOTE, /* text: message to the user */
    /* a rank without known steps has been idle for "quiet_ns"; 0: it is active again */
    EVENT_QUIET,
    /* text: a rank's location in its code, see agents/node/watch/stack_inspect.h */
    EVENT_PLACE,
    EVENT_SIGNAL, /* Slurm has sent the agents' step `signal`: SIGTERM or SIGUSR1 */
    /* mpirun or its daemon rejected "refused" connections from the address in text */
    EVENT_REFUSED,
    EVENT_LEFT, /* no process or file of the job is on the node; the agent exits */
};

/* Something that happened on a node; booleans and sizes describe a rank that has ended */
struct event {
    enum event_type type;
    int64_t age_ns; /* age of the event when it was sent */
    int64_t generation;
    int rank; /* -1: none */
    int pid;
    int code;   /* exit code; -1: ended by a signal */
    int signal; /* 0: none */
    bool by_us; /* the rank ended after the agent had begun to stop it */
    bool oom;   /* the kernel killed the rank for lack of memory, or it exited with EXIT_MEMORY */
    /* the rank left the job without MPI_Finalize; its wrapper hides this from mpirun until all
     * ranks end
     */
    bool lingers;
    bool echo;  /* the rank's output shows that it failed only because another rank had failed */
    bool alone; /* the rank seems to have trained without a connection to any other rank */
    /* the rank was killed before another rank of the node failed, but is reported after it */
    bool first;
    union { /* one number, whose meaning depends on the type; "step" in JSON; -1: none */
        int64_t step;
        int64_t model_bytes; /* EVENT_COMMITTED: bytes of the model's parameters */
        int64_t quiet_ns;    /* EVENT_QUIET: time for which the rank has been idle */
        int64_t more_bytes;  /* EVENT_NETWORK: bytes of the text that follow in later events */
        int64_t log_end;     /* EVENT_LOGS: offset of the end of the last chunk in the log file */
    };
    int64_t order;          /* EVENT_LOGS: number of the order that asked for the log */
    struct program program; /* what rank 0 reported of its model, with EVENT_COMMITTED */
    int64_t peak_bytes;     /* memory peak of the largest of the rank's processes; 0: unknown */
    /* with oom: memory limit of the rank's control group or machine; 0: unknown */
    int64_t limit_bytes;
    /* number of rejected connections since the previous EVENT_REFUSED of that address */
    int64_t refused;
    struct relay relay;
    char *text;       /* meaning depends on the type; "" if unused */
    char *last_lines; /* last output of a failed rank, at most PROTOCOL_LAST_LINES lines; or "" */
};

#endif
