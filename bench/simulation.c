/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.c - runs the workers, and their messages, in the order of virtual time */
#include "simulation.h"

#include "lib/data/sample_rounds.h"
#include "lib/data/sampler.h"
#include "loop_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ranges that a group takes ahead of its present step. */
enum { AHEAD = 2 };

static const int64_t patience_ns = INT64_C(1) << 60;

enum state {
    STATE_START,    /* its first exchange is going on */
    STATE_STARTED,  /* waits until all have started */
    STATE_TAKE,     /* waits for the step's samples */
    STATE_ROUND,    /* local training: the round ends */
    STATE_EXCHANGE, /* waits until the parameters may be used */
    STATE_COMPUTE,
    STATE_COMBINE,
    STATE_LAST, /* its last exchange is going on */
    STATE_LEFT, /* waits until all have made their last exchange */
    STATE_ADOPT,
    STATE_LEAVE,
    STATE_DONE,
};

struct worker {
    struct run *run;
    int rank, group;
    int *member; /* [place.n_ranks] */
    struct comm_place place;
    struct sampler *sampler;
    struct ranges *ranges;
    struct engine *engine;
    struct smb *box;
    struct sync_value *value; /* [n_parameters] */
    void **slot;              /* [n_parameters] */
    enum state state;
    struct simulation_step step;
    int64_t until_ns;  /* end of computing */
    int64_t exchanges; /* number of exchanges begun */
    int64_t idle_since_ns;
    struct smb_request take; /* request of a group's root for its next range of samples */
    bool taking, taken;      /* in progress; done, to be sent with the next trailer */
    /* Local training: samples in the rounds that are opened, the step after the present round, this
     * rank's samples in it, and the outer optimizer's momentum of each type
     */
    int64_t counter, round_end;
    double weight;
    void *momentum[SYNC_TYPES];
    struct eddis_error failure;
};

struct run {
    const struct simulation_options *o;
    struct worker *worker;  /* [n_ranks] */
    struct engine **engine; /* [n_ranks], the workers' */
    struct smb **box;       /* [n_ranks] */
    struct loop_thread *loop;
    smb_key counter, centre[SYNC_TYPES];
    int n_groups;
    int64_t global_batch;
    int64_t *group_batch; /* [n_ranks]; the first n_groups are used */
    int started, left;
    struct simulation_result result;
};

/* Check whether the worker is the first of its group. */
static bool is_root(const struct worker *w)
{
    return w->place.rank == 0;
}

/* Check whether the groups have models of their own. */
static bool has_models(const struct run *r)
{
    return algorithm_has(r->o->algorithm, ALGORITHM_SEVERAL);
}

/* Check whether the groups combine their models in rounds. */
static bool has_rounds(const struct run *r)
{
    return algorithm_has(r->o->algorithm, ALGORITHM_ROUNDS);
}

/* ---- the trailer of a step's last bucket ---- */

/* Write the root's new range of samples to the trailer.  A hook of the engine. */
static void report(void *arg, struct sync_trailer *tail)
{
    struct worker *w = arg;

    if (!w->taken)
        return;
    tail->range_first = w->take.value;
    tail->range_count = w->take.add;
    w->taken = false;
}

/* Add the range in the trailer to a member's ranges.  A hook of the engine. */
static void agreed(void *arg, int64_t step, const struct sync_trailer *tail)
{
    struct worker *w = arg;

    (void)step;
    if (tail->range_count && !is_root(w))
        w->failure.code = ranges_add(w->ranges, tail->range_first, tail->range_count, &w->failure);
}

/* ---- requests to the box ---- */

/* Send one request of a rank to the box and wait for it: before and after the run. */
static int ask(struct run *r, int rank, struct smb_request *q, struct eddis_error *err)
{
    int rc;

    q->deadline_ns = patience_ns;
    rc = loop_thread_box(r->loop, rank, q, err);
    while (rc == 0 && !q->done)
        rc = loop_thread_step_to(r->loop, INT64_MAX, err) < 0 ? -EIO : 0;
    if (rc >= 0 && q->rc < 0)
        rc = eddis_fail(err, q->rc, "%s", q->error.text);
    return rc < 0 ? rc : 0;
}

/* Request a root's next range of samples if it has too few. */
static int take_more(struct worker *w, struct eddis_error *err)
{
    const struct sampler_group g = { w->member, w->place.n_ranks };
    int rc;

    if (has_rounds(w->run) || !is_root(w) || w->taking || w->taken || ranges_exhausted(w->ranges) ||
        ranges_end(w->ranges) > w->step.step + AHEAD)
        return 0;
    w->taking = true;
    w->take = (struct smb_request){ .kind = SMB_FETCH_ADD,
                                    .key = w->run->counter,
                                    .add = sampler_group_batch(w->sampler, &g),
                                    .deadline_ns = patience_ns,
                                    .user = w };
    rc = loop_thread_box(w->run->loop, w->rank, &w->take, err);
    return rc < 0 ? rc : 0;
}

/* Take over a requested range that has arrived. */
static int take_look(struct worker *w, struct eddis_error *err)
{
    if (!w->taking || !w->take.done)
        return 0;
    if (w->take.rc < 0)
        return eddis_fail(err, w->take.rc, "%s", w->take.error.text);
    w->taking = false;
    w->taken = w->place.n_ranks > 1;
    return ranges_add(w->ranges, w->take.value, w->take.add, err);
}

/* ---- a worker ---- */

/* Begin an exchange of models of this kind; the worker is then in state `next`. */
static int begin_exchange(struct worker *w, enum sync_exchange what, enum state next,
                          struct eddis_error *err)
{
    const struct run *r = w->run;
    const struct sync_turn turn = { .what = what,
                                    .step = w->step.step,
                                    .period = r->o->period,
                                    .weight = w->weight,
                                    .whole = (double)r->global_batch * (double)r->o->period,
                                    .hidden_ns = &w->step.hidden_ns };

    w->step.hidden_ns = 0;
    w->exchanges++;
    w->state = next;
    return loop_thread_exchange(w->run->loop, w->rank, &turn, err);
}

/* Compute the gradient, and set when it is ready.  Return 1. */
static int begin_compute(struct worker *w)
{
    const struct simulation_hooks *h = &w->run->o->hooks;

    w->until_ns = loop_thread_now_ns(w->run->loop) + h->compute(h->arg, w->rank, &w->step, w->slot);
    w->state = STATE_COMPUTE;
    return 1;
}

/* Fill in the worker's step from its group's range, and begin the exchange before it, or in local
 * training the step itself.
 */
static int begin_step(struct worker *w, const struct ranges_step *r, struct eddis_error *err)
{
    const struct sampler_group g = { w->member, w->place.n_ranks };
    const struct run *run = w->run;
    struct sampler_step s;
    int rc = sampler_share(w->sampler, &g, w->step.step, r->count, &s, err);

    if (rc < 0)
        return rc;
    w->step.epoch = r->epoch;
    w->step.first = r->first + s.first;
    w->step.count = s.count;
    w->step.batch = r->count;
    w->step.lr_factor = has_models(run) && !has_rounds(run)
                            ? (double)r->count * run->n_groups / (double)run->global_batch
                            : 1;
    w->step.begin_ns = w->idle_since_ns;
    if (has_rounds(run))
        return begin_compute(w);
    return begin_exchange(w, SYNC_STEP, STATE_EXCHANGE, err);
}

/* Announce all gradients.  Return 1 or a negative errno. */
static int begin_combine(struct worker *w, struct eddis_error *err)
{
    int rc = 0;

    w->state = STATE_COMBINE;
    engine_begin(w->engine,
                 &(struct engine_step){ .step = w->step.step,
                                        .weight = (double)w->step.count,
                                        .batch = (double)w->step.batch },
                 w->step.begin_ns);
    for (int i = w->run->o->n_parameters - 1; rc == 0 && i >= 0; i--)
        rc = loop_thread_announce(w->run->loop, w->rank,
                                  &(struct engine_announcement){ .parameter = i }, err);
    return rc < 0 ? rc : 1;
}

/* Check whether all buckets of the step are combined. */
static bool is_combined(const struct worker *w)
{
    for (int b = 0; b < engine_n_buckets(w->engine); b++)
        if (engine_done_step(w->engine, b) != w->step.step)
            return false;
    return true;
}

/* Update the parameters and end the step.  Return 1. */
static int end_step(struct worker *w)
{
    const struct simulation_hooks *h = &w->run->o->hooks;

    w->step.end_ns = w->idle_since_ns = loop_thread_now_ns(w->run->loop);
    h->update(h->arg, w->rank, &w->step, w->slot);
    w->run->result.samples += w->step.count;
    w->run->result.steps += is_root(w);
    w->weight += (double)w->step.count;
    ranges_finish(w->ranges, w->step.step++);
    w->state = STATE_TAKE;
    return 1;
}

/* Open the next round of local training, or note that no samples are left.  Return 0 or -ENOMEM. */
static int open_round(struct worker *w, struct eddis_error *err)
{
    const struct run *r = w->run;
    const struct rounds_plan plan = { r->group_batch, r->n_groups, r->o->period, 0 };
    int64_t left = ranges_epoch_left(w->ranges, w->counter), size;
    struct rounds_part part;
    int rc = 0;

    if (!left) {
        ranges_exhaust(w->ranges);
        return 0;
    }
    size = rounds_size(&plan, left);
    part = rounds_part(&plan, size, w->group);
    for (int64_t i = 0; rc == 0 && i < part.steps; i++) {
        int64_t first = rounds_step(&part, i);

        rc = ranges_add(w->ranges, w->counter + part.first + first,
                        rounds_step(&part, i + 1) - first, err);
    }
    ranges_seal(w->ranges, size == left);
    w->counter += size;
    w->round_end = ranges_end(w->ranges);
    return rc;
}

/* Go on to the next round, whose models are combined.  Return 1 or -ENOMEM. */
static int next_round(struct worker *w, struct eddis_error *err)
{
    int rc = open_round(w, err);

    w->weight = 0;
    w->state = STATE_TAKE;
    return rc < 0 ? rc : 1;
}

/* Begin the next step, or the last exchange if no samples are left.  Return 1, 0 if the samples are
 * not known yet, or a negative errno.
 */
static int try_step(struct worker *w, struct eddis_error *err)
{
    struct ranges_step r;
    int rc = take_more(w, err);

    if (rc == 0 && has_rounds(w->run) && w->step.step == w->round_end && w->weight > 0) {
        rc = begin_exchange(w, SYNC_STEP, STATE_ROUND, err);
        return rc < 0 ? rc : 1;
    }
    if (rc == 0)
        rc = ranges_look(w->ranges, w->step.step, &r, NULL);
    if (rc == -EAGAIN)
        return 0;
    if (rc == 1)
        rc = begin_step(w, &r, err);
    else if (rc == 0)
        rc = begin_exchange(w, SYNC_LAST, STATE_LAST, err);
    return rc < 0 ? rc : 1;
}

/* Advance a worker from its last step to its end.  Return as worker_turn. */
static int end_turn(struct worker *w, bool exchanged, struct eddis_error *err)
{
    struct run *r = w->run;
    int rc;

    if (w->state == STATE_LEFT ? r->left < r->o->n_ranks : !exchanged)
        return 0;
    switch (w->state) {
    case STATE_LAST:
        if (r->o->hooks.last)
            r->o->hooks.last(r->o->hooks.arg, w->rank);
        if (!r->left++)
            r->result.first_end_ns = loop_thread_now_ns(r->loop);
        w->state = STATE_LEFT;
        return 1;
    case STATE_LEFT:
        rc = begin_exchange(w, SYNC_ADOPT, STATE_ADOPT, err);
        return rc < 0 ? rc : 1;
    case STATE_ADOPT:
        rc = begin_exchange(w, SYNC_LEAVE, STATE_LEAVE, err);
        return rc < 0 ? rc : 1;
    default: /* STATE_LEAVE */
        w->state = STATE_DONE;
        return 1;
    }
}

/* Advance one worker.  Return 1 if it has gone on, 0 if it waits, or a negative errno. */
static int worker_turn(struct worker *w, struct eddis_error *err)
{
    struct run *r = w->run;
    bool exchanged = engine_exchanges(w->engine) == w->exchanges;
    int rc = w->failure.code;

    if (rc < 0) {
        *err = w->failure;
        return rc;
    }
    rc = take_look(w, err);
    if (rc < 0)
        return rc;
    switch (w->state) {
    case STATE_START:
        if (!exchanged)
            return 0;
        r->started++;
        w->state = STATE_STARTED;
        return 1;
    case STATE_STARTED:
        if (r->started < r->o->n_ranks)
            return 0;
        w->state = STATE_TAKE;
        return 1;
    case STATE_TAKE:
        return try_step(w, err);
    case STATE_ROUND:
        return exchanged ? next_round(w, err) : 0;
    case STATE_EXCHANGE:
        return exchanged ? begin_compute(w) : 0;
    case STATE_COMPUTE:
        return loop_thread_now_ns(r->loop) >= w->until_ns ? begin_combine(w, err) : 0;
    case STATE_COMBINE:
        return is_combined(w) ? end_step(w) : 0;
    case STATE_LAST:
    case STATE_LEFT:
    case STATE_ADOPT:
    case STATE_LEAVE:
        return end_turn(w, exchanged, err);
    case STATE_DONE:
        break;
    }
    return 0;
}

/* ---- all of them ---- */

/* Advance all workers once.  Return 1 if any has gone on, else 0, or a negative errno;
 * *ret_until_ns: when the first computing worker is ready.
 */
static int all_turn(struct run *r, int64_t *ret_until_ns, struct eddis_error *err)
{
    bool moved = false;

    *ret_until_ns = INT64_MAX;
    for (int i = 0; i < r->o->n_ranks; i++) {
        struct worker *w = &r->worker[i];
        int rc = worker_turn(w, err);

        if (rc < 0)
            return rc;
        moved |= rc > 0;
        if (w->state == STATE_COMPUTE && w->until_ns < *ret_until_ns)
            *ret_until_ns = w->until_ns;
    }
    return moved;
}

/* Check whether all workers are done. */
static bool all_done(const struct run *r)
{
    for (int i = 0; i < r->o->n_ranks; i++)
        if (r->worker[i].state != STATE_DONE)
            return false;
    return true;
}

/* Run until all workers are done.  Return 0 or a negative errno. */
static int run_all(struct run *r, struct eddis_error *err)
{
    while (!all_done(r)) {
        int64_t until;
        int rc = all_turn(r, &until, err), moved = rc;

        if (rc == 0)
            rc = moved = loop_thread_step_to(r->loop, until, err);
        if (rc < 0)
            return rc;
        if (!moved && until == INT64_MAX)
            return eddis_fail(err, -EDEADLK, "the workers wait for each other");
    }
    r->result.end_ns = loop_thread_now_ns(r->loop);
    return 0;
}

/* ---- setting up ---- */

/* Set the worker's place in its group, and its values. */
static int worker_place(struct worker *w, struct eddis_error *err)
{
    const struct simulation_options *o = w->run->o;
    int n = 0;

    w->member = calloc((size_t)o->n_ranks, sizeof *w->member);
    w->value = calloc((size_t)o->n_parameters, sizeof *w->value);
    w->slot = calloc((size_t)o->n_parameters, sizeof *w->slot);
    if (!w->member || !w->value || !w->slot)
        return eddis_fail(err, -ENOMEM, "no memory for a worker");
    for (int i = 0; i < o->n_ranks; i++) {
        if (i == w->rank)
            w->place.rank = n;
        if (o->group_of[i] == w->group)
            w->member[n++] = i;
    }
    w->place.n_ranks = n;
    w->place.hosts = sync_wire_is_half(o->wire);
    w->place.peer = w->member;
    for (int i = 0; i < o->n_parameters; i++)
        w->value[i] = (struct sync_value){ .data = o->value[w->rank * o->n_parameters + i],
                                           .n = o->parameter[i].n,
                                           .type = o->parameter[i].type };
    return 0;
}

/* Open the worker's sampler and its ranges. */
static int worker_samples(struct worker *w, struct eddis_error *err)
{
    const struct simulation_options *o = w->run->o;
    struct sampler_options s = { o->samples, o->epochs, o->seed, w->rank, o->n_ranks };
    struct ranges_options r = { .samples = o->samples, .epochs = o->epochs };
    int rc = sampler_open(&s, &w->sampler, err);

    if (rc == 0)
        rc = sampler_add_plan(w->sampler, 1, 0, o->batch, err);
    return rc < 0 ? rc : ranges_open(&r, &w->ranges, err);
}

/* Open the worker's end of the Soft Memory Box. */
static int worker_box(struct worker *w, struct eddis_error *err)
{
    const struct simulation_options *o = w->run->o;
    struct smb_options s = {
        .place = { .rank = w->rank, .n_ranks = o->n_ranks, .channel = COMM_BOX },
        .node_of = o->node_of
    };

    return smb_open(&s, &w->box, err);
}

/* Allocate the outer optimizer's momentum, if it has one.  Return 0 or -ENOMEM. */
static int worker_momentum(struct worker *w, struct eddis_error *err)
{
    const struct simulation_options *o = w->run->o;

    for (int t = 0; t < SYNC_TYPES && o->outer_momentum > 0; t++) {
        size_t n = sync_centre_size(w->value, o->n_parameters, sync_type[t]);

        w->momentum[t] = calloc(n + 1, comm_type_bytes(sync_type[t]));
        if (!w->momentum[t])
            return eddis_fail(err, -ENOMEM, "no memory for momentum");
    }
    return 0;
}

/* Create the worker's engine and find its gradient slots. */
static int worker_engine(struct worker *w, struct eddis_error *err)
{
    const struct run *r = w->run;
    const struct simulation_options *o = r->o;
    struct sync_models m = { .all = { .rank = w->rank, .n_ranks = o->n_ranks },
                             .box = w->box,
                             .value = w->value,
                             .n_values = o->n_parameters,
                             .centre = { r->centre[0], r->centre[1] },
                             .writer = w->group,
                             .n_writers = r->n_groups,
                             .timeout_ns = patience_ns / 2 };
    struct engine_options e = { .place = w->place,
                                .algorithm = o->algorithm,
                                .models = has_models(r) ? &m : NULL,
                                .options = { .moving_rate = o->moving_rate >= 0 ? o->moving_rate
                                                                                : 0.9 / r->n_groups,
                                             .outer_rate = o->outer_rate,
                                             .outer_momentum = o->outer_momentum,
                                             .wire = o->wire },
                                .bucket_bytes = 1 << 20,
                                .parameter = o->parameter,
                                .n_parameters = o->n_parameters,
                                .hooks = { w, report, agreed } };
    int rc = worker_momentum(w, err);

    m.momentum[0] = w->momentum[0];
    m.momentum[1] = w->momentum[1];
    if (rc == 0)
        rc = engine_new(&e, &w->engine, err);
    for (int i = 0; rc == 0 && i < o->n_parameters; i++)
        w->slot[i] = engine_slot(w->engine, i);
    return rc;
}

/* Have rank 0 create the counter of samples and the center variable, and all others attach to the
 * counter.
 */
static int make_buffers(struct run *r, struct eddis_error *err)
{
    struct smb_request q = { .kind = SMB_CREATE, .type = COMM_INT64, .n = 1 };
    int rc = ask(r, 0, &q, err);

    r->counter = q.key;
    for (int t = 0; rc == 0 && t < SYNC_TYPES; t++) {
        size_t n = sync_centre_size(r->worker[0].value, r->o->n_parameters, sync_type[t]);

        q = (struct smb_request){ .kind = SMB_CREATE, .type = sync_type[t], .n = n };
        if (n && has_models(r))
            rc = ask(r, 0, &q, err);
        r->centre[t] = q.key;
    }
    for (int i = 1; rc == 0 && i < r->o->n_ranks; i++) {
        q = (struct smb_request){
            .kind = SMB_ATTACH, .key = r->counter, .type = COMM_INT64, .n = 1
        };
        rc = ask(r, i, &q, err);
    }
    return rc;
}

/* Take the ranges of the first steps for all workers.  Members get later ones from trailers. */
static int first_ranges(struct run *r, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && has_rounds(r) && i < r->o->n_ranks; i++)
        rc = open_round(&r->worker[i], err);
    for (int k = 0; k <= AHEAD && !has_rounds(r); k++)
        for (int i = 0; rc == 0 && i < r->o->n_ranks; i++) {
            struct worker *w = &r->worker[i], *root = &r->worker[w->member[0]];

            if (is_root(w)) {
                const struct sampler_group g = { w->member, w->place.n_ranks };

                w->take = (struct smb_request){ .kind = SMB_FETCH_ADD,
                                                .key = r->counter,
                                                .add = sampler_group_batch(w->sampler, &g) };
                rc = ask(r, i, &w->take, err);
            }
            if (rc == 0)
                rc = ranges_add(w->ranges, root->take.value, root->take.add, err);
        }
    return rc;
}

/* Create all workers and begin their first exchange. run_close frees them in either case. */
static int run_open(struct run *r, struct eddis_error *err)
{
    int n = r->o->n_ranks, rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        struct worker *w = &r->worker[i];

        w->run = r;
        w->rank = i;
        w->group = r->o->group_of[i];
        r->n_groups = w->group + 1 > r->n_groups ? w->group + 1 : r->n_groups;
        r->global_batch += r->o->batch[i];
        r->group_batch[w->group] += r->o->batch[i];
        rc = worker_place(w, err);
        if (rc == 0)
            rc = worker_samples(w, err);
        if (rc == 0)
            rc = worker_box(w, err);
        r->box[i] = w->box;
    }
    if (rc == 0)
        rc = loop_thread_new(r->engine, n, r->o->seed, &r->loop, err);
    if (rc < 0)
        return rc;
    loop_thread_set_boxes(r->loop, r->box);
    rc = make_buffers(r, err);
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = worker_engine(&r->worker[i], err);
        r->engine[i] = r->worker[i].engine;
    }
    if (rc == 0)
        rc = first_ranges(r, err);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = begin_exchange(&r->worker[i], SYNC_START, STATE_START, err);
    return rc < 0 ? rc : 0;
}

/* Free everything that run_open has made. */
static void run_close(struct run *r)
{
    loop_thread_free(r->loop);
    for (int i = 0; r->worker && i < r->o->n_ranks; i++) {
        struct worker *w = &r->worker[i];

        engine_free(w->engine);
        smb_close(w->box);
        ranges_close(w->ranges);
        sampler_close(w->sampler);
        free(w->member);
        free(w->value);
        free(w->slot);
        for (int t = 0; t < SYNC_TYPES; t++)
            free(w->momentum[t]);
    }
    free(r->group_batch);
    free(r->worker);
    free(r->engine);
    free(r->box);
}

int simulation_run(const struct simulation_options *o, struct simulation_result *ret,
                   struct eddis_error *err)
{
    size_t n = (size_t)o->n_ranks;
    struct run r = { .o = o,
                     .worker = calloc(n, sizeof *r.worker),
                     .group_batch = calloc(n, sizeof *r.group_batch),
                     .engine = calloc(n, sizeof(struct engine *)),
                     .box = calloc(n, sizeof(struct smb *)) };
    int rc = -ENOMEM;

    if (r.worker && r.group_batch && r.engine && r.box)
        rc = run_open(&r, err);
    else
        eddis_fail(err, rc, "no memory for %d workers", o->n_ranks);
    if (rc == 0)
        rc = run_all(&r, err);
    *ret = r.result;
    run_close(&r);
    return rc;
}
