/* SPDX-License-Identifier: Apache-2.0 */
/* shm_agree.c - the agreement of a node's ranks about the memory that they share
 *
 *     first:   make, tell the others where -> hear how each fared -> tell all the verdict
 *     others:  hear where, open, answer -> hear the verdict
 */
#include "collective_impl.h"
#include "shm_impl.h"

#include <assert.h>
#include <stdio.h>

struct share_word {
    int32_t code;
    struct shm_region_mark mark; /* of the first's first word */
    char text[sizeof((struct eddis_error *)0)->text];
};

struct share {
    struct collective base;
    struct comm_shm_size size;
    struct comm_shm *node;
    struct share_word said, verdict;
    int pending;               /* operations under way */
    bool judged;               /* the verdict is on its way */
    struct share_word heard[]; /* [n_ranks] the first's; one of the others */
};

static const struct collective_ops share_ops;

static struct share *share(struct collective *c)
{
    assert(c->ops == &share_ops);
    return (struct share *)c;
}

static void share_say(struct share *s, int rc, const struct eddis_error *err)
{
    s->said.code = rc;
    if (rc < 0)
        (void)snprintf(s->said.text, sizeof s->said.text, "%s", err->text);
}

static void share_post(struct share *s, enum comm_kind kind, int member, struct share_word *w,
                       struct outbox *out)
{
    collective_post(&s->base, kind, member, w, sizeof *w, 0, out);
    s->pending++;
}

static int share_start(struct collective *c, struct outbox *out)
{
    struct share *s = share(c);
    struct eddis_error err = { 0 };
    int rc;

    if (c->place.rank > 0) {
        share_post(s, COMM_RECEIVE, 0, &s->heard[0], out);
        return 0;
    }
    rc = shm_make(c->place.n_ranks, &s->size, &s->node, &err);
    if (rc == 0)
        rc = shm_describe(s->node, &s->said.mark, &err);
    share_say(s, rc, &err);
    s->verdict = s->said;
    for (int i = 1; i < c->place.n_ranks; i++) {
        share_post(s, COMM_SEND, i, &s->said, out);
        share_post(s, COMM_RECEIVE, i, &s->heard[i], out);
    }
    return c->place.n_ranks == 1;
}

/* All have answered: the lowest rank's failure counts. */
static int share_judge(struct share *s, struct outbox *out)
{
    int n = s->base.place.n_ranks;

    for (int i = n - 1; i > 0; i--)
        if (s->heard[i].code < 0)
            s->verdict = s->heard[i];
    if (s->said.code < 0)
        s->verdict = s->said;
    s->judged = true;
    for (int i = 1; i < n; i++)
        share_post(s, COMM_SEND, i, &s->verdict, out);
    return 0;
}

/* The first has told where: open it, unless the first failed, and answer. */
static int share_answer(struct share *s, struct outbox *out)
{
    const struct comm_place *p = &s->base.place;
    struct eddis_error err = { 0 };
    int rc = 0;

    if (s->heard[0].code == 0)
        rc = shm_attach(&s->heard[0].mark, p->rank, p->n_ranks, &s->size, &s->node, &err);
    share_say(s, rc, &err);
    s->judged = true;
    share_post(s, COMM_RECEIVE, 0, &s->verdict, out);
    share_post(s, COMM_SEND, 0, &s->said, out);
    return 0;
}

static int share_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct share *s = share(c);

    (void)op;
    if (--s->pending)
        return 0;
    if (s->judged)
        return 1;
    return c->place.rank ? share_answer(s, out) : share_judge(s, out);
}

static int share_waits_for(const struct collective *c)
{
    const struct share *s = (const struct share *)c;

    for (int i = 1; c->place.rank == 0 && !s->judged && i < c->place.n_ranks; i++)
        if (s->heard[i].code > 0)
            return i;
    return c->place.rank ? 0 : 1;
}

static void share_fini(struct collective *c)
{
    comm_shm_close(share(c)->node);
}

static const struct collective_ops share_ops = {
    .name = "share",
    .start = share_start,
    .done = share_done,
    .waits_for = share_waits_for,
    .fini = share_fini,
};

int comm_shm_share(const struct comm_place *p, const struct comm_shm_size *size,
                   struct collective **ret, struct eddis_error *err)
{
    size_t words = p->rank ? 1 : (size_t)p->n_ranks;
    struct collective *c;
    int rc = collective_make(&share_ops, sizeof(struct share) + words * sizeof(struct share_word),
                             p, &c, err);

    if (rc < 0)
        return rc;
    share(c)->size = *size;
    for (size_t i = 0; i < words; i++)
        share(c)->heard[i].code = 1; /* nothing heard so far */
    *ret = c;
    return 0;
}

int comm_shm_take(struct collective *c, struct comm_shm **ret, struct eddis_error *err)
{
    struct share *s = share(c);

    assert(c->over);
    if (s->verdict.code < 0)
        return eddis_fail(err, s->verdict.code, "%s", s->verdict.text);
    shm_populate(s->node);
    *ret = s->node;
    s->node = NULL;
    return 0;
}
