/* SPDX-License-Identifier: Apache-2.0 */
/* log_place.h - the folder of a node's logs
 *
 * The agent configuration names the driver's own log folder. If the driver's marker file is visible
 * in it on this node, the folder is shared: all nodes write to it, and no log is fetched. Otherwise
 * a folder is made on this node, with the same path or, if that fails, as
 * $XDG_STATE_HOME/eddis/jobs/<id>/logs of this user. Then the files of each generation are in a
 * subfolder g1, g2, ..., and folders that were made here are removed when they are empty.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H

#include "agents/protocol/protocol.h"

#include <limits.h>
#include <stdbool.h>

struct log_place {
    char dir[PATH_MAX]; /* path of the folder of the logs; "": none yet */
    size_t kept;        /* number of bytes of dir's path that existed before */
    bool shared;
};

/* Find or make the folder of the logs, and fill *ret. state_home, home: values of XDG_STATE_HOME
 * and HOME, or NULL. Return 0 or a negative errno.
 */
int log_place_open(const struct agent_config *b, const char *state_home, const char *home,
                   struct log_place *ret, struct eddis_error *err);

/* Return the path of a generation's folder, which the caller frees; NULL: no memory. */
char *log_place_generation(const struct log_place *p, int64_t generation);

/* Remove the folders that log_place_open has made, if they are empty. */
void log_place_close(const struct log_place *p);

#endif
