/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - wait for combined gradients, and end rounds */
#include "rounds.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>

/* Return the name of a layer in bucket b: if possible of a layer with a gradient that was not
 * announced.  The string is borrowed.  "-": the bucket has no layer.  Takes announce_lock.
 */
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

/* Wait until the gradient `slot` is combined in round number `round` of its set; slot -1: until all
 * of the set are.  Return 0 or a negative errno; -ETIMEDOUT: err names the bucket and the layer or
 * rank that is missing.
 */
static int wait_slot(struct eddis *e, int set, int slot, int64_t round, int64_t deadline_ns,
                     struct eddis_error *err)
{
    struct comm_wait w = { .kind = WAIT_ROUND, .set = set, .parameter = slot, .round = round };
    const char *layer;
    int rc = waiter_wait(&e->all.waiter, &w, deadline_ns, err);

    if (rc != -ETIMEDOUT)
        return rc;
    layer = wait_layer_name(e, w.bucket);
    if (w.peer < 0)
        return eddis_fail(err, rc,
                          "step %lld: bucket %d of %d has not been sent: layer '%s', or one in an "
                          "earlier bucket, is not combined yet",
                          (long long)e->step.current.step, w.bucket, w.n_buckets, layer);
    return eddis_fail(err, rc, "step %lld: bucket %d of %d with layer '%s' waits for rank %d",
                      (long long)e->step.current.step, w.bucket, w.n_buckets, layer, w.peer);
}

/* Check that this worker has memory with the combined gradient of a parameter, if any worker
 * announced it.  Return 0, or -EINVAL if not: a worker that continued without it would train a
 * different model.
 */
static int wait_place(const struct eddis *e, const struct parameter *p, struct eddis_error *err)
{
    if (p->slot < 0 || e->step.unread || !engine_missed(e->engine, p->slot))
        return 0;
    return eddis_fail(
        err, -EINVAL,
        "step %lld: parameter '%s' of layer '%s' was announced by other workers, but this worker "
        "did not announce it and has no memory for the result; announce it at every step, "
        "with EDDIS_ZERO where there is nothing to add, or register it with a result",
        (long long)e->step.current.step, p->name, e->parameters.layer[p->layer].name);
}

/* Check wait_place for the parameters of a set.  Return 0 without a check if all were announced. */
static int wait_places(const struct eddis *e, int set, struct eddis_error *err)
{
    const struct step_set *s = &e->step.set[set];
    int rc = 0;

    for (int i = 0; rc == 0 && i < e->parameters.n && s->n_announced < s->n; i++)
        if (e->parameters.item[i].set == set)
            rc = wait_place(e, &e->parameters.item[i], err);
    return rc;
}

/* Check that the worker may be used and that a step has begun.  Return 0, the failure of
 * worker_check, or -EINVAL: no step has begun.
 */
static int wait_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc == 0 && !e->step.begun)
        rc = eddis_fail(err, -EINVAL, "there is nothing to wait for outside of a step");
    return rc;
}

void rounds_finish(struct eddis *e, int set)
{
    struct step_set *s = &e->step.set[set];

    if (s->finished)
        return;
    s->finished = true;
    /* If all were announced the message is not sent: nothing would wait until it is handled, before
     * its memory is used again.
     */
    if (s->n_announced == s->n && s->n)
        return;
    s->finish = (struct command_finish){ .command.kind = MAIL_FINISH, .set = set };
    comm_thread_send(e->comm_thread, &s->finish.command);
}

/* Wait until the closed round of a set is combined, check its places (wait_places) and end the
 * round.  Return 0 or a negative errno; after a failure the round stays closed and a later call
 * continues.  The set's next round can begin only after this.
 */
static int wait_round(struct eddis *e, int set, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = wait_slot(e, set, -1, e->step.set[set].rounds, deadline_ns, err);

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

/* Close every open round at the step's end; if the step has had no round, first begin one of each
 * set.  Nothing can be announced in this step any more.  Takes announce_lock.
 */
static void step_finish(struct eddis *e)
{
    struct step *s = &e->step;
    bool none;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->announce_lock);

    none = s->rounds == 0;
    for (int i = 0; none && i < s->n_sets; i++)
        rounds_open(e, &s->set[i]);
    s->finished = true;
    for (int i = 0; i < s->rounds; i++) {
        int set = rounds_set(s, i);

        if (set >= 0 && s->set[set].open)
            rounds_finish(e, set);
    }
}

/* Wait for the closed rounds of all sets and end them.  Return 0 or the first failure, which ends
 * the call.
 */
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
        rc = rounds_release(e, deadline, err); /* counts as compute */
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    step_finish(e);
    rc = wait_step(e, deadline, err);
    phase_wait_leave(&e->phase, before, rc);
    if (rc == 0)
        rc = plan_switch_failure(&e->plan_switch,
                                 err); /* on failure the step fails on this worker */
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
    if (rc == 0)
        rc = worker_check_gradients(e, err);
    if (rc == 0 && e->step.finished)
        rc = eddis_fail(err, -EINVAL, "set %d has no round after eddis_wait", set);
    if (rc == 0)
        rc = rounds_release(e, deadline, err);
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    pthread_mutex_lock(&e->step.announce_lock);
    rounds_open(e, &e->step.set[set]);
    rounds_finish(e, set);
    pthread_mutex_unlock(&e->step.announce_lock);
    rc = wait_round(e, set, deadline, err);
    phase_wait_leave(&e->phase, before, rc);
    return rc;
}

/* Check that a parameter's gradient, if it has one, was announced, or that its round is closed or
 * over.  With announce_lock held.
 */
static bool wait_is_announced(const struct step_set *s, const struct parameter *p)
{
    return p->slot < 0 || (s->open ? s->finished || p->announced : s->met);
}

/* The parameters for which a call waits, all of one set, and those of them that are left. */
struct wait_list {
    const int *number; /* numbers of the n that are left, borrowed; NULL: those of a layer */
    int n;
    int next; /* the layer's next parameter; -1: none */
};

/* Return the next parameter of the list; NULL: there is none. */
static const struct parameter *wait_next(const struct eddis *e, struct wait_list *l)
{
    int i = -1;

    if (!l->number && l->next >= 0) {
        i = l->next;
        l->next = e->parameters.item[i].older;
    } else if (l->number && l->n > 0) {
        i = *l->number++;
        l->n--;
    }
    return i < 0 ? NULL : &e->parameters.item[i];
}

/* Check that every parameter of the list was announced, or that its round is closed or over.
 * Return 0, or -EINVAL if not.  *ret_round: number of that round of its set; another thread may
 * begin the next one at any time.  Takes announce_lock.
 */
static int wait_list_check(struct eddis *e, struct wait_list l, int64_t *ret_round,
                           struct eddis_error *err)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&e->step.announce_lock);

    for (const struct parameter *p; (p = wait_next(e, &l));) {
        if (!wait_is_announced(p->rounds, p))
            return eddis_fail(err, -EINVAL,
                              "parameter '%s' of layer '%s' was not announced, so it cannot be "
                              "waited for",
                              p->name, e->parameters.layer[p->layer].name);
        *ret_round = p->rounds->rounds;
    }
    return 0;
}

/* Check wait_place for the parameters of the list.  Return 0 without a check if the round is not
 * closed or all of its set were announced.
 */
static int wait_list_places(const struct eddis *e, struct wait_list l, struct eddis_error *err)
{
    int rc = 0;

    for (const struct parameter *p; rc == 0 && (p = wait_next(e, &l));)
        if (p->rounds->finished && p->rounds->n_announced < p->rounds->n)
            rc = wait_place(e, p, err);
    return rc;
}

/* Wait until the gradients of the list are combined.  Parameters without a gradient are passed by.
 * Return as eddis_wait.
 */
static int wait_gradients(struct eddis *e, struct wait_list l, int64_t deadline_ns,
                          struct eddis_error *err)
{
    struct wait_list left = l;
    enum eddis_phase before;
    int64_t round = 0;
    int rc = wait_list_check(e, l, &round, err);

    if (rc == 0)
        rc = rounds_release(e, deadline_ns, err);
    if (rc < 0)
        return rc;
    before = phase_wait_enter(&e->phase);
    for (const struct parameter *p; rc == 0 && (p = wait_next(e, &left));)
        if (p->slot >= 0)
            rc = wait_slot(e, p->set, p->slot, round, deadline_ns, err);
    phase_wait_leave(&e->phase, before, rc);
    return rc < 0 ? rc : wait_list_places(e, l, err);
}

int eddis_wait_layer(struct eddis *e, int layer, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    int rc = worker_check_gradients(e, err);

    if (rc == 0)
        rc = wait_check(e, err);
    if (rc < 0)
        return rc;
    if (layer < 0 || layer >= e->parameters.n_layers)
        return eddis_fail(err, -EINVAL, "there is no layer %d", layer);
    return wait_gradients(e, (struct wait_list){ .next = e->parameters.layer[layer].newest },
                          deadline, err);
}

/* Check that the n numbers are those of parameters of one set.  Return 0 or -EINVAL. */
static int wait_numbers_check(const struct eddis *e, int n, const int *number,
                              struct eddis_error *err)
{
    if (n < 0 || (n && !number))
        return eddis_fail(err, -EINVAL, "%d parameters%s cannot be waited for", n,
                          number ? "" : " in a list that is NULL");
    for (int i = 0; i < n; i++) {
        if (number[i] < 0 || number[i] >= e->parameters.n)
            return eddis_fail(err, -EINVAL, "there is no parameter %d", number[i]);
        if (e->parameters.item[number[i]].set != e->parameters.item[*number].set)
            return eddis_fail(err, -EINVAL,
                              "parameters %d and %d are of different sets: make one call for each "
                              "set",
                              *number, number[i]);
    }
    return 0;
}

int eddis_wait_parameters(struct eddis *e, int n, const int *parameter, int64_t timeout_ns,
                          struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    int rc = worker_check_gradients(e, err);

    if (rc == 0)
        rc = wait_check(e, err);
    if (rc == 0)
        rc = wait_numbers_check(e, n, parameter, err);
    if (rc < 0 || n == 0)
        return rc;
    return wait_gradients(e, (struct wait_list){ .number = parameter, .n = n }, deadline, err);
}
