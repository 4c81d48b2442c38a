/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h - interface of the synchronisation algorithms: how workers combine gradients and models
 *
 * The engine packs a step's gradients into a few buffers, each followed by a trailer.  The
 * algorithm combines these buffers over the ranks of its place: all ranks, or a group that trains
 * one model.  Algorithms with several models average them between steps, by exchanges with a centre
 * in the Soft Memory Box, or by an all-reduce of all ranks.  With the other algorithms an exchange
 * is over as soon as it begins.  A
 * program trains in the same way with every algorithm.  Names are those of lib/model/algorithm.c.
 */
#ifndef EDDIS_SYNC_SYNC_H
#define EDDIS_SYNC_SYNC_H

#include "lib/comm/collective.h"
#include "lib/model/algorithm.h"
#include "lib/smb/smb.h"
#include "sync_trailer.h"

#include <stdint.h>

struct sync;

/* A buffer of gradients, to be combined in place. */
struct sync_buffer {
    void *data; /* [n] elements, then a struct sync_trailer, 8-byte aligned; borrowed until close */
    size_t n;
    enum comm_type type;
};

/* Element types of a centre.  16-bit parameters are float32 there; otherwise small moves would be
 * lost.
 */
enum { SYNC_TYPES = 2, SYNC_TAGS = SYNC_TYPES + 1 };
extern const enum comm_type sync_type[SYNC_TYPES];

/* Return the element type in the centre of a parameter of this type. */
enum comm_type sync_centre_type(enum comm_type type);

/* One parameter of the program. */
struct sync_value {
    void *data; /* [n] */
    size_t n;
    enum comm_type type;
};

/* The float32 copies of 16-bit parameters, one value after another.  The worker owns them: it may
 * read them between two exchanges, and set them before SYNC_START.
 */
struct sync_halves {
    float *kept;   /* [n] this writer's parameters in float32 */
    float *centre; /* [n] the centre in float32, written by SYNC_ADOPT; NULL: not wanted */
    size_t n;
    /* SYNC_START continues with the given copies, as from a checkpoint; false: SYNC_START makes the
     * copies anew
     */
    bool given;
    bool shared; /* if given: the writer's copy starts as a copy of the centre */
};

/* The inputs of an algorithm that averages models.  A writer is one model: a worker with a model of
 * its own, or a group that shares one.
 */
struct sync_models {
    struct smb *box; /* borrowed */
    /* [n_values], borrowed until close; their data may move between two exchanges */
    const struct sync_value *value;
    int n_values;
    struct sync_halves *halves; /* borrowed until close; NULL: no value has 16 bits */
    smb_key centre[SYNC_TYPES]; /* buffers of sync_centre_size elements, made by rank 0 */
    int writer, n_writers;
    int64_t timeout_ns; /* timeout of each request to the box */
    /* For algorithms of ALGORITHM_ROUNDS, which use no box: the place among all ranks, and the
     * outer optimizer's momentum [sync_centre_size] of each type, which the worker may read between
     * two exchanges; NULL: there is none
     */
    struct comm_place all;
    void *momentum[SYNC_TYPES];
};

/* Return the number of elements of all values whose type in the centre is `type`. */
size_t sync_centre_size(const struct sync_value *v, int n, enum comm_type type);

/* The parameters of sync_open. */
struct sync_setup {
    struct comm_place place;          /* this rank's place among the ranks that train one model */
    const struct sync_buffer *buffer; /* [n_buffers], copied */
    int n_buffers;
    const struct sync_models *models; /* copied; NULL: the algorithm has only one model */
    struct sync_options options;
};

/* Open the algorithm of this name with `setup`; the caller frees *ret by sync_close.  Return 0 or a
 * negative errno; -ENOTSUP: no algorithm has this name.
 */
int sync_open(const char *name, const struct sync_setup *setup, struct sync **ret,
              struct eddis_error *err);

/* Check whether the algorithm's buffers can be replaced after sync_open. */
bool sync_can_lay_out(const struct sync *s);

/* Replace the algorithm's buffers.  No buffer may be under way.  Return 0 or a negative errno,
 * after which only sync_close may follow.
 */
int sync_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                 struct eddis_error *err);

/* Count the beginning of a step, for sync_staleness. */
void sync_step(struct sync *s);

/* Start to combine a buffer in place.  No other traffic may use `tag` until the buffer is combined.
 * Return 1 if the buffer is already combined, else 0, or a failure, after which only sync_close may
 * follow.
 */
int sync_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);

/* Continue after the completed operation op.  Return the number of the buffer that it completes
 * plus 1, 0 if it completes none, or a failure.
 */
int sync_receive(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);

/* Check whether a buffer or an exchange under way waits for shared memory, which only sync_poll
 * inspects.
 */
bool sync_polls(const struct sync *s);

/* Inspect shared memory for the progress of other ranks.  Return like sync_receive; call sync_poll
 * again until it returns 0.
 */
int sync_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Return the rank that a buffer under way waits for; -1: none. */
int sync_waits_for(const struct sync *s, int buffer);

/* Borrow the combined data of a buffer, followed by its trailer, until the buffer begins again.
 * NULL: the result is in the buffer itself.
 */
const void *sync_result(const struct sync *s, int buffer);

/* The kind of exchange between two steps.  All ranks of a place make the same exchanges in the same
 * order.  "Settled" means that all of this writer's increments have arrived in the centre.
 */
enum sync_exchange {
    SYNC_START, /* once, before the first step: writer 0's parameters become the centre; with
                 * ALGORITHM_ROUNDS rank 0's become those of all */
    SYNC_STEP,  /* before a step: exchange if one is due; with ALGORITHM_ROUNDS at a round's end, on
                 * all ranks of all places */
    SYNC_LAND,  /* only with ALGORITHM_ROUNDS and the option overlap, once after each SYNC_STEP,
                 * which then is over before the result has arrived: apply the result */
    SYNC_SETTLE, /* wait until settled */
    SYNC_LAST,   /* exchange, then wait until settled */
    SYNC_ADOPT,  /* settle; copy the centre to the parameters */
    SYNC_LEAVE,  /* settle; release the centre */
};

/* One exchange. */
struct sync_turn {
    enum sync_exchange what;
    int64_t step;   /* SYNC_STEP: the step that follows */
    int64_t period; /* SYNC_STEP: steps between two exchanges under the plan of that step, at least
                     * 1 */
    /* SYNC_STEP: if steps before it have hidden a read of the centre, set to how long, before the
     * exchange is over; borrowed until then; NULL: not wanted
     */
    int64_t *hidden_ns;
    /* SYNC_STEP with ALGORITHM_ROUNDS: this rank's samples in the round; those of a whole round,
     * about, the same on all ranks; and what this rank reports to all
     */
    double weight, whole;
    struct sync_trailer tail;
    bool moved; /* SYNC_LAND: this rank has made steps since SYNC_STEP, whose change it keeps */
    int tag[SYNC_TAGS]; /* message tags that no other traffic uses meanwhile */
};

/* Begin an exchange; no buffer may be under way.  Return 1 if the exchange is over, so that the
 * parameters may be used again.  Return 0 if the parameters may be used only once sync_exchanging
 * returns false.
 */
int sync_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err);

/* Check whether an exchange is under way. */
bool sync_exchanging(const struct sync *s);

/* Check whether this request to the box was made by the algorithm. */
bool sync_owns(const struct sync *s, const struct smb_request *r);

/* Continue the exchange after the algorithm's request r, which is done.  Return 0 or a failure. */
int sync_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
             struct eddis_error *err);

/* Return the rank that the exchange under way waits for; -1: none. */
int sync_exchange_waits_for(const struct sync *s);

/* Borrow the combined trailers of the newest round's end.  Only with ALGORITHM_ROUNDS. */
const struct sync_trailer *sync_agreed(const struct sync *s);

/* Return the number of steps since this model's newest exchange with the centre.  What it knows of
 * the other models is that old, or older by the steps that hid the read.  0 for algorithms with one
 * model.
 */
int64_t sync_staleness(const struct sync *s);

/* Close the algorithm and free s.  Accept NULL. */
void sync_close(struct sync *s);

/* Borrow the name of algorithm i; NULL after the last. */
const char *sync_name(int i);

#endif
