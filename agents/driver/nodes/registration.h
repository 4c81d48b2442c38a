/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - agents from their start on their nodes to their end, and who of them has come */
#ifndef EDDIS_AGENTS_DRIVER_NODES_REGISTRATION_H
#define EDDIS_AGENTS_DRIVER_NODES_REGISTRATION_H

#include "admission.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "listeners.h"
#include "request_queue.h"

#include "agents/driver/start/start.h"

struct registration {
    struct job_run *run;         /* borrowed, as the next two */
    struct listeners *listeners; /* where agents are to come to */
    const char *log_marker;      /* file by which they see that they share the folder of logs */
    struct starter *starter;
    struct admission admission;
    char stem[NODE_IDENTITY_DIGITS + 1]; /* of the marks of nodes that are started together; "" */
    struct eddis_error unreadable;       /* the text of a profile's event that became a failure */
    char waiting[512];                   /* whom the start waits for, as it was said last */
    int64_t waiting_ns;                  /* when it may be said again */
};

/* What became of a start. */
struct registration_start {
    int agent;          /* could not be started; -1: nothing is to be done */
    bool late;          /* its deadline has passed */
    bool gone;          /* and no other start will do: the allocation is over */
    char trouble[512];  /* of this node */
    char sentence[512]; /* for people: of all that are late */
};

/* Events: what an agent has measured, and that it leaves.  Actions: starting one again, telling all
 * to leave, and ending what does not.
 */
extern const struct subject_ops registration_ops;

/* Start an agent on every host.  r is zeroed but for what is borrowed; registration_close also when
 * this fails.
 */
int registration_open(struct registration *r, struct eddis_error *err);

/* Answer an agent that dials back.  Returns 0 when it has registered, 1 when it is none that is
 * waited for; negative: its node cannot take part, err says why.
 */
int registration_hello(struct registration *r, const struct inbox_item *i, int64_t now_ns,
                       struct eddis_error *err);

/* Take what became of one start; false when there is no more. */
bool registration_take_start(struct registration *r, struct registration_start *ret);

/* Tell people whom the start waits for, as often as that changes. */
void registration_say_waiting(struct registration *r);

/* Tell every agent to leave. */
void registration_bye(struct registration *r);

/* See to it that nothing of the job runs here any more, and on the nodes that were lost as far as
 * they can be reached.  stop: a descriptor that can be read when nobody wants to wait for them.
 */
void registration_clean(struct registration *r, int stop);

void registration_close(struct registration *r);

#endif
