/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>

enum { LAYOUT_WARM = 1, LAYOUT_MEASURED = 3 }; /* steps */

/* What was under way without a pause. */
struct spell {
    size_t bytes;
    int64_t ns;
};

/* The same in a step. */
struct traffic {
    size_t bytes;
    int64_t busy_ns;
    int spells;
};

struct layout {
    bool root;
    int n_items;
    int steps; /* begun */
    bool timed, started;
    int64_t base_ns; /* of the present step, when timed */
    int under_way;
    int64_t since_ns;                      /* of the present spell */
    struct spell spell, smallest, largest; /* the present one, and the quickest of their sizes */
    struct traffic traffic[LAYOUT_MEASURED];
    struct bucket_layout agreed;
    struct collective *broadcast;
    int64_t ready_ns[][LAYOUT_MEASURED]; /* [n_items] since the first one of the step */
};

int layout_new(const struct comm_place *p, int n_items, struct layout **ret,
               struct eddis_error *err)
{
    struct layout *l = calloc(1, sizeof *l + (size_t)n_items * sizeof l->ready_ns[0]);
    int rc;

    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory to time %d gradients", n_items);
    l->root = p->rank == 0;
    l->n_items = n_items;
    rc = broadcast_new(p, &l->agreed, sizeof l->agreed, 0, &l->broadcast, err);
    if (rc < 0) {
        free(l);
        return rc;
    }
    *ret = l;
    return 0;
}

void layout_free(struct layout *l)
{
    if (!l)
        return;
    collective_free(l->broadcast);
    free(l);
}

void layout_begin(struct layout *l)
{
    l->steps++;
    l->timed = false;
}

/* Number of the present step among the measured ones, or -1. */
static int layout_step(const struct layout *l)
{
    int step = l->steps - 1 - LAYOUT_WARM;

    return step < LAYOUT_MEASURED ? step : -1;
}

void layout_left(struct layout *l, size_t bytes, int64_t now_ns)
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

void layout_back(struct layout *l, int64_t now_ns)
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

void layout_ready(struct layout *l, int item, int64_t now_ns)
{
    int step = layout_step(l);

    if (step < 0)
        return;
    if (!l->timed)
        l->base_ns = now_ns;
    l->timed = true;
    l->ready_ns[item][step] = now_ns - l->base_ns;
}

bool layout_due(const struct layout *l)
{
    return l->steps > LAYOUT_WARM + LAYOUT_MEASURED;
}

bool layout_started(const struct layout *l)
{
    return l->started;
}

static int64_t median(const int64_t t[LAYOUT_MEASURED])
{
    int64_t low = t[0] < t[1] ? t[0] : t[1], high = t[0] < t[1] ? t[1] : t[0];

    return t[2] < low ? low : t[2] > high ? high : t[2];
}

/* The line through the smallest and the largest spell tells of a latency that they cannot have had:
 * the machine was busy with starting when it was measured.
 */
static double layout_latency_s(const struct layout *l, double known_s)
{
    const struct spell *low = &l->smallest, *high = &l->largest;
    double slope, least = known_s / 8, s;

    if (high->bytes < 2 * low->bytes || high->ns <= low->ns)
        return known_s;
    slope = (double)(high->ns - low->ns) / (double)(high->bytes - low->bytes);
    s = ((double)low->ns - slope * (double)low->bytes) * 1e-9;
    return s >= known_s ? known_s : s > least ? s : least;
}

/* A measurement before the first step has no time for large buffers and tells too little of the
 * bandwidth; and these steps too little where a rank was waited for.  Neither tells too much.
 */
static struct bucket_cost layout_cost(const struct layout *l, const struct bucket_cost *known)
{
    struct bucket_cost c = { layout_latency_s(l, known->latency_s), known->bytes_per_s };

    for (int i = 0; i < LAYOUT_MEASURED; i++) {
        const struct traffic *t = &l->traffic[i];
        double busy_s = (double)t->busy_ns * 1e-9, sent_s = busy_s - t->spells * c.latency_s;

        /* where latency is nearly all, what is left of it is noise */
        if (sent_s > busy_s / 2 && (double)t->bytes > c.bytes_per_s * sent_s)
            c.bytes_per_s = (double)t->bytes / sent_s;
    }
    return c;
}

int layout_start(struct layout *l, struct bucket_item *item, const struct bucket_cost *cost,
                 int tag, struct outbox *out, struct eddis_error *err)
{
    struct bucket_cost c = layout_cost(l, cost);

    /* Those under way share the link and wait for the latency together. */
    c.latency_s /= BUCKET_IN_FLIGHT;
    l->started = true;
    for (int i = 0; l->root && i < l->n_items; i++)
        item[i].ready_ns = median(l->ready_ns[i]);
    /* Without memory, or when it does not fit: as before. */
    if (l->root && bucket_merge(item, l->n_items, &c, &l->agreed) < 0)
        l->agreed.n = 0;
    return collective_start(l->broadcast, tag, out, err);
}

bool layout_owns(const struct layout *l, const struct comm_op *op)
{
    return op->owner == l->broadcast;
}

int layout_receive(struct layout *l, const struct comm_op *op, struct outbox *out,
                   struct eddis_error *err)
{
    return collective_done(l->broadcast, op, out, err);
}

int layout_waits_for(const struct layout *l)
{
    return l->started ? collective_waits_for(l->broadcast) : -1;
}

const struct bucket_layout *layout_agreed(const struct layout *l)
{
    return &l->agreed;
}
