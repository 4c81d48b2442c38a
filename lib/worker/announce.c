/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c - gradients that are ready, and waiting for the combined ones */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* With announce_lock held: the set has a round, which begins unless one has. */
static void round_open(struct eddis *e, struct step_set *s)
{
    if (s->open)
        return;
    s->open = s->met = true;
    s->n_announced = 0;
    s->number = e->step.rounds++;
    s->rounds++;
}

/* Announcements of one call, which are sent together, or not at all.  With announce_lock held, so
 * that none comes after the step's end.
 */
struct batch {
    struct mail *first, **end;
};

/* Add one, unless it may not be made. */
static int batch_add(struct eddis *e, struct batch *b, const struct engine_announcement *a,
                     struct eddis_error *err)
{
    struct parameter *p = &e->parameters.item[a->parameter];

    if (!e->step.begun || e->step.finished)
        return eddis_fail(err, -EINVAL, "parameter '%s' was announced %s", p->name,
                          e->step.begun ? "after eddis_wait" : "outside of a step");
    if (p->rounds->finished)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced before eddis_wait_set of its set %d, which "
                          "has begun, has succeeded",
                          p->name, p->set);
    if (p->announced)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced twice in a round of its set %d, which "
                          "eddis_wait_set ends",
                          p->name, p->set);
    p->announced = true;
    p->mail = (struct mail_announce){ .mail.kind = MAIL_ANNOUNCE, .what = *a };
    p->mail.what.parameter = p->slot;
    *b->end = &p->mail.mail;
    b->end = &p->mail.mail.next;
    return 0;
}

static struct parameter *batch_parameter(struct mail *m)
{
    return (struct parameter *)((char *)m - offsetof(struct parameter, mail.mail));
}

/* Send what was added, or after a failure forget it.  Returns rc. */
static int batch_end(struct eddis *e, struct batch *b, int rc)
{
    bool held = e->emulation.until_ns != 0;

    for (struct mail *m = b->first; m; m = m->next) {
        struct parameter *p = batch_parameter(m);

        p->announced = rc == 0;
        p->held = rc == 0 && held;
        e->step.n_held += p->held;
        if (rc == 0) {
            round_open(e, p->rounds);
            p->rounds->n_announced++;
        }
    }
    if (rc < 0 || !b->first)
        return rc;
    e->step.weight_fixed = true;
    if (!held)
        comm_thread_send_all(e->comm_thread, b->first);
    return 0;
}

static int announce_one(struct eddis *e, const struct engine_announcement *a,
                        struct eddis_error *err)
{
    struct batch b = { .end = &b.first };
    int rc;

    pthread_mutex_lock(&e->step.announce_lock);
    rc = batch_end(e, &b, batch_add(e, &b, a, err));
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}

/* Send what is held of a set, the parameters registered last first. */
static void send_held(struct eddis *e, int set)
{
    for (int i = e->parameters.n - 1; e->step.n_held && i >= 0; i--) {
        struct parameter *p = &e->parameters.item[i];

        if (!p->held || p->set != set)
            continue;
        p->held = false;
        e->step.n_held--;
        comm_thread_send(e->comm_thread, &p->mail.mail);
    }
}

/* The set whose last round is this one of the step; -1: that is over, and another has begun. */
static int set_of_round(const struct step *s, int number)
{
    for (int i = 0; i < s->n_sets; i++)
        if (s->set[i].met && s->set[i].number == number)
            return i;
    return -1;
}

/* An emulated device has no gradient before its time is over: what was announced is held until
 * then, or communication would look hidden that on the real device is not.
 */
static int announce_held(struct eddis *e, int64_t deadline, struct eddis_error *err)
{
    int rc = emulate_wait(&e->emulation, e->step.current.step, deadline, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->step.announce_lock);
    e->emulation.until_ns = 0;
    for (int i = 0; e->step.n_held && i < e->step.rounds; i++)
        send_held(e, set_of_round(&e->step, i)); /* in the order in which they began */
    pthread_mutex_unlock(&e->step.announce_lock);
    return 0;
}

/* With factors source is NULL. */
static int announce_check(const struct eddis *e, int parameter, const void *source,
                          const void *result, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!e->engine || parameter < 0 || parameter >= e->parameters.n)
        return eddis_fail(err, -EINVAL,
                          e->engine ? "there is no parameter %d"
                                    : "parameter %d is announced before eddis_commit",
                          parameter);
    if (e->parameters.item[parameter].slot < 0)
        return eddis_fail(err, -EINVAL, "parameter '%s' is state and has no gradient",
                          e->parameters.item[parameter].name);
    if (source == EDDIS_IN_PLACE || result == EDDIS_ZERO)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced with %s: EDDIS_ZERO is a source, "
                          "EDDIS_IN_PLACE a result",
                          e->parameters.item[parameter].name,
                          result == EDDIS_ZERO ? "EDDIS_ZERO as its result"
                                               : "EDDIS_IN_PLACE as its source");
    return 0;
}

int eddis_announce(struct eddis *e, int parameter, const void *source, void *result,
                   struct eddis_error *err)
{
    int rc = announce_check(e, parameter, source, result, err);

    return rc < 0 ? rc
                  : announce_one(e,
                                 &(struct engine_announcement){
                                     .parameter = parameter, .source = source, .result = result },
                                 err);
}

int eddis_announce_many(struct eddis *e, int n, const int *parameter, const void *const *source,
                        void *const *result, struct eddis_error *err)
{
    struct batch b = { .end = &b.first };
    int rc = worker_check(e, err);

    if (rc == 0 && (n < 0 || (n && !parameter)))
        rc = eddis_fail(err, -EINVAL, "%d parameters%s cannot be announced", n,
                        parameter ? "" : ", of which the list is NULL,");
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->step.announce_lock);
    for (int i = 0; rc == 0 && i < n; i++) {
        const struct engine_announcement a = { .parameter = parameter[i],
                                               .source = source ? source[i] : NULL,
                                               .result = result ? result[i] : NULL };

        rc = announce_check(e, a.parameter, a.source, a.result, err);
        if (rc == 0)
            rc = batch_add(e, &b, &a, err);
    }
    rc = batch_end(e, &b, rc);
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}

int eddis_announce_layer(struct eddis *e, int layer, struct eddis_error *err)
{
    struct batch b = { .end = &b.first };
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!e->engine || layer < 0 || layer >= e->parameters.n_layers)
        return eddis_fail(err, -EINVAL,
                          e->engine ? "there is no layer %d"
                                    : "layer %d is announced before eddis_commit",
                          layer);
    pthread_mutex_lock(&e->step.announce_lock);
    for (int i = e->parameters.layer[layer].newest; rc == 0 && i >= 0;
         i = e->parameters.item[i].older)
        if (e->parameters.item[i].slot >= 0)
            rc = batch_add(e, &b, &(struct engine_announcement){ .parameter = i }, err);
    rc = batch_end(e, &b, rc);
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}

int eddis_announce_factors(struct eddis *e, int parameter, const void *u, const void *v, int64_t k,
                           void *result, struct eddis_error *err)
{
    const struct parameter *p;
    int rc = announce_check(e, parameter, NULL, result, err);

    if (rc < 0)
        return rc;
    p = &e->parameters.item[parameter];
    if (!p->factored || !u || !v || k < 0)
        return eddis_fail(err, -EINVAL, "parameter '%s' %s", p->name,
                          p->factored ? "has no factors: NULL, or k < 0"
                                      : "was not registered as factored");
    return announce_one(e,
                        &(struct engine_announcement){ .parameter = parameter,
                                                       .result = result,
                                                       .u = u,
                                                       .v = v,
                                                       .k = (size_t)k,
                                                       .m = (size_t)p->dims[0],
                                                       .n = (size_t)p->dims[1] },
                        err);
}

/* ---- waiting ---- */

/* A layer with a gradient that is missing from bucket b, or any layer of it. */
static const char *wait_layer_name(struct eddis *e, int b)
{
    const char *name = NULL;

    pthread_mutex_lock(&e->step.announce_lock);
    for (int i = e->parameters.n - 1; i >= 0; i--) {
        const struct parameter *p = &e->parameters.item[i];

        if (p->slot < 0 || comm_thread_bucket_of(e->comm_thread, p->slot) != b)
            continue;
        name = e->parameters.layer[p->layer].name;
        if (!p->announced)
            break;
    }
    pthread_mutex_unlock(&e->step.announce_lock);
    return name ? name : "-";
}

/* For the gradient in a slot, in its set's last round; -1: all of the set. */
static int wait_slot(struct eddis *e, int set, int slot, int64_t deadline_ns,
                     struct eddis_error *err)
{
    struct comm_wait w = {
        .kind = WAIT_ROUND, .set = set, .parameter = slot, .round = e->step.set[set].rounds
    };
    const char *layer;
    int rc = waiter_wait(&e->all.waiter, &w, deadline_ns, err);

    if (rc != -ETIMEDOUT)
        return rc;
    layer = wait_layer_name(e, w.bucket);
    if (w.peer < 0)
        return eddis_fail(err, rc,
                          "step %lld: bucket %d of %d has not left, layer '%s' or one in a bucket "
                          "before it is not combined yet",
                          (long long)e->step.current.step, w.bucket, w.n_buckets, layer);
    return eddis_fail(err, rc, "step %lld: bucket %d of %d with layer '%s' waits for rank %d",
                      (long long)e->step.current.step, w.bucket, w.n_buckets, layer, w.peer);
}

/* A parameter is combined: whether this worker has it.  One that went on without would train
 * another model than the rest.
 */
static int wait_place(const struct eddis *e, int parameter, struct eddis_error *err)
{
    const struct parameter *p = &e->parameters.item[parameter];

    if (p->slot < 0 || !engine_missed(e->engine, p->slot))
        return 0;
    return eddis_fail(
        err, -EINVAL,
        "step %lld: parameter '%s' of layer '%s' was announced by other workers, but what they "
        "combined has no place on this one, which did not announce it; announce it at every step, "
        "with EDDIS_ZERO where there is nothing to add, or register it with a result",
        (long long)e->step.current.step, p->name, e->parameters.layer[p->layer].name);
}

/* The same for those of a layer, and of a set; where all were announced they have places. */
static int wait_places_layer(const struct eddis *e, int layer, struct eddis_error *err)
{
    const struct step_set *s = &e->step.set[e->parameters.layer[layer].set];
    int rc = 0;

    if (!s->finished || s->n_announced == s->n)
        return 0;
    for (int i = e->parameters.layer[layer].newest; rc == 0 && i >= 0;
         i = e->parameters.item[i].older)
        rc = wait_place(e, i, err);
    return rc;
}

static int wait_places(const struct eddis *e, int set, struct eddis_error *err)
{
    const struct step_set *s = &e->step.set[set];
    int rc = 0;

    for (int i = 0; rc == 0 && i < e->parameters.n && s->n_announced < s->n; i++)
        if (e->parameters.item[i].set == set)
            rc = wait_place(e, i, err);
    return rc;
}

static int wait_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc == 0 && !e->step.begun)
        rc = eddis_fail(err, -EINVAL, "there is nothing to wait for outside of a step");
    return rc;
}

/* With announce_lock held: what was not announced in the set's round counts as zero. */
static void round_finish(struct eddis *e, int set)
{
    struct step_set *s = &e->step.set[set];

    if (s->finished)
        return;
    s->finished = true;
    /* Without need nothing would wait for this mail to be handled before it is used again. */
    if (s->n_announced == s->n && s->n)
        return;
    s->finish = (struct mail_finish){ .mail.kind = MAIL_FINISH, .set = set };
    comm_thread_send(e->comm_thread, &s->finish.mail);
}

/* Until the round of a set that is finished is combined, and has its places.  It is over then. */
static int wait_round(struct eddis *e, int set, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = wait_slot(e, set, -1, deadline_ns, err);

    if (rc == 0)
        rc = wait_places(e, set, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->step.announce_lock);
    e->step.set[set].open = e->step.set[set].finished = false;
    for (int i = 0; i < e->parameters.n; i++)
        if (e->parameters.item[i].set == set)
            e->parameters.item[i].announced = false;
    pthread_mutex_unlock(&e->step.announce_lock);
    return 0;
}

/* Every round that has begun ends with the step; where none has, each set makes one. */
static void step_finish(struct eddis *e)
{
    struct step *s = &e->step;
    bool none;

    pthread_mutex_lock(&s->announce_lock);
    none = s->rounds == 0;
    for (int i = 0; none && i < s->n_sets; i++)
        round_open(e, &s->set[i]);
    s->finished = true;
    for (int i = 0; i < s->rounds; i++) {
        int set = set_of_round(s, i);

        if (set >= 0 && s->set[set].open)
            round_finish(e, set);
    }
    pthread_mutex_unlock(&s->announce_lock);
}

/* For the rounds that are not over; none begins any more. */
static int wait_step(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < e->step.n_sets; i++)
        if (e->step.set[i].open)
            rc = wait_round(e, i, deadline_ns, err);
    return rc;
}

int eddis_wait(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    enum eddis_phase before;
    int rc = wait_check(e, err);

    if (rc == 0)
        rc = announce_held(e, deadline, err); /* counts as compute */
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    step_finish(e);
    rc = wait_step(e, deadline, err);
    phase_wait_leave(&e->phase, before, rc);
    if (rc == 0)
        rc = replan_failure(&e->replan, err); /* fails the step on this worker */
    if (rc == 0) {
        e->step.waited = true;
        e->emulation.waited_ns = clock_now_ns();
    }
    return rc;
}

int eddis_wait_set(struct eddis *e, int set, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    enum eddis_phase before;
    int rc = wait_check(e, err);

    if (rc == 0 && (set < 0 || set >= e->step.n_sets))
        rc = eddis_fail(err, -EINVAL, "there is no set %d", set);
    if (rc == 0 && e->step.finished)
        rc = eddis_fail(err, -EINVAL, "set %d has no round after eddis_wait", set);
    if (rc == 0)
        rc = announce_held(e, deadline, err);
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    pthread_mutex_lock(&e->step.announce_lock);
    round_open(e, &e->step.set[set]);
    round_finish(e, set);
    pthread_mutex_unlock(&e->step.announce_lock);
    rc = wait_round(e, set, deadline, err);
    phase_wait_leave(&e->phase, before, rc);
    return rc;
}

/* With announce_lock held: every parameter of the layer was announced, or its round is over. */
static int wait_layer_check(const struct eddis *e, int layer, struct eddis_error *err)
{
    const struct parameter_layer *l = &e->parameters.layer[layer];
    const struct step_set *s = &e->step.set[l->set];
    bool ends = s->open ? s->finished : s->met;

    for (int i = l->newest; !ends && i >= 0; i = e->parameters.item[i].older)
        if (e->parameters.item[i].slot >= 0 && (!s->open || !e->parameters.item[i].announced))
            return eddis_fail(
                err, -EINVAL,
                "layer '%s' cannot be waited for, its parameter '%s' was not announced", l->name,
                e->parameters.item[i].name);
    return 0;
}

int eddis_wait_layer(struct eddis *e, int layer, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    enum eddis_phase before;
    int rc = wait_check(e, err);

    if (rc < 0)
        return rc;
    if (layer < 0 || layer >= e->parameters.n_layers)
        return eddis_fail(err, -EINVAL, "there is no layer %d", layer);
    pthread_mutex_lock(&e->step.announce_lock);
    rc = wait_layer_check(e, layer, err);
    pthread_mutex_unlock(&e->step.announce_lock);
    if (rc == 0)
        rc = announce_held(e, deadline, err);
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    for (int i = e->parameters.layer[layer].newest; rc == 0 && i >= 0;
         i = e->parameters.item[i].older)
        if (e->parameters.item[i].slot >= 0)
            rc = wait_slot(e, e->parameters.item[i].set, e->parameters.item[i].slot, deadline, err);
    phase_wait_leave(&e->phase, before, rc);
    return rc < 0 ? rc : wait_places_layer(e, layer, err);
}

int eddis_set_round_weight(struct eddis *e, int set, double weight, struct eddis_error *err)
{
    int rc = worker_check(e, err);
    struct step_set *s;

    if (rc < 0)
        return rc;
    if (!(weight >= 0) || !isfinite(weight))
        return eddis_fail(err, -EINVAL, "a weight of %g is not possible", weight);
    if (set < 0 || set >= e->step.n_sets)
        return eddis_fail(err, -EINVAL, "there is no set %d", set);
    pthread_mutex_lock(&e->step.announce_lock);
    s = &e->step.set[set];
    if (!e->step.begun || e->step.finished || s->open) {
        rc = eddis_fail(err, -EINVAL,
                        "the weight of a round of set %d is set within a step, before the round's "
                        "first announcement, once",
                        set);
    } else {
        round_open(e, s);
        s->weight = (struct mail_weight){ .mail.kind = MAIL_WEIGHT, .set = set, .weight = weight };
        comm_thread_send(e->comm_thread, &s->weight.mail);
    }
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}
