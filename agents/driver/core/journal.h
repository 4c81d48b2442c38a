/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - write the driver's files into the job's folder
 *
 * events.jsonl has one line per event, numbered from 1; the latest ones are also kept in memory for
 * GET /v1/events?after=. A thread (lib/base/file_thread.h) writes all files in the order of the
 * calls. If the file system does not respond, data waits in memory and no call blocks; only lines
 * of metrics.jsonl are dropped, and counted, if too many wait. No write error ends a job: the first
 * error is reported when it happens, and again at the end of the job.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_JOURNAL_H
#define EDDIS_AGENTS_DRIVER_CORE_JOURNAL_H

#include "agents/driver/metrics/metrics_rows.h"
#include "agents/job/job_event.h"
#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "lib/base/error.h"
#include "lib/base/file_thread.h"
#include "lib/model/plan.h"

#include <stdint.h>

enum { JOURNAL_KEPT = 512, JOURNAL_METRICS = 30 /* metrics lines that may wait */ };

/* The files of one job, and the lines that wait to be written */
struct journal {
    /* folder of the job; borrowed, as files is; NULL: nothing is written */
    const struct job_folder *folder;
    struct file_thread *files;  /* the thread that writes */
    char *line[JOURNAL_KEPT];   /* latest events: event n is in element n % JOURNAL_KEPT */
    int64_t n_events;           /* number of events so far */
    struct metrics_rows rows;   /* choice of the workers for each line of metrics.jsonl */
    int metrics_waiting;        /* number of lines of metrics.jsonl that wait */
    int64_t metrics_left_out;   /* number of lines dropped because too many waited */
    struct eddis_error trouble; /* the first write error */
    char missing[256];          /* names of incomplete files: "events.jsonl, summary.json" */
};

/* Append an event to events.jsonl and to the events in memory. node NULL: no node; rank -1: no
 * rank; text "": no text.
 */
void journal_event(struct journal *r, enum job_event type, const char *node, int rank,
                   const char *text);

/* Return {"events": [...], "schema_version": 1} as text, with the events in memory whose number is
 * greater than `after`. The caller frees the text; NULL without memory.
 */
char *journal_events_text(const struct journal *r, int64_t after);

/* Append a line to the file of this name in the job's folder. line NULL: there was no memory for
 * the line, and the file counts as incomplete.
 */
void journal_line(struct journal *r, const char *name, const char *line);

/* Replace the file of this name in the job's folder by text. text NULL: there was no memory for the
 * text, and the file counts as incomplete.
 */
void journal_file(struct journal *r, const char *name, const char *text);

/* Write a plan to plan-<generation>-<version>.json in the job's folder. */
void journal_plan(struct journal *r, const struct plan *p);

/* Append a line about the status and some workers to metrics.jsonl, unless too many lines wait. */
void journal_metrics(struct journal *r, const struct job_status *s);

/* Write the status to summary.json, after freeing the disk space reserved for it. */
void journal_summary(struct journal *r, const struct job_status *s);

/* Reserve disk space in the job's folder for the summary. */
void journal_reserve(struct journal *r);

/* Delete a file in the job's folder after everything that is already queued has been written. */
void journal_remove(struct journal *r, const char *name);

/* Stop waiting for the writer: record every file with data that is not written yet as incomplete.
 * Return 0 if all is written, otherwise the first error.
 */
int journal_give_up(struct journal *r);

/* Free the events in memory and clear *r. */
void journal_fini(struct journal *r);

#endif
