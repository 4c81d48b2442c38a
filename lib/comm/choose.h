/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h - which kind of all-reduce for which size, from a short measurement
 *
 * Arithmetic only: whoever measures, with whatever clock, does
 *
 *     chooser_init(&c, &place, shared_bytes);
 *     while (chooser_next(&c, &rung))
 *         run each of the rung's kinds `runs` times on rung.bytes bytes; seconds[kind] = the
 *         quickest run of the slowest rank;
 *         chooser_note(&c, seconds);
 *     chooser_choose(&c, &result);
 *
 * on every rank with the same seconds, and has the same result on all.
 *
 * Sizes grow sixteenfold from rung to rung, to 4 MiB.  A kind is tried on a rung when what is known
 * predicts that it may win there and that it fits into what is left of CHOOSE_BUDGET_S.  What is
 * not measured is predicted, with what the trees' times say of a message (a) and the kinds' growth
 * of a byte (b), with P ranks and M bytes:
 *
 *     direct    a + (P - 1) M b                        tree   2 log2 P (a + M b)
 *     halving   2 floor(log2 P) a + 2 (1 - 1/P) M b    ring   2 (P - 1) (a + M b / P)
 *
 * where halving costs 2 (a + M b) more when P is no power of two.
 *
 * Limits are chosen by these times at all rungs and one more size; beyond it the usual ones hold.
 */
#ifndef EDDIS_COMM_CHOOSE_H
#define EDDIS_COMM_CHOOSE_H

#include "collective.h"

#define CHOOSE_BUDGET_S 0.3

enum {
    CHOOSE_DIRECT,
    CHOOSE_TREE,
    CHOOSE_HALVING,
    CHOOSE_RING,
    CHOOSE_SHARED, /* through memory that ranks of a node share, as allreduce_new does it */
    CHOOSE_KINDS,
    CHOOSE_RUNGS = 5,
    CHOOSE_FIRST_BYTES = 64,
    CHOOSE_GROWTH = 16,
    CHOOSE_REASON = 160,
};

struct choose_rung {
    size_t bytes;
    int runs;     /* that count, of each kind */
    bool warm_up; /* and one before them that does not, to make connections */
    const char
        *kind[CHOOSE_KINDS]; /* for allreduce_new_kind, or "shared"; NULL: not at this rung */
};

struct chooser {
    struct comm_place place;
    size_t shared_bytes;
    int n;                                      /* rungs measured */
    double seconds[CHOOSE_RUNGS][CHOOSE_KINDS]; /* 0: not measured */
    double left_s;
};

/* What an all-reduce of so many bytes lasts: latency_s + bytes / bytes_per_s; both 0: unknown. */
struct comm_cost {
    double latency_s, bytes_per_s;
};

struct choose_result {
    bool shared;                /* through the memory of the nodes; false too when there is none */
    struct comm_limits limits;  /* of messages */
    struct comm_cost cost;      /* of large buffers, as chosen */
    char reason[CHOOSE_REASON]; /* one sentence for people */
};

/* Bytes of a rung, 0 .. CHOOSE_RUNGS - 1. */
size_t choose_bytes(int rung);

/* shared_bytes: up to this size members can reduce in memory of their node; 0: they cannot. */
void chooser_init(struct chooser *c, const struct comm_place *p, size_t shared_bytes);

/* Returns false when it is over. */
bool chooser_next(const struct chooser *c, struct choose_rung *ret);

/* seconds [CHOOSE_KINDS] of what chooser_next asked for; more than 0. */
void chooser_note(struct chooser *c, const double *seconds);

/* At least one rung is measured. */
void chooser_choose(const struct chooser *c, struct choose_result *ret);

#endif
