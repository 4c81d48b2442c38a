/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - authenticate agents that join, and send them their configuration
 * (agents/protocol/protocol_join.h)
 *
 * Nodes join with a secret (struct admission_secret). All nodes that one srun starts, a group,
 * share one secret; a node that is started again has a secret of its own. A struct admission_seat
 * is one node that may join. A secret is valid until the agents of all its nodes have registered,
 * or until its deadline; the secret of a group becomes invalid at the latest when the first rank is
 * started. An invalid secret is rejected like any wrong token.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H
#define EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"
#include "request_queue.h"

#include <stdint.h>

/* A join secret. */
struct admission_secret {
    int64_t until_ns; /* time until which the secret is valid (clock_now_ns); 0: not valid */
    int missing;      /* number of nodes of this secret that have not registered */
};

/* A node that may join. */
struct admission_seat {
    int secret; /* index of the node's join secret; -1: the node was not invited */
    char nonce[PROTOCOL_NONCE + 1]; /* nonce of the agent that got its configuration; "": none */
    char peer[HTTP_PEER_CHARS];     /* address of the agent that got the configuration */
};

/* The join secrets and nodes of a job. */
struct admission {
    const struct job_run *run; /* borrowed, like the next two members */
    struct listeners *listeners;
    const char *log_marker;
    struct admission_secret *secret; /* [n_agents + n_groups]: join secrets of single nodes, then of
                                      * groups */
    struct admission_seat *seat;     /* [n_agents] nodes that may join */
    int n_groups;
};

/* Return how many join secrets this job needs; 0: the job does not run under Slurm. The numbers of
 * the secrets among the tokens follow those of the agents' tokens.
 */
int admission_secrets(const struct job_run *r);

/* Allocate the join secrets, all invalid, and the seats. The caller has zeroed *a except for its
 * borrowed pointers. Return 0 or a negative errno.
 */
int admission_open(struct admission *a, struct eddis_error *err);

/* Invite an agent, together with its group or alone (group -1), to join until until_ns. Store in
 * *ret the text of the invitation, which contains the secret and is the same for all agents of a
 * group; the caller wipes and frees it. Return 0 or a negative errno.
 */
int admission_invite(struct admission *a, int agent, int group, int64_t until_ns, char **ret,
                     struct eddis_error *err);

/* Answer a request to join: send the node's configuration or an HTTP error. Return 0, also after an
 * HTTP error. If two agents join as the same node, a stranger knows the secret: return -EACCES, and
 * err names the addresses of both.
 */
int admission_hear(struct admission *a, const struct request_item *i, struct eddis_error *err);

/* Record that an agent has registered. Invalidate the agent's join secret if no other node needs
 * it.
 */
void admission_registered(struct admission *a, int agent);

/* Invalidate every join secret whose deadline has passed. */
void admission_tick(struct admission *a, int64_t now_ns);

/* Invalidate the join secrets of all groups. */
void admission_shut(struct admission *a);

/* Free the join secrets and seats. If *a was never opened, do nothing. */
void admission_close(struct admission *a);

#endif
