/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.h - what a node's starts of an agent go by there
 *
 * The driver draws a node's identity once and counts its starts: a mark is 24 digits of the node
 * and 8 of the start.  Everything that a start begins bears its mark, in its arguments or
 * environment, so a later start, or a clean-up, ends what earlier ones have left and never what
 * belongs to a later one, or to another node of the job on the same machine.  Of nodes that are
 * started together each makes its own identity of what all are given, and of its name.
 *
 * All of it is public: everybody may read it in the list of processes, so it says what belongs to a
 * start and never where something will be.  Only what is this user's own counts as marked.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H
#define EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H

#include "lib/base/error.h"

#include <stdbool.h>

enum {
    NODE_IDENTITY_NODE = 24, /* digits of the node, before those of the start */
    NODE_IDENTITY_DIGITS = 32,
    NODE_IDENTITY_NAME = 40, /* room for the name of a group */
};

/* The variable that holds the mark in all that an agent starts. */
#define NODE_IDENTITY_VARIABLE "EDDIS_NODE_MARK"

struct node_identity {
    char mark[NODE_IDENTITY_DIGITS + 1]; /* lower-case hexadecimal: in the brief, a word in the
                                          * arguments of keeper and agent, in the environment of
                                          * what they start, and in a file in each of its folders
                                          * (agents/node/keep/folders.h) */
    char cgroup[NODE_IDENTITY_NAME];     /* of the control group around the agent */
};

/* Draw the identity of a new node's first start. */
int node_identity_make(struct node_identity *ret, struct eddis_error *err);

/* Make of the identity of several nodes, whose starts are counted together, that of the node of
 * this name: its last 12 digits of the node follow from the name.
 */
void node_identity_name(struct node_identity *id, const char *name);

/* Make of such a node's identity that of all of them again. */
void node_identity_unname(struct node_identity *id);

/* Make *id that of the node's next start; -ERANGE after 2^32 of them. */
int node_identity_next(struct node_identity *id, struct eddis_error *err);

/* Make the identity of the start before; false, and nothing is written: there was none. */
bool node_identity_before(const struct node_identity *id, struct node_identity *ret);

/* Whether this text is the mark of this start, or of an earlier one of its node. */
bool node_identity_covers(const struct node_identity *id, const char *text);

/* Make the identity that has this mark.  Returns whether it can be one; nothing is written when it
 * cannot.
 */
bool node_identity_read(const char *mark, struct node_identity *ret);

/* Whether text can be a mark. */
bool node_identity_is_mark(const char *text);

/* Whether a file's name can be that of a control group of some start. */
bool node_identity_is_cgroup(const char *name);

#endif
