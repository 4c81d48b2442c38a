/* SPDX-License-Identifier: Apache-2.0 */
/* centre.c - async and hybrid mode: groups of workers with models of their own
 *
 *     commit      rank 0 makes centre and counter in the box, all learn the keys
 *     first step  the first group's parameters become the centre, then all begin
 *     a step      exchange when it is due; its wait counts as communication
 *     the end     every worker: last exchange; when all have made theirs, centre -> parameters
 *
 * Workers come to a checkpoint and to the end at unlike times.  Both begin with the same small
 * all-reduce, so that who has finished learns of a checkpoint that others still write.
 */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool centre_several(const struct eddis *e)
{
    return e->group.several;
}

/* ---- groups ---- */

/* The members of a group, in order of ranks. */
static void group_find(struct eddis *e, const struct board_area *a)
{
    struct group *g = &e->group;
    int n = 0;

    g->number = a->group[e->all.place.rank];
    for (int i = 0; i < a->n_ranks; i++) {
        if (i == e->all.place.rank)
            g->place.rank = n;
        if (a->group[i] == g->number)
            g->member[n++] = i;
        g->n_groups = a->group[i] >= g->n_groups ? a->group[i] + 1 : g->n_groups;
    }
    g->place.n_ranks = n;
    g->place.peer = g->member;
}

int centre_open(struct eddis *e, struct eddis_error *err)
{
    const struct board_area *a = e->area;

    e->group.place = e->all.place;
    e->group.n_groups = 1;
    e->centre.timeout_ns = COLLECTIVES_TIMEOUT_NS;
    e->group.member = calloc((size_t)e->all.place.n_ranks, sizeof *e->group.member);
    if (!e->group.member)
        return eddis_fail(err, -ENOMEM, "no memory for a group of workers");
    for (int i = 0; i < e->all.place.n_ranks; i++)
        e->group.member[i] = i;
    if (!a || strcmp(e->mode, "sync") == 0)
        return 0;
    if (a->period < 1 || !(a->moving_rate > 0))
        return eddis_fail(err, -EPROTO, "the job's plan has mode %s without a period or a rate",
                          e->mode);
    e->group.several = true;
    group_find(e, a);
    return 0;
}

void centre_close(struct eddis *e)
{
    free(e->centre.local);
    free(e->group.member);
}

/* ---- the box ---- */

int centre_ask(struct eddis *e, struct smb_request *r, struct eddis_error *err)
{
    r->deadline_ns = clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS);
    return shared_buffers_ask(&e->box, r, err);
}

/* What rank 0 tells the others. */
struct keys {
    smb_key counter, centre[SYNC_TYPES];
};

static int keys_make(struct eddis *e, const struct sync_value *value, struct keys *ret,
                     struct eddis_error *err)
{
    struct smb_request q = { .kind = SMB_CREATE, .type = COMM_INT64, .n = 1 };
    int rc = centre_ask(e, &q, err);

    ret->counter = q.key;
    for (int t = 0; rc == 0 && t < SYNC_TYPES; t++) {
        size_t n = sync_centre_size(value, e->parameters.n, sync_type[t]);

        q = (struct smb_request){ .kind = SMB_CREATE, .type = sync_type[t], .n = n };
        rc = n ? centre_ask(e, &q, err) : 0;
        ret->centre[t] = q.key;
    }
    return rc;
}

struct sync_value *centre_values(const struct eddis *e)
{
    struct sync_value *v = calloc((size_t)e->parameters.n + 1, sizeof *v);

    for (int i = 0; v && i < e->parameters.n; i++)
        v[i] = (struct sync_value){ .data = e->parameters.item[i].value,
                                    .n = e->parameters.item[i].n,
                                    .type = (enum comm_type)e->parameters.item[i].dtype };
    return v;
}

int centre_commit(struct eddis *e, struct eddis_error *err)
{
    struct sync_value *value = centre_values(e);
    struct keys keys = { 0 };
    int rc = value ? 0 : eddis_fail(err, -ENOMEM, "no memory for %d parameters", e->parameters.n);

    rc = collectives_agree(&e->all, rc, err);
    if (rc == 0)
        rc = shared_buffers_open(&e->box, e->area, 0, err);
    if (rc == 0) {
        int rc2 = e->all.place.rank == 0 ? keys_make(e, value, &keys, err) : 0;

        rc = collectives_agree(&e->all, rc2, err);
    }
    free(value);
    if (rc == 0)
        rc = collectives_broadcast(&e->all, &keys, sizeof keys, 0, err);
    if (rc < 0)
        return rc;
    e->samples.counter = keys.counter;
    memcpy(e->centre.centre, keys.centre, sizeof keys.centre);
    if (e->all.place.rank != 0) {
        struct smb_request q = { .kind = SMB_ATTACH, .key = keys.counter };

        rc = centre_ask(e, &q, err);
    }
    rc = collectives_agree(&e->all, rc, err);
    return rc < 0 ? rc : samples_begin(e, NULL, 0, 0, err);
}

struct sync_models centre_setup(const struct eddis *e, const struct sync_value *value)
{
    const struct board_area *a = e->area;
    const struct centre *m = &e->centre;

    return (struct sync_models){ .box = e->box.box,
                                 .value = value,
                                 .n_values = e->parameters.n,
                                 .centre = { m->centre[0], m->centre[1] },
                                 .writer = e->group.number,
                                 .n_writers = e->group.n_groups,
                                 .period = a->period,
                                 .moving_rate = a->moving_rate,
                                 .timeout_ns = COLLECTIVES_TIMEOUT_NS };
}

/* ---- exchanges ---- */

/* For the one under way. */
static int exchange_wait(struct eddis *e, struct eddis_error *err)
{
    struct centre *m = &e->centre;
    int64_t deadline = clock_after_ns(clock_now_ns(), m->timeout_ns);
    struct comm_wait w = { .kind = WAIT_EXCHANGE, .exchanges = m->exchanges };
    int rc = waiter_wait_timed(&e->all.waiter, &w, deadline, err);

    m->exchanging = rc < 0;
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc,
                          "the exchange with the centre before step %lld waits for rank %d",
                          (long long)m->mail.step, w.peer);
    return rc;
}

int centre_exchange(struct eddis *e, enum sync_exchange what, struct eddis_error *err)
{
    struct centre *m = &e->centre;
    bool again = m->exchanging && m->mail.what == what && m->mail.step == e->step;
    int rc = m->exchanging && !again ? exchange_wait(e, err) : 0;

    if (rc < 0)
        return rc;
    if (!again) {
        m->exchanges++;
        m->mail =
            (struct mail_exchange){ .mail.kind = MAIL_EXCHANGE, .what = what, .step = e->step };
        comm_thread_send(e->comm_thread, &m->mail.mail);
    }
    return exchange_wait(e, err);
}

int centre_start(struct eddis *e, struct eddis_error *err)
{
    int rc = centre_exchange(e, SYNC_START, err);

    if (rc == 0)
        rc = collectives_barrier(&e->all, err); /* the centre is there */
    if (rc < 0)
        return rc;
    if (e->centre.local)
        parameters_put_back(&e->parameters, e->centre.local);
    free(e->centre.local);
    e->centre.local = NULL;
    e->centre.started = true;
    return 0;
}

/* ---- meeting the others ---- */

enum { AT_CHECKPOINT, AT_END };

/* All say where they are; returns 0 with the least and the greatest.  Others may have ranges to
 * finish first, which take what they take: the wait has no deadline of its own, the board tells for
 * whom it is, and timeouts.hang ends it when that one makes no step.
 */
static int centre_say(struct eddis *e, int64_t where, int64_t ret[2], struct eddis_error *err)
{
    int64_t both[2] = { where, -where };
    int rc;

    if (e->centre.started)
        rc = eddis_allreduce(e, both, 2, EDDIS_INT64, EDDIS_MIN, CLOCK_NEVER, err);
    else /* nobody looks for a hang before the first step */
        rc = collectives_least(&e->all, both, 2, err);
    ret[0] = both[0];
    ret[1] = -both[1];
    return rc;
}

int centre_meet(struct eddis *e, struct eddis_error *err)
{
    int64_t where[2] = { 0, AT_END };
    int rc = 0;

    /* Who is at the end is told so, and comes back for the checkpoint. */
    while (rc == 0 && where[1] == AT_END)
        rc = centre_say(e, AT_CHECKPOINT, where, err);
    e->centre.owed &= rc < 0;
    return rc;
}

/* The next part of the end. */
static int centre_end(struct eddis *e, struct eddis_error *err)
{
    switch (e->centre.end) {
    case END_LAST:
        return centre_exchange(e, SYNC_LAST, err);
    case END_MET:
        return eddis_barrier(e, e->centre.timeout_ns, err); /* all increments are in the centre */
    case END_ADOPT:
        return centre_exchange(e, SYNC_ADOPT, err);
    default:
        return centre_exchange(e, SYNC_LEAVE, err);
    }
}

int centre_finish(struct eddis *e, struct eddis_error *err)
{
    int64_t where[2];
    int rc;

    if (e->centre.finished)
        return 0;
    if (e->centre.owed)
        return eddis_fail(err, -EINVAL,
                          "another worker waits in a checkpoint that the step before was for "
                          "(EDDIS_STEP_CHECKPOINT), but eddis_checkpoint_begin was not called");
    if (e->centre.end == END_NOT) {
        rc = centre_say(e, AT_END, where, err);
        e->centre.owed = rc == 0 && where[0] == AT_CHECKPOINT;
        if (rc < 0 || e->centre.owed)
            return rc < 0 ? rc : 1;
        e->centre.end++;
    }
    for (rc = 0; rc == 0 && e->centre.end < END_OVER; e->centre.end += rc == 0)
        rc = centre_end(e, err);
    e->centre.finished = rc == 0;
    return rc;
}
