/* SPDX-License-Identifier: Apache-2.0 */
/* centre.c - async and hybrid mode: groups of workers with their own models
 *
 *     commit      rank 0 makes centre and counter in the box, all learn the keys
 *     first step  the first group's parameters become the centre, then all begin
 *     a step      exchange when it is due; its wait counts as communication
 *     the end     every worker: last exchange; when all have made theirs, centre -> parameters
 *     going back  all let go of the centre; the first step after it begins as the first one did
 *
 * In local mode there is no centre in the box: at the end of a round all ranks combine their models
 * (lib/sync/local.c), and a checkpoint and the end of the job are ends of rounds.
 *
 * In the other modes workers reach a checkpoint and the end at different times.  Both begin with
 * the same small all-reduce, so a worker that has finished learns of a checkpoint that others still
 * write.
 */
#include "centre.h"

#include "lib/base/clock.h"
#include "lib/sync/elastic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void centre_close(struct centre *m)
{
    free(m->local);
    free(m->value);
    free(m->halves.kept);
    free(m->halves.centre);
    for (int t = 0; t < SYNC_TYPES; t++)
        free(m->momentum[t]);
}

/* ---- parameters of 16 bits, as float32 ---- */

int centre_halves_want(struct centre *m, struct eddis_error *err)
{
    struct sync_halves *h = &m->halves;

    if (!h->n)
        return 0;
    free(h->centre);
    h->centre = malloc(h->n * sizeof *h->centre);
    return h->centre ? 0
                     : eddis_fail(err, -ENOMEM, "no memory for %zu parameters as float32", h->n);
}

void centre_halves_give(struct centre *m, float *centre_taken, const float *kept)
{
    struct sync_halves *h = &m->halves;

    free(h->centre);
    h->centre = centre_taken;
    h->given = centre_taken != NULL;
    h->shared = !kept;
    if (kept)
        memcpy(h->kept, kept, h->n * sizeof *h->kept);
}

/* ---- the Soft Memory Box ---- */

/* Keys of buffers in the Soft Memory Box, which rank 0 creates and broadcasts: the counter of
 * samples, and the centre's values of each element type.
 */
struct keys {
    smb_key counter, centre[SYNC_TYPES];
};

/* Create the counter, and a centre buffer for each element type that parameters have, in the Soft
 * Memory Box and store their keys in *ret.  Only rank 0 calls this.  Return 0 or a negative errno.
 */
static int keys_make(struct centre *m, struct keys *ret, struct eddis_error *err)
{
    struct smb_request q = { .kind = SMB_CREATE, .type = COMM_INT64, .n = 1 };
    int rc = shared_buffers_ask_own(m->box, &q, err);

    ret->counter = q.key;
    for (int t = 0; rc == 0 && t < SYNC_TYPES; t++) {
        size_t n = sync_centre_size(m->value, m->parameters->n, sync_type[t]);

        q = (struct smb_request){ .kind = SMB_CREATE, .type = sync_type[t], .n = n };
        rc = n ? shared_buffers_ask_own(m->box, &q, err) : 0;
        ret->centre[t] = q.key;
    }
    return rc;
}

/* Replace m->value by a new list of the address, size and type of every parameter.  Return 0, or
 * -ENOMEM with m->value NULL.
 */
static int centre_list_values(struct centre *m, struct eddis_error *err)
{
    const struct parameters *all = m->parameters;
    struct sync_value *v = calloc((size_t)all->n + 1, sizeof *v);

    free(m->value);
    m->value = v;
    for (int i = 0; v && i < all->n; i++)
        v[i] = (struct sync_value){ .data = all->item[i].value,
                                    .n = m->outside ? 0 : all->item[i].n,
                                    .type = (enum comm_type)all->item[i].dtype };
    return v ? 0 : eddis_fail(err, -ENOMEM, "no memory for %d parameters", all->n);
}

/* Set m->halves.n to the number of 16-bit elements and allocate m->halves.kept for them, except in
 * local mode.  On ranks that are not their group's root n stays 0: only the root exchanges with the
 * centre, and in local mode only the first rank writes float32 numbers to checkpoints, but all read
 * them.  Return 0 or -ENOMEM.
 */
static int centre_list_halves(struct centre *m, struct eddis_error *err)
{
    struct sync_halves *h = &m->halves;

    for (int i = 0; i < m->parameters->n && (group_is_root(m->group) || m->group->rounds); i++)
        h->n += comm_type_half(m->value[i].type) ? m->value[i].n : 0;
    if (!h->n || m->group->rounds)
        return 0;
    h->kept = malloc(h->n * sizeof *h->kept);
    return h->kept ? 0 : eddis_fail(err, -ENOMEM, "no memory for %zu parameters as float32", h->n);
}

/* Free m->value and m->halves and make them anew from the registered parameters.  Return 0 or
 * -ENOMEM.
 */
static int centre_list(struct centre *m, struct eddis_error *err)
{
    int rc = centre_list_values(m, err);

    free(m->halves.kept);
    free(m->halves.centre);
    m->halves = (struct sync_halves){ 0 };
    return rc < 0 ? rc : centre_list_halves(m, err);
}

/* Allocate the momentum of the outer optimizer, 0, if it has one.  Return 0 or -ENOMEM. */
static int centre_list_momentum(struct centre *m, struct eddis_error *err)
{
    for (int t = 0; t < SYNC_TYPES; t++) {
        size_t n = sync_centre_size(m->value, m->parameters->n, sync_type[t]);

        free(m->momentum[t]);
        m->momentum[t] = NULL;
        if (!n || !(m->area->options.outer_momentum > 0))
            continue;
        m->momentum[t] = calloc(n, comm_type_bytes(sync_type[t]));
        if (!m->momentum[t])
            return eddis_fail(err, -ENOMEM, "no memory for the momentum of %zu parameters", n);
    }
    m->flags = SYNC_GOES_ON;
    return 0;
}

int centre_commit(struct centre *m, struct eddis_error *err)
{
    struct keys keys = { 0 };
    int rc = centre_list(m, err);

    if (rc == 0 && m->group->rounds)
        rc = centre_list_momentum(m, err);
    rc = collectives_agree(m->all, rc, err);
    if (rc == 0 && m->group->rounds)
        return samples_start(m->samples, keys.counter, err);
    if (rc == 0)
        rc = shared_buffers_open(m->box, 0, err);
    if (rc == 0) {
        int rc2 = m->all->place.rank == 0 ? keys_make(m, &keys, err) : 0;

        rc = collectives_agree(m->all, rc2, err);
    }
    if (rc == 0)
        rc = collectives_broadcast(m->all, &keys, sizeof keys, 0, err);
    if (rc < 0)
        return rc;
    memcpy(m->key, keys.centre, sizeof keys.centre);
    if (m->all->place.rank != 0) {
        struct smb_request q = { .kind = SMB_ATTACH, .key = keys.counter };

        rc = shared_buffers_ask_own(m->box, &q, err);
    }
    rc = collectives_agree(m->all, rc, err);
    return rc < 0 ? rc : samples_start(m->samples, keys.counter, err);
}

struct sync_models centre_setup(struct centre *m)
{
    struct comm_place all = m->all->place;

    all.nodes = NULL; /* a node's shared memory is that of its gradients */
    return (struct sync_models){ .all = all,
                                 .momentum = { m->momentum[0], m->momentum[1] },
                                 .box = m->box->box,
                                 .value = m->value,
                                 .n_values = m->parameters->n,
                                 .halves = m->halves.n ? &m->halves : NULL,
                                 .centre = { m->key[0], m->key[1] },
                                 .writer = m->group->number,
                                 .n_writers = m->group->n_groups,
                                 .timeout_ns = COLLECTIVES_TIMEOUT_NS };
}

int centre_move(struct centre *m, int parameter, void *value, struct eddis_error *err)
{
    if (m->exchanging)
        return eddis_fail(err, -EBUSY,
                          "an exchange with the center variable that timed out still uses the "
                          "values: repeat the call that began it until it succeeds");
    if (m->value)
        m->value[parameter].data = value;
    return 0;
}

bool centre_step_is_due(const struct centre *m, int64_t step, int64_t period)
{
    const struct sync_models models = { .writer = m->group->number,
                                        .n_writers = m->group->n_groups };
    const struct sync_turn t = { .what = SYNC_STEP, .step = step, .period = period };

    return elastic_due(&models, &t, 1);
}

/* ---- exchanges ---- */

/* Return the time left until the deadline, in ns, from 0 to m->timeout_ns: for waits in which no
 * worker still computes.
 */
static int64_t left_ns(const struct centre *m, int64_t deadline_ns)
{
    int64_t left = deadline_ns - clock_now_ns();

    left = left > 0 ? left : 0;
    return left < m->timeout_ns ? left : m->timeout_ns;
}

/* Wait until the exchange that was begun is done, until the deadline but at most m->timeout_ns,
 * except for a round's end, before which other groups still compute.  Return 0 or a failure, and
 * store in m->exchanging whether it is not done.  -ETIMEDOUT: err names the rank that is missing,
 * if known.
 */
static int exchange_wait(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    enum sync_exchange what = m->command.turn.what;
    bool computes = m->group->rounds && (what == SYNC_STEP || what == SYNC_LAND);
    int64_t deadline =
        computes ? deadline_ns : clock_after_ns(clock_now_ns(), left_ns(m, deadline_ns));
    struct comm_wait w = { .kind = WAIT_EXCHANGE, .exchanges = m->exchanges };
    int rc = waiter_wait_timed(&m->all->waiter, &w, deadline, err);

    m->exchanging = rc < 0;
    if (rc == -ETIMEDOUT && w.peer < 0)
        return eddis_fail(err, rc, "the exchange with %s before step %lld has not finished",
                          m->group->rounds ? "the other groups" : "the center variable",
                          (long long)m->command.turn.step);
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "the exchange with %s before step %lld waits for rank %d",
                          m->group->rounds ? "the other groups" : "the center variable",
                          (long long)m->command.turn.step, w.peer);
    return rc;
}

/* Run one exchange with the centre and wait for it.  If the same exchange has timed out before,
 * only continue to wait for it; if a different exchange has, first wait until that one is done.
 * Fails as exchange_wait.
 */
static int exchange(struct centre *m, const struct sync_turn *turn, int64_t deadline_ns,
                    struct eddis_error *err)
{
    const struct sync_turn *last = &m->command.turn;
    bool again = m->exchanging && last->what == turn->what && last->step == turn->step;
    int rc = m->exchanging && !again ? exchange_wait(m, deadline_ns, err) : 0;

    if (rc < 0)
        return rc;
    if (!again) {
        m->exchanges++;
        m->command = (struct command_exchange){ .command.kind = MAIL_EXCHANGE, .turn = *turn };
        comm_thread_send(m->all->waiter.thread, &m->command.command);
    }
    return exchange_wait(m, deadline_ns, err);
}

int centre_exchange(struct centre *m, enum sync_exchange what, struct eddis_error *err)
{
    const struct sync_turn turn = { .what = what, .step = m->samples->step };

    return exchange(m, &turn, CLOCK_NEVER, err);
}

int centre_step(struct centre *m, int64_t period, struct eddis_error *err)
{
    const struct sync_turn turn = {
        .what = SYNC_STEP, .step = m->samples->step, .period = period, .hidden_ns = &m->hidden_ns
    };

    if (!m->exchanging)
        m->hidden_ns = 0;
    return exchange(m, &turn, CLOCK_NEVER, err);
}

/* ---- rounds of local mode ---- */

/* Apply the result of the newest round's end, if that is not done.  Return as round_combine. */
static int round_land(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    const struct sync_turn turn = { .what = SYNC_LAND,
                                    .step = m->samples->step,
                                    .moved = m->steps > 0 };
    int rc = m->lands ? exchange(m, &turn, deadline_ns, err) : 0;

    if (rc < 0 || !m->lands)
        return rc;
    m->lands = false;
    m->wrote = true;
    return 0;
}

/* Combine the models of all groups, and go to the next round.  With overlap the result is left to
 * round_land, which must have applied that of the round before.  saves: SYNC_SAVES, SYNC_SAVES_NOT,
 * or 0 from a worker that ends, which takes part in a checkpoint if all others begin one.
 * Return 0 or a negative errno; -ETIMEDOUT: the next call continues.
 */
static int round_combine(struct centre *m, unsigned saves, int64_t deadline_ns,
                         struct eddis_error *err)
{
    int follows = samples_round_follows(m->samples, err), rc;
    const struct sync_turn turn = {
        .what = SYNC_STEP,
        .step = m->samples->step,
        .weight = m->weight,
        .whole = samples_round_whole(m->samples),
        .tail.flags = saves | (follows ? SYNC_GOES_ON : 0),
    };

    if (follows < 0)
        return follows;
    rc = exchange(m, &turn, deadline_ns, err);
    if (rc < 0)
        return rc;
    samples_round_finish(m->samples);
    m->weight = 0;
    m->steps = 0;
    m->lands = !m->outside && m->area->options.overlap > 0;
    m->wrote |= !m->lands;
    m->ended = m->outside;
    return 0;
}

/* Return EDDIS_ROUND_ENDED, once, if a round has ended whose models the program combines; else 0.
 */
static int take_ended(struct centre *m)
{
    bool ended = m->ended;

    m->ended = false;
    return ended ? EDDIS_ROUND_ENDED : 0;
}

/* Check whether the round's last step is over, or the last one before a stop. */
static bool round_is_over(struct centre *m)
{
    return samples_round_is_over(m->samples) || (m->steps > 0 && samples_are_stopped(m->samples));
}

int centre_round(struct centre *m, struct eddis_error *err)
{
    int rc = 0;

    /* A group may have no step in some rounds. */
    while (rc == 0 && !m->finished && !m->ended && round_is_over(m)) {
        rc = round_land(m, CLOCK_NEVER, err);
        if (rc == 0)
            rc = round_combine(m, SYNC_SAVES_NOT, CLOCK_NEVER, err);
    }
    if (rc == 0 && m->lands && m->steps >= m->area->options.overlap)
        rc = round_land(m, CLOCK_NEVER, err);
    return rc < 0 ? rc : take_ended(m);
}

bool centre_lands_next(const struct centre *m)
{
    return m->lands && m->steps + 1 >= m->area->options.overlap;
}

/* Combine the models until no group has steps left.  A worker that ends early takes part in the
 * ends of the others' rounds.  Return 0; 1: all others begin a checkpoint, in which this worker
 * must take part; EDDIS_ROUND_ENDED, as centre_round; or a negative errno.  -ETIMEDOUT: the next
 * call continues.
 */
static int rounds_finish(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    m->end = END_LAST;
    while (rc == 0 && !m->owed && !m->ended &&
           (m->exchanging || m->lands || m->flags & SYNC_GOES_ON)) {
        rc = m->lands ? 0 : round_combine(m, 0, deadline_ns, err);
        if (rc == 0)
            rc = round_land(m, deadline_ns, err);
        m->owed = rc == 0 && m->flags & SYNC_SAVES && !(m->flags & SYNC_SAVES_NOT);
    }
    if (rc == 0 && m->owed) {
        m->end = END_NOT;
        return 1;
    }
    if (rc == 0 && m->ended)
        return take_ended(m);
    m->finished = rc == 0;
    return rc;
}

int centre_start(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    const struct sync_turn turn = { .what = SYNC_START, .step = m->samples->step };
    int rc = m->met ? 0 : exchange(m, &turn, deadline_ns, err);

    if (rc == 0) /* wait until the centre exists and all workers know it */
        rc = collectives_barrier_until(m->all, &m->met, left_ns(m, deadline_ns), err);
    if (rc < 0)
        return rc;
    m->wrote = m->group->rounds;
    if (m->local)
        elastic_values_scatter(m->value, m->parameters->n, m->local);
    free(m->local);
    m->local = NULL;
    centre_halves_give(m, NULL, NULL);
    m->started = true;
    return 0;
}

/* ---- meeting the other workers ---- */

enum { AT_CHECKPOINT, AT_END };

/* Replace each of m->where by its minimum over all workers, waiting until the deadline.  Return 0
 * or a negative errno; after -ETIMEDOUT the all-reduce stays in m->say, and the next call continues
 * it.
 */
static int centre_least(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    const struct eddis_collective least = {
        .kind = EDDIS_ALLREDUCE, .buffer = m->where, .n = 2, .dtype = EDDIS_INT64, .op = EDDIS_MIN
    };
    int rc = m->say ? 0 : collectives_start(m->all, &least, &m->say, err);

    if (rc == 0)
        rc = collectives_wait(m->all, m->say, deadline_ns - clock_now_ns(), err);
    if (rc != -ETIMEDOUT)
        m->say = NULL;
    return rc;
}

/* Tell all workers whether this one is at AT_CHECKPOINT or AT_END (`where`), and store the least
 * and the greatest value of all workers in ret.  -ETIMEDOUT: the next call continues.  Other
 * workers may have samples left, for any length of time, so only deadline_ns limits the wait: the
 * board shows for whom this worker waits, and timeouts.hang ends the job if that worker makes no
 * step.  Before the first step the wait is limited as in collectives_least.
 */
static int centre_say(struct centre *m, int64_t where, int64_t deadline_ns, int64_t ret[2],
                      struct eddis_error *err)
{
    int rc;

    if (!m->say) {
        m->where[0] = where;
        m->where[1] = -where;
    }
    if (m->started)
        rc = centre_least(m, deadline_ns, err);
    else /* eddis-run detects no hang before the first step, so this wait has a limit */
        rc = collectives_least(m->all, m->where, 2, err);
    ret[0] = m->where[0];
    ret[1] = -m->where[1];
    return rc;
}

/* Local mode: end the round, if that is not done, and check that all workers begin a checkpoint.
 * Return as centre_meet; -EINVAL: this worker is inside of a round, or others begin none.
 */
static int rounds_meet(struct centre *m, struct eddis_error *err)
{
    int rc;

    if (m->ended)
        return take_ended(m);
    if (m->steps == 0) {
        m->owed = false;
        return round_land(m, CLOCK_NEVER, err);
    }
    if (!round_is_over(m))
        return eddis_fail(
            err, -EINVAL,
            "in local mode a checkpoint can be written only when a round of %lld steps ends: after "
            "a step with EDDIS_STEP_CHECKPOINT or EDDIS_STEP_END_OF_EPOCH",
            (long long)m->samples->rounds.period);
    rc = round_land(m, CLOCK_NEVER, err);
    if (rc == 0)
        rc = round_combine(m, SYNC_SAVES, CLOCK_NEVER, err);
    if (rc == 0)
        rc = round_land(m, CLOCK_NEVER, err);
    if (rc == 0 && m->flags & SYNC_SAVES_NOT)
        return eddis_fail(err, -EINVAL,
                          "other workers write no checkpoint at the end of this round: write them "
                          "after steps with EDDIS_STEP_CHECKPOINT, which all workers get");
    m->wrote &= rc < 0; /* the caller of a checkpoint knows that the parameters change */
    return rc < 0 ? rc : take_ended(m);
}

int centre_meet(struct centre *m, struct eddis_error *err)
{
    int64_t where[2] = { 0, AT_END };
    int rc = 0;

    if (m->group->rounds)
        return rounds_meet(m, err);
    /* A worker at the end learns from this of the checkpoint, and then comes to it. */
    while (rc == 0 && where[1] == AT_END)
        rc = centre_say(m, AT_CHECKPOINT, CLOCK_NEVER, where, err);
    m->owed &= rc < 0;
    return rc;
}

/* Run the stage m->end of the job's end: an exchange, or for END_MET a barrier.  Return 0 when it
 * is done; the caller sets m->end to the next stage.  -ETIMEDOUT: the next call continues the
 * stage.
 */
static int centre_end(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    static const enum sync_exchange what[] = {
        [END_LAST] = SYNC_LAST, [END_ADOPT] = SYNC_ADOPT, [END_LEAVE] = SYNC_LEAVE
    };
    const struct sync_turn turn = { .what = what[m->end], .step = m->samples->step };

    /* A checkpoint at the end needs the centre's float32 values.  After a timeout their memory
     * exists already.
     */
    if (m->end == END_ADOPT && m->all->place.rank == 0 && !m->halves.centre) {
        int rc = centre_halves_want(m, err);

        if (rc < 0)
            return rc;
    }
    if (m->end != END_MET)
        return exchange(m, &turn, deadline_ns, err);
    /* after this all increments are in the centre */
    return collectives_barrier_until(m->all, &m->met, left_ns(m, deadline_ns), err);
}

int centre_finish(struct centre *m, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t where[2];
    int rc;

    if (m->finished)
        return 0;
    if (m->owed)
        return eddis_fail(
            err, -EINVAL,
            "another worker waits in a checkpoint that the previous step requested "
            "(EDDIS_STEP_CHECKPOINT), but this worker did not call eddis_checkpoint_begin");
    if (m->group->rounds)
        return rounds_finish(m, deadline_ns, err);
    if (m->end == END_NOT) {
        rc = samples_send_stop(m->samples, deadline_ns, err);
        if (rc == 0)
            rc = centre_say(m, AT_END, deadline_ns, where, err);
        m->owed = rc == 0 && where[0] == AT_CHECKPOINT;
        if (rc < 0 || m->owed)
            return rc < 0 ? rc : 1;
        m->end++;
    }
    for (rc = 0; rc == 0 && m->end < END_OVER; m->end += rc == 0)
        rc = centre_end(m, deadline_ns, err);
    m->finished = rc == 0;
    return rc;
}

bool centre_is_amidst(const struct centre *m)
{
    bool starting = m->exchanging && !m->started;
    bool ending = m->end != END_NOT && !m->finished;

    return m->met || m->say || starting || ending;
}

/* ---- going back ---- */

int centre_rest(struct centre *m, struct eddis_error *err)
{
    int rc = m->exchanging ? exchange_wait(m, CLOCK_NEVER, err) : 0;

    return rc < 0 ? rc : round_land(m, CLOCK_NEVER, err);
}

int centre_go_back(struct centre *m, struct eddis_error *err)
{
    int rc = m->met ? collectives_barrier_until(m->all, &m->met, m->timeout_ns, err) : 0;

    if (rc == 0 && m->started && !m->finished && !m->group->rounds)
        rc = centre_exchange(m, SYNC_LEAVE, err);
    rc = collectives_agree(m->all, rc, err);
    if (rc < 0)
        return rc;
    m->started = m->finished = m->owed = m->ended = false;
    m->flags = SYNC_GOES_ON;
    m->weight = 0;
    m->steps = 0;
    m->end = END_NOT;
    return 0;
}

int64_t centre_due(const struct centre *m, int64_t samples)
{
    int64_t every = m->area ? m->area->checkpoint_every : 0;

    return every > 0 && samples != INT64_MAX ? samples / m->samples->global_batch / every : 0;
}
