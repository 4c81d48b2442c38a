/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - what the driver writes into the job's folder
 *
 * events.jsonl holds one line an event, numbered from 1; the last ones are kept in memory too for
 * GET /v1/events?after=.  All is written by a thread (lib/base/file_thread.h), in the order in
 * which it was given, so that a folder that does not answer holds up nobody: it waits in memory
 * until then.  Only of metrics.jsonl lines are left out, and counted, when many wait.  Nothing here
 * may end a job: what could not be written is kept in mind, for a sentence when it begins and one
 * in the end.
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

#include <stdbool.h>
#include <stdint.h>

enum { JOURNAL_KEPT = 512, JOURNAL_METRICS = 30 /* lines that may wait */ };

struct journal {
    const struct job_folder *folder; /* borrowed, as files; NULL: nothing is written */
    struct file_thread *files;       /* that writes */
    char *line[JOURNAL_KEPT];        /* event n in slot n % JOURNAL_KEPT */
    int64_t n_events;
    struct metrics_rows rows;   /* of workers, in them */
    int metrics_waiting;        /* lines */
    int64_t metrics_left_out;   /* lines that found too many waiting */
    struct eddis_error trouble; /* the first that could not be written */
    char missing[256];          /* "events.jsonl, summary.json": files that are not whole */
};

/* Note one event; node, rank and text may be NULL, -1, "". */
void journal_event(struct journal *r, enum job_event type, const char *node, int rank,
                   const char *text);

/* Return {"events": [...], "schema_version": 1} with the events kept whose number is above after.
 */
char *journal_events_text(const struct journal *r, int64_t after);

/* Append a line to the file of this name; NULL: there was no memory for it. */
void journal_line(struct journal *r, const char *name, const char *line);

/* Replace a file: of this name, plan-<g>-<v>.json or summary.json; append to metrics.jsonl. */
void journal_file(struct journal *r, const char *name, const char *text);
void journal_plan(struct journal *r, const struct plan *p);
void journal_metrics(struct journal *r, const struct job_status *s);
void journal_summary(struct journal *r, const struct job_status *s);

/* Keep room on the disk for the summary, which gives it back. */
void journal_reserve(struct journal *r);

/* Remove a file, behind all that was given before. */
void journal_remove(struct journal *r, const char *name);

/* Note as missing what is not written yet; 0: all is. */
int journal_give_up(struct journal *r);

void journal_fini(struct journal *r);

#endif
