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

struct pending_report;

/* The pending reports of all agents. */
struct pending_reports {
    struct log_fetch *const
        *log_fetch; /* the logs that the chunks belong to; borrowed; NULL: gone */
    struct pending_report *writing, *written;
};

/* Check whether a report of this agent is pending.  If so, i is the same report sent again: take
 * it, and reply to it instead of the earlier request.
 */
bool pending_reports_again(struct pending_reports *h, struct request_item *i);

/* Take a report and have its log chunks written on the file thread.  On failure the item stays the
 * caller's.
 */
int pending_reports_add(struct pending_reports *h, struct file_thread *files,
                        struct request_item *i, struct eddis_error *err);

/* Return a report whose chunks have been written (*ret_rc 0) or could not be (negative, with err).
 * The caller owns it.  NULL: none.
 */
struct request_item *pending_reports_take(struct pending_reports *h, int *ret_rc,
                                          struct eddis_error *err);

/* Reply to all pending reports with "the job has ended". */
void pending_reports_refuse(struct pending_reports *h);

/* Free the pending reports whose chunks have been written.  The file thread frees the others. */
void pending_reports_fini(struct pending_reports *h);

#endif
