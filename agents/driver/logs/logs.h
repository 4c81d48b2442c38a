/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - logs that are on their nodes: fetched when the job is over, or for who looks now
 *
 * A report with a piece of a log is held until that is written: what could not be written must not
 * be taken for arrived, for its agent removes what has.  In the end the files are put into their
 * places, all at once.  Both are the records' thread's to do.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOGS_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOGS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/nodes/request_queue.h"
#include "pending_reports.h"

struct lookers;

struct logs {
    struct job_run *run;
    char marker[PROTOCOL_MARKER + 1]; /* file in log_dir, by which agents see that they share it */
    struct fetch *fetch;              /* NULL while its files are put into their places */
    int64_t end_ns;   /* when fetching under way has to end; 0: nothing is fetched */
    int64_t place_ns; /* when what was fetched has to be in its place; 0: it is */
    bool fetched;     /* for logs_fetched */
    struct held held; /* reports with pieces of logs */
    struct lookers *lookers;
};

/* Events: ranks that begin or end, what was sent.  ACTION_BYE: what there is to fetch goes first;
 * once logs_fetched, agents may leave.
 */
extern const struct subject_ops logs_ops;

/* l is zeroed before; run is borrowed.  logs_close and logs_fini also when this fails. */
int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err);

/* Take the pieces of logs that a report has brought.  Returns 0: it may be answered; 1: it is held,
 * and *i was taken; negative: it cannot be kept.
 */
int logs_pieces(struct logs *l, struct inbox_item *i, struct eddis_error *err);

/* Take a report back whose pieces are written (0), or could not be (negative), in *ret_rc; NULL:
 * there is none.
 */
struct inbox_item *logs_written(struct logs *l, int *ret_rc, struct eddis_error *err);

/* Answer somebody who looks at a rank's log, now or when its node has sent it. */
void logs_look(struct logs *l, const struct inbox_item *i, int64_t now_ns);

/* Fetch no more: logs are as far as they have come. */
void logs_stop(struct logs *l);

/* Return true once when fetching has come to its end. */
bool logs_fetched(struct logs *l);

/* Answer all who wait, before the listeners are closed; logs_fini: when no thread runs any more. */
void logs_close(struct logs *l);
void logs_fini(struct logs *l);

#endif
