/* SPDX-License-Identifier: Apache-2.0 */
/* agent_logs.h - where the output of a node's ranks lies, and how it is sent to the driver */
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
    int64_t newest;           /* generation that was prepared here */
    struct log_send *sending; /* what the driver wants of them */
    bool asked;               /* it has wanted some */
    bool trouble;             /* a rank's log could not be written, which was said */
};

/* Find the logs' folder and open the agent's own log there.  b then names the folder that is really
 * used, and no marker where it is shared.
 */
int agent_logs_open(struct agent_logs *l, struct brief *b, struct file_thread *files,
                    struct node_log **ret, struct eddis_error *err);

/* Begin to send the log that an order asks for. */
int agent_logs_send(struct agent_logs *l, const struct order *o, struct eddis_error *err);

/* Tell the driver which have been sent. */
void agent_logs_tell(struct agent_logs *l, const struct voice *v);

/* Remove what has arrived and the folders that were made for it; the agent's own log as well when
 * it ends well, with code 0.
 */
void agent_logs_close(struct agent_logs *l, int code);

#endif
