/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - one worker's synchronisation as a state machine
 *
 * Parameters belong to sets (a GAN's generator, its discriminator), one unless said otherwise.  A
 * set is combined in rounds: a round begins with the set's first gradient and is over when all of
 * its buckets are combined; then the next one may begin, in the same step or in the next.  Rounds
 * of unlike sets may be under way together; they leave in the order in which they began, which is
 * the same on every rank: round_order.h has ranks with several sets agree on it, and tails tell
 * where ranks with one set make unlike numbers of rounds.
 *
 * Parameters are gathered into buckets in the reverse order of registration, the order in which
 * back-propagation produces gradients (bucket.h), each set's apart.  The layout is the same on
 * every rank; after the first steps it is replaced by a measured one (arena_layout.h), and no slot
 * moves:
 *
 *     registered   conv1.w conv1.b conv2.w conv2.b dense.w dense.b
 *     bucket 0     dense.b dense.w [tail]
 *     bucket 1     conv2.b conv2.w conv1.b conv1.w [tail]
 *
 *     announced in any order -> packed, times weight / batch -> bucket full -> combined -> results
 *
 * Buckets of a round leave strictly in order, some at a time.  The tail of each carries the sum of
 * weights: when it is not the batch, results are scaled by batch / sum before they are given out.
 * Weights that are far from the batch would take float16 out of its range on the way: where
 * parameters are float16, or travel so, the ranks add their weights up before a round, with its
 * name, and gradients wait for that and are packed times weight / sum, which is 1 at most.
 * The tail of the last one of a step's first round carries the agreement about the next plan too,
 * filled in by a hook at the moment when all of this worker's gradients of that round are packed.
 *
 * Tags of rounds are numbered apart from those of exchanges, so that the next round of a rank that
 * is behind an exchange already meets the one that another makes too many before it; each call for
 * an exchange takes a tag, also where none is due.
 *
 * Never blocks, never reads a clock.  One thread at a time.  With one rank nothing is sent.
 */
#ifndef EDDIS_SYNC_ENGINE_H
#define EDDIS_SYNC_ENGINE_H

#include "bucket.h"
#include "sync.h"

struct engine;

enum {
    ENGINE_FIRST_BYTES = 1 << 20,   /* of the first bucket: the sooner something is under way */
    ENGINE_BUCKET_BYTES = 4 << 20,  /* of the others; at most, where they are to be measured ... */
    ENGINE_EARLY_BYTES = 256 << 10, /* ... and at least, until they are */
};

struct engine_parameter {
    size_t n;            /* elements */
    enum comm_type type; /* of floating point */
    /* Where results go unless an announcement says otherwise, also of steps without one; NULL:
     * there is no such place; ENGINE_IN_PLACE: engine_result tells it.
     */
    void *result;
    int set; /* from 0; every set up to the greatest has a parameter */
};

/* Called by engine_announce, _finish, _receive and _poll. */
struct engine_hooks {
    void *arg;
    /* Fill in the tail of the last bucket of a step's first round: all but what the round is. */
    void (*report)(void *arg, struct sync_tail *tail);
    /* That round is complete; tail is the same on every rank. */
    void (*agreed)(void *arg, int64_t step, const struct sync_tail *tail);
    /* The layout was measured and is the same on every rank; no buckets: it stayed as it was. */
    void (*laid_out)(void *arg, const struct bucket_layout *layout);
};

struct engine_options {
    struct comm_place place;
    const char *algorithm;
    struct sync_options options;
    /* The layout of a plan, borrowed, or the size of the buckets; NULL and 0: measured, see
     * arena_layout.h.  -EINVAL: the layout is of other parameters.
     */
    const struct bucket_layout *layout;
    const struct sync_models *models; /* for algorithms that average models, else NULL */
    size_t bucket_bytes;
    struct bucket_cost cost;                  /* of an all-reduce, as measured; 0: not */
    const struct engine_parameter *parameter; /* [n_parameters], copied */
    int n_parameters;                         /* may be 0: one empty bucket carries the tail */
    struct engine_hooks hooks;                /* functions may be NULL */
};

int engine_new(const struct engine_options *o, struct engine **ret, struct eddis_error *err);

/* Accepts NULL. */
void engine_free(struct engine *e);

/* Return the parameter's slot, 64-byte aligned, borrowed until engine_free. */
void *engine_slot(const struct engine *e, int parameter);

/* Return all the memory of slots, *ret_bytes long, borrowed until engine_free. */
void *engine_memory(const struct engine *e, size_t *ret_bytes);

/* Return where to read this round's result of a parameter whose place is ENGINE_IN_PLACE, once its
 * bucket is combined; borrowed until the set's next round or the next step begins.
 */
const void *engine_result(const struct engine *e, int parameter);

/* Return whether other workers announced the parameter in this round and this one did not and has
 * no place for the result, once its bucket is combined.
 */
bool engine_missed(const struct engine *e, int parameter);

/* Return how many parameters the engine was made for. */
int engine_n_parameters(const struct engine *e);

/* Return how many layouts there have been.  What the next two return, the number of buckets and a
 * parameter's bucket, holds until that changes.
 */
int engine_layouts(const struct engine *e);
int engine_n_buckets(const struct engine *e);
int engine_bucket_of(const struct engine *e, int parameter);

/* Return how many sets there are, and the first bucket of one; the next set's is behind its last.
 */
int engine_n_sets(const struct engine *e);
int engine_first_bucket(const struct engine *e, int set);

struct engine_step {
    int64_t step;
    double weight; /* of this worker's gradients; 0: they are not even read */
    double batch;  /* of all workers; more than 0 */
    /* Under a plan that is soon to be replaced, the same on all ranks: not one of the steps that
     * the layout is measured in, which come after all of these.
     */
    bool passing;
};

/* Begin a step; all rounds of the one before must be over. */
void engine_begin(struct engine *e, const struct engine_step *s, int64_t now_ns);

/* Change the step's weight, before its first announcement; that of the set's next round in this
 * step alone, before it begins.
 */
void engine_set_weight(struct engine *e, double weight);
void engine_set_round_weight(struct engine *e, int set, double weight);

#define ENGINE_IN_PLACE ((void *)1)
#define ENGINE_ZERO     ((const void *)2)

struct engine_announcement {
    int parameter;
    const void *source; /* NULL: the slot, or the factors when there are any; ENGINE_ZERO: zeros */
    void *result;       /* NULL: the parameter's, or else the slot; ENGINE_IN_PLACE: wherever it
                         * is, see engine_result */
    const void *u, *v;  /* factors of a matrix [m, n], see pack.h; NULL: none */
    size_t k, m, n;     /* of the factors */
};

/* Pack one gradient, once a round, which begins with it where the set has none under way; or keep
 * it until the ranks' weights are known: source and factors are borrowed until its bucket has left.
 * This and the next two append to out what is to be sent.
 */
int engine_announce(struct engine *e, const struct engine_announcement *a, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err);

/* Take what of the set has not been announced in this round as zero; where it has a place it gets
 * the result.
 */
int engine_finish(struct engine *e, int set, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err);

/* Go on after this operation, which is complete. */
int engine_receive(struct engine *e, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err);

/* Return whether a bucket or an exchange under way waits for something that only engine_poll sees.
 */
bool engine_polls(const struct engine *e);

/* Look at what others have done in shared memory.  Returns whether a bucket or an exchange is done,
 * or a failure.
 */
int engine_poll(struct engine *e, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Begin an exchange (sync.h) between two steps; the tag is the engine's.  Over once
 * engine_exchanges counts it.
 */
int engine_exchange(struct engine *e, const struct sync_turn *turn, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err);

/* Return how many exchanges are over, the rank that the present one waits for (-1: none), and
 * sync_staleness.
 */
int64_t engine_exchanges(const struct engine *e);
int engine_exchange_waits_for(const struct engine *e);
int64_t engine_staleness(const struct engine *e);

/* Go on after this request to the box, which is done.  Returns whether it was the algorithm's, or a
 * failure.
 */
int engine_box(struct engine *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);

/* Return how many rounds of a set have begun, and how many of its buckets have left in the last. */
int64_t engine_rounds_begun(const struct engine *e, int set);
int engine_n_left(const struct engine *e, int set);

/* Return the last round of its set, from 1, at which this bucket was combined, 0: none; and the
 * step of that, -1: none.
 */
int64_t engine_done_round(const struct engine *e, int bucket);
int64_t engine_done_step(const struct engine *e, int bucket);

/* Return the rank that a bucket waits for; -1: this worker's own gradients, or none. */
int engine_waits_for(const struct engine *e, int bucket);

#endif
