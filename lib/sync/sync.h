/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h - how workers combine what they have learnt: one algorithm behind one interface
 *
 * The engine packs a step's gradients into a few buffers, each followed by a tail, and has the
 * algorithm combine them over all ranks.  Names are those of lib/model/algorithm.c.
 */
#ifndef EDDIS_SYNC_SYNC_H
#define EDDIS_SYNC_SYNC_H

#include "lib/comm/collective.h"

#include <stdint.h>

struct sync;

/* What travels behind every buffer, combined by a rule of its own. */
struct sync_tail {
    double weight;     /* sum: for how many samples the gradients count */
    int64_t version;   /* smallest: newest plan on a worker's board */
    int64_t asked;     /* largest: step that a worker's sampler was asked for */
    int64_t blocked;   /* smallest: ns that a worker was blocked in the step before */
    uint64_t flags;    /* or: SYNC_... */
    uint64_t reserved; /* 0 */
};

enum {
    SYNC_NO_PLAN = 1, /* a worker cannot read the newest plan */
};

/* The tail's rule; does not depend on the order of its arguments. */
void sync_tail_combine(void *acc, const void *in);

struct sync_buffer {
    void *data; /* [n] and a struct sync_tail behind it, 8-byte aligned; borrowed until close */
    size_t n;
    enum comm_type type;
};

struct sync_setup {
    struct comm_place place;
    const struct sync_buffer *buffer; /* [n_buffers], copied */
    int n_buffers;
};

/* Open the algorithm of this name.  -ENOTSUP: there is none. */
int sync_open(const char *name, const struct sync_setup *setup, struct sync **ret,
              struct eddis_error *err);

/* Whether the buffers may change, and the new ones; nothing may be under way.  After a failure only
 * close may follow.
 */
bool sync_can_lay_out(const struct sync *s);
int sync_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                 struct eddis_error *err);

/* Start combining a buffer in place, under a tag that no other traffic uses meanwhile.  Returns 1
 * when it is combined already, else 0.  After a failure only close may follow.
 */
int sync_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);

/* An operation that the algorithm asked for is complete.  Returns the number of the buffer that is
 * now combined plus 1, or 0.
 */
int sync_receive(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Whether a buffer under way waits for something that only sync_poll sees. */
bool sync_polls(const struct sync *s);

/* Look at what others have done in shared memory.  Returns as sync_receive; call it again until it
 * returns 0.
 */
int sync_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Rank that a buffer under way waits for; -1: none. */
int sync_waits_for(const struct sync *s, int buffer);

/* Accepts NULL. */
void sync_close(struct sync *s);

/* Borrows the name of algorithm i, or NULL behind the last. */
const char *sync_name(int i);

#endif
