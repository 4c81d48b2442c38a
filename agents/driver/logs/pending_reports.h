/* SPDX-License-Identifier: Apache-2.0 */
/* pending_reports.h - reports that are answered once their log chunks are written
 *
 * A report must not be acknowledged before its chunks are on disk, because the agent then deletes
 * them.  At most one report per agent is pending.  If it arrives again, the agent has given up
 * waiting for the first request, and the newer one gets the reply.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H
#define EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H

#include "agents/driver/nodes/request_queue.h"
#include "log_fetch.h"

#include "lib/base/file_thread.h"

struct held_report;

/* The pending reports of all agents. */
struct held {
    struct fetch *const *fetch; /* the logs that the chunks belong to; borrowed; NULL: gone */
    struct held_report *writing, *written;
};

/* Check whether a report of this agent is pending.  If so, i is the same report sent again: take
 * it, and reply to it instead of the earlier request.
 */
bool held_again(struct held *h, struct inbox_item *i);

/* Take a report and have its log chunks written on the file thread.  On failure the item stays the
 * caller's.
 */
int held_add(struct held *h, struct file_thread *files, struct inbox_item *i,
             struct eddis_error *err);

/* Return a report whose chunks have been written (*ret_rc 0) or could not be (negative, with err).
 * The caller owns it.  NULL: none.
 */
struct inbox_item *held_take(struct held *h, int *ret_rc, struct eddis_error *err);

/* Reply to all pending reports with "the job is over". */
void held_refuse(struct held *h);

/* Free the pending reports whose chunks have been written.  The file thread frees the others. */
void held_fini(struct held *h);

#endif
