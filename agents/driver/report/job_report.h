/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.h - report the job to the user, to HTTP readers and in the job's folder
 *
 * struct job_status is the only source of these reports. job_report.c fills it from the state
 * machine, and metrics.c adds measurements; planning.c and plan_versions.c add what the plan says,
 * summary.c what is known at the end. No decision of the driver depends on it.
 */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_JOB_REPORT_H
#define EDDIS_AGENTS_DRIVER_REPORT_JOB_REPORT_H

#include "agents/driver/checkpoints/checkpoint_count.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/nodes/listeners.h"
#include "agents/driver/nodes/request_queue.h"
#include "agents/driver/plan/model_watch.h"

/* What has been reported, and when the next report is due. */
struct job_report {
    struct job_run *run;               /* borrowed, like all pointers */
    const struct run_plans *plans;     /* the plans, for HTTP readers */
    const struct listeners *listeners; /* the servers, which count rejected peers */
    const char *waiting;               /* text: the agents for which the start waits */
    bool reported_trouble;             /* the user was told that a file could not be written */
    bool reported_joined;              /* the user was told that a worker uses libeddis */
    bool reported_equal;       /* the user was told that the program divides its data itself */
    struct model_watch models; /* reports about models and losses */
    int64_t n_alone;    /* number of ranks that exited without a connection to another rank */
    int64_t held_ns;    /* time since which the job's folder does not respond; 0: it responds */
    int64_t metrics_ns; /* time at which the next line of metrics.jsonl is due */
    bool stepped;       /* there is new progress that has not been shown */
    int64_t show_ns;    /* time from which new progress may be shown */
    struct checkpoint_count checkpoints; /* rank 0's checkpoint counters */
};

/* Entry points: events become lines of events.jsonl, actions become sentences for the user, and
 * ticks report files that could not be written and the features that a program without libeddis
 * lacks
 */
extern const struct subject_ops job_report_ops;

/* Initialise the status of a job that is about to begin. */
void job_report_begin(struct job_report *t);

/* Fill the job's status from the present state of the job. */
void job_report_fill(struct job_report *t);

/* Copy the servers' list of rejected peers into the status, before they are closed. */
void job_report_fill_refused(struct job_report *t);

/* Tell the user, once per job, that a worker uses libeddis. To be called after each report of an
 * agent.
 */
void job_report_heard(struct job_report *t);

/* Show the output o of a rank to the user, if the rank runs on this agent's node. */
void job_report_output(struct job_report *t, int agent, const struct output *o);

/* Answer an HTTP reader with the status, workers, events, plan or metrics. */
void job_report_answer(struct job_report *t, const struct request_item *i);

/* Return the time at which the next line of metrics.jsonl is due (while all ranks are up) or
 * progress must be shown; CLOCK_NEVER: neither is due.
 */
int64_t job_report_next_ns(const struct job_report *t);

/* If the next line of metrics.jsonl is due, write it; if progress must be shown, show it. */
void job_report_metrics(struct job_report *t, int64_t now_ns);

#endif
