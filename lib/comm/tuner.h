/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.h - chooses the kind of all-reduce for each size, from a short measurement
 *
 * Arithmetic only.  The caller measures, with any clock, and does
 *
 *     tuner_init(&t, &place, shared_bytes, budget_s);
 *     while (tuner_next(&t, &rung))
 *         run each of the rung's kinds `runs` times on rung.bytes bytes; seconds[kind] = the
 *         fastest run of the slowest rank;
 *         tuner_note(&t, seconds);
 *     tuner_choose(&t, &result);
 *
 * on every rank with the same seconds, and gets the same result on all.
 *
 * If ranks share memory on several nodes, messages go only between nodes.  So the kinds of message
 * are measured first, by a separate tuner, among one rank of each node.  Its choice is used while
 * shared memory is compared with messages among all ranks, and stays if shared memory is chosen.
 * Each tuner then has half of TUNER_BUDGET_S.
 *
 * Sizes grow sixteenfold from rung to rung, up to 4 MiB.  A kind is tried on a rung if the earlier
 * times predict that it may be the fastest there and fits into the remaining budget.  If two runs
 * of all such kinds do not fit, the likely ones are run twice, instead of all one time: a single
 * run may be disturbed by lost packets of the run before.  Times that are not measured are
 * predicted from the time of a message (a, from the trees) and of a byte (b), with P ranks and M
 * bytes:
 *
 *     direct    a + (P - 1) M b                        tree   2 log2 P (a + M b)
 *     halving   2 floor(log2 P) a + 2 (1 - 1/P) M b    ring   2 (P - 1) (a + M b / P)
 *
 * Halving costs 2 (a + M b) more if P is no power of two.
 *
 * Limits are chosen by these times at all rungs and at one more size.  For this choice halving
 * among hosts counts 1.15 times as long, because several buckets in it disturb each other.  For
 * larger sizes the default limits hold.
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
    TUNER_SHARED, /* through memory shared by a node's ranks, as in allreduce_new */
    TUNER_KINDS,
    TUNER_RUNGS = 5,
    TUNER_FIRST_BYTES = 64,
    TUNER_GROWTH = 16,
    TUNER_MESSAGES = 96,
    TUNER_REASON = 224,
};

/* One measurement: a size, and the kinds to run on it. */
struct tuner_rung {
    size_t bytes;
    int runs;     /* number of measured runs of each kind */
    bool warm_up; /* before the measured runs make one that is not measured, to make connections */
    /* name for allreduce_new_kind, or "shared"; NULL: not measured on this rung */
    const char *kind[TUNER_KINDS];
};

struct tuner_result;

/* The state of a measurement. */
struct tuner {
    struct comm_place place;
    size_t shared_bytes;
    bool few; /* there is one rank of each node, and these disturb each other little */
    const struct tuner_result *between; /* result of the tuner between nodes, borrowed; NULL: one
                                         * node */
    int n;                              /* number of rungs measured */
    double seconds[TUNER_RUNGS][TUNER_KINDS]; /* 0: not measured */
    double left_s;                            /* remaining budget in seconds */
};

/* The time of an all-reduce: latency_s + bytes / bytes_per_s; both 0: unknown. */
struct comm_cost {
    double latency_s, bytes_per_s;
};

/* The result of a measurement: the chosen kinds of all-reduce. */
struct tuner_result {
    bool shared; /* use the nodes' shared memory; false if there is none */
    /* limits for messages; if several nodes share memory, for messages between nodes */
    struct comm_limits limits;
    struct comm_cost cost;         /* cost of large buffers with this choice */
    char messages[TUNER_MESSAGES]; /* readable text of the limits */
    char reason[TUNER_REASON];     /* one readable sentence about the choice */
};

/* Begin a measurement.  shared_bytes: the largest size that members can reduce in their node's
 * shared memory; 0: none.  budget_s: TUNER_BUDGET_S or a part of it.
 */
void tuner_init(struct tuner *t, const struct comm_place *p, size_t shared_bytes, double budget_s);

/* Store the next measurement in ret.  Return false if the measurement is over. */
bool tuner_next(const struct tuner *t, struct tuner_rung *ret);

/* Record the seconds [TUNER_KINDS] of the kinds that tuner_next asked for, each more than 0. */
void tuner_note(struct tuner *t, const double *seconds);

/* Choose the kinds of all-reduce by the measured rungs.  There is at least one rung. */
void tuner_choose(const struct tuner *t, struct tuner_result *ret);

/* Return the size in bytes of the pieces in which an all-reduce of this cost and with these limits
 * is sent between n_nodes nodes.  The size is large enough that latency matters little, and no
 * larger, since a piece travels while the next is reduced on the node.
 */
size_t tuner_stage_bytes(const struct comm_cost *c, const struct comm_limits *l, int n_nodes);

#endif
