/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - start the agents, register them, and end their remaining processes */
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
    struct listeners *listeners; /* the servers to which agents connect */
    const char *log_marker;      /* name of the file by which agents detect a shared log folder */
    struct starter *starter;
    struct admission admission;
    char stem[NODE_IDENTITY_DIGITS +
              1]; /* common part of the marks of nodes that are started together; "": none */
    /* why a profile could not be read; its text becomes that of the event */
    struct eddis_error unreadable;
    char waiting[512];  /* last report of the agents for which the start waits */
    int64_t waiting_ns; /* time from which the next such report is allowed */
};

/* The failure of an agent's start */
struct registration_start {
    int agent;          /* agent that could not be started; -1: none failed */
    bool late;          /* the agent did not register before its deadline */
    bool gone;          /* no further start can succeed, because the allocation has ended */
    char trouble[512];  /* why this node failed */
    char sentence[512]; /* sentence for the user, about all late nodes if several are late */
};

/* Entry points for events (a profile, a rejected connection, an agent that leaves) and actions
 * (start a node again, order all agents to leave, invalidate the groups' join secrets, kill
 * remaining processes)
 */
extern const struct subject_ops registration_ops;

/* Start an agent on every host. *r must be zeroed except for its borrowed members. Return 0 or a
 * negative errno; registration_close is needed in both cases.
 */
int registration_open(struct registration *r, struct eddis_error *err);

/* Answer an agent's request to register. Return 0 if the agent is now registered; 1 if the agent is
 * rejected, because another agent of this node has registered or the node was given up; a negative
 * errno if the node cannot take part, with the reason in err.
 */
int registration_hello(struct registration *r, const struct request_item *i, int64_t now_ns,
                       struct eddis_error *err);

/* Take the next event of an agent's start. If the start failed, describe the failure in *ret; if
 * the agent's process has ended, report this to the state machine. Return true, or false if there
 * is no event.
 */
bool registration_take_start(struct registration *r, struct registration_start *ret);

/* Report to the user for which agents the start waits, if this has changed, but at most once a
 * second.
 */
void registration_say_waiting(struct registration *r);

/* Order every agent to leave, and cancel unfinished starts. */
void registration_bye(struct registration *r);

/* End all remaining processes of the job on this machine and on lost nodes that can be reached.
 * Report to the user which processes may remain. stop: a descriptor that becomes readable when the
 * wait for lost nodes must end.
 */
void registration_clean(struct registration *r, int stop);

/* Free the starter and the join secrets. */
void registration_close(struct registration *r);

#endif
