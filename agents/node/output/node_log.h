/* SPDX-License-Identifier: Apache-2.0 */
/* node_log.h - agent.log in the job's log folder: what the agent was told, saw and did */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_NODE_LOG_H
#define EDDIS_AGENTS_NODE_OUTPUT_NODE_LOG_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"

#include <stdbool.h>

struct node_log;

/* Open dir/agent.log for appending, 0600; make dir if it is not there.  files, which writes it, is
 * borrowed.
 */
int node_log_open(const char *dir, struct file_thread *files, struct node_log **ret,
                  struct eddis_error *err);

/* Write one line with the time before it, without waiting for that; l may be NULL. */
void node_log_say(struct node_log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return the file's descriptor, -1 for NULL. */
int node_log_fd(const struct node_log *l);

/* Wait a moment for what is to be written.  Returns whether it is: else the file system does not
 * answer.  Accepts NULL.
 */
bool node_log_close(struct node_log *l);

#endif
