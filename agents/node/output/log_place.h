/* SPDX-License-Identifier: Apache-2.0 */
/* log_place.h - the folder of a node's logs
 *
 * The agent configuration names the driver's own folder.  If the driver's marker is visible in it,
 * the folder is shared: all nodes write there, and nothing is fetched.  Otherwise it is made here,
 * under the same name or, if that fails, in this user's $XDG_STATE_HOME/eddis/jobs/<id>/logs.  Then
 * each generation's files are in a folder of their own, g1, g2, ..., and folders made here are
 * removed once they are empty.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H

#include "agents/protocol/protocol.h"

#include <limits.h>
#include <stdbool.h>

struct log_place {
    char dir[PATH_MAX]; /* folder of the logs; "": none yet */
    size_t kept;        /* bytes of dir's path that existed before */
    bool shared;
};

/* Find or make the folder. state_home, home: values of XDG_STATE_HOME and HOME, or NULL. Return 0
 * or an error.
 */
int log_place_open(const struct agent_config *b, const char *state_home, const char *home,
                   struct log_place *ret, struct eddis_error *err);

/* Return the path of a generation's folder, which the caller frees; NULL: no memory. */
char *log_place_generation(const struct log_place *p, int64_t generation);

/* Remove the folders made here, if they are empty. */
void log_place_close(const struct log_place *p);

#endif
