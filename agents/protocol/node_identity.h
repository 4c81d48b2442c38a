/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.h - what one start of an agent goes by on its node
 *
 * The driver draws an identity for each start.  All of it is public: everybody may read it in the
 * list of processes, so it says what belongs to the start and never where something will be.  Only
 * what is this user's own counts as marked.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H
#define EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H

#include "lib/base/error.h"

#include <stdbool.h>

enum {
    NODE_IDENTITY_DIGITS = 32,
    NODE_IDENTITY_NAME = 40, /* room for the name of a group */
};

struct node_identity {
    char mark[NODE_IDENTITY_DIGITS + 1]; /* lower-case hexadecimal: in the brief, a word in the
                                          * arguments of keeper and agent, and in a file in each of
                                          * its folders (agents/node/keep/folders.h) */
    char cgroup[NODE_IDENTITY_NAME];     /* of the control group around the agent */
};

/* Draw a new identity. */
int node_identity_make(struct node_identity *ret, struct eddis_error *err);

/* Make the identity that has this mark.  Returns whether it can be one; nothing is written when it
 * cannot.
 */
bool node_identity_read(const char *mark, struct node_identity *ret);

/* Whether text can be a mark. */
bool node_identity_is_mark(const char *text);

/* Whether a file's name can be that of a control group of some start. */
bool node_identity_is_cgroup(const char *name);

#endif
