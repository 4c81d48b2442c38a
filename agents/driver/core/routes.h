/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - which subjects of the driver an event or an action is for, and in which order */
#ifndef EDDIS_AGENTS_DRIVER_CORE_ROUTES_H
#define EDDIS_AGENTS_DRIVER_CORE_ROUTES_H

#include "agents/driver/state/state.h"

enum subject {
    SUBJECT_NONE, /* ends a route */
    SUBJECT_REGISTRATION,
    SUBJECT_CHECK,
    SUBJECT_NETWORK,
    SUBJECT_PLANNING,
    SUBJECT_LAUNCHING,
    SUBJECT_LOGS,
    SUBJECT_TELLING,
    SUBJECTS,
};

struct route {
    enum subject to[4];
};

/* Borrow the route of an event that an agent has reported, before the state machine gets it; and of
 * an action that the state machine wants.
 */
const struct route *routes_event(enum event_type type);
const struct route *routes_action(enum action_type type);

#endif
