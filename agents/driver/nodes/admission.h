/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - the briefs of agents that are invited together (agents/protocol/protocol_join.h)
 *
 * A door is one secret: of a group of nodes that one srun starts, or of one node that is started
 * again.  A seat is a node behind a door.  A door is open until all of its seats are taken by
 * agents that have registered, until its deadline, and a group's until the first rank is started;
 * from then on its secret is one of a stranger's many wrong tokens.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H
#define EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"
#include "request_queue.h"

#include <stdbool.h>
#include <stdint.h>

struct admission_door {
    int64_t until_ns; /* 0: shut */
    int missing;      /* seats whose agents have not registered */
};

struct admission_seat {
    int door;                       /* -1: this node was not invited */
    char nonce[PROTOCOL_NONCE + 1]; /* of whom it was given to; "": nobody yet */
    char peer[HTTP_PEER_CHARS];     /* where he came from */
};

struct admission {
    const struct job_run *run; /* borrowed, as the next two */
    struct listeners *listeners;
    const char *log_marker;
    struct admission_door *door; /* [n_agents + n_groups]: that of each node, then the groups' */
    struct admission_seat *seat; /* [n_agents] */
    int n_groups;
};

/* How many doors, and so tokens behind the agents' own, this job needs. */
int admission_doors(const struct job_run *r);

/* a is zeroed but for what is borrowed. */
int admission_open(struct admission *a, struct eddis_error *err);

/* Invite an agent, with the others of its group, or alone (group -1), until then.  Returns the text
 * of its invitation, to be wiped and freed: the same one for all of a group.
 */
int admission_invite(struct admission *a, int agent, int group, int64_t until_ns, char **ret,
                     struct eddis_error *err);

/* Answer who asks for a brief.  Negative: two have come for one node, so a secret is known to
 * somebody else; err names both.
 */
int admission_hear(struct admission *a, const struct inbox_item *i, struct eddis_error *err);

/* Note that an agent has registered. */
void admission_registered(struct admission *a, int agent);

/* Shut what is open too long; or all doors of groups. */
void admission_tick(struct admission *a, int64_t now_ns);
void admission_shut(struct admission *a);

/* Accepts one that was not opened. */
void admission_close(struct admission *a);

#endif
