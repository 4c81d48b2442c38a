/* SPDX-License-Identifier: Apache-2.0 */
/* arena_layout.c - measures when gradients are ready and how long buckets take; agrees on a layout
 */
#include "arena_layout.h"

#include <errno.h>
#include <stdlib.h>

/* number of steps that are not measured, and of the measured steps that follow */
enum { LAYOUT_WARM = 1, LAYOUT_MEASURED = 3 };

/* An interval in which at least one bucket was under way at every moment. */
struct spell {
    size_t bytes; /* size of all buckets that left in the interval */
    int64_t ns;   /* duration */
};

/* The buckets of one step. */
struct traffic {
    size_t bytes;    /* size of all buckets */
    int64_t busy_ns; /* duration of all spells */
    int spells;      /* number of spells */
};

/* The measurement of steps, and the agreement on a layout. */
struct arena_layout {
    bool root; /* this is rank 0, which computes the layout */
    int n_items;
    int steps;        /* number of steps begun, the present one included */
    bool started;     /* agreeing has begun */
    int64_t begin_ns; /* beginning of the present step, on the caller's clock */
    int under_way;    /* number of buckets under way in a measured step */
    int64_t since_ns; /* beginning of the present spell */
    /* present spell; spell of the fewest bytes so far, and of the most bytes so far, in both cases
     * the fastest of those with equal bytes
     */
    struct spell spell, smallest, largest;
    struct traffic traffic[LAYOUT_MEASURED];
    struct bucket_item *item;       /* argument of arena_layout_start, borrowed */
    const struct bucket_cost *cost; /* argument of arena_layout_start, borrowed */
    int broadcast_tag;
    struct bucket_layout agreed;
    /* all-reduce of `ready` by maximum; broadcast of `agreed` by rank 0 */
    struct collective *latest, *broadcast;
    /* [n_items] ns from a step's beginning until the gradient is ready: this rank's median, after
     * the all-reduce the largest of all ranks
     */
    int64_t *ready;
    int64_t ready_ns[][LAYOUT_MEASURED]; /* [n_items] the same in each measured step, this rank's */
};

int arena_layout_new(const struct comm_place *p, int n_items, struct arena_layout **ret,
                     struct eddis_error *err)
{
    struct arena_layout *l = calloc(1, sizeof *l + (size_t)n_items * sizeof l->ready_ns[0]);
    int64_t *ready = calloc((size_t)n_items, sizeof *ready);
    const struct allreduce latest = {
        .data = ready, .n = (size_t)n_items, .type = COMM_INT64, .rule = COMM_MAX
    };
    int rc;

    if (!l || !ready) {
        free(l);
        free(ready);
        return eddis_fail(err, -ENOMEM, "no memory to time %d gradients", n_items);
    }
    l->root = p->rank == 0;
    l->n_items = n_items;
    l->ready = ready;
    rc = allreduce_new_kind("tree", p, &latest, &l->latest, err);
    if (rc == 0)
        rc = broadcast_new(p, &l->agreed, sizeof l->agreed, 0, &l->broadcast, err);
    if (rc < 0)
        arena_layout_free(l);
    else
        *ret = l;
    return rc;
}

void arena_layout_free(struct arena_layout *l)
{
    if (!l)
        return;
    collective_free(l->latest);
    collective_free(l->broadcast);
    free(l->ready);
    free(l);
}

void arena_layout_begin(struct arena_layout *l, bool passing, int64_t now_ns)
{
    l->steps = passing ? 0 : l->steps + 1;
    l->begin_ns = now_ns;
}

/* Return the present step's index among the measured steps; -1: the step is not measured. */
static int layout_step(const struct arena_layout *l)
{
    int step = l->steps - 1 - LAYOUT_WARM;

    return step >= 0 && step < LAYOUT_MEASURED ? step : -1;
}

void arena_layout_left(struct arena_layout *l, size_t bytes, int64_t now_ns)
{
    int step = layout_step(l);

    if (step < 0)
        return;
    l->traffic[step].bytes += bytes;
    if (l->under_way++ == 0) {
        l->traffic[step].spells++;
        l->since_ns = now_ns;
        l->spell.bytes = 0;
    }
    l->spell.bytes += bytes;
}

void arena_layout_back(struct arena_layout *l, int64_t now_ns)
{
    struct spell *s = &l->spell, *low = &l->smallest, *high = &l->largest;
    int step = layout_step(l);

    if (step < 0 || --l->under_way)
        return;
    s->ns = now_ns - l->since_ns;
    l->traffic[step].busy_ns += s->ns;
    if (!low->bytes || s->bytes < low->bytes || (s->bytes == low->bytes && s->ns < low->ns))
        *low = *s;
    if (s->bytes > high->bytes || (s->bytes == high->bytes && s->ns < high->ns))
        *high = *s;
}

void arena_layout_ready(struct arena_layout *l, int item, int64_t now_ns)
{
    int step = layout_step(l);

    if (step >= 0)
        l->ready_ns[item][step] = now_ns - l->begin_ns;
}

bool arena_layout_due(const struct arena_layout *l)
{
    return l->steps > LAYOUT_WARM + LAYOUT_MEASURED;
}

bool arena_layout_started(const struct arena_layout *l)
{
    return l->started;
}

/* Return the median of the three values of t. */
static int64_t median(const int64_t t[LAYOUT_MEASURED])
{
    int64_t low = t[0] < t[1] ? t[0] : t[1], high = t[0] < t[1] ? t[1] : t[0];

    return t[2] < low ? low : t[2] > high ? high : t[2];
}

/* Return the latency of a bucket in seconds, estimated from the line through the smallest and the
 * largest spell, and limited to known_s / 8 .. known_s.  Return known_s if the two spells are too
 * similar.  known_s was measured before the first step and may be too large, because the machine
 * was busy starting.
 */
static double layout_latency_s(const struct arena_layout *l, double known_s)
{
    const struct spell *low = &l->smallest, *high = &l->largest;
    double slope, least = known_s / 8, s;

    if (high->bytes < 2 * low->bytes || high->ns <= low->ns)
        return known_s;
    slope = (double)(high->ns - low->ns) / (double)(high->bytes - low->bytes);
    s = ((double)low->ns - slope * (double)low->bytes) * 1e-9;
    return s >= known_s ? known_s : s > least ? s : least;
}

/* Return the cost of a bucket, estimated from the measured steps and from `known`, a measurement
 * made before the first step.  The bandwidth is the largest of all these, because each may be too
 * low but none too high: `known` was measured without large buffers, and a step includes the wait
 * for late ranks.
 */
static struct bucket_cost layout_cost(const struct arena_layout *l, const struct bucket_cost *known)
{
    struct bucket_cost c = { layout_latency_s(l, known->latency_s), known->bytes_per_s };

    for (int i = 0; i < LAYOUT_MEASURED; i++) {
        const struct traffic *t = &l->traffic[i];
        double busy_s = (double)t->busy_ns * 1e-9, sent_s = busy_s - t->spells * c.latency_s;

        /* if latency is nearly everything, the remainder is noise */
        if (sent_s > busy_s / 2 && (double)t->bytes > c.bytes_per_s * sent_s)
            c.bytes_per_s = (double)t->bytes / sent_s;
    }
    return c;
}

/* Compute the new layout on rank 0 and store it in l->agreed.  An item counts as ready when the
 * last rank has it ready.  If no layout can be computed, set l->agreed.n to 0: the present layout
 * stays.
 */
static void layout_make(struct arena_layout *l)
{
    struct bucket_cost c = layout_cost(l, l->cost);

    /* Buckets that are under way together wait for the latency at the same time. */
    c.latency_s /= BUCKET_IN_FLIGHT;
    for (int i = 0; i < l->n_items; i++)
        l->item[i].ready_ns = l->ready[i];
    if (bucket_merge(l->item, l->n_items, &c, &l->agreed) < 0)
        l->agreed.n = 0;
}

/* If the all-reduce of ready times is over (latest_rc, which it returned, is 1), compute the layout
 * on rank 0 and start its broadcast.  Return latest_rc if it is not 1, else 1 if the layout is
 * agreed already, 0 if not yet, or a failure.
 */
static int layout_follow(struct arena_layout *l, int latest_rc, struct outbox *out,
                         struct eddis_error *err)
{
    if (latest_rc <= 0)
        return latest_rc;
    if (l->root)
        layout_make(l);
    return collective_start(l->broadcast, l->broadcast_tag, out, err);
}

int arena_layout_start(struct arena_layout *l, struct bucket_item *item,
                       const struct bucket_cost *cost, const int *tag, struct outbox *out,
                       struct eddis_error *err)
{
    l->started = true;
    l->item = item;
    l->cost = cost;
    l->broadcast_tag = tag[1];
    for (int i = 0; i < l->n_items; i++)
        l->ready[i] = median(l->ready_ns[i]);
    return layout_follow(l, collective_start(l->latest, tag[0], out, err), out, err);
}

bool arena_layout_owns(const struct arena_layout *l, const struct comm_op *op)
{
    return op->owner == l->latest || op->owner == l->broadcast;
}

int arena_layout_receive(struct arena_layout *l, const struct comm_op *op, struct outbox *out,
                         struct eddis_error *err)
{
    if (op->owner == l->latest)
        return layout_follow(l, collective_done(l->latest, op, out, err), out, err);
    return collective_done(l->broadcast, op, out, err);
}

int arena_layout_waits_for(const struct arena_layout *l)
{
    int rank = l->started ? collective_waits_for(l->latest) : -1;

    return l->started && rank < 0 ? collective_waits_for(l->broadcast) : rank;
}

const struct bucket_layout *arena_layout_agreed(const struct arena_layout *l)
{
    return &l->agreed;
}
