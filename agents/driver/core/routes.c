/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - tables of events and actions and of the modules that handle them */
#include "routes.h"

#define N(table) (sizeof(table) / sizeof *(table))

const struct route routes_events[] = {
    [EVENT_PROFILE] = { { SUBJECT_REGISTRATION, SUBJECT_REPORT } },
    [EVENT_UNMEASURED] = { { SUBJECT_REPORT } },
    [EVENT_GPUS] = { { SUBJECT_REPORT } },
    [EVENT_PREPARED] = { { SUBJECT_REPORT } },
    [EVENT_CHECKED] = { { SUBJECT_REPORT, SUBJECT_CHECK } },
    [EVENT_RANK_STARTED] = { { SUBJECT_REPORT, SUBJECT_LOGS } },
    [EVENT_RANK_EXIT] = { { SUBJECT_REPORT, SUBJECT_LOGS } },
    [EVENT_MPIRUN_EXIT] = { { SUBJECT_REPORT } },
    [EVENT_RELAY] = { { SUBJECT_REPORT, SUBJECT_LAUNCH } },
    [EVENT_NETWORK] = { { SUBJECT_REPORT, SUBJECT_NETWORK, SUBJECT_PLANNING } },
    [EVENT_CHOICE] = { { SUBJECT_REPORT, SUBJECT_PLANNING } },
    [EVENT_COMMITTED] = { { SUBJECT_REPORT, SUBJECT_PLANNING } },
    [EVENT_STOPPED] = { { SUBJECT_REPORT } },
    [EVENT_LOGS] = { { SUBJECT_LOGS } },
    [EVENT_FAILED] = { { SUBJECT_REPORT, SUBJECT_CHECK } },
    [EVENT_UNSETTLED] = { { SUBJECT_REPORT, SUBJECT_LAUNCH } },
    [EVENT_NOTE] = { { SUBJECT_REPORT } },
    [EVENT_QUIET] = { { SUBJECT_REPORT } },
    [EVENT_PLACE] = { { SUBJECT_REPORT } },
    [EVENT_SIGNAL] = { { SUBJECT_REPORT } },
    [EVENT_REFUSED] = { { SUBJECT_REGISTRATION } },
    [EVENT_LEFT] = { { SUBJECT_REPORT, SUBJECT_REGISTRATION } },
};

const struct route routes_actions[] = {
    [ACTION_PROFILE] = { { SUBJECT_LAUNCH } },
    [ACTION_MEASURE] = { { SUBJECT_LAUNCH } },
    [ACTION_NETWORK] = { { SUBJECT_NETWORK } },
    [ACTION_FORGET] = { { SUBJECT_NETWORK } },
    [ACTION_PLAN] = { { SUBJECT_PLANNING, SUBJECT_NETWORK } },
    [ACTION_PREPARE] = { { SUBJECT_LAUNCH } },
    [ACTION_CHECK] = { { SUBJECT_LAUNCH } },
    [ACTION_START] = { { SUBJECT_REGISTRATION, SUBJECT_LAUNCH } },
    [ACTION_CHECKPOINT] = { { SUBJECT_PLANNING } },
    [ACTION_SIGNAL] = { { SUBJECT_LAUNCH } },
    [ACTION_LOOK] = { { SUBJECT_LAUNCH } },
    [ACTION_STOP] = { { SUBJECT_LAUNCH } },
    [ACTION_REVIVE] = { { SUBJECT_REGISTRATION } },
    [ACTION_RECOVERED] = { { SUBJECT_REPORT } },
    [ACTION_BYE] = { { SUBJECT_PLANNING, SUBJECT_LOGS, SUBJECT_REGISTRATION } },
    [ACTION_KILL] = { { SUBJECT_REGISTRATION } },
    [ACTION_SAY] = { { SUBJECT_REPORT } },
    [ACTION_LAST_LINES] = { { SUBJECT_REPORT } },
};

/* Planning is first: it withholds progress under a plan version that was never published. */
const struct route routes_progress = { { SUBJECT_PLANNING, SUBJECT_REPORT } };

_Static_assert(N(routes_events) == EVENT_LEFT + 1, "every event has its route");
_Static_assert(N(routes_actions) == ACTION_LAST_LINES + 1, "every action has its route");
