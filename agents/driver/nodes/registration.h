/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - start the agents, register them, and end what is left of them */
#ifndef EDDIS_AGENTS_DRIVER_NODES_REGISTRATION_H
#define EDDIS_AGENTS_DRIVER_NODES_REGISTRATION_H

#include "admission.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "listeners.h"
#include "request_queue.h"

#include "agents/driver/start/start.h"

/* The starts and registrations of all agents. */
struct registration {
    struct job_run *run;         /* borrowed, like the next two members */
    struct listeners *listeners; /* the servers that agents connect to */
    const char *log_marker;      /* file by which agents detect a shared log folder */
    struct starter *starter;
    struct admission admission;
    char stem[NODE_IDENTITY_DIGITS + 1]; /* common part of marks of nodes started together;
                                          * "": none */
    struct eddis_error unreadable;       /* why a profile could not be read (text of the event) */
    char waiting[512];                   /* last report of who the start waits for */
    int64_t waiting_ns;                  /* when the next such report may follow */
};

/* The result of an agent's start. */
struct registration_start {
    int agent;          /* the agent that could not be started; -1: nothing to do */
    bool late;          /* it did not register before its deadline */
    bool gone;          /* no further start can succeed: the allocation has ended */
    char trouble[512];  /* why this node failed */
    char sentence[512]; /* for the user: about all late nodes */
};

/* Entry points for events (a profile, a rejected connection, an agent that leaves) and actions
 * (start a node again, order all to leave, invalidate the groups' join secrets, kill what is left).
 */
extern const struct subject_ops registration_ops;

/* Start an agent on every host.  r is zeroed except for its borrowed members; registration_close is
 * needed even on failure.
 */
int registration_open(struct registration *r, struct eddis_error *err);

/* Answer an agent that connects to register.  Return 0 if it has registered, 1 if it is not
 * expected; negative if its node cannot take part, with the reason in err.
 */
int registration_hello(struct registration *r, const struct request_item *i, int64_t now_ns,
                       struct eddis_error *err);

/* Take the next event of a start: describe a start that failed in *ret, and report an agent's end
 * to the state machine.  Return false if there is no event.
 */
bool registration_take_start(struct registration *r, struct registration_start *ret);

/* Report which agents the start waits for, whenever that changes, at most once a second. */
void registration_say_waiting(struct registration *r);

/* Order every agent to leave, and abandon unfinished starts. */
void registration_bye(struct registration *r);

/* End all remaining processes of the job on this machine and, as far as they can be reached, on
 * lost nodes; report what may be left.  stop: a descriptor that becomes readable when nobody wants
 * to wait for lost nodes any longer.
 */
void registration_clean(struct registration *r, int stop);

/* Free everything. */

/* Free the starter and the join secrets. */
void registration_close(struct registration *r);

#endif
