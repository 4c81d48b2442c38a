/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"
#include "handle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Parameter number k of the order. */
static int choice_parameter(const struct comm_choice *c, int n, int k)
{
    return c->n_order ? c->order[k] : n - 1 - k;
}

int choice_layout(const struct comm_choice *c, int n, struct bucket_layout *ret,
                  struct eddis_error *err)
{
    struct bucket_layout l = { .n = c->n_buckets };
    int at = 0;

    if (!c->n_buckets)
        return 0;
    for (int b = 0; b < l.n && b < BUCKET_MAX; b++) {
        int first = n, last = -1, end = at + c->bucket[b];

        for (; at < end && at < n && (!c->n_order || at < c->n_order); at++) {
            int item = n - 1 - choice_parameter(c, n, at);

            first = item < first ? item : first;
            last = item > last ? item : last;
        }
        if (at != end || last - first + 1 != c->bucket[b])
            return eddis_fail(err, -EINVAL, "the plan's bucket %d is not of these %d parameters", b,
                              n);
        l.run[b] = (struct bucket_run){ first, last + 1 };
    }
    *ret = l; /* whether it holds every parameter once, the engine sees */
    return 1;
}

void choice_set_layout(struct comm_choice *c, int n, const struct bucket_layout *l)
{
    c->n_order = 0;
    c->n_buckets = l->n;
    for (int b = 0; b < l->n; b++) {
        c->bucket[b] = (uint16_t)(l->run[b].end - l->run[b].first);
        for (int i = l->run[b].first; i < l->run[b].end; i++)
            c->order[c->n_order++] = (uint16_t)(n - 1 - i);
    }
}

void choice_set_limits(struct comm_choice *c, const struct choose_result *r)
{
    c->shared = r->shared;
    c->direct_bytes = (int64_t)r->limits.direct_bytes;
    c->tree_bytes = (int64_t)r->limits.tree_bytes;
    c->halving_bytes = (int64_t)r->limits.halving_bytes;
    c->piece_bytes = (int64_t)r->limits.piece_bytes;
    c->latency_s = r->cost.latency_s;
    c->bytes_per_s = r->cost.bytes_per_s;
    (void)snprintf(c->reason, sizeof c->reason, "%s", r->reason);
}

struct comm_limits choice_limits(const struct comm_choice *c)
{
    return (struct comm_limits){ (size_t)c->direct_bytes, (size_t)c->tree_bytes,
                                 (size_t)c->halving_bytes, (size_t)c->piece_bytes };
}

void choice_add_reason(struct comm_choice *c, const char *fmt, ...)
{
    size_t used = strlen(c->reason);
    va_list ap;

    if (used) {
        (void)snprintf(c->reason + used, sizeof c->reason - used, "; ");
        used = strlen(c->reason);
    }
    va_start(ap, fmt);
    (void)vsnprintf(c->reason + used, sizeof c->reason - used, fmt, ap);
    va_end(ap);
}

/* In hybrid mode every group lays out its own buckets, and a plan that is replayed gives all of
 * them the first group's.  That changes how fast and in which order of rounding they add up, not
 * what: such replays are not bitwise equal anyway, since groups meet the centre as they come.
 */
void choice_laid_out(void *arg, const struct bucket_layout *l)
{
    struct eddis *e = arg;
    struct comm_choice c;

    if (!e->board || e->place.rank)
        return;
    pthread_mutex_lock(&e->plan_lock);
    c = board_own(e->board)->choice;
    choice_set_layout(&c, e->n_parameters, l);
    choice_add_reason(&c, "%d buckets by when gradients were ready", engine_n_buckets(e->engine));
    board_choose(e->board, &c);
    pthread_mutex_unlock(&e->plan_lock);
}
