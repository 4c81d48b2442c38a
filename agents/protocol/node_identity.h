/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.h - the mark that identifies one start of an agent on its node
 *
 * A mark has 32 hexadecimal digits: 24 for the node and 8 for the start. The driver draws the
 * digits of a node at random when it first starts an agent there, and then counts the starts. Every
 * process and folder of a start carries the mark of the start: in arguments, environment or a file.
 * So a later start, or a clean-up, can remove what earlier starts left behind, and never removes
 * what belongs to a later start or to another node of the job on the same machine. Agents that are
 * started together get one shared identity; each derives the identity of its node from the shared
 * identity and the node's name.
 *
 * Marks are public: every user can read them in the process list. So a mark only identifies; no
 * path or address can be predicted from it. Only processes and files of this user count as marked.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H
#define EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H

#include "lib/base/error.h"

#include <stdbool.h>

enum {
    NODE_IDENTITY_NODE = 24,   /* digits of the node, before those of the start */
    NODE_IDENTITY_DIGITS = 32, /* digits of a whole mark */
    NODE_IDENTITY_NAME = 40,   /* size of a control group's name, with its 0 */
};

/* Environment variable that holds the mark in every process that an agent starts. */
#define NODE_IDENTITY_VARIABLE "EDDIS_NODE_MARK"

/* The identity of one start of an agent. */
struct node_identity {
    char mark[NODE_IDENTITY_DIGITS +
              /* the mark, in lower-case hexadecimal digits; it is in the agent configuration, in
               * the arguments of supervisor and agent, in the environment of their children, and in
               * a file in each folder (agents/node/keep/folders.h)
               */
              1];
    char cgroup[NODE_IDENTITY_NAME]; /* name of the agent's control group, "eddis-<mark>" */
};

/* Draw a random identity for the first start of an agent on a new node. Return 0 or a negative
 * errno.
 */
int node_identity_make(struct node_identity *ret, struct eddis_error *err);

/* Turn the shared identity of several nodes into the identity of the node `name`. The last 12
 * digits of the node's part are replaced by a hash of the name; the number of the start does not
 * change.
 */
void node_identity_name(struct node_identity *id, const char *name);

/* Turn the identity that node_identity_name made back into the shared identity: clear the digits
 * that depend on the node's name.
 */
void node_identity_unname(struct node_identity *id);

/* Advance *id to the node's next start.  Return 0, or -ERANGE after 2^32 - 1 starts. */
int node_identity_next(struct node_identity *id, struct eddis_error *err);

/* Write the identity of the node's previous start to *ret. Return false, and leave *ret unchanged,
 * if id is the first start.
 */
bool node_identity_before(const struct node_identity *id, struct node_identity *ret);

/* Check whether text is the mark of one of these n starts or of an earlier start of its node. */
bool node_identity_covers(const struct node_identity *id, int n, const char *text);

/* Build the identity that has this mark. Return false, and leave *ret unchanged, if the text does
 * not have the form of a mark.
 */
bool node_identity_read(const char *mark, struct node_identity *ret);

/* Check whether text has the form of a mark: 32 lower-case hexadecimal digits. */
bool node_identity_is_mark(const char *text);

/* Check whether a file name has the form of an agent's control group: "eddis-" and a mark. */
bool node_identity_is_cgroup(const char *name);

#endif
