/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - which modules of the driver handle an event or an action, and in which order */
#ifndef EDDIS_AGENTS_DRIVER_CORE_ROUTES_H
#define EDDIS_AGENTS_DRIVER_CORE_ROUTES_H

#include "agents/driver/state/state.h"

/* The modules of the driver. */
enum subject {
    SUBJECT_NONE, /* ends a route */
    SUBJECT_REGISTRATION,
    SUBJECT_CHECK,
    SUBJECT_NETWORK,
    SUBJECT_PLANNING,
    SUBJECT_LAUNCH,
    SUBJECT_LOGS,
    SUBJECT_REPORT,
    SUBJECTS,
};

/* The modules that handle an event or action, in the order in which they are called */
struct route {
    enum subject to[4];
};

/* The modules that handle an event of an agent, by enum event_type.  The state machine comes after
 * them.
 */
extern const struct route routes_events[];

/* The modules that carry out an action of the state machine, by enum action_type. */
extern const struct route routes_actions[];

/* The modules that take workers' progress.  The state machine comes after them. */
extern const struct route routes_progress;

#endif
