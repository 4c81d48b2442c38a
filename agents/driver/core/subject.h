/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - the entries by which the driver's loop reaches a subject
 *
 * A subject is a module with a struct of its own.  It knows the job (job_run.h), the state machine
 * and what is lent to it, but no other subject; routes.h says which of them an event or an action
 * is for.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H
#define EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H

#include "agents/driver/state/state.h"

enum heard {
    HEARD,        /* others may hear it, and the state machine in the end */
    HEARD_FAILED, /* it has become an EVENT_FAILED, to be heard from the beginning */
    HEARD_TAKEN,  /* the state machine has been told already what it means */
};

/* self is the subject's struct; an entry that is NULL is not needed. */
struct subject_ops {
    enum heard (*on_event)(void *self, int agent, struct event *e, int64_t now_ns);

    /* Returns true when the subjects behind it on the action's route have to wait. */
    bool (*on_action)(void *self, const struct action *a);

    void (*tick)(void *self, int64_t now_ns);
};

#endif
