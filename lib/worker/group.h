/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - the ranks that train one model: all of them in sync mode
 *
 * No lock: it does not change after worker_open, but in eddis_commit: where the mode was open until
 * then it is found there, and the place gets what was measured.
 */
#ifndef EDDIS_WORKER_GROUP_H
#define EDDIS_WORKER_GROUP_H

#include "lib/board/layout.h"
#include "lib/comm/collective.h"

struct group {
    bool several; /* models, one a group; false: sync mode */
    int number, n_groups;
    int *member; /* [place.n_ranks], in order of ranks */
    struct comm_place place;
};

/* Find the group of the rank at this place among all ranks.  In the modes with several models the
 * board tells the groups; area may be NULL in sync mode.  Nothing is sent.
 */
int group_open(struct group *g, const struct comm_place *all, const struct board_area *area,
               struct eddis_error *err);

/* Whether this rank speaks for its group: the member with the lowest rank. */
bool group_is_root(const struct group *g);

void group_close(struct group *g);

#endif
