/* SPDX-License-Identifier: Apache-2.0 */
/* job_event.h - the kinds of events in a job's history, and their names in events.jsonl */
#ifndef EDDIS_AGENTS_JOB_JOB_EVENT_H
#define EDDIS_AGENTS_JOB_JOB_EVENT_H

enum job_event {
    /* events of the driver */
    JOB_EVENT_SAY,  /* a message that was printed to the user */
    JOB_EVENT_NOTE, /* a message that is only in events.jsonl */
    JOB_EVENT_SIGNAL,
    JOB_EVENT_WAITING,
    JOB_EVENT_REFUSED,
    JOB_EVENT_REGISTERED,
    JOB_EVENT_START_FAILED,
    JOB_EVENT_START_AGAIN,
    JOB_EVENT_AGENT_ENDED,
    JOB_EVENT_SESSION_ENDED,
    JOB_EVENT_MEASURES, /* an agent may now measure its machine */
    JOB_EVENT_NETWORK,  /* a network was chosen, left out or measured */
    JOB_EVENT_NETWORK_FAILED,
    JOB_EVENT_LEFT_OUT, /* workers that the plan leaves out, and why */
    JOB_EVENT_PLAN_PUBLISHED,
    JOB_EVENT_PLAN_AGREED,
    JOB_EVENT_MODE,      /* the training mode that was chosen, and why */
    JOB_EVENT_REPLANNED, /* the reason why another plan was published */
    JOB_EVENT_STRAGGLER, /* a worker has become slow; printed to the user, too */
    JOB_EVENT_STRAGGLER_OVER,
    JOB_EVENT_COMMUNICATION,
    JOB_EVENT_RECOVERED,
    JOB_EVENT_FETCHING,
    JOB_EVENT_ENDED,
    /* events that agents report */
    JOB_EVENT_PROFILED,
    JOB_EVENT_UNMEASURED,
    JOB_EVENT_GPUS,
    JOB_EVENT_PREPARED,
    JOB_EVENT_CHECKED,
    JOB_EVENT_RANK_STARTED,
    JOB_EVENT_RANK_EXIT,
    JOB_EVENT_MPIRUN_EXIT,
    JOB_EVENT_RELAY,
    JOB_EVENT_CHOICE,
    JOB_EVENT_COMMITTED,
    JOB_EVENT_STOPPED,
    JOB_EVENT_FAILED,
    JOB_EVENT_LEFT,
    JOB_EVENTS,
};

/* Borrow the event's name in events.jsonl, such as "rank_exit". */
const char *job_event_name(enum job_event type);

#endif
