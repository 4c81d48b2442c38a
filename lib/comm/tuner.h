/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.h - which kind of all-reduce for which size, from a short measurement
 *
 * Arithmetic only: whoever measures, with whatever clock, does
 *
 *     tuner_init(&t, &place, shared_bytes, budget_s);
 *     while (tuner_next(&t, &rung))
 *         run each of the rung's kinds `runs` times on rung.bytes bytes; seconds[kind] = the
 *         quickest run of the slowest rank;
 *         tuner_note(&t, seconds);
 *     tuner_choose(&t, &result);
 *
 * on every rank with the same seconds, and has the same result on all.
 *
 * Where memory is shared on several nodes messages go between these alone.  So their kinds are
 * measured first, by a tuner of its own among one rank of each node; what it chooses is used when
 * shared memory is measured beside messages among all, and holds if it is taken.  Each tuner has
 * half of TUNER_BUDGET_S then.
 *
 * Sizes grow sixteenfold from rung to rung, to 4 MiB.  A kind is tried on a rung when what is known
 * predicts that it may win there and that it fits into what is left of the budget; where two runs
 * of all such do not fit, two of the likely ones rather than one of each, since one alone may be
 * spoilt by lost packets of the run before it.  What is not measured is predicted, with what the
 * trees' times say of a message (a) and the kinds' growth of a byte (b), with P ranks and M bytes:
 *
 *     direct    a + (P - 1) M b                        tree   2 log2 P (a + M b)
 *     halving   2 floor(log2 P) a + 2 (1 - 1/P) M b    ring   2 (P - 1) (a + M b / P)
 *
 * where halving costs 2 (a + M b) more when P is no power of two.
 *
 * Limits are chosen by these times at all rungs and one more size, where halving among hosts counts
 * 1.15 times as long, for several buckets disturb each other in it; beyond it the usual ones hold.
 */
#ifndef EDDIS_COMM_TUNER_H
#define EDDIS_COMM_TUNER_H

#include "collective.h"

#define TUNER_BUDGET_S 0.3

enum {
    TUNER_DIRECT,
    TUNER_TREE,
    TUNER_HALVING,
    TUNER_RING,
    TUNER_SHARED, /* through memory that ranks of a node share, as allreduce_new does it */
    TUNER_KINDS,
    TUNER_RUNGS = 5,
    TUNER_FIRST_BYTES = 64,
    TUNER_GROWTH = 16,
    TUNER_MESSAGES = 96,
    TUNER_REASON = 224,
};

struct tuner_rung {
    size_t bytes;
    int runs;                      /* of each kind, that count */
    bool warm_up;                  /* one run before them that does not, to make connections */
    const char *kind[TUNER_KINDS]; /* for allreduce_new_kind, or "shared"; NULL: not at this rung */
};

struct tuner_result;

struct tuner {
    struct comm_place place;
    size_t shared_bytes;
    bool few;                           /* one rank of each node: they disturb each other little */
    const struct tuner_result *between; /* the choice among the nodes, borrowed; NULL: one node */
    int n;                              /* rungs measured */
    double seconds[TUNER_RUNGS][TUNER_KINDS]; /* 0: not measured */
    double left_s;
};

/* How long an all-reduce lasts: latency_s + bytes / bytes_per_s; both 0: unknown. */
struct comm_cost {
    double latency_s, bytes_per_s;
};

struct tuner_result {
    bool shared;               /* through the memory of the nodes; false too when there is none */
    struct comm_limits limits; /* of messages; among the nodes where memory is shared on several */
    struct comm_cost cost;     /* of large buffers, as chosen */
    char messages[TUNER_MESSAGES]; /* the limits, for people ... */
    char reason[TUNER_REASON];     /* ... and one sentence of all */
};

/* Return the bytes of a rung, 0 .. TUNER_RUNGS - 1. */
size_t tuner_bytes(int rung);

/* Begin.  shared_bytes: up to this size members can reduce in memory of their node; 0: they cannot.
 * budget_s: TUNER_BUDGET_S or a part of it.
 */
void tuner_init(struct tuner *t, const struct comm_place *p, size_t shared_bytes, double budget_s);

/* Say what to measure next.  Returns false when it is over. */
bool tuner_next(const struct tuner *t, struct tuner_rung *ret);

/* Take note of the seconds [TUNER_KINDS] of what tuner_next asked for, each more than 0. */
void tuner_note(struct tuner *t, const double *seconds);

/* Choose by what was measured, which is at least one rung. */
void tuner_choose(const struct tuner *t, struct tuner_result *ret);

/* Return of which size the pieces between so many nodes should be, where an all-reduce costs this
 * and these limits hold: so large that their latency matters little, and no larger, since a piece
 * is on the wire while the next is reduced on the node.
 */
size_t tuner_stage_bytes(const struct comm_cost *c, const struct comm_limits *l, int n_nodes);

#endif
