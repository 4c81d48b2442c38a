/* SPDX-License-Identifier: Apache-2.0 */
/* job_event.c - the names of events in events.jsonl */
#include "job_event.h"

static const char *const words[] = {
    [JOB_EVENT_SAY] = "say",
    [JOB_EVENT_NOTE] = "note",
    [JOB_EVENT_SIGNAL] = "signal",
    [JOB_EVENT_WAITING] = "waiting",
    [JOB_EVENT_REFUSED] = "refused",
    [JOB_EVENT_REGISTERED] = "registered",
    [JOB_EVENT_START_FAILED] = "start_failed",
    [JOB_EVENT_START_AGAIN] = "start_again",
    [JOB_EVENT_AGENT_ENDED] = "agent_ended",
    [JOB_EVENT_SESSION_ENDED] = "session_ended",
    [JOB_EVENT_MEASURES] = "measures",
    [JOB_EVENT_NETWORK] = "network",
    [JOB_EVENT_NETWORK_FAILED] = "network_failed",
    [JOB_EVENT_LEFT_OUT] = "left_out",
    [JOB_EVENT_PLAN_PUBLISHED] = "plan_published",
    [JOB_EVENT_PLAN_AGREED] = "plan_agreed",
    [JOB_EVENT_MODE] = "mode",
    [JOB_EVENT_REPLANNED] = "replanned",
    [JOB_EVENT_STRAGGLER] = "straggler",
    [JOB_EVENT_STRAGGLER_OVER] = "straggler_over",
    [JOB_EVENT_COMMUNICATION] = "communication",
    [JOB_EVENT_RECOVERED] = "recovered",
    [JOB_EVENT_FETCHING] = "fetching",
    [JOB_EVENT_ENDED] = "ended",
    [JOB_EVENT_PROFILED] = "profiled",
    [JOB_EVENT_UNMEASURED] = "unmeasured",
    [JOB_EVENT_GPUS] = "gpus",
    [JOB_EVENT_PREPARED] = "prepared",
    [JOB_EVENT_CHECKED] = "checked",
    [JOB_EVENT_RANK_STARTED] = "rank_started",
    [JOB_EVENT_RANK_EXIT] = "rank_exit",
    [JOB_EVENT_MPIRUN_EXIT] = "mpirun_exit",
    [JOB_EVENT_RELAY] = "relay",
    [JOB_EVENT_CHOICE] = "choice",
    [JOB_EVENT_COMMITTED] = "committed",
    [JOB_EVENT_STOPPED] = "stopped",
    [JOB_EVENT_FAILED] = "failed",
    [JOB_EVENT_LEFT] = "left",
};

_Static_assert(sizeof words / sizeof *words == JOB_EVENTS, "every event has its word");

const char *job_event_name(enum job_event type)
{
    return words[type];
}
