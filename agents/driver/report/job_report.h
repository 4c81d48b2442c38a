/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.h - report the job to the user, to HTTP readers and in the job's folder
 *
 * struct job_status is the only source of these reports.  job_report.c fills it from the state
 * machine, and metrics.c adds measurements; planning.c and plan_versions.c add what the plan says,
 * summary.c what is known at the end.  The driver decides nothing by it.
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
    const struct run_plans *plans;     /* plans for HTTP readers */
    const struct listeners *listeners; /* the servers, which know the rejected peers */
    const char *waiting;               /* agents that the start waits for */
    bool reported_trouble;             /* reported that a file could not be written */
    bool reported_joined;              /* reported that a worker uses libeddis */
    bool reported_equal;               /* reported that the program divides its data itself */
    struct model_watch models;         /* reports about models and losses */
    int64_t n_alone;                   /* ranks that exited without connecting to others */
    int64_t held_ns;                   /* since when the job's folder does not answer; 0: it does */
    int64_t metrics_ns;                /* when the next line of metrics.jsonl is due */
    bool stepped;                      /* new progress has not been shown yet */
    int64_t show_ns;                   /* when it may be shown */
    struct checkpoint_count checkpoints; /* rank 0's checkpoint counters */
};

/* Entry points for events (a line of events.jsonl each), actions (sentences for the user) and time:
 * report files that could not be written, and what a program without libeddis does not get.
 */
extern const struct subject_ops job_report_ops;

/* Initialise the status of a job that is about to begin. */
void job_report_begin(struct job_report *t);

/* Fill the job's status with the present state. */
void job_report_fill(struct job_report *t);

/* Copy the servers' list of rejected peers into the status, before they are closed. */
void job_report_fill_refused(struct job_report *t);

/* Show once that a worker uses libeddis; call it after each report of an agent. */
void job_report_heard(struct job_report *t);

/* Show what a rank has printed, if it is a rank of this agent's node. */
void job_report_output(struct job_report *t, int agent, const struct output *o);

/* Answer an HTTP reader with the status, workers, events, plan or metrics. */
void job_report_answer(struct job_report *t, const struct request_item *i);

/* Return when the next line of metrics.jsonl is due (while all ranks are up) or progress must be
 * shown; CLOCK_NEVER: nothing is due.
 */
int64_t job_report_next_ns(const struct job_report *t);

/* Write the next line of metrics.jsonl and show the progress, if due. */
void job_report_metrics(struct job_report *t, int64_t now_ns);

#endif
