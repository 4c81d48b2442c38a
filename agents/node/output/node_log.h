/* SPDX-License-Identifier: Apache-2.0 */
/* node_log.h - writes agent.log in the job's log folder: the agent's orders, events and actions */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_NODE_LOG_H
#define EDDIS_AGENTS_NODE_OUTPUT_NODE_LOG_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"

#include <stdbool.h>

struct node_log;

/* Open dir/agent.log for appending, with mode 0600, in *ret, which the caller closes with
 * node_log_close; make dir if it is missing. files: the thread that writes, borrowed. Return 0 or a
 * negative errno.
 */
int node_log_open(const char *dir, struct file_thread *files, struct node_log **ret,
                  struct eddis_error *err);

/* Queue one line, with the time before it, for the thread to write; do not wait. If l is NULL, do
 * nothing.
 */
void node_log_say(struct node_log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return the descriptor of the log file; -1 if l is NULL. */
int node_log_fd(const struct node_log *l);

/* Wait up to CLOSE_NS for lines to be written, and free l.  Return false if the file system does
 * not respond.  Accept NULL.
 */
bool node_log_close(struct node_log *l);

#endif
