/* SPDX-License-Identifier: Apache-2.0 */
/* log_place.h - where a node keeps what its ranks print
 *
 * The brief names the driver's own folder.  When the driver's marker is seen in it, it is shared,
 * all write into it and nothing need be fetched.  Else it is made here, under the same name or,
 * where that cannot be, in this user's $XDG_STATE_HOME/eddis/jobs/<id>/logs; each generation's
 * files are in a folder of their own then, g1, g2, ..., and what was made is removed when nothing
 * is left in it.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H
#define EDDIS_AGENTS_NODE_OUTPUT_LOG_PLACE_H

#include "agents/protocol/protocol.h"

#include <limits.h>
#include <stdbool.h>

struct log_place {
    char dir[PATH_MAX]; /* "": none yet */
    size_t kept;        /* bytes of it that were there before */
    bool shared;
};

/* Find or make the folder.  home and state_home are as in the environment, or NULL. */
int log_place_open(const struct brief *b, const char *state_home, const char *home,
                   struct log_place *ret, struct eddis_error *err);

/* Return the path of a generation's folder, for the caller to free; NULL without memory. */
char *log_place_generation(const struct log_place *p, int64_t generation);

/* Remove the folders made here, as far as they are empty. */
void log_place_close(const struct log_place *p);

#endif
