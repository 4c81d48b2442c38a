/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.h - what people, readers and the job's folder are told of the job
 *
 * One struct job_status is the source of every figure.  job_report.c fills it with what the state
 * machine knows and has metrics.c add what is measured; planning.c and plan_versions.c note what
 * the plan says, summary.c what is known in the end.  The driver decides nothing by it.
 */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_JOB_REPORT_H
#define EDDIS_AGENTS_DRIVER_REPORT_JOB_REPORT_H

#include "agents/driver/checkpoints/checkpoint_count.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/nodes/listeners.h"
#include "agents/driver/nodes/request_queue.h"
#include "agents/driver/plan/model_watch.h"

struct telling {
    struct job_run *run;               /* all are borrowed */
    const struct run_plans *plans;     /* shown to readers */
    const struct listeners *listeners; /* who was refused there */
    const char *waiting;               /* whom the start waits for */
    bool told_trouble;                 /* that something could not be recorded */
    bool told_joined;                  /* that a worker uses eddis */
    bool told_equal;                   /* that the program divides its data itself */
    struct model_watch models;         /* what they were told of models and losses */
    int64_t n_alone;                   /* ranks of the generation that trained and met nobody */
    int64_t held_ns;                   /* since when the folder does not answer; 0: it does */
    int64_t metrics_ns;                /* next line of metrics.jsonl */
    bool stepped;                      /* people have not seen what workers have told */
    int64_t show_ns;                   /* when they may */
    struct checkpoint_count checkpoints;
};

/* Events: a line of events.jsonl each.  Actions: sentences for people.  Time: what could not be
 * recorded is said, and what a program misses that does not use libeddis.
 */
extern const struct subject_ops telling_ops;

/* Begin the status of a job of which nothing is known. */
void telling_begin(struct telling *t);

/* Fill the job's status with what is known now. */
void telling_fill(struct telling *t);

/* Keep what the listeners tell of refused requests, since they will be closed. */
void telling_fill_refused(struct telling *t);

/* Say that a worker uses eddis, behind the report that tells it first. */
void telling_heard(struct telling *t);

/* Have telling_metrics show people how far the job is: ten times a second at most, however many
 * reports there are, since filling the status takes the longer the more workers there are.
 */
void telling_stepped(struct telling *t);

/* Hand on what a rank has printed: an agent speaks for the ranks of its node only. */
void telling_output(struct telling *t, int agent, const struct output *o);

/* Answer a reader. */
void telling_answer(struct telling *t, const struct inbox_item *i);

/* Returns when the next line of metrics.jsonl is due, while all ranks are up, or something to be
 * shown; else never.
 */
int64_t telling_next_ns(const struct telling *t);

/* Write that line and show people how far the job is, when that is due. */
void telling_metrics(struct telling *t, int64_t now_ns);

#endif
