/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - the ranks that train one model: all of them in sync mode
 *
 * No lock: after worker_open only eddis_commit changes struct group.  It finds the group if the
 * mode was "auto" until then, and adds measurements to `place`.
 */
#ifndef EDDIS_WORKER_GROUP_H
#define EDDIS_WORKER_GROUP_H

#include "lib/board/layout.h"
#include "lib/comm/collective.h"

struct group {
    bool several; /* each group has its own model; false: sync mode, one model */
    bool rounds;  /* and all combine their models at the end of a round: local mode */
    int number, n_groups;
    const int32_t *of; /* [n_ranks of the job] group of each rank, borrowed from the board's area;
                        * NULL with one model */
    int *member;       /* [place.n_ranks], in order of ranks */
    struct comm_place place;
};

/* Find the group of this rank (`all`: its place among all ranks).  With several models the board
 * has the groups; area may be NULL in sync mode.  Nothing is sent.  Return 0, -ENOMEM, or -EPROTO:
 * the plan does not suit its mode; g must be closed in any case.
 */
int group_open(struct group *g, const struct comm_place *all, const struct board_area *area,
               struct eddis_error *err);

/* Check whether this rank is its group's root: the member with the lowest rank. */
bool group_is_root(const struct group *g);

/* Free the list of members. */
void group_close(struct group *g);

#endif
