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
    int64_t newest;           /* newest generation that was prepared here */
    struct log_send *sending; /* logs that the driver has asked for */
    bool asked;               /* the driver has asked for some */
    bool trouble;             /* a log that could not be written was reported */
};

/* Find the logs' folder and open the agent's own log there.  Set b->log_dir to the folder in use,
 * and clear b->log_marker if it is shared.
 */
int agent_logs_open(struct agent_logs *l, struct agent_config *b, struct file_thread *files,
                    struct node_log **ret, struct eddis_error *err);

/* Begin to send the log that an order asks for. */
int agent_logs_send(struct agent_logs *l, const struct order *o, struct eddis_error *err);

/* Report the logs that have been sent to the driver. */
void agent_logs_report(struct agent_logs *l, const struct event_sender *v);

/* Remove the logs that have arrived and the folders made for them; also the agent's own log if
 * code, its exit code, is 0 and no log was requested.
 */
void agent_logs_close(struct agent_logs *l, int code);

#endif
