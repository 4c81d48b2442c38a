/* SPDX-License-Identifier: Apache-2.0 */
/* board_impl.h - what the two halves of the board share: pages in board.c, plans in board_plans.c
 */
#ifndef EDDIS_BOARD_BOARD_IMPL_H
#define EDDIS_BOARD_BOARD_IMPL_H

#include "board.h"

enum { BOARD_READ_TRIES = 100 };

struct board {
    unsigned char *map;
    size_t size;
    int local_rank;          /* of the worker; -1 in the agent */
    int64_t published;       /* steps_done at the last board_end */
    struct board_page page;  /* the worker's own copy, which board_end publishes */
    struct board_area setup; /* constant part, copied once, so that nobody can change it later */
    int32_t *places;         /* setup.group [n_ranks], setup.node_of [n_ranks] */
};

static inline struct board_area *board_area_of(const struct board *b)
{
    return (struct board_area *)b->map;
}

/* Whether nothing in it misleads who reads it. */
bool board_area_is_sane(const struct board_area *a);

/* Groups and nodes are numbered from 0 and no rank is in one beyond the others' number. */
bool board_groups_are_sane(const struct board_area *a);

#endif
