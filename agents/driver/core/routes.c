/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - tables of events and actions and of the modules that handle them */
#include "routes.h"

#define N(table) (sizeof(table) / sizeof *(table))

static const struct route events[] = {
    [EVENT_PROFILE] = { { SUBJECT_REGISTRATION, SUBJECT_TELLING } },
    [EVENT_UNMEASURED] = { { SUBJECT_TELLING } },
    [EVENT_PREPARED] = { { SUBJECT_TELLING } },
    [EVENT_CHECKED] = { { SUBJECT_TELLING } },
    [EVENT_RANK_STARTED] = { { SUBJECT_TELLING, SUBJECT_LOGS } },
    [EVENT_RANK_EXIT] = { { SUBJECT_TELLING, SUBJECT_LOGS } },
    [EVENT_MPIRUN_EXIT] = { { SUBJECT_TELLING } },
    [EVENT_RELAY] = { { SUBJECT_TELLING, SUBJECT_LAUNCHING } },
    [EVENT_NETWORK] = { { SUBJECT_TELLING, SUBJECT_NETWORK, SUBJECT_PLANNING } },
    [EVENT_CHOICE] = { { SUBJECT_TELLING, SUBJECT_PLANNING } },
    [EVENT_COMMITTED] = { { SUBJECT_TELLING, SUBJECT_PLANNING } },
    [EVENT_STOPPED] = { { SUBJECT_TELLING } },
    [EVENT_LOGS] = { { SUBJECT_LOGS } },
    [EVENT_FAILED] = { { SUBJECT_TELLING, SUBJECT_CHECK } },
    [EVENT_UNSETTLED] = { { SUBJECT_TELLING, SUBJECT_LAUNCHING } },
    [EVENT_NOTE] = { { SUBJECT_TELLING } },
    [EVENT_QUIET] = { { SUBJECT_TELLING } },
    [EVENT_PLACE] = { { SUBJECT_TELLING } },
    [EVENT_SIGNAL] = { { SUBJECT_TELLING } },
    [EVENT_REFUSED] = { { SUBJECT_REGISTRATION } },
    [EVENT_LEFT] = { { SUBJECT_TELLING, SUBJECT_REGISTRATION } },
};

static const struct route actions[] = {
    [ACTION_PROFILE] = { { SUBJECT_LAUNCHING } },
    [ACTION_MEASURE] = { { SUBJECT_LAUNCHING } },
    [ACTION_NETWORK] = { { SUBJECT_NETWORK } },
    [ACTION_FORGET] = { { SUBJECT_NETWORK } },
    [ACTION_PLAN] = { { SUBJECT_PLANNING, SUBJECT_NETWORK } },
    [ACTION_PREPARE] = { { SUBJECT_LAUNCHING } },
    [ACTION_CHECK] = { { SUBJECT_LAUNCHING } },
    [ACTION_START] = { { SUBJECT_REGISTRATION, SUBJECT_LAUNCHING } },
    [ACTION_CHECKPOINT] = { { SUBJECT_PLANNING } },
    [ACTION_SIGNAL] = { { SUBJECT_LAUNCHING } },
    [ACTION_LOOK] = { { SUBJECT_LAUNCHING } },
    [ACTION_STOP] = { { SUBJECT_LAUNCHING } },
    [ACTION_REVIVE] = { { SUBJECT_REGISTRATION } },
    [ACTION_RECOVERED] = { { SUBJECT_TELLING } },
    [ACTION_BYE] = { { SUBJECT_PLANNING, SUBJECT_LOGS, SUBJECT_REGISTRATION } },
    [ACTION_KILL] = { { SUBJECT_REGISTRATION } },
    [ACTION_SAY] = { { SUBJECT_TELLING } },
    [ACTION_LAST_LINES] = { { SUBJECT_TELLING } },
};

_Static_assert(N(events) == EVENT_LEFT + 1, "every event has its route");
_Static_assert(N(actions) == ACTION_LAST_LINES + 1, "every action has its route");

const struct route *routes_event(enum event_type type)
{
    return &events[type];
}

const struct route *routes_action(enum action_type type)
{
    return &actions[type];
}
