/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.h - what one start of an agent goes by on its node: a name for each use
 *
 * The driver draws an identity for each start.  Everything that the start leaves on the node, and
 * everything by which others find it there, bears one of these names.  Today all are made of the
 * same 32 random digits; whoever needs a name takes the member for that use.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H
#define EDDIS_AGENTS_PROTOCOL_NODE_IDENTITY_H

#include "lib/base/error.h"

#include <stdbool.h>

enum {
    NODE_IDENTITY_DIGITS = 32,
    NODE_IDENTITY_NAME = 40,        /* room for the name of a folder or a group */
    NODE_IDENTITY_RUNTIME_DIR = 40, /* room for a runtime_dir that is taken */
    NODE_IDENTITY_PATH = 64,        /* room for the path of a folder */
};

struct node_identity {
    char digits[NODE_IDENTITY_DIGITS + 1];      /* lower-case hexadecimal, in the brief */
    char mark[NODE_IDENTITY_DIGITS + 1];        /* a word in the arguments of keeper and agent */
    char run_folder[NODE_IDENTITY_NAME];        /* of Open MPI's session and the wrappers' socket */
    char shm_folder[NODE_IDENTITY_NAME];        /* of the board and Open MPI's shared memory */
    char cgroup[NODE_IDENTITY_NAME];            /* of the control group around the agent */
    char revive_key[NODE_IDENTITY_DIGITS + 1];  /* tells the next keeper here what to end first */
    char cleanup_key[NODE_IDENTITY_DIGITS + 1]; /* tells eddis-keeper --cleanup what to end */
};

/* Draw a new identity.  Fails rather than give one that can be guessed. */
int node_identity_make(struct node_identity *ret, struct eddis_error *err);

/* Make the identity that has these digits; a mark and either key are read alike.  Returns whether
 * text can be one of them; nothing is written when it cannot.
 */
bool node_identity_read(const char *text, struct node_identity *ret);

/* Whether text can be digits, a mark or a key. */
bool node_identity_is_digits(const char *text);

/* Whether a file's name can be that of a folder, or of a control group, of some start. */
bool node_identity_is_folder(const char *name);
bool node_identity_is_cgroup(const char *name);

/* Write the paths of both folders to ret_run and ret_shm [NODE_IDENTITY_PATH].  runtime_dir: where
 * the run folder goes if it is usable and short (a socket's path has 107 bytes); else, and when
 * NULL, it goes to /tmp.
 */
void node_identity_places(const struct node_identity *id, const char *runtime_dir, char *ret_run,
                          char *ret_shm);

/* Remove the folders at node_identity_places, for when the agent is dead and nothing of the job
 * runs here.  Folders that are not there are success.
 */
int node_identity_remove_folders(const struct node_identity *id, const char *runtime_dir,
                                 struct eddis_error *err);

#endif
