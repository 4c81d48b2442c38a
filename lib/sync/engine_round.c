/* SPDX-License-Identifier: Apache-2.0 */
/* engine_round.c - fills buckets, sends them in order, and delivers their results */
#include "engine_impl.h"

#include "pack.h"

#include <assert.h>
#include <string.h>

/* Borrow the trailer behind the bucket in the arena. */
static struct sync_trailer *bucket_trailer(const struct engine *e, const struct bucket *b)
{
    return (struct sync_trailer *)(e->arena.data + b->offset + b->n * comm_type_bytes(b->type));
}

/* ---- the beginning of a step, and of a round in it ---- */

void engine_begin(struct engine *e, const struct engine_step *s, int64_t now_ns)
{
    assert(!e->n_open);
    e->step = *s;
    e->begun_ns = now_ns;
    e->rounds = 0;
    for (int i = 0; i < e->n_sets; i++)
        e->set[i].next_weight = -1;
    sync_step(e->sync);
}

void engine_set_weight(struct engine *e, double weight)
{
    e->step.weight = weight;
}

void engine_set_round_weight(struct engine *e, int set, double weight)
{
    e->set[set].next_weight = weight;
}

/* Reset a bucket and its slots for a new round: no gradient is announced yet. */
static void bucket_begin(struct engine *e, struct bucket *b)
{
    for (int i = b->first; i <= b->last; i++) {
        struct slot *own = &e->slot[i];

        own->announced = own->waiting = own->placeless = own->missed = false;
        own->result = own->place;
    }
    /* an empty bucket has one missing gradient until bucket_finish */
    b->missing = b->last < 0 ? 1 : b->last - b->first + 1;
}

/* Begin the set's next round and append it to the queue of rounds.  Its weight is that set for the
 * round, else that of the step.
 */
static void round_begin(struct engine *e, int set, int64_t now_ns)
{
    struct set *s = &e->set[set];

    s->round++;
    s->open = true;
    s->leads = e->rounds == 0;
    s->number = e->rounds++;
    s->weight = s->next_weight >= 0 ? s->next_weight : e->step.weight;
    s->next_weight = -1;
    s->whole = e->weighs ? 0 : e->step.batch;
    s->left = s->finished = 0;
    for (int i = s->first; i < s->first + s->n; i++)
        bucket_begin(e, &e->bucket[i]);
    e->queue[e->n_queue++] = set;
    e->n_open++;
    /* With one set, each round is measured as if it were a step; with several sets, each step is.
     */
    if (e->layout && (s->leads || e->n_sets == 1))
        arena_layout_begin(e->layout, e->step.passing, s->leads ? e->begun_ns : now_ns);
}

/* ---- gradients in, results out ---- */

/* Check whether this worker is the only rank.  Then gradients need neither a weight nor a slot. */
static bool engine_alone(const struct engine *e)
{
    return e->place.n_ranks == 1;
}

const void *engine_result(const struct engine *e, int parameter)
{
    const struct slot *s = &e->slot[parameter];
    const struct bucket *b = &e->bucket[s->bucket];
    size_t offset = e->arena.slot[parameter].offset - b->offset;

    return s->result == ENGINE_IN_PLACE ? b->result + offset : engine_slot(e, parameter);
}

bool engine_missed(const struct engine *e, int parameter)
{
    return e->slot[parameter].missed;
}

/* Pack the announced gradient into its slot, multiplied by weight / whole of its set, or as zeros
 * if the weight is 0, and set the slot's mark.  ENGINE_WEIGHTED is there already, times weight /
 * batch.  With one rank, store the gradient unweighted in its destination, or in its slot if there
 * is none.
 */
static void engine_pack(struct engine *e, const struct engine_announcement *a)
{
    const struct arena_slot *s = &e->arena.slot[a->parameter];
    const struct set *set = &e->set[s->set];
    bool is_weighted = a->source == ENGINE_WEIGHTED;
    double weight = set->weight, part = is_weighted ? e->step.batch : weight;
    double factor = engine_alone(e) ? 1.0 : part / set->whole;
    void *own = engine_slot(e, a->parameter);
    const void *source = a->source && !is_weighted ? a->source : own;
    void *result = a->result ? a->result : e->slot[a->parameter].place;
    bool to_result = engine_alone(e) && result && result != ENGINE_IN_PLACE;
    void *to = to_result ? result : own;

    if (weight == 0 || a->source == ENGINE_ZERO)
        memset(to, 0, s->n * comm_type_bytes(s->type));
    else if (a->u)
        pack_product(s->type, to, &(struct pack_factors){ a->u, a->v, a->k, a->m, a->n }, factor);
    else
        pack_scaled(s->type, to, source, s->n, factor);
    if (!engine_alone(e)) /* with one rank no code reads marks */
        arena_mark(&e->arena, a->parameter, true);
    e->slot[a->parameter].result = engine_alone(e) ? NULL : result;
}

/* Pack zeros for a gradient that was not announced, and clear its slot's mark.  With one rank, zero
 * the parameter's default destination instead, or the slot if that is read in place; without a
 * default destination do nothing.
 */
static void engine_pack_none(struct engine *e, int parameter)
{
    const struct arena_slot *s = &e->arena.slot[parameter];
    struct slot *own = &e->slot[parameter];
    bool alone = engine_alone(e), to_place = alone && own->place && own->place != ENGINE_IN_PLACE;

    if (!alone || own->place)
        memset(to_place ? own->place : engine_slot(e, parameter), 0,
               s->n * comm_type_bytes(s->type));
    if (!alone)
        arena_mark(&e->arena, parameter, false);
    else
        own->result = NULL;
    own->placeless = !alone && !own->place;
}

/* Copy the parameter's combined gradient from `from` to its destination, multiplied by factor.  If
 * it is read in place and factor is 1, do not copy.  Set `missed` of the slot: other ranks
 * announced the gradient, but this rank neither announced it nor has a destination.
 */
static void slot_unpack(struct engine *e, int parameter, const char *from, double factor)
{
    const struct arena_slot *s = &e->arena.slot[parameter];
    struct slot *own = &e->slot[parameter];
    void *to = own->result;

    own->missed = own->placeless && arena_marked(&e->arena, parameter, from);
    if (to == ENGINE_IN_PLACE && factor == 1.0)
        return;
    pack_scaled(s->type, to && to != ENGINE_IN_PLACE ? to : engine_slot(e, parameter), from, s->n,
                factor);
}

/* Record that the parameter's gradient is ready, if the layout is being measured. */
static void engine_ready(struct engine *e, int parameter, int64_t now_ns)
{
    if (e->layout)
        arena_layout_ready(e->layout, e->n_slots - 1 - parameter, now_ns);
}

/* Record that the parameter's gradient is packed, so that its bucket misses one gradient fewer. */
static void engine_mark(struct engine *e, int parameter)
{
    e->slot[parameter].announced = true;
    e->bucket[e->slot[parameter].bucket].missing--;
}

/* Pack zeros for all gradients of the bucket that were not announced in this round.  Announced
 * gradients that wait for the sum of weights stay missing.
 */
static void bucket_finish(struct engine *e, struct bucket *b, int64_t now_ns)
{
    for (int i = b->first; i <= b->last; i++) {
        if (e->slot[i].announced || e->slot[i].waiting)
            continue;
        engine_pack_none(e, i);
        engine_ready(e, i, now_ns);
        engine_mark(e, i);
    }
    if (b->last < 0)
        b->missing = 0;
}

/* Pack zeros for all gradients of the set that were not announced in its present round. */
static void round_finish(struct engine *e, const struct set *s, int64_t now_ns)
{
    for (int i = s->first; i < s->first + s->n; i++)
        bucket_finish(e, &e->bucket[i], now_ns);
}

/* End the set's round, once all its buckets are combined, in any order.  If it is the step's first
 * round, pass the trailer of its last bucket to the hook `agreed`.
 */
static void round_end(struct engine *e, struct set *s)
{
    s->open = false;
    e->n_open--;
    if (s->leads && e->hooks.agreed && !e->rounds_of_all)
        e->hooks.agreed(e->hooks.arg, e->step.step, e->bucket[s->first + s->n - 1].tail);
}

/* Deliver the results of a combined bucket, and end its round if all the round's buckets are
 * combined now.  If the sum of weights in the trailer is not the batch, multiply the results by
 * batch / sum; not if the weights were summed before the round, because the two sums may differ by
 * rounding.  Return 0 or -EPROTO: the ranks' rounds are not the same one, and all its buckets are
 * combined.
 */
static int bucket_unpack(struct engine *e, struct bucket *b, int64_t now_ns,
                         struct eddis_error *err)
{
    const char *read = sync_result(e->sync, (int)(b - e->bucket));
    struct set *s = &e->set[b->set];
    const struct sync_trailer *tail;
    double factor = 1.0;

    b->result = e->arena.data + b->offset;
    read = read ? read : b->result;
    tail = (const void *)(read + b->n * comm_type_bytes(b->type));
    /* The ranks' rounds are not the same one.  Every rank sees this in the trailers, and combines
     * all buckets of its round before it fails.
     */
    if (!sync_trailer_alike(tail)) {
        round_finish(e, s, now_ns);
        s->unlike = true;
        return ++s->finished == s->n ? sync_trailer_fail(tail, err) : 0;
    }
    if (!engine_alone(e) && !e->weighs && tail->weight != s->whole && tail->weight > 0)
        factor = s->whole / tail->weight;
    for (int i = b->last; i >= b->first; i--)
        slot_unpack(e, i, read + (e->arena.slot[i].offset - b->offset), factor);
    if (factor == 1.0)
        b->result = read;
    b->tail = tail;
    b->done_step = e->step.step;
    b->done_round = s->round;
    if (++s->finished == s->n)
        round_end(e, s);
    return 0;
}

/* ---- leaving ---- */

/* Return the next message tag of a sequence, and advance the sequence; which: 0 for rounds, 1 for
 * exchanges.  Rounds and exchanges have sequences of their own.  So if ranks have made different
 * numbers of exchanges, their next round still has the same tag at all ranks, and the ranks detect
 * the difference there.
 */
static int engine_tag(unsigned *sequence, int which)
{
    return (int)((*sequence)++ % (COMM_TAGS / 2)) * 2 + which;
}

/* Return the next tag for the messages of rounds. */
static int round_tag(struct engine *e)
{
    return engine_tag(&e->sequence, 0);
}

/* Record that the ranks agree on the first round in the queue, and pack the gradients that waited
 * for the sum of weights.
 */
static void engine_agreed(struct engine *e)
{
    struct set *set = &e->set[e->queue[0]];

    e->ordered = true;
    if (!e->weighs)
        return;
    set->whole = round_order_weight(e->order);
    for (int i = e->n_slots - 1; i >= 0; i--) {
        struct slot *s = &e->slot[i];

        if (!s->waiting || &e->set[s->set] != set)
            continue;
        s->waiting = false;
        engine_pack(e, &s->announcement);
        engine_mark(e, i);
    }
}

/* Start to agree on the first round in the queue, unless that has begun.  Return 1 if all ranks
 * agree or no agreement is needed, 0 if agreeing is under way, or a failure.
 */
static int engine_agree(struct engine *e, struct outbox *out, struct eddis_error *err)
{
    const struct set *s = &e->set[e->queue[0]];
    int rc;

    if (!e->order || e->ordered)
        return 1;
    if (round_order_started(e->order))
        return 0;
    rc = round_order_start(e->order,
                           &(struct round_name){ e->step.step, s->number, e->queue[0], s->weight },
                           round_tag(e), out, err);
    if (rc == 1)
        engine_agreed(e);
    return rc;
}

/* If the measured layout is due, start to agree on it, unless that has begun.  Return 1 if buckets
 * may leave, 0 if agreeing is under way, or a failure.
 */
static int engine_settle(struct engine *e, struct outbox *out, struct eddis_error *err)
{
    int tag[ARENA_LAYOUT_TAGS], rc;

    if (!e->layout || !arena_layout_due(e->layout))
        return 1;
    if (arena_layout_started(e->layout))
        return 0;
    for (int i = 0; i < ARENA_LAYOUT_TAGS; i++)
        tag[i] = round_tag(e);
    rc = arena_layout_start(e->layout, e->arena.item, &e->cost, tag, out, err);
    if (rc == 1)
        rc = engine_take_layout(e, err);
    return rc < 0 ? rc : !e->layout;
}

/* Return a trailer for a bucket of set s, with this rank's weight and whether the round is the
 * first of its step.  All other members are 0.
 */
static struct sync_trailer round_trailer(const struct engine *e, const struct set *s)
{
    int rank = e->place.peer ? e->place.peer[e->place.rank] : e->place.rank;

    return (struct sync_trailer){ .weight = s->weight,
                                  .flags = s->leads ? SYNC_LEADS : SYNC_FOLLOWS,
                                  .leads = s->leads ? (uint16_t)rank : 0,
                                  .follows = s->leads ? 0 : (uint16_t)rank };
}

/* Start to combine the full buckets of the round of set s, which is the first in the queue, in
 * order, as long as fewer than BUCKET_IN_FLIGHT are under way.  Return 1 if the round's last bucket
 * has left, 0 if not, or a failure.
 */
static int round_leave(struct engine *e, struct set *s, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    while (s->left < s->n && e->in_flight < BUCKET_IN_FLIGHT) {
        int number = s->first + s->left, rc;
        struct bucket *b = &e->bucket[number];
        struct sync_trailer *tail = bucket_trailer(e, b);

        if (b->missing) {
            e->filling = b;
            return 0;
        }
        *tail = round_trailer(e, s);
        if (s->leads && s->left == s->n - 1 && e->hooks.report && !e->rounds_of_all)
            e->hooks.report(e->hooks.arg, tail);
        rc = sync_begin(e->sync, number, round_tag(e), now_ns, out, err);
        if (rc < 0)
            return rc;
        s->left++;
        e->in_flight += rc == 0;
        if (rc == 0 && e->layout)
            arena_layout_left(e->layout, b->n * comm_type_bytes(b->type), now_ns);
        rc = rc == 1 ? bucket_unpack(e, b, now_ns, err) : 0;
        if (rc < 0)
            return rc;
    }
    return s->left == s->n;
}

/* Start to combine all full buckets that may leave, round after round in the order of the queue.
 * Each round first needs the ranks' agreement on the round and on a layout that is due.  Return 0,
 * or a failure.
 */
static int engine_launch(struct engine *e, int64_t now_ns, struct outbox *out,
                         struct eddis_error *err)
{
    int rc = 1;

    if (e->filling && e->filling->missing)
        return 0;
    e->filling = NULL;
    while (rc == 1 && e->n_queue) {
        rc = engine_agree(e, out, err);
        if (rc == 1)
            rc = engine_settle(e, out, err);
        if (rc == 1)
            rc = round_leave(e, &e->set[e->queue[0]], now_ns, out, err);
        if (rc != 1)
            break;
        e->n_queue--;
        memmove(e->queue, e->queue + 1, (size_t)e->n_queue * sizeof *e->queue);
        e->ordered = false;
    }
    return rc < 0 ? rc : 0;
}

int engine_announce(struct engine *e, const struct engine_announcement *a, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err)
{
    struct slot *own = &e->slot[a->parameter];
    const struct set *s = &e->set[own->set];

    if (s->unlike)
        return 0;
    if (!s->open)
        round_begin(e, own->set, now_ns);
    assert(!own->announced && !own->waiting);
    engine_ready(e, a->parameter, now_ns);
    if (s->whole > 0 || s->weight == 0) {
        engine_pack(e, a);
        engine_mark(e, a->parameter);
    } else {
        own->announcement = *a;
        own->waiting = true;
    }
    return engine_launch(e, now_ns, out, err);
}

int engine_finish(struct engine *e, int set, int64_t now_ns, struct outbox *out,
                  struct eddis_error *err)
{
    if (!e->set[set].open)
        round_begin(e, set, now_ns);
    round_finish(e, &e->set[set], now_ns);
    return engine_launch(e, now_ns, out, err);
}

/* Deliver the results of a bucket that was under way and is combined now, and start to combine
 * buckets that could not leave before.  Return 0 or a failure.
 */
static int engine_done(struct engine *e, int bucket, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    int rc;

    e->in_flight--;
    if (e->layout)
        arena_layout_back(e->layout, now_ns);
    rc = bucket_unpack(e, &e->bucket[bucket], now_ns, err);
    return rc < 0 ? rc : engine_launch(e, now_ns, out, err);
}

/* ---- exchanges between steps ---- */

/* If the exchange under way has ended, count it as over and return true; otherwise return false.
 * To be called after each operation that may end an exchange.
 */
static bool engine_look(struct engine *e)
{
    if (!e->exchanging || sync_exchanging(e->sync))
        return false;
    if (e->combines && e->hooks.agreed)
        e->hooks.agreed(e->hooks.arg, e->step.step, sync_agreed(e->sync));
    e->exchanging = e->combines = false;
    e->exchanges++;
    return true;
}

int engine_exchange(struct engine *e, const struct sync_turn *turn, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err)
{
    struct sync_turn t = *turn;
    int rc;

    for (int i = 0; i < SYNC_TAGS; i++)
        t.tag[i] = engine_tag(&e->exchange_sequence, 1);
    if (e->rounds_of_all && t.what == SYNC_STEP && e->hooks.report)
        e->hooks.report(e->hooks.arg, &t.tail);
    e->combines = e->rounds_of_all && t.what == SYNC_STEP;
    assert(!e->n_open && !e->exchanging);
    rc = sync_exchange(e->sync, &t, now_ns, out, err);
    if (rc < 0)
        return rc;
    e->exchanging = true;
    engine_look(e);
    return 0;
}

int64_t engine_exchanges(const struct engine *e)
{
    return e->exchanges;
}

int engine_exchange_waits_for(const struct engine *e)
{
    return sync_exchange_waits_for(e->sync);
}

int64_t engine_staleness(const struct engine *e)
{
    return sync_staleness(e->sync);
}

int engine_box(struct engine *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err)
{
    int rc;

    if (!sync_owns(e->sync, r))
        return 0;
    rc = sync_box(e->sync, r, now_ns, out, err);
    engine_look(e);
    return rc < 0 ? rc : 1;
}

/* ---- completed operations ---- */

int engine_receive(struct engine *e, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err)
{
    int rc;

    if (e->order && round_order_owns(e->order, op)) {
        rc = round_order_receive(e->order, op, out, err);
        if (rc == 1)
            engine_agreed(e);
        return rc < 0 ? rc : engine_launch(e, now_ns, out, err);
    }
    if (e->layout && arena_layout_owns(e->layout, op)) {
        rc = arena_layout_receive(e->layout, op, out, err);
        if (rc == 1)
            rc = engine_take_layout(e, err);
        return rc < 0 ? rc : engine_launch(e, now_ns, out, err);
    }
    rc = sync_receive(e->sync, op, now_ns, out, err);
    engine_look(e);
    return rc <= 0 ? rc : engine_done(e, rc - 1, now_ns, out, err);
}

bool engine_polls(const struct engine *e)
{
    return (e->in_flight || e->exchanging) && sync_polls(e->sync);
}

int engine_poll(struct engine *e, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    bool any = false;
    int rc;

    while ((rc = sync_poll(e->sync, now_ns, out, err)) > 0) {
        any = true;
        rc = engine_done(e, rc - 1, now_ns, out, err);
        if (rc < 0)
            break;
    }
    any |= engine_look(e);
    return rc < 0 ? rc : any;
}
