/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - one worker's synchronisation as a state machine
 *
 * Parameters belong to sets (a GAN's generator, its discriminator), by default to one set.  A set
 * is combined in rounds.  A round begins with the set's first gradient and is over when all its
 * buckets are combined.  Then the set's next round may begin, in the same step or in the next.
 * Rounds of different sets may be under way at the same time.  Their buckets leave in the order in
 * which the rounds began, which is the same on every rank.  Ranks with several sets agree on this
 * order by round_order.h.  With one set the trailers show if ranks make different numbers of
 * rounds.
 *
 * Parameters are gathered into buckets in the reverse order of registration, the order in which
 * back-propagation produces gradients (bucket.h), each set separately.  The layout is the same on
 * every rank.  After the first steps a measured layout replaces it (arena_layout.h); no slot moves:
 *
 *     registered   conv1.w conv1.b conv2.w conv2.b dense.w dense.b
 *     bucket 0     dense.b dense.w [trailer]
 *     bucket 1     conv2.b conv2.w conv1.b conv1.w [trailer]
 *
 *     announced in any order -> packed, times weight / batch -> bucket full -> combined -> results
 *
 * Buckets of a round leave strictly in order, several at a time.  Each trailer carries the sum of
 * weights.  If this sum is not the batch, results are scaled by batch / sum before delivery.
 * Weights far from the batch would leave the range of float16 in transit.  So if parameters are or
 * travel as float16, the ranks sum their weights before a round, in the message that carries the
 * round's name; gradients wait for the sum and are packed times weight / sum, which is at most 1.
 * Those that the program has weighted stay as they are, unless the sum is not the batch.
 * The last trailer of a step's first round also carries the agreement about the next plan.  A hook
 * writes this trailer when all of this worker's gradients of the round are packed.
 *
 * Tags of rounds and of exchanges are numbered separately.  So if one rank makes one round too many
 * before an exchange, it meets the next round of a rank that is past the exchange.  Each call for
 * an exchange takes a tag, even if no exchange is due.
 *
 * Never blocks, never reads a clock.  One thread at a time.  With one rank nothing is sent.
 */
#ifndef EDDIS_SYNC_ENGINE_H
#define EDDIS_SYNC_ENGINE_H

#include "bucket.h"
#include "sync.h"

struct engine;

enum {
    ENGINE_FIRST_BYTES = 1 << 20, /* size of the first bucket, small so that it leaves early */
    /* size of the other buckets; if the layout is measured, their largest size until it is */
    ENGINE_BUCKET_BYTES = 4 << 20,
    ENGINE_EARLY_BYTES = 256 << 10, /* smallest size of these buckets until the layout is
                                     * measured */
};

/* A parameter for which the engine combines gradients. */
struct engine_parameter {
    size_t n;            /* elements */
    enum comm_type type; /* a floating-point type */
    /* Default destination of results, unless an announcement names another; also used in steps
     * without an announcement.  NULL: none; ENGINE_IN_PLACE: read it by engine_result.
     */
    void *result;
    int set; /* from 0; every set up to the largest number has a parameter */
};

/* Callbacks, made by engine_announce, engine_finish, engine_receive and engine_poll. */
struct engine_hooks {
    void *arg;
    /* Write the last trailer of a step's first round to *tail, without the members about the round
     * itself.  With ALGORITHM_ROUNDS: add to the trailer of an exchange SYNC_STEP.
     */
    void (*report)(void *arg, struct sync_trailer *tail);
    /* Handle the end of that round or exchange; `tail` is the same on every rank. */
    void (*agreed)(void *arg, int64_t step, const struct sync_trailer *tail);
    /* Take note of the measured layout of the buckets, which is the same on every rank.  If
     * layout->n is 0, the buckets stay as they were.
     */
    void (*laid_out)(void *arg, const struct bucket_layout *layout);
};

/* The options of engine_new. */
struct engine_options {
    struct comm_place place;
    const char *algorithm;
    struct sync_options options;
    /* A plan's layout, borrowed, or the size of buckets.  NULL and 0: measured, see arena_layout.h.
     * -EINVAL: the layout does not fit the parameters.
     */
    const struct bucket_layout *layout;
    const struct sync_models *models; /* for algorithms that average models, else NULL */
    size_t bucket_bytes;
    struct bucket_cost cost;                  /* measured cost of an all-reduce; 0: not measured */
    const struct engine_parameter *parameter; /* [n_parameters], copied */
    int n_parameters;          /* may be 0: then one empty bucket carries the trailer */
    struct engine_hooks hooks; /* functions may be NULL */
};

/* Make an engine; the caller frees *ret by engine_free.  Return 0 or a negative errno; -EINVAL: the
 * plan's layout does not fit the parameters, or a set has no parameter; -ENOTSUP: no such
 * algorithm.
 */
int engine_new(const struct engine_options *o, struct engine **ret, struct eddis_error *err);

/* Free e.  Accept NULL. */
void engine_free(struct engine *e);

/* Borrow the parameter's slot, 64-byte aligned, until engine_free. */
void *engine_slot(const struct engine *e, int parameter);

/* Borrow the memory of all slots, *ret_bytes long, until engine_free. */
void *engine_memory(const struct engine *e, size_t *ret_bytes);

/* Borrow, to read, the node's results: at the slots' offsets, unless they are in the slots. */
void *engine_results(const struct engine *e);

/* Check, from any thread, whether gradients are packed only once the ranks' weights are summed. */
bool engine_weighs(const struct engine *e);

/* Borrow this round's result of a parameter whose destination is ENGINE_IN_PLACE, or its slot.
 * Valid once its bucket is combined, until the set's next round or the next step begins.
 */
const void *engine_result(const struct engine *e, int parameter);

/* Check, once the parameter's bucket is combined, whether the parameter's result was lost: other
 * workers announced its gradient in this round, but this worker did not and has no destination for
 * the result.
 */
bool engine_missed(const struct engine *e, int parameter);

/* Return the number of the engine's parameters. */
int engine_n_parameters(const struct engine *e);

/* Return the number of layouts so far.  engine_n_buckets and engine_bucket_of change only when this
 * number does.
 */
int engine_layouts(const struct engine *e);

/* Return the number of buckets of all sets. */
int engine_n_buckets(const struct engine *e);

/* Return the parameter's bucket. */
int engine_bucket_of(const struct engine *e, int parameter);

/* Return the number of sets. */
int engine_n_sets(const struct engine *e);

/* Return the first bucket of a set; its last one is before the next set's first. */
int engine_first_bucket(const struct engine *e, int set);

/* The properties of a step. */
struct engine_step {
    int64_t step;
    double weight; /* weight of this worker's gradients; 0: they are not read */
    double batch;  /* samples of all workers, more than 0 */
    /* The step's plan will soon be replaced, the same on all ranks.  The layout is measured after
     * all such steps.
     */
    bool passing;
};

/* Begin a step; all rounds of the previous step must be over. */
void engine_begin(struct engine *e, const struct engine_step *s, int64_t now_ns);

/* Set the step's weight; only before the step's first announcement. */
void engine_set_weight(struct engine *e, double weight);

/* Set the weight of the set's next round in this step, before that round begins. */
void engine_set_round_weight(struct engine *e, int set, double weight);

/* Special values of a result and of sources. */
#define ENGINE_IN_PLACE ((void *)1)
#define ENGINE_ZERO     ((const void *)2)
#define ENGINE_WEIGHTED ((const void *)3) /* times weight / batch */

/* An announced gradient: where the gradient is, and where its result goes. */
struct engine_announcement {
    int parameter;
    /* NULL: the slot, or factors; ENGINE_ZERO: zeros; ENGINE_WEIGHTED: the slot, weighted */
    const void *source;
    /* NULL: the parameter's default, else the slot; ENGINE_IN_PLACE: read it by engine_result */
    void *result;
    const void *u, *v; /* factors of a matrix [m, n], see pack.h; NULL: none */
    size_t k, m, n;    /* sizes of the factors */
};

/* Pack one gradient, at most once in a round.  If the set has no round under way, begin one.  If
 * the ranks' weights are not yet known, keep the announcement and borrow source and factors until
 * the gradient's bucket has left.  Append messages to out, as engine_finish and engine_receive do.
 * Return 0 or a negative errno.
 */
int engine_announce(struct engine *e, const struct engine_announcement *a, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err);

/* Pack zeros for all gradients of the set that were not announced in this round.  Their results go
 * to the parameters' default destinations, if any.  Return 0 or a negative errno.
 */
int engine_finish(struct engine *e, int set, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err);

/* Continue after the completed operation op.  Return 0 or a negative errno; -EPROTO: the ranks'
 * rounds or layouts differ.
 */
int engine_receive(struct engine *e, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err);

/* Check whether a bucket or an exchange under way waits for shared memory, which only engine_poll
 * inspects.
 */
bool engine_polls(const struct engine *e);

/* Inspect shared memory for the progress of other ranks.  Return whether a bucket or an exchange is
 * done, or a failure.
 */
int engine_poll(struct engine *e, int64_t now_ns, struct outbox *out, struct eddis_error *err);

/* Begin an exchange (sync.h) between two steps; the engine chooses the tag.  The exchange is over
 * once engine_exchanges counts it.  Return 0, or a negative errno: no exchange is then under way.
 */
int engine_exchange(struct engine *e, const struct sync_turn *turn, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err);

/* Return the number of exchanges that are over. */
int64_t engine_exchanges(const struct engine *e);

/* Return the rank that the present exchange waits for; -1: none. */
int engine_exchange_waits_for(const struct engine *e);

/* Return sync_staleness (sync.h), in steps. */
int64_t engine_staleness(const struct engine *e);

/* Continue after the finished request r to the box.  Return whether the algorithm had made the
 * request, or a failure.
 */
int engine_box(struct engine *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);

/* Return the number of the set's rounds that have begun. */
int64_t engine_rounds_begun(const struct engine *e, int set);

/* Return the number of the set's buckets that have left in its newest round. */
int engine_n_left(const struct engine *e, int set);

/* Return the newest round of the set, from 1, in which its bucket was combined; 0: none. */
int64_t engine_done_round(const struct engine *e, int bucket);

/* Return the newest step in which this bucket was combined; -1: none. */
int64_t engine_done_step(const struct engine *e, int bucket);

/* Return the rank that a bucket waits for; -1: this worker's own gradients, or none. */
int engine_waits_for(const struct engine *e, int bucket);

#endif
