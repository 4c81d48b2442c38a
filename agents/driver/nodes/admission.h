/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - authenticate agents that join, and send them their configuration
 * (agents/protocol/protocol_join.h)
 *
 * Nodes join with a secret.  One secret is shared by all nodes that one srun starts, or made for
 * one node that is started again; a struct admission_secret is one such secret.  A struct
 * admission_seat is one node that may join.  A secret is valid until the agents of all its nodes
 * have registered, or until its deadline; that of a group also ends when the first rank is started.
 * After that it is rejected like any wrong token.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H
#define EDDIS_AGENTS_DRIVER_NODES_ADMISSION_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"
#include "request_queue.h"

#include <stdint.h>

/* A join secret. */
struct admission_secret {
    int64_t until_ns; /* end of its validity (clock_now_ns); 0: not valid */
    int missing;      /* number of its nodes that have not registered */
};

/* A node that may join. */
struct admission_seat {
    int secret;                     /* its join secret; -1: the node was not invited */
    char nonce[PROTOCOL_NONCE + 1]; /* nonce of the agent that got its configuration; "": none */
    char peer[HTTP_PEER_CHARS];     /* address of that agent */
};

/* The join secrets and nodes of a job. */
struct admission {
    const struct job_run *run; /* borrowed, like the next two members */
    struct listeners *listeners;
    const char *log_marker;
    struct admission_secret *secret; /* [n_agents + n_groups]: join secrets of single nodes, then of
                                      * groups */
    struct admission_seat *seat;     /* [n_agents] */
    int n_groups;
};

/* Return how many join secrets this job needs.  Their tokens are numbered after the agents' own.
 * 0: the job does not run under Slurm.
 */
int admission_secrets(const struct job_run *r);

/* Allocate the join secrets, none of them valid, and the nodes.  Before the call *a is zeroed
 * except for its borrowed pointers.
 */
int admission_open(struct admission *a, struct eddis_error *err);

/* Invite an agent until until_ns, together with its group or alone (group -1).  *ret becomes the
 * invitation text, which holds the secret and is the same for a whole group; the caller wipes and
 * frees it.
 */
int admission_invite(struct admission *a, int agent, int group, int64_t until_ns, char **ret,
                     struct eddis_error *err);

/* Answer a request to join: send the node's configuration or an HTTP error.  Return a negative
 * error if two agents came for one node, since then somebody else knows the secret; err names both.
 */
int admission_hear(struct admission *a, const struct request_item *i, struct eddis_error *err);

/* Record that an agent has registered.  Invalidate its join secret if no other node needs it. */
void admission_registered(struct admission *a, int agent);

/* Invalidate every join secret whose deadline has passed. */
void admission_tick(struct admission *a, int64_t now_ns);

/* Invalidate the join secrets of all groups. */
void admission_shut(struct admission *a);

/* Free the join secrets and nodes.  Does nothing if *a was never opened. */
void admission_close(struct admission *a);

#endif
