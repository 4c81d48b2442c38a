/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c - announcements of gradients that are ready, and the start of rounds */
#include "rounds.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Return the weight of this worker's gradients in the set's open or else its next round.  With
 * announce_lock held.
 */
static double weight_of(const struct eddis *e, const struct step_set *s)
{
    if (s->open)
        return s->own_weight;
    return s->weighed ? s->weight.weight : e->step.own_weight;
}

/* Check whether the program may weight gradients of the set's open or else its next round.  If
 * these are or travel as float16, the weight must be the number of samples in the plan: then the
 * factor is at most 1, and is the library's own unless other workers have set weights.  With
 * announce_lock held.
 */
static bool factor_is_ready(const struct eddis *e, const struct step_set *s)
{
    return !engine_weighs(e->engine) || weight_of(e, s) == e->step.begin.step.weight;
}

void rounds_open(struct eddis *e, struct step_set *s)
{
    if (s->open)
        return;
    s->own_weight = weight_of(e, s);
    s->open = s->met = true;
    s->n_announced = 0;
    s->number = e->step.rounds++;
    s->rounds++;
    if (!s->weighed)
        return;
    s->weighed = false;
    comm_thread_send(e->comm_thread,
                     &s->weight.command); /* before the round's first announcement */
}

/* The announcements of one call of the program, a linked list: either all are sent or none.
 * announce_lock is held from the first batch_add to batch_end, so that none is sent after the end
 * of the step.
 */
struct batch {
    struct command *first, **end;
};

/* Append announcement a to the batch and mark its parameter as announced; after a failure batch_end
 * removes the marks.  -EINVAL: no step is under way, eddis_wait or eddis_wait_set has begun to
 * wait, the parameter is announced already in this round, or only the library can weight it.
 */
static int batch_add(struct eddis *e, struct batch *b, const struct engine_announcement *a,
                     struct eddis_error *err)
{
    struct parameter *p = &e->parameters.item[a->parameter];

    if (!e->step.begun || e->step.finished)
        return eddis_fail(err, -EINVAL, "parameter '%s' was announced %s", p->name,
                          e->step.begun ? "after eddis_wait" : "outside of a step");
    if (p->rounds->finished)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced before the call of eddis_wait_set for its "
                          "set %d, which has begun, has succeeded",
                          p->name, p->set);
    if (p->announced)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced twice in a round of its set %d, which "
                          "eddis_wait_set ends",
                          p->name, p->set);
    if (a->source == EDDIS_WEIGHTED && !factor_is_ready(e, p->rounds))
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced with EDDIS_WEIGHTED, but eddis weights "
                          "float16 gradients itself if the weight is not the plan's number of "
                          "samples: announce them with NULL",
                          p->name);
    p->announced = true;
    p->command = (struct command_announce){ .command.kind = MAIL_ANNOUNCE, .what = *a };
    p->command.what.parameter = p->slot;
    *b->end = &p->command.command;
    b->end = &p->command.command.next;
    return 0;
}

/* Return the parameter (never NULL) whose member `command` contains m. */
static struct parameter *batch_parameter(struct command *m)
{
    return (struct parameter *)((char *)m - offsetof(struct parameter, command.command));
}

/* End a batch, where rc is the result of filling it.  If rc is 0, begin the rounds of its sets and
 * send its announcements to the communication thread; while an emulated device still computes, mark
 * their parameters as held instead, and rounds_release sends them.  If rc is a failure, remove the
 * batch's marks and send nothing.  Return rc.
 */
static int batch_end(struct eddis *e, struct batch *b, int rc)
{
    bool held = e->emulation.until_ns != 0;

    for (struct command *m = b->first; m; m = m->next) {
        struct parameter *p = batch_parameter(m);

        p->announced = rc == 0;
        p->held = rc == 0 && held;
        e->step.n_held += p->held;
        if (rc == 0) {
            rounds_open(e, p->rounds);
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

/* Announce one gradient; takes announce_lock.  Return and fail as batch_add. */
static int announce_one(struct eddis *e, const struct engine_announcement *a,
                        struct eddis_error *err)
{
    struct batch b = { .end = &b.first };
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&e->step.announce_lock);

    return batch_end(e, &b, batch_add(e, &b, a, err));
}

/* Send the held announcements of one set and remove their marks, in the reverse order of
 * registration.  With announce_lock held.
 */
static void send_held(struct eddis *e, int set)
{
    for (int i = e->parameters.n - 1; e->step.n_held && i >= 0; i--) {
        struct parameter *p = &e->parameters.item[i];

        if (!p->held || p->set != set)
            continue;
        p->held = false;
        e->step.n_held--;
        comm_thread_send(e->comm_thread, &p->command.command);
    }
}

int rounds_set(const struct step *s, int number)
{
    for (int i = 0; i < s->n_sets; i++)
        if (s->set[i].met && s->set[i].number == number)
            return i;
    return -1;
}

int rounds_release(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = emulate_wait(&e->emulation, e->step.current.step, deadline_ns, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->step.announce_lock);
    e->emulation.until_ns = 0;
    for (int i = 0; e->step.n_held && i < e->step.rounds; i++)
        send_held(e, rounds_set(&e->step, i)); /* in the order in which the rounds began */
    pthread_mutex_unlock(&e->step.announce_lock);
    return 0;
}

/* Check that a call may announce this parameter with this source and result (source is NULL with
 * factors).  Return 0, -EINVAL, or the failure of worker_check_gradients.
 */
static int announce_check(const struct eddis *e, int parameter, const void *source,
                          const void *result, struct eddis_error *err)
{
    int rc = worker_check_gradients(e, err);

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
    if (source == EDDIS_IN_PLACE || result == EDDIS_ZERO || result == EDDIS_WEIGHTED)
        return eddis_fail(err, -EINVAL,
                          "parameter '%s' was announced with %s: EDDIS_ZERO and EDDIS_WEIGHTED are "
                          "sources, EDDIS_IN_PLACE is a result",
                          e->parameters.item[parameter].name,
                          result == EDDIS_ZERO       ? "EDDIS_ZERO as its result"
                          : result == EDDIS_WEIGHTED ? "EDDIS_WEIGHTED as its result"
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
    int rc = worker_check_gradients(e, err);

    if (rc == 0 && (n < 0 || (n && !parameter)))
        rc = eddis_fail(err, -EINVAL, "%d parameters%s cannot be announced", n,
                        parameter ? "" : " in a list that is NULL");
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
    int rc = worker_check_gradients(e, err);

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

double eddis_factor(struct eddis *e, int set)
{
    double factor = 0;

    if (worker_check_gradients(e, NULL) < 0 || !e->engine || set < 0 || set >= e->step.n_sets)
        return 0;
    pthread_mutex_lock(&e->step.announce_lock);
    if (e->step.begun && factor_is_ready(e, &e->step.set[set]))
        factor = e->group.place.n_ranks == 1
                     ? 1
                     : weight_of(e, &e->step.set[set]) / e->step.begin.step.batch;
    pthread_mutex_unlock(&e->step.announce_lock);
    return factor;
}

int eddis_set_round_weight(struct eddis *e, int set, double weight, struct eddis_error *err)
{
    int rc = worker_check_gradients(e, err);
    struct step_set *s;

    if (rc < 0)
        return rc;
    if (!(weight >= 0) || !isfinite(weight))
        return eddis_fail(err, -EINVAL, "a weight of %g is not possible", weight);
    if (set < 0 || set >= e->step.n_sets)
        return eddis_fail(err, -EINVAL, "there is no set %d", set);
    pthread_mutex_lock(&e->step.announce_lock);
    s = &e->step.set[set];
    if (!e->step.begun || e->step.finished || s->open || s->weighed) {
        rc = eddis_fail(err, -EINVAL,
                        "the weight of a round of set %d can be set only once, inside a step and "
                        "before the round's first announcement",
                        set);
    } else {
        s->weight =
            (struct command_weight){ .command.kind = MAIL_WEIGHT, .set = set, .weight = weight };
        s->weighed = true;
    }
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}
