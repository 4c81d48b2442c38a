/* SPDX-License-Identifier: Apache-2.0 */
/* shm_agree.c - the collective by which a node's ranks create their shared memory
 *
 *     first rank:  make it, send its mark -> receive each rank's result -> send the common result
 *     others:      receive the mark, open it, send the result -> receive the common result
 */
#include "collective_impl.h"
#include "shm_impl.h"

#include <assert.h>
#include <stdio.h>

/* A message of the agreement: a result with its text, and the memory's mark. */
struct agree_word {
    int32_t code;                /* 0 or a failure */
    struct shm_region_mark mark; /* valid in the first rank's first message */
    char text[sizeof((struct eddis_error *)0)->text];
};

/* One rank's part of the agreement. */
struct agreement {
    struct collective base;
    struct comm_shm_size size;
    struct comm_shm *shm;            /* the memory as this rank sees it; NULL: none */
    struct agree_word said, verdict; /* this rank's result; the common result */
    int pending;                     /* operations under way */
    bool judged;                     /* the common result is being sent or received */
    /* received messages: [n_ranks] on the first rank, else one; code 1: not yet received */
    struct agree_word heard[];
};

static const struct collective_ops agree_ops;

/* Return c, which must be an agreement, cast to its own struct; c still owns it. */
static struct agreement *agreement(struct collective *c)
{
    assert(c->ops == &agree_ops);
    return (struct agreement *)c;
}

/* Store a result and its text in this rank's message. */
static void agree_say(struct agreement *s, int rc, const struct eddis_error *err)
{
    s->said.code = rc;
    if (rc < 0)
        (void)snprintf(s->said.text, sizeof s->said.text, "%s", err->text);
}

/* Post a message to or from a member. */
static void agree_post(struct agreement *s, enum comm_kind kind, int member, struct agree_word *w,
                       struct outbox *out)
{
    collective_post(&s->base, kind, member, w, sizeof *w, 0, out);
    s->pending++;
}

/* On the first rank make the memory and send its mark, or the failure; on the others post the
 * receive of the mark.  Return 1 if there is only one rank, else 0.
 */
static int agree_start(struct collective *c, struct outbox *out)
{
    struct agreement *s = agreement(c);
    struct eddis_error err = { 0 };
    int rc;

    if (c->place.rank > 0) {
        agree_post(s, COMM_RECEIVE, 0, &s->heard[0], out);
        return 0;
    }
    rc = shm_make(c->place.n_ranks, &s->size, &s->shm, &err);
    if (rc == 0)
        rc = shm_describe(s->shm, &s->said.mark, &err);
    agree_say(s, rc, &err);
    s->verdict = s->said;
    for (int i = 1; i < c->place.n_ranks; i++) {
        agree_post(s, COMM_SEND, i, &s->said, out);
        agree_post(s, COMM_RECEIVE, i, &s->heard[i], out);
    }
    return c->place.n_ranks == 1;
}

/* Choose the common result once all ranks have answered, and send it: the failure of the lowest
 * rank that failed, else success.  Return 0.
 */
static int agree_judge(struct agreement *s, struct outbox *out)
{
    int n = s->base.place.n_ranks;

    for (int i = n - 1; i > 0; i--)
        if (s->heard[i].code < 0)
            s->verdict = s->heard[i];
    if (s->said.code < 0)
        s->verdict = s->said;
    s->judged = true;
    for (int i = 1; i < n; i++)
        agree_post(s, COMM_SEND, i, &s->verdict, out);
    return 0;
}

/* Open the memory, unless the first rank has failed, send the result to the first rank and post the
 * receive of the common result.  Return 0.
 */
static int agree_answer(struct agreement *s, struct outbox *out)
{
    const struct comm_place *p = &s->base.place;
    struct eddis_error err = { 0 };
    int rc = 0;

    if (s->heard[0].code == 0)
        rc = shm_attach(&s->heard[0].mark, p->rank, p->n_ranks, &s->size, &s->shm, &err);
    agree_say(s, rc, &err);
    s->judged = true;
    agree_post(s, COMM_RECEIVE, 0, &s->verdict, out);
    agree_post(s, COMM_SEND, 0, &s->said, out);
    return 0;
}

/* Continue after a completed operation, once no other one is pending.  Return 1 if the agreement is
 * over, else 0.
 */
static int agree_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct agreement *s = agreement(c);

    if (--s->pending)
        return 0;
    if (s->judged)
        return 1;
    return c->place.rank ? agree_answer(s, out) : agree_judge(s, out);
}

/* Return a member that is waited for: on the first rank one whose answer is missing, elsewhere the
 * first rank.
 */
static int agree_waits_for(const struct collective *c)
{
    const struct agreement *s = (const struct agreement *)c;

    for (int i = 1; c->place.rank == 0 && !s->judged && i < c->place.n_ranks; i++)
        if (s->heard[i].code > 0)
            return i;
    return c->place.rank ? 0 : 1;
}

/* Close the memory, unless comm_shm_take has taken it. */
static void agree_fini(struct collective *c)
{
    comm_shm_close(agreement(c)->shm);
}

static const struct collective_ops agree_ops = {
    .name = "share",
    .start = agree_start,
    .done = agree_done,
    .waits_for = agree_waits_for,
    .fini = agree_fini,
};

int comm_shm_share(const struct comm_place *p, const struct comm_shm_size *size,
                   struct collective **ret, struct eddis_error *err)
{
    size_t words = p->rank ? 1 : (size_t)p->n_ranks;
    struct collective *c;
    int rc = collective_make(
        &agree_ops, sizeof(struct agreement) + words * sizeof(struct agree_word), p, &c, err);

    if (rc < 0)
        return rc;
    agreement(c)->size = *size;
    for (size_t i = 0; i < words; i++)
        agreement(c)->heard[i].code = 1; /* nothing received so far */
    *ret = c;
    return 0;
}

int comm_shm_take(struct collective *c, struct comm_shm **ret, struct eddis_error *err)
{
    struct agreement *s = agreement(c);

    assert(c->over);
    if (s->verdict.code < 0)
        return eddis_fail(err, s->verdict.code, "%s", s->verdict.text);
    shm_populate(s->shm);
    *ret = s->shm;
    s->shm = NULL;
    return 0;
}
