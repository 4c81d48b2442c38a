/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c - a queue of one worker's steps, cut from the ranges that it took from a counter */
#include "ranges.h"

#include "lib/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One step of this worker. */
struct piece {
    int64_t first, count; /* positions through all epochs */
    int64_t step_in_epoch;
    int64_t passed; /* samples of the job up to the end of this step */
};

/* The steps of one worker, and the ranges that are handed out. */
struct ranges {
    struct ranges_options o;
    struct range *left;  /* [o.n_left] */
    struct piece *queue; /* [n], steps first_step .. first_step + n - 1 */
    size_t n, room;      /* steps in the queue; room in it */
    int64_t first_step;  /* number of the step in queue[0] */
    struct piece last;   /* the step that was queued last; count 0: none yet */
    bool exhausted;      /* the counter has passed the end of the ranges */
    bool sealed, ends;   /* whether `last` ends its epoch is known, and whether it does */
};

/* Return the position after the last one of all epochs; INT64_MAX: unlimited. */
static int64_t end_of(int64_t samples, int64_t epochs)
{
    int64_t end;

    if (epochs == 0 || __builtin_mul_overflow(samples, epochs, &end))
        return INT64_MAX;
    return end;
}

int ranges_open(const struct ranges_options *o, struct ranges **ret, struct eddis_error *err)
{
    struct range all = { 0, end_of(o->samples, o->epochs) };
    struct ranges *r = calloc(1, sizeof *r);

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    r->o = *o;
    r->first_step = o->first_step;
    r->o.n_left = o->n_left ? o->n_left : 1;
    r->left = malloc(r->o.n_left * sizeof *r->left);
    if (!r->left) {
        free(r);
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    }
    memcpy(r->left, o->n_left ? o->left : &all, r->o.n_left * sizeof *r->left);
    *ret = r;
    return 0;
}

void ranges_close(struct ranges *r)
{
    if (!r)
        return;
    free(r->left);
    free(r->queue);
    free(r);
}

/* Append a step to the queue and note it in r->last.  Return 0 or -ENOMEM, and then change nothing.
 */
static int queue_push(struct ranges *r, const struct piece *p, struct eddis_error *err)
{
    if (!array_grow(&r->queue, &r->room, r->n, sizeof *r->queue))
        return eddis_fail(err, -ENOMEM, "no memory for a range of samples");
    r->queue[r->n++] = r->last = *p;
    r->sealed = r->ends = false;
    return 0;
}

/* Queue the steps of the positions x, one step for each epoch, without those shorter than
 * min_count; passed: samples of the job before x.  Return 0 or -ENOMEM, and then only the first
 * steps are queued.
 */
static int queue_positions(struct ranges *r, struct range x, int64_t passed,
                           struct eddis_error *err)
{
    int rc = 0;

    while (rc == 0 && x.count) {
        int64_t epoch = x.first / r->o.samples;
        int64_t room = (epoch + 1) * r->o.samples - x.first;
        int64_t count = x.count < room ? x.count : room;
        bool same = r->last.count && r->last.first / r->o.samples == epoch;

        passed += count;
        if (count >= r->o.min_count)
            rc = queue_push(r,
                            &(struct piece){ .first = x.first,
                                             .count = count,
                                             .step_in_epoch = same ? r->last.step_in_epoch + 1 : 0,
                                             .passed = passed },
                            err);
        x.first += count;
        x.count -= count;
    }
    return rc;
}

int ranges_add(struct ranges *r, int64_t counter, int64_t count, struct eddis_error *err)
{
    int64_t at = 0; /* counter value at which left[i] begins */
    bool none = count > 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && count && i < r->o.n_left; i++) {
        struct range x = r->left[i];
        int64_t skip = counter > at ? counter - at : 0, taken;

        if (skip < x.count) {
            taken = x.count - skip < count ? x.count - skip : count;
            rc = queue_positions(r, (struct range){ x.first + skip, taken },
                                 r->o.done_before + at + skip, err);
            counter += taken;
            count -= taken;
            none = false;
        }
        at += x.count;
    }
    if (rc == 0 && none)
        r->exhausted = true;
    return rc;
}

/* Return the index of the range in r->left that holds the counter value, and in *ret_skip how many
 * of its samples are before it; o.n_left if the counter has passed the end.
 */
static size_t left_at(const struct ranges *r, int64_t counter, int64_t *ret_skip)
{
    size_t i = 0;

    for (; i < r->o.n_left && counter >= r->left[i].count; i++)
        counter -= r->left[i].count;
    *ret_skip = counter;
    return i;
}

int64_t ranges_epoch_left(const struct ranges *r, int64_t counter)
{
    int64_t skip, epoch = -1, left = 0;

    for (size_t i = left_at(r, counter, &skip); i < r->o.n_left; i++, skip = 0) {
        int64_t first = r->left[i].first + skip, end = r->left[i].first + r->left[i].count,
                epoch_end;

        if (epoch < 0)
            epoch = first / r->o.samples;
        epoch_end = (epoch + 1) * r->o.samples;
        if (first >= epoch_end)
            break;
        left += (end < epoch_end ? end : epoch_end) - first;
    }
    return left;
}

void ranges_seal(struct ranges *r, bool ends_epoch)
{
    r->sealed = true;
    r->ends = ends_epoch;
}

int64_t ranges_passed(const struct ranges *r, int64_t counter)
{
    return r->o.done_before + counter;
}

void ranges_exhaust(struct ranges *r)
{
    r->exhausted = true;
}

bool ranges_exhausted(const struct ranges *r)
{
    return r->exhausted;
}

int64_t ranges_end(const struct ranges *r)
{
    return r->first_step + (int64_t)r->n;
}

int ranges_look(const struct ranges *r, int64_t step, struct ranges_step *ret,
                struct eddis_error *err)
{
    const struct piece *p;
    int64_t i = step - r->first_step, epoch;
    bool last;

    if (i < 0)
        return eddis_fail(err, -ESTALE, "step %lld ended long ago", (long long)step);
    if (r->exhausted && i >= (int64_t)r->n)
        return 0;
    if (i + 1 >= (int64_t)r->n && !r->exhausted && !(i + 1 == (int64_t)r->n && r->sealed))
        return -EAGAIN; /* err stays unchanged: the caller waits */
    p = &r->queue[i];
    epoch = p->first / r->o.samples;
    if (i + 1 < (int64_t)r->n)
        last = p[1].first / r->o.samples > epoch;
    else
        last = r->exhausted || r->ends;
    *ret = (struct ranges_step){ .epoch = epoch,
                                 .first = p->first % r->o.samples,
                                 .count = p->count,
                                 .step_in_epoch = p->step_in_epoch,
                                 .last_of_epoch = last,
                                 .passed = p->passed };
    return 1;
}

void ranges_finish(struct ranges *r, int64_t step)
{
    size_t gone;

    if (step < r->first_step)
        return;
    gone = (size_t)(step - r->first_step) + 1;
    gone = gone < r->n ? gone : r->n;
    r->n -= gone;
    memmove(r->queue, r->queue + gone, r->n * sizeof *r->queue);
    /* also after the last queued step, since steps without samples have numbers too */
    r->first_step = step + 1;
}

void ranges_delay(struct ranges *r, int64_t step)
{
    if (step >= r->first_step)
        r->first_step = step + 1;
}

size_t ranges_n_unfinished(const struct ranges *r)
{
    return r->n;
}

void ranges_unfinished(const struct ranges *r, struct range *ret)
{
    for (size_t i = 0; i < r->n; i++)
        ret[i] = (struct range){ r->queue[i].first, r->queue[i].count };
}

size_t ranges_n_rest(const struct ranges *r)
{
    return r->o.n_left;
}

size_t ranges_rest(const struct ranges *r, int64_t counter, struct range *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < r->o.n_left; i++) {
        struct range x = r->left[i];
        int64_t skip = counter < x.count ? counter : x.count;

        counter -= skip;
        if (skip < x.count)
            ret[n++] = (struct range){ x.first + skip, x.count - skip };
    }
    return n;
}

/* Compare two ranges by their first positions, for qsort. */
static int by_first(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

size_t ranges_join(struct range *r, size_t n)
{
    size_t kept = 0;

    qsort(r, n, sizeof *r, by_first);
    for (size_t i = 0; i < n; i++)
        if (kept && r[kept - 1].first + r[kept - 1].count == r[i].first)
            r[kept - 1].count += r[i].count;
        else
            r[kept++] = r[i];
    return kept;
}
