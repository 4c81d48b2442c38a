/* SPDX-License-Identifier: Apache-2.0 */
/* pending_reports.h - reports that are answered when the pieces of logs in them are written
 *
 * What could not be written must not be taken for arrived, for an agent removes what has.  Of an
 * agent one report is held at a time: when it comes again, its agent has given up waiting for the
 * answer, which then goes to the newer request.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H
#define EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H

#include "agents/driver/nodes/request_queue.h"
#include "log_fetch.h"

#include "lib/base/file_thread.h"

struct held_report;

struct held {
    struct fetch *const *fetch; /* that the pieces are of; borrowed, NULL: gone */
    struct held_report *writing, *written;
};

/* Whether a report of this agent is held: then the item, the same report, was taken. */
bool held_again(struct held *h, struct inbox_item *i);

/* Take a report, and have its pieces written by files.  A failure leaves the item to the caller. */
int held_add(struct held *h, struct file_thread *files, struct inbox_item *i,
             struct eddis_error *err);

/* Take a report back whose pieces are written (0), or could not be (negative), in *ret_rc; NULL:
 * there is none.
 */
struct inbox_item *held_take(struct held *h, int *ret_rc, struct eddis_error *err);

/* Answer all that "the job is over". */
void held_refuse(struct held *h);

/* Free what was written since; those that are not are the thread's. */
void held_fini(struct held *h);

#endif
