/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - the functions by which the driver's loop calls its modules
 *
 * A subject is one module of the driver with a struct of its own.  It uses the job (job_run.h), the
 * state machine and what other modules lend to it, but calls no other subject.  routes.h defines
 * which subjects handle an event or an action.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H
#define EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H

#include "agents/driver/state/state.h"

/* The result of an event handler. */
enum heard {
    HEARD,        /* pass it on to the next subjects, then to the state machine */
    HEARD_FAILED, /* the handler has changed it into an EVENT_FAILED, to be routed from the start */
    HEARD_TAKEN,  /* fully handled: the state machine is up to date */
};

/* The entry points of a subject; self is its struct.  An entry may be NULL. */
struct subject_ops {
    /* Handle an event of an agent; may change *e. */
    enum heard (*on_event)(void *self, int agent, struct event *e, int64_t now_ns);

    /* Carry out an action.  Return true to skip the remaining subjects of its route for now. */
    bool (*on_action)(void *self, const struct action *a);

    /* Take a worker's progress, which is of a rank of this generation.  Return HEARD_TAKEN to
     * withhold it from the remaining subjects and the state machine.
     */
    enum heard (*on_progress)(void *self, const struct progress *p, int64_t now_ns);

    /* Act on a report with progress after its workers, outputs and events have been handled. */
    void (*on_report)(void *self, int64_t now_ns);

    /* Do what is due at now_ns. */
    void (*tick)(void *self, int64_t now_ns);
};

#endif
