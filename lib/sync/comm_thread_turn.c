/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_turn.c - sends commands, and makes one turn as holder of the progress token:
 * commands, messages, shared memory
 */
#include "comm_thread_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>

enum { POLL = 64 }; /* limit of the completed operations taken by one call of transport_poll */

/* ---- commands ---- */

/* Count the request and set its tag from its level and the number of earlier requests of that
 * level.  So requests of different levels never have the same tag; see enum request_level.
 */
static void number(struct comm_thread *t, struct request *r)
{
    unsigned n = t->requests[r->level]++ % (COMM_TAGS / REQUEST_LEVELS);

    r->tag = (int)(n * REQUEST_LEVELS + r->level);
}

void comm_thread_send(struct comm_thread *t, struct command *m)
{
    m->next = NULL;
    comm_thread_send_all(t, m);
}

/* Queue the commands, set the tags of the requests among them, and wake the holder of the token.
 * With one rank, handle the commands before returning.  If the communication has failed, drop the
 * commands: comm_thread_wait reports the failure.
 */
void comm_thread_send_all(struct comm_thread *t, struct command *first)
{
    struct command **end = &first;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    for (; *end; end = &(*end)->next)
        if ((*end)->kind == MAIL_REQUEST)
            number(t, (struct request *)*end);
    if (first && !t->failure.code) {
        *t->last = first;
        t->last = end;
        if (t->hub->threaded)
            comm_thread_rouse(t->hub);
        else
            (void)comm_thread_turn(t->hub, 0);
    }
}

/* Start the collective of request r and add r to the active requests.  Return 0 or a failure. */
static int start_request(struct comm_thread *t, struct request *r, struct eddis_error *err)
{
    int rc = collective_start(r->collective, r->tag, &t->out, err);

    if (rc < 0)
        return rc;
    collective_set_user(r->collective, r);
    r->next_active = t->active;
    t->active = r;
    return 0;
}

/* Post all messages of the end's outbox; with one rank do nothing.  Return 0 or a failure. */
static int post(struct comm_thread *t, struct eddis_error *err)
{
    return t->transport ? transport_post(t->transport, &t->out, err) : 0;
}

/* Add r, a finished request to the box, to the list t->boxed; publish_box sets `done` of it. */
static void boxed(struct comm_thread *t, struct smb_request *r)
{
    struct command_queue *m = r->user;

    m->next_done = t->boxed;
    t->boxed = m;
}

/* Start a request to the box.  If the request is finished already, add it to the list t->boxed, for
 * publish_box.  Return 0 or a failure.
 */
static int start_box(struct comm_thread *t, struct command_queue *m, int64_t now_ns,
                     struct eddis_error *err)
{
    int rc;

    m->r.user = m;
    rc = smb_start(t->box, &m->r, now_ns, &t->out, err);
    if (rc == 1)
        boxed(t, &m->r);
    return rc < 0 ? rc : 0;
}

/* Pass a weight to the engine: that of a set's next round, or of the whole step. */
static void handle_weight(struct comm_thread *t, const struct command_weight *m)
{
    if (m->set < 0)
        engine_set_weight(t->engine, m->weight);
    else
        engine_set_round_weight(t->engine, m->set, m->weight);
}

/* Handle one command: pass it to the engine or the box, or start its request.  Return 0 or a
 * failure.
 */
static int handle(struct comm_thread *t, struct command *m, struct eddis_error *err)
{
    int64_t now = clock_now_ns();

    switch (m->kind) {
    case MAIL_BEGIN:
        engine_begin(t->engine, &((struct command_begin *)m)->step, now);
        return 0;
    case MAIL_WEIGHT:
        handle_weight(t, (struct command_weight *)m);
        return 0;
    case MAIL_ANNOUNCE:
        return engine_announce(t->engine, &((struct command_announce *)m)->what, now, &t->out, err);
    case MAIL_FINISH:
        return engine_finish(t->engine, ((struct command_finish *)m)->set, now, &t->out, err);
    case MAIL_EXCHANGE:
        return engine_exchange(t->engine, &((struct command_exchange *)m)->turn, now, &t->out, err);
    case MAIL_BOX:
        return start_box(t, (struct command_queue *)m, now, err);
    case MAIL_LEAVE:
        smb_leave(t->box);
        return 0;
    case MAIL_REQUEST:
        break;
    }
    return start_request(t, (struct request *)m, err);
}

/* Handle the commands of list m in order and post the messages of each.  Return 0 or the first
 * failure, after which the remaining commands are not handled.
 */
static int handle_all(struct comm_thread *t, struct command *m, struct eddis_error *err)
{
    while (m) {
        struct command *next = m->next; /* the caller may reuse m once m is handled */
        int rc = handle(t, m, err);

        if (rc == 0)
            rc = post(t, err);
        if (rc < 0)
            return rc;
        m = next;
    }
    return 0;
}

/* Empty the end's queue of commands and return them as a list; NULL: there were none. */
static struct command *take_command(struct comm_thread *t)
{
    struct command *m = t->first;

    t->first = NULL;
    t->last = &t->first;
    return m;
}

/* ---- messages ---- */

/* Pass a completed operation to its owner: a collective, the box or the engine.  Return at least 0,
 * or a failure.
 */
static int dispatch(struct comm_thread *t, const struct comm_op *op, struct eddis_error *err)
{
    switch (op->channel) {
    case COMM_REQUESTS:
        return collective_done(op->owner, op, &t->out, err);
    case COMM_BOX:
        return smb_receive(t->box, op, clock_now_ns(), &t->out, err);
    default:
        return engine_receive(t->engine, op, clock_now_ns(), &t->out, err);
    }
}

/* Take up to POLL completed operations from the transport, pass each to its owner and post the
 * messages that result.  Return the number of operations, or a failure.
 */
static int receive(struct comm_thread *t, struct eddis_error *err)
{
    struct comm_op op[POLL];
    int n = t->transport ? transport_poll(t->transport, op, POLL, err) : 0;

    for (int i = 0; i < n; i++) {
        int rc = dispatch(t, &op[i], err);

        if (rc >= 0)
            rc = transport_post(t->transport, &t->out, err);
        if (rc < 0)
            return rc;
    }
    return n;
}

/* ---- shared memory: these functions return 1 if anything moved, 0 if not, or a failure ---- */

/* Poll shared memory for the engine, and set t->polls if the engine still waits for shared memory.
 * Return 1 if anything moved, 0 if not, or a failure.
 */
static int poll_engine(struct comm_thread *t, struct eddis_error *err)
{
    int moved;

    if (!t->engine || !engine_polls(t->engine))
        return 0;
    moved = engine_poll(t->engine, clock_now_ns(), &t->out, err);
    t->polls |= engine_polls(t->engine);
    return moved;
}

/* Poll shared memory for the active requests, and set t->polls if any of them still waits for
 * shared memory.  Return 1 if anything moved, 0 if not, or a failure.
 */
static int poll_requests(struct comm_thread *t, struct eddis_error *err)
{
    int moved = 0;

    for (struct request *r = t->active; r; r = r->next_active) {
        int rc;

        if (!collective_polls(r->collective))
            continue;
        rc = collective_poll(r->collective, &t->out, err);
        if (rc < 0)
            return rc;
        moved |= rc;
        t->polls |= collective_polls(r->collective);
    }
    return moved;
}

/* Poll shared memory for the box, and set t->polls if the box still waits for shared memory.  Pass
 * each finished request to the engine; if the engine's algorithm did not make the request, add it
 * to the list t->boxed, for publish_box.  Return 1 if anything moved, 0 if not, or a failure.
 */
static int poll_box(struct comm_thread *t, struct eddis_error *err)
{
    struct smb_request *r;
    int rc = 0;

    if (!t->box)
        return 0;
    if (smb_polls(t->box)) {
        rc = smb_poll(t->box, clock_now_ns(), &t->out, err);
        t->polls |= smb_awaits_memory(t->box);
    }
    while (rc >= 0 && (r = smb_take_done(t->box))) {
        int own = t->engine ? engine_box(t->engine, r, clock_now_ns(), &t->out, err) : 0;

        if (own == 0)
            boxed(t, r);
        rc = own < 0 ? own : 1;
    }
    return rc;
}

/* Poll shared memory for engine, requests and box, and post the messages that result.  Set t->polls
 * to whether any of these still waits for shared memory.  Return 1 if anything moved, 0 if not, or
 * a failure.
 */
static int poll_memory(struct comm_thread *t, struct eddis_error *err)
{
    int engine, requests, box, rc;

    t->polls = false;
    engine = poll_engine(t, err);
    requests = engine < 0 ? engine : poll_requests(t, err);
    box = requests < 0 ? requests : poll_box(t, err);
    rc = box < 0 ? box : post(t, err);
    return rc < 0 ? rc : engine || requests || box;
}

/* ---- publishing ---- */

/* Set `peer` of each active request to the rank that the request waits for.  A request that waits
 * for no rank is done: remove it from the list and set `done`.  Return true if any request is done.
 */
static bool publish_requests(struct comm_thread *t)
{
    struct request **at = &t->active;
    bool done = false;

    while (*at) {
        struct request *r = *at;

        r->peer = collective_waits_for(r->collective);
        if (r->peer < 0) {
            *at = r->next_active;
            r->done = true; /* from here on r is the caller's */
            done = true;
        } else {
            at = &r->next_active;
        }
    }
    return done;
}

/* Set `done` of each finished request to the box, `peer` of each caller's wait for the box, and
 * t->left once the box is left.  Return true if a request is done or the box has just been left.
 */
static bool publish_box(struct comm_thread *t)
{
    bool done = t->boxed != NULL;

    while (t->boxed) {
        struct command_queue *m = t->boxed;

        t->boxed = m->next_done;
        m->done = true; /* from here on m is the caller's */
    }
    for (struct comm_wait *w = t->box_waits; w; w = w->next)
        w->peer = smb_waits_for(t->box, &w->box->r);
    if (t->box && smb_left(t->box) && !t->left)
        t->left = done = true;
    return done;
}

void comm_thread_publish_layout(struct comm_thread *t)
{
    t->layouts = engine_layouts(t->engine);
    t->n_buckets = engine_n_buckets(t->engine);
    for (int i = 0; i < t->n_parameters; i++)
        t->bucket_of[i] = engine_bucket_of(t->engine, i);
    for (int i = 0; i < t->n_sets; i++) {
        struct published_set *s = &t->set[i];
        bool last = i + 1 == t->n_sets;

        s->first = engine_first_bucket(t->engine, i);
        s->end = last ? t->n_buckets : engine_first_bucket(t->engine, i + 1);
        s->round = -1;
    }
}

/* Publish the state of the set's latest round.  Of a round published before, examine only the
 * buckets that have left and were not known to be combined.  Return true if another bucket is
 * combined.
 */
static bool publish_set(struct comm_thread *t, int set)
{
    struct published_set *s = &t->set[set];
    int64_t round = engine_rounds_begun(t->engine, set);
    int end = s->first + engine_n_left(t->engine, set);
    bool done = false;

    s->left = end;
    s->held_peer = end < s->end ? engine_waits_for(t->engine, end) : -1;
    if (round != s->round) {
        s->round = round;
        s->combined = s->first;
        end = s->end;
    }
    for (int i = s->combined; i < end; i++) {
        int64_t done_round = engine_done_round(t->engine, i);

        done |= done_round != t->done_round[i];
        t->done_round[i] = done_round;
        t->peer[i] = engine_waits_for(t->engine, i);
    }
    while (s->combined < s->left && t->done_round[s->combined] >= round)
        s->combined++;
    return done;
}

/* Publish the engine's layout, rounds, exchanges and staleness.  Return true if another bucket is
 * combined or another exchange is over.
 */
static bool publish_engine(struct comm_thread *t)
{
    int64_t before = t->exchanges;
    bool done = false;

    if (t->layouts != engine_layouts(t->engine))
        comm_thread_publish_layout(t);
    for (int i = 0; i < t->n_sets; i++)
        done |= publish_set(t, i);
    t->exchanges = engine_exchanges(t->engine);
    t->exchange_peer = engine_exchange_waits_for(t->engine);
    t->staleness = engine_staleness(t->engine);
    return done || t->exchanges != before;
}

/* Publish the end's state.  If an operation is done that a caller may wait for, and there are
 * several callers, wake all sleeping threads.  A single caller needs no wake-up: it holds the
 * token, or is woken when the holder gives it.
 */
void comm_thread_publish(struct comm_thread *t)
{
    bool done = publish_requests(t);

    done |= t->ready != t->usable;
    t->ready = t->usable;
    done |= publish_box(t);
    if (t->engine)
        done |= publish_engine(t);
    if (t->transport)
        t->sent_bytes = t->transport->sent_bytes;
    if (done && t->hub->callers > 1)
        pthread_cond_broadcast(&t->hub->event);
}

void comm_thread_fail(struct comm_thread *t, int rc, const struct eddis_error *err)
{
    if (t->failure.code)
        return;
    t->failure = *err;
    /* Rename an operation's -ETIMEDOUT: callers would take it for a time-out of their own and
     * repeat their waits.
     */
    t->failure.code = rc == -ETIMEDOUT ? -ECONNABORTED : rc;
    if (t->on_failure)
        t->on_failure(t->on_failure_arg, &t->failure);
    /* Drop the queue: nobody handles it any more, and callers free their commands. */
    (void)take_command(t);
    comm_thread_rouse(t->hub);
}

int comm_thread_failed(const struct comm_thread *t, struct eddis_error *err)
{
    if (t->failure.code && err)
        *err = t->failure;
    return t->failure.code;
}

/* ---- the token ---- */

void comm_thread_rouse(struct comm_hub *h)
{
    pthread_cond_broadcast(&h->event);
    if (h->listens)
        transport_wake(h->listens);
}

void comm_thread_give(struct comm_hub *h)
{
    h->holder = HOLDER_NOBODY;
    pthread_cond_broadcast(&h->event);
}

void comm_thread_sleep(struct comm_hub *h, int64_t deadline_ns)
{
    clock_cond_wait(&h->event, &h->lock, deadline_ns);
}

/* Release the hub's lock; with one rank do nothing, because the lock is held during turns. */
static void unlock(struct comm_hub *h)
{
    if (h->threaded)
        pthread_mutex_unlock(&h->lock);
}

/* Take the lock that unlock has released; with one rank do nothing. */
static void lock(struct comm_hub *h)
{
    if (h->threaded)
        pthread_mutex_lock(&h->lock);
}

/* Check whether the holder must continue instead of resting, because of a command, a failure of an
 * end since the turn began, or a halt.  If the holder is the thread: also because of a waiting
 * caller or h->stop.  Call with the lock held.
 */
static bool is_called(const struct comm_hub *h)
{
    for (const struct comm_thread *t = h->ends; t; t = t->next_end)
        if (t->first || (t->in_turn && t->failure.code))
            return true;
    return h->halts || (h->holder == HOLDER_THREAD && (h->callers || h->stop));
}

/* Return how the holder rests: for the shortest duration that any end of the turn asks for, and in
 * the way of the end whose kind is the first in enum order, so that an event of any end is noticed.
 * Store that end's transport, borrowed, in *ret_where; NULL: no end is in the turn.  The kind is
 * then REST_NAP.
 */
static struct transport_rest choose_rest(const struct comm_hub *h, int64_t deadline_ns,
                                         struct transport **ret_where)
{
    struct transport_rest best = { .kind = REST_NAP, .ns = INT64_MAX };

    *ret_where = NULL;
    for (const struct comm_thread *t = h->ends; t; t = t->next_end) {
        struct transport_rest r;

        if (!t->in_turn)
            continue;
        r = transport_rest(t->transport, t->polls || !t->usable, deadline_ns);
        if (r.kind < best.kind || !*ret_where)
            *ret_where = t->transport;
        best.kind = r.kind < best.kind ? r.kind : best.kind;
        best.ns = r.kind != REST_YIELD && r.ns < best.ns ? r.ns : best.ns;
    }
    /* no end is in the turn */
    if (best.kind == REST_NAP && best.ns == INT64_MAX)
        best.ns = comm_hub_derives(h) ? transport_rest(h->root, false, deadline_ns).ns : CLOCK_S;
    return best;
}

/* Rest in a transport as choose_rest says, with the lock released meanwhile, and return 0.  If the
 * kind of rest is REST_NAP, do not rest, but return the ns that the holder may sleep on `event`.
 */
static int64_t rest(struct comm_hub *h, int64_t deadline_ns)
{
    struct transport *where;
    struct transport_rest r = choose_rest(h, deadline_ns, &where);

    if (r.kind == REST_NAP)
        return r.ns;
    h->listens = r.kind == REST_LISTEN ? where : NULL;
    unlock(h);
    transport_wait(where, r);
    lock(h);
    h->listens = NULL;
    return 0;
}

/* Continue to open a derived transport, and set t->usable to whether it can be used.  Return 1 if
 * it can, 0 if not yet, or a failure.
 */
static int become_ready(struct comm_thread *t, struct eddis_error *err)
{
    int rc = transport_ready(t->transport, err);

    t->usable = rc == 1;
    return rc;
}

/* Handle the commands m, completed operations and shared memory of one end, or continue to open its
 * transport.  Return 1 if anything moved, 0 if nothing did, or a failure.
 */
static int move(struct comm_thread *t, struct command *m, struct eddis_error *err)
{
    int rc = t->usable ? handle_all(t, m, err) : become_ready(t, err);
    int n = rc < 0 || !t->usable ? rc : receive(t, err);
    int polled = n < 0 || !t->usable ? n : poll_memory(t, err);

    return polled < 0 ? polled : m || rc || n || polled;
}

/* Call move for every end of the turn, and store its result in the end's `moved` and turn_err.
 * Cancel the operations of an end that fails.  Call without the lock, as the holder.
 */
static void move_all(struct comm_hub *h)
{
    struct comm_op op;
    bool any = false;

    for (struct comm_thread *t = h->ends; t; t = t->next_end) {
        any |= t->in_turn;
        if (t->in_turn)
            t->moved = move(t, t->taken, &t->turn_err);
        if (t->in_turn && t->moved < 0) /* callers that see the failure free their memory */
            transport_cancel(t->transport);
    }
    if (!any && comm_hub_derives(h)) /* other ranks' operations need progress in this process */
        (void)transport_poll(h->root, &op, 1, NULL);
}

/* Select the ends of this turn, those that have not failed, and take their commands. */
static void begin_turn(struct comm_hub *h)
{
    for (struct comm_thread *t = h->ends; t; t = t->next_end) {
        t->in_turn = !t->failure.code;
        t->taken = t->in_turn ? take_command(t) : NULL;
    }
}

/* Publish what the turn has changed at each end, or end the communication of an end that failed.
 * Return true if anything moved at any end.
 */
static bool end_turn(struct comm_hub *h)
{
    bool moved = false;

    for (struct comm_thread *t = h->ends; t; t = t->next_end) {
        if (!t->in_turn || !t->moved)
            continue;
        moved = true;
        if (t->moved < 0) {
            comm_thread_fail(t, t->moved, &t->turn_err);
        } else {
            transport_moved(t->transport);
            comm_thread_publish(t);
        }
    }
    return moved;
}

int64_t comm_thread_turn(struct comm_hub *h, int64_t deadline_ns)
{
    begin_turn(h);
    unlock(h);
    move_all(h);
    lock(h);
    return end_turn(h) || is_called(h) ? 0 : rest(h, deadline_ns);
}
