/* SPDX-License-Identifier: Apache-2.0 */
/* board_impl.h - state shared by the two halves of the board: pages in board.c, plans in
 * board_plans.c
 */
#ifndef EDDIS_BOARD_BOARD_IMPL_H
#define EDDIS_BOARD_BOARD_IMPL_H

#include "board.h"

enum { BOARD_READ_TRIES = 100 };

struct board {
    unsigned char *map;
    size_t size;
    int local_rank;          /* the worker's local rank; -1 in the agent */
    int64_t published;       /* steps_done at the previous board_end */
    struct board_page page;  /* the worker's own copy, which board_end publishes */
    struct board_area setup; /* constant part of the area, copied at the opening: nobody can change
                              * it later */
    int32_t *places;         /* memory of setup.group [n_ranks] and setup.node_of [n_ranks] */
};

/* Return the area in the shared memory. */
static inline struct board_area *board_area_of(const struct board *b)
{
    return (struct board_area *)b->map;
}

/* Check that every value of the area is in its range, so that readers may rely on it. */
bool board_area_is_valid(const struct board_area *a);

/* Check that groups and nodes are numbered from 0, below n_ranks, and nodes in the order of ranks.
 */
bool board_groups_are_valid(const struct board_area *a);

#endif
