/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h - how workers combine what they have learnt: one algorithm behind one interface
 *
 * The engine packs a step's gradients into a few buffers, each followed by a tail, and has the
 * algorithm combine them over the ranks of its place: all of them, or a group that trains one
 * model.  Algorithms that have several models draw them together between steps, by exchanges with
 * a centre in the Soft Memory Box; for the others an exchange is over at once.  A program trains in
 * the same way whatever the algorithm is.  Names are those of lib/model/algorithm.c.
 */
#ifndef EDDIS_SYNC_SYNC_H
#define EDDIS_SYNC_SYNC_H

#include "lib/comm/collective.h"
#include "lib/model/algorithm.h"
#include "lib/smb/smb.h"
#include "model_sums.h"

#include <stdint.h>

struct sync;

/* What travels behind every buffer, combined by a rule of its own. */
struct sync_tail {
    double weight;   /* sum: for how many samples the gradients count */
    int64_t version; /* smallest: newest plan on a worker's board */
    int64_t asked;   /* largest: step that a worker's sampler was asked for */
    int64_t blocked; /* smallest: ns that a worker was blocked in the step before */
    uint32_t flags;  /* or: SYNC_... */
    /* Largest: rank that makes its step's first round; that makes a later one; 0 of the others. */
    uint16_t leads, follows;
    /* Sum: a range of samples that the group's root, and nobody else, took from the counter for a
     * later step.  range_count 0: none; -1: nothing is left.
     */
    int64_t range_first, range_count;
    struct model_sums models; /* by its own rule: behind a step before */
};

enum {
    SYNC_NO_PLAN = 1, /* a worker cannot read the newest plan */
    SYNC_STOP = 2,    /* a worker wants the job to stop */
    SYNC_LEADS = 4,   /* to a worker this is the first round of its step ... */
    SYNC_FOLLOWS = 8, /* ... to one it is not */
};

/* Combine two tails, the result in acc; does not depend on the order of the arguments. */
void sync_tail_combine(void *acc, const void *in);

/* Return whether a combined tail's workers have made as many rounds in the step before; the error
 * of one whose have not, -EPROTO.
 */
bool sync_tail_alike(const struct sync_tail *t);
int sync_tail_fail(const struct sync_tail *t, struct eddis_error *err);

struct sync_buffer {
    void *data; /* [n] and a struct sync_tail behind it, 8-byte aligned; borrowed until close */
    size_t n;
    enum comm_type type;
};

/* Types that centres have: numbers of 16 bits lie there as float32, or small moves would be lost.
 */
enum { SYNC_TYPES = 2 };
extern const enum comm_type sync_type[SYNC_TYPES];

/* Return the type that parameters of this one have in the centre. */
enum comm_type sync_centre_type(enum comm_type type);

/* A parameter. */
struct sync_value {
    void *data; /* [n] */
    size_t n;
    enum comm_type type;
};

/* What parameters of 16 bits are as float32, one value behind the other.  The worker's: between two
 * exchanges it may read them, and before SYNC_START set them.
 */
struct sync_halves {
    float *kept;   /* [n] those of this writer, as they would be in float32 */
    float *centre; /* [n] of the centre: SYNC_ADOPT fills them in; NULL: nobody wants them */
    size_t n;
    bool given; /* SYNC_START goes on with both, as of a checkpoint, and does not make them anew ...
                 */
    bool shared; /* ... with this centre as the writer's own, too */
};

/* What an algorithm that averages models needs.  A writer is a worker that has a model of its own,
 * or a group that shares one.
 */
struct sync_models {
    struct smb *box;                /* borrowed */
    const struct sync_value *value; /* [n_values], borrowed until close; between two exchanges their
                                     * data may move */
    int n_values;
    struct sync_halves *halves; /* borrowed until close; NULL: no value is of 16 bits */
    smb_key centre[SYNC_TYPES]; /* buffers of sync_centre_size elements, made by rank 0 */
    int writer, n_writers;
    int64_t timeout_ns; /* of what is asked of the box */
};

/* Return how many elements all values have together that are of one type in the centre. */
size_t sync_centre_size(const struct sync_value *v, int n, enum comm_type type);

struct sync_setup {
    struct comm_place place;          /* of the ranks that train one model */
    const struct sync_buffer *buffer; /* [n_buffers], copied */
    int n_buffers;
    const struct sync_models *models; /* copied; NULL: the algorithm has but one model */
    struct sync_options options;
};

/* Open the algorithm of this name.  -ENOTSUP: there is none. */
int sync_open(const char *name, const struct sync_setup *setup, struct sync **ret,
              struct eddis_error *err);

/* Return whether the buffers may change; change them, while nothing is under way.  After a failure
 * only close may follow.
 */
bool sync_can_lay_out(const struct sync *s);
int sync_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                 struct eddis_error *err);

/* Note that a step begins. */
void sync_step(struct sync *s);

/* Start combining a buffer in place, under a tag that no other traffic uses meanwhile.  Returns 1
 * when it is combined already, else 0.  After a failure only close may follow.
 */
int sync_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);

/* Go on after this operation, which is complete.  Returns the number of the buffer that is combined
 * by it plus 1, or 0.
 */
int sync_receive(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Return whether a buffer or an exchange under way waits for something that only sync_poll sees. */
bool sync_polls(const struct sync *s);

/* Look at what others have done in shared memory.  Returns as sync_receive; call it again until it
 * returns 0.
 */
int sync_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Return the rank that a buffer under way waits for; -1: none. */
int sync_waits_for(const struct sync *s, int buffer);

/* Return where to read what a buffer was combined to, and the tail behind it, borrowed until the
 * buffer is begun again.  NULL: in the buffer itself.
 */
const void *sync_result(const struct sync *s, int buffer);

/* What happens between two steps, on all ranks of a place in the same order.  "Settled": what this
 * writer gave to the centre has arrived there.
 */
enum sync_exchange {
    SYNC_START,  /* once, before the first step: the first writer's parameters are the centre */
    SYNC_STEP,   /* before a step: exchange when it is due */
    SYNC_SETTLE, /* wait until settled */
    SYNC_LAST,   /* exchange, and wait until settled */
    SYNC_ADOPT,  /* settle; the centre becomes the parameters */
    SYNC_LEAVE,  /* settle, and let go of the centre */
};

struct sync_turn {
    enum sync_exchange what;
    int64_t step;   /* of SYNC_STEP: the one that follows, */
    int64_t period; /* and steps between two exchanges under its plan, at least 1 */
    int tag;        /* used by no other traffic meanwhile */
};

/* Begin an exchange; no buffer may be under way.  Returns 1 when parameters may be used again,
 * else 0: they may once sync_exchanging says no.
 */
int sync_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err);
bool sync_exchanging(const struct sync *s);

/* Return whether this request to the box is the algorithm's; go on after it, when it is done. */
bool sync_owns(const struct sync *s, const struct smb_request *r);
int sync_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
             struct eddis_error *err);

/* Return the rank that the exchange under way waits for; -1: none. */
int sync_exchange_waits_for(const struct sync *s);

/* Return the steps since this model was last drawn to the centre, which is how old what it knows of
 * the others is; 0 for algorithms with one model.
 */
int64_t sync_staleness(const struct sync *s);

/* Accepts NULL. */
void sync_close(struct sync *s);

/* Return the name of algorithm i, borrowed, or NULL behind the last. */
const char *sync_name(int i);

#endif
