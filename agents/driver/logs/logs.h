/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - fetch ranks' logs from their nodes: all logs at the job's end, parts for users during
 * the job
 *
 * A report with a log chunk is not acknowledged before the chunk is written, because the agent
 * deletes an acknowledged chunk. At the end all files are moved to their final names together. The
 * thread `records` writes and moves.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOGS_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOGS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/nodes/request_queue.h"
#include "pending_reports.h"

struct log_readers;

/* The logs of one job. */
struct logs {
    struct job_run *run;
    char marker[PROTOCOL_MARKER +
                1]; /* name of a file in log_dir; an agent that finds this file shares the folder */
    int64_t touch_ns;            /* when to touch this file again; 0: there is none */
    struct log_fetch *log_fetch; /* logs to fetch; NULL while the thread moves their files */
    int64_t end_ns;              /* deadline of fetching; 0: nothing is being fetched */
    int64_t place_ns;            /* deadline of moving the files; 0: not being moved */
    bool fetched;                /* fetching has ended, see logs_fetched */
    struct pending_reports pending_reports; /* reports whose log chunks are being written */
    struct log_readers *log_readers;
};

/* Entry points for events (a rank began or ended, a log was sent) and for ACTION_BYE, at which the
 * logs are fetched; agents may leave after logs_fetched has returned true.
 */
extern const struct subject_ops logs_ops;

/* Prepare for fetching logs. *l must be zeroed; run is borrowed. Return 0 or a negative errno;
 * logs_close and logs_fini are needed in both cases.
 */
int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err);

/* Accept the log chunks of the report in *i. Return 0 if the report may be answered now; 1 if *i
 * was taken over, and is answered when the chunks are written; a negative errno if the chunks
 * cannot be kept.
 */
int logs_chunks(struct logs *l, struct request_item *i, struct eddis_error *err);

/* Return a report whose chunks have been written (*ret_rc is 0) or could not be written (*ret_rc is
 * a negative errno, with err). The caller owns the report. NULL: there is none.
 */
struct request_item *logs_written(struct logs *l, int *ret_rc, struct eddis_error *err);

/* Answer a user's request for a part of a rank's log, now or when the rank's node has sent the
 * part.
 */
void logs_look(struct logs *l, const struct request_item *i, int64_t now_ns);

/* Stop fetching or moving logs; keep what has arrived. */
void logs_stop(struct logs *l);

/* Return true at the first call after fetching has ended, otherwise false. */
bool logs_fetched(struct logs *l);

/* Answer all pending requests, and queue the deletion of the temporary files. To be called before
 * the servers are closed.
 */
void logs_close(struct logs *l);

/* Free all state of log fetching.  The file threads must have been stopped. */
void logs_fini(struct logs *l);

#endif
