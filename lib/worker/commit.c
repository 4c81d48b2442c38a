/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c - eddis_commit: compare what was registered, choose the communication, make the engine
 */
#include "confirm.h"
#include "open_options.h"
#include "tuning.h"
#include "worker.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/sync/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return a hash of everything besides the numbers among the options that must be equal on all
 * workers: seed, algorithm, eddis_options.gradients, layers and parameters.
 */
static uint64_t registration_hash(const struct eddis *e)
{
    uint64_t h = parameters_hash_text(e->seed, e->algorithm);

    return parameters_hash(&e->parameters, parameters_hash_text(h, e->gradients));
}

/* Compare the workers' registrations.  The smallest and the largest hash are equal if all are.
 * -EPROTO: they differ; -EINVAL: as parameters_sets.  Collective.
 */
static int commit_compare(struct eddis *e, struct eddis_error *err)
{
    int64_t h = (int64_t)registration_hash(e), both[2] = { h, ~h };
    int rc = collectives_least(&e->all, both, 2, err);

    if (rc < 0)
        return rc;
    if (both[0] != ~both[1])
        return eddis_fail(
            err, -EPROTO,
            "the workers have registered different layers, parameters or seeds, or have "
            "different options `gradients`");
    rc = parameters_sets(&e->parameters, err); /* the same result on all workers */
    return rc < 0 ? rc : 0;
}

/* Give the samples the data set of eddis_set_data, unless they have one.  Return 0 or a negative
 * errno; -EINVAL: no sample of an epoch is used.
 */
static int commit_data(struct eddis *e, struct eddis_error *err)
{
    int64_t samples = e->options.samples, batch = e->samples.global_batch;
    int rc =
        samples_given(&e->samples) ? 0 : samples_give(&e->samples, samples, e->options.epochs, err);

    if (rc < 0 || sampler_used(e->samples.sampler))
        return rc;
    return eddis_fail(err, -EINVAL,
                      "no sample can be used: an epoch has %lld samples, the global batch is %lld, "
                      "the minimum of a worker is %lld (min_count)%s",
                      (long long)samples, (long long)batch, (long long)e->options.min_count,
                      e->options.drop_last ? " and an incomplete step is dropped (drop_last)" : "");
}

/* Borrow the communication choice of a replayed plan; NULL: there is none, so measure it or choose
 * by size.
 */
static const struct comm_choice *commit_choice(const struct eddis *e)
{
    const struct comm_choice *c = e->area ? &e->area->choice : NULL;

    return c && c->version ? c : NULL;
}

/* Create memory that the ranks of a node share for gradients, unless the plan or the system forbids
 * it, or every worker is its own group.  A failure to share is an error only if a replayed plan
 * wants it.  Collective.  Return 0, also if nothing is shared, or a negative errno.
 */
static int commit_share(struct eddis *e, struct eddis_error *err)
{
    const struct comm_choice *fixed = commit_choice(e);
    size_t bytes = 0;

    if (e->group.n_groups == e->all.place.n_ranks || (fixed && !fixed->shared))
        return 0;
    for (int i = 0; i < e->parameters.n; i++) {
        const struct parameter *p = &e->parameters.item[i];

        if (p->slot >= 0)
            bytes += arena_slot_bytes(p->n, (enum comm_type)p->dtype);
    }
    return node_memory_open(&e->node_memory,
                            &(struct node_memory_size){ arena_bytes(bytes), e->parameters.n_slots },
                            fixed != NULL, err);
}

/* On rank 0 with a board, publish the communication choice on it. */
static void commit_publish(struct eddis *e, const struct comm_choice *c)
{
    struct board *b = e->all.place.rank == 0 ? phase_lock_board(&e->phase) : NULL;

    if (!b)
        return;
    board_choose(b, c);
    phase_unlock_board(&e->phase);
}

/* Return the number of nodes among which the group sends messages; 1 if no memory is shared. */
static int commit_nodes(const struct eddis *e)
{
    return e->group.place.nodes ? e->group.place.nodes->n : 1;
}

/* Measure which kinds of all-reduce are best, store them in e->limits and publish the choice; drop
 * the shared memory if messages are faster.  *ret: the network's cost.  Collective.  Return 0 or a
 * negative errno.
 */
static int commit_measure(struct eddis *e, struct comm_cost *ret, struct eddis_error *err)
{
    struct comm_choice c = { 0 };
    struct tuner_result r;
    int rc = tuning_measure(&e->all, &e->group.place, e->node_memory.bytes, &r, err);

    if (rc < 0)
        return rc;
    if (!r.shared)
        node_memory_drop(&e->node_memory);
    *ret = r.cost;
    tuning_set_limits(&c, &r);
    e->limits = tuning_limits(&c, commit_nodes(e));
    if (e->node_memory.why.code)
        tuning_add_reason(&c, "no memory is shared: %s", e->node_memory.why.text);
    commit_publish(e, &c);
    return 0;
}

/* Choose the kinds of all-reduce: by a replayed plan, or else by measurement if the options ask for
 * it; store them in e->limits and let the places refer to them.  Otherwise leave all as it is
 * (choose by size), also if there are no all-reduces of gradients, since every worker is its own
 * group or the program combines them.  *ret: the network's cost, if the kinds were chosen.
 * Collective.  Return 0 or a negative errno.
 */
static int commit_kinds(struct eddis *e, struct comm_cost *ret, struct eddis_error *err)
{
    const struct comm_choice *fixed = commit_choice(e);
    int rc = 0;

    if (e->group.n_groups == e->all.place.n_ranks || (!fixed && !e->options.measure) ||
        worker_is_external(e))
        return 0;
    if (fixed) {
        e->limits = tuning_limits(fixed, commit_nodes(e));
        *ret = (struct comm_cost){ fixed->latency_s, fixed->bytes_per_s };
    } else {
        rc = commit_measure(e, ret, err);
    }
    if (rc == 0)
        e->all.place.limits = e->group.place.limits = &e->limits;
    return rc;
}

/* Set the buckets' size, or their layout if the plan fixes one, in the engine's options *o.
 * o->layout then refers to *layout.  Also publish a replayed choice.  -EINVAL: as tuning_layout.
 */
static int commit_buckets(struct eddis *e, struct bucket_layout *layout, struct engine_options *o,
                          struct eddis_error *err)
{
    const struct comm_choice *c = commit_choice(e);
    int rc;

    o->bucket_bytes = (size_t)e->options.bucket_bytes;
    if (!c && !e->options.measure && !o->bucket_bytes)
        o->bucket_bytes = ENGINE_BUCKET_BYTES;
    if (!c || worker_is_external(e))
        return 0;
    rc = tuning_layout(c, e->parameters.n_slots, layout, err);
    if (rc < 0)
        return rc;
    if (rc)
        o->layout = layout;
    else if (!o->bucket_bytes)
        o->bucket_bytes = ENGINE_BUCKET_BYTES; /* the replayed job has made no layout */
    commit_publish(e, c);
    return 0;
}

/* Engine hook, in the thread that drives the engine: fill in this worker's part of a step's
 * trailer.
 */
static void hook_report(void *arg, struct sync_trailer *tail)
{
    struct eddis *e = arg;

    plan_switch_report(&e->plan_switch, tail);
}

/* Engine hook, in the thread that drives the engine: apply the combined trailer of a step, or in
 * local mode of a round's end.
 */
static void hook_agreed(void *arg, int64_t round, const struct sync_trailer *tail)
{
    struct eddis *e = arg;

    e->centre.flags = tail->flags;
    plan_switch_agree(&e->plan_switch, tail);
}

/* Engine hook, in the thread that drives the engine: publish a layout of buckets. */
static void hook_laid_out(void *arg, const struct bucket_layout *l)
{
    const struct eddis *e = arg;

    tuning_laid_out(&e->tuning, l);
}

/* Create the engine in *ret from the registered parameters and the choices made; the caller frees
 * it.  Collective only in what engine_new does.  Return 0 or the failure of engine_new.
 */
static int commit_engine(struct eddis *e, const struct comm_cost *cost, struct engine **ret,
                         struct eddis_error *err)
{
    struct engine_parameter *p = calloc((size_t)e->parameters.n + 1, sizeof *p);
    struct sync_models models = { 0 };
    struct bucket_layout layout;
    struct engine_options o = { .place = e->group.place,
                                .algorithm = e->algorithm,
                                .models = e->group.several ? &models : NULL,
                                .cost = { cost->latency_s, cost->bytes_per_s },
                                .parameter = p,
                                .n_parameters = e->parameters.n_slots,
                                .hooks = { .arg = e,
                                           .report = hook_report,
                                           .agreed = hook_agreed,
                                           .laid_out = hook_laid_out } };
    int rc = p ? 0 : eddis_fail(err, -ENOMEM, "no memory for %d parameters", e->parameters.n);

    if (e->area)
        o.options = e->area->options;
    if (e->centre.outside) /* the program combines the models, and waits for that */
        o.options.overlap = 0;
    if (rc == 0 && e->group.several)
        models = centre_setup(&e->centre);
    for (int i = 0; rc == 0 && i < e->parameters.n; i++) {
        const struct parameter *q = &e->parameters.item[i];

        if (q->slot >= 0)
            p[q->slot] = (struct engine_parameter){
                .n = q->n, .type = (enum comm_type)q->dtype, .result = q->result, .set = q->set
            };
    }
    if (rc == 0)
        rc = commit_buckets(e, &layout, &o, err);
    if (rc == 0)
        rc = engine_new(&o, ret, err);
    free(p);
    return rc;
}

/* Set how often the workers' models are compared, e->plan_switch.models.every: never with several
 * models.  Without eddis-run a single worker compares nothing either, as it sends nothing.
 */
static void commit_models(struct eddis *e)
{
    int64_t every = e->all.place.n_ranks > 1 ? MODEL_CHECK_EVERY : 0;

    e->plan_switch.models.rank = e->all.place.rank;
    e->plan_switch.models.every = e->group.several ? 0 : e->area ? e->area->check_models : every;
}

/* Publish model size, job length and network speed on the board; the driver computes exchange costs
 * and the best mode from them.
 */
static void commit_show(struct eddis *e)
{
    struct board *b = phase_lock_board(&e->phase);
    struct board_page *page;

    if (!b)
        return;
    page = board_begin(b);
    worker_show_length(e, page);
    page->model_bytes = (int64_t)parameters_bytes(&e->parameters);
    page->program = parameters_program(&e->parameters);
    page->program.min_count = e->options.min_count;
    (void)snprintf(page->program.gradients, sizeof page->program.gradients, "%s", e->gradients);
    page->network = e->network;
    page->committed = 1;
    board_end(b);
    phase_unlock_board(&e->phase);
}

/* If the program combines its gradients itself, make its algorithm the one that only agrees.  In
 * local mode the algorithm stays, since its rounds do: it has no gradients, and no parameters with
 * values, so it sends trailers alone.  -EINVAL: the job's mode has a centre.
 */
static int commit_external(struct eddis *e, struct eddis_error *err)
{
    if (!worker_is_external(e))
        return 0;
    e->centre.outside = e->group.rounds;
    if (e->group.rounds)
        return 0;
    if (e->group.several) {
        commit_show(e); /* so that eddis-run chooses sync in the program's next run */
        return eddis_fail(
            err, -EINVAL,
            "the program's gradients are combined by %s, which needs sync.mode: sync or local, "
            "but the job's mode is %s",
            e->gradients, e->mode);
    }
    (void)snprintf(e->algorithm, sizeof e->algorithm, "%s", algorithm_external()->name);
    return 0;
}

/* Interval at which the board is polled. */
#define OPEN_LOOK_NS CLOCK_MS

/* Wait until this node's board has a plan, the driver's answer to commit_show, and store the newest
 * version in *ret_version.  Return 0 or -ETIMEDOUT: there is none within timeouts.launch.
 */
static int commit_wait_plan(const struct eddis *e, int64_t *ret_version, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), e->area->open_ns), now;

    while ((*ret_version = board_newest(e->board)) == 0 && (now = clock_now_ns()) < deadline)
        clock_sleep_until_ns(now + OPEN_LOOK_NS);
    if (*ret_version)
        return 0;
    return eddis_fail(err, -ETIMEDOUT,
                      "this worker reported a model of %lld bytes to eddis-run, but eddis-run has "
                      "not answered with the mode of the job within %g s (timeouts.launch)",
                      (long long)parameters_bytes(&e->parameters),
                      (double)e->area->open_ns / CLOCK_S);
}

/* Take mode, groups and plan `version` as the first plan.  If one worker fails, all fail and the
 * mode stays open.  Collective.
 */
static int commit_take_plan(struct eddis *e, int64_t version, struct eddis_error *err)
{
    int rc = worker_settle(e, err);

    if (rc == 0)
        rc = plan_switch_settle(&e->plan_switch, version, err);
    rc = collectives_agree(&e->all, rc, err);
    if (rc < 0)
        (void)worker_leave_open(e, NULL);
    return rc;
}

/* Choose the mode, or options, that were open until now: publish the model, wait for the driver's
 * plan and take the newest version that all workers have.  If one worker fails, all fail.
 * Collective. Return 0 or the failure.
 */
static int commit_settle(struct eddis *e, struct eddis_error *err)
{
    int64_t version = 0;
    int rc;

    commit_show(e);
    rc = commit_wait_plan(e, &version, err);
    rc = collectives_agree(&e->all, rc, err);
    if (rc == 0)
        rc = collectives_least(&e->all, &version, 1, err);
    if (rc < 0)
        return rc;
    rc = commit_take_plan(e, version, err);
    if (rc == 0)
        samples_settle(&e->samples); /* last: threads that read ahead ask for samples now */
    return rc;
}

int eddis_commit(struct eddis *e, struct eddis_error *err)
{
    struct engine *engine = NULL;
    struct comm_cost cost = { 0 };
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (e->engine)
        return eddis_fail(err, -EINVAL, "layers cannot be added after eddis_commit");
    rc = open_options_compare(&e->all, &e->options, err);
    if (rc == 0)
        rc = commit_compare(e, err);
    if (rc == 0)
        rc = commit_data(e, err);
    if (rc == 0)
        rc = confirm_network(&e->all, e->area, &e->network, err);
    if (rc == 0 && worker_is_open(e))
        rc = commit_settle(e, err);
    if (rc == 0)
        rc = commit_external(e, err);
    if (rc == 0 && e->group.several)
        rc = centre_commit(&e->centre, err);
    if (rc < 0)
        return rc;
    rc = commit_share(e, err);
    if (rc == 0)
        rc = commit_kinds(e, &cost, err);
    if (rc < 0)
        return rc; /* a failure of the communication: other workers fail too */
    rc = step_make_sets(&e->step, &e->parameters, err);
    if (rc == 0)
        rc = commit_engine(e, &cost, &engine, err);
    if (rc == 0)
        rc = comm_thread_set_engine(e->comm_thread, engine, err);
    rc = collectives_agree(&e->all, rc, err);
    if (rc < 0) {
        comm_thread_drop_engine(e->comm_thread);
        engine_free(engine);
        return rc;
    }
    commit_models(e);
    e->tuning.engine = e->engine = engine;
    process_may_leave(&e->process, LEAVE_FINISH);
    e->tuning.n_parameters = e->parameters.n_slots;
    commit_show(e);
    return 0;
}
