/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - N ranks of a Soft Memory Box in one thread, over the in-process loop in virtual time */
#ifndef EDDIS_TESTS_BOXES_H
#define EDDIS_TESTS_BOXES_H

#include "bench/loop.h"
#include "lib/smb/smb.h"

enum { BOXES_MAX = 16 };

struct boxes {
    int n;
    struct loop *loop;
    struct transport *end[BOXES_MAX];
    struct smb *box[BOXES_MAX];
    int node_of[BOXES_MAX];
    struct comm_place place[BOXES_MAX];
    uint64_t random;
    int64_t idle_ns; /* virtual time in which nothing moved */
};

/* per_node ranks on each node; seed 0 is not random. */
void boxes_open(struct boxes *w, int n, int per_node, int n_servers, uint64_t seed);

int64_t boxes_now_ns(const struct boxes *w);

/* Begin a request without waiting; its deadline is a virtual minute away unless it is set. */
void boxes_start(struct boxes *w, int rank, struct smb_request *r);

/* Let one rank, drawn at random, move, or time pass when none can. */
void boxes_step(struct boxes *w);

/* Until it is done. */
void boxes_finish(struct boxes *w, struct smb_request *r);

/* Both.  Returns r->rc. */
int boxes_do(struct boxes *w, int rank, struct smb_request *r);

/* All leave in good order, and everything is freed. */
void boxes_close(struct boxes *w);

#endif
