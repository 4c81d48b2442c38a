/* SPDX-License-Identifier: Apache-2.0 */
/* pending_reports.h - reports that are answered when their log chunks are written
 *
 * A report must not be acknowledged before its chunks are on disk, because the agent deletes
 * acknowledged chunks. At most one report per agent is pending. If the report arrives again, the
 * agent no longer waits for the first request, and the newer request gets the reply.
 */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H
#define EDDIS_AGENTS_DRIVER_LOGS_PENDING_REPORTS_H

#include "agents/driver/nodes/request_queue.h"
#include "log_fetch.h"

#include "lib/base/file_thread.h"

struct pending_report;

/* The pending reports of all agents. */
struct pending_reports {
    /* logs to which the chunks belong, borrowed; NULL: they no longer exist */
    struct log_fetch *const *log_fetch;
    struct pending_report *writing, *written;
};

/* Check whether a report of i's agent is pending. If so, i is the same report, sent again: take
 * over i, whose request will get the reply in place of the earlier request.
 */
bool pending_reports_again(struct pending_reports *h, struct request_item *i);

/* Take over the report i, and queue the writing of its log chunks on the file thread. Return 0 or a
 * negative errno, and then the caller still owns i.
 */
int pending_reports_add(struct pending_reports *h, struct file_thread *files,
                        struct request_item *i, struct eddis_error *err);

/* Return a report whose chunks have been written (*ret_rc is 0) or could not be written (*ret_rc is
 * a negative errno, with err). The caller owns the report. NULL: there is none.
 */
struct request_item *pending_reports_take(struct pending_reports *h, int *ret_rc,
                                          struct eddis_error *err);

/* Reply to all pending reports with "the job has ended". */
void pending_reports_refuse(struct pending_reports *h);

/* Free the pending reports whose chunks have been written. The file thread frees all other reports.
 */
void pending_reports_fini(struct pending_reports *h);

#endif
