/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - the functions by which the driver's loop calls its modules
 *
 * A subject is one module of the driver with a struct of its own. A subject uses the job
 * (job_run.h), the state machine and data borrowed from other modules, but calls no other subject.
 * routes.h defines which subjects handle an event or an action.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H
#define EDDIS_AGENTS_DRIVER_CORE_SUBJECT_H

#include "agents/driver/state/state.h"

/* The result of an event handler. */
enum heard {
    HEARD, /* the event goes on to the next subjects of the route, then to the state machine */
    /* the handler has turned the event into an EVENT_FAILED, which starts a new route */
    HEARD_FAILED,
    HEARD_TAKEN, /* the event is fully handled, and the state machine knows its result */
};

/* The entry points of a subject. Each may be NULL; self is the struct of the subject */
struct subject_ops {
    /* Handle an event of an agent. The handler may change *e. */
    enum heard (*on_event)(void *self, int agent, struct event *e, int64_t now_ns);

    /* Carry out an action. Return true if the remaining subjects of the action's route must not be
     * called now.
     */
    bool (*on_action)(void *self, const struct action *a);

    /* Handle the progress of a rank of the present generation. Return HEARD_TAKEN to withhold it
     * from the remaining subjects and the state machine.
     */
    enum heard (*on_progress)(void *self, const struct progress *p, int64_t now_ns);

    /* Act on a report that contained progress. Called after the report's workers, outputs and
     * events have been handled.
     */
    void (*on_report)(void *self, int64_t now_ns);

    /* Do all that is due at now_ns. */
    void (*tick)(void *self, int64_t now_ns);
};

#endif
