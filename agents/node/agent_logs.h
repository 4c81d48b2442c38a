/* SPDX-License-Identifier: Apache-2.0 */
/* agent_logs.h - the folder of the logs of a node's ranks, and their transfer to the driver */
#ifndef EDDIS_AGENTS_NODE_AGENT_LOGS_H
#define EDDIS_AGENTS_NODE_AGENT_LOGS_H

#include "event_sender.h"

#include "agents/node/output/log_place.h"
#include "agents/node/output/log_send.h"
#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_logs {
    struct log_place place;
    int agent;                /* number of this node's agent */
    int64_t newest;           /* newest generation that was prepared on this node */
    struct log_send *sending; /* logs that the driver has requested */
    bool asked;               /* the driver has requested a log */
    bool trouble;             /* it was reported that a log could not be written */
};

/* Find or make the folder of the logs, and open the agent's own log in it, in *ret. Set b->log_dir
 * to this folder; if it is shared with the driver, clear b->log_marker. Return 0 or a negative
 * errno.
 */
int agent_logs_open(struct agent_logs *l, struct agent_config *b, struct file_thread *files,
                    struct node_log **ret, struct eddis_error *err);

/* Begin to send the log that an order requests. Return 0 or a negative errno. */
int agent_logs_send(struct agent_logs *l, const struct order *o, struct eddis_error *err);

/* Report to the driver which logs have been sent to their end. */
void agent_logs_report(struct agent_logs *l, const struct event_sender *v);

/* Remove the logs that have arrived at the driver, and the folders made for logs. If code, the
 * agent's exit code, is 0 and no log was requested, remove the agent's own log, too.
 */
void agent_logs_close(struct agent_logs *l, int code);

#endif
