/* SPDX-License-Identifier: Apache-2.0 */
/* modes.c - predicts the throughput of each mode in virtual time */
#include "modes.h"

#include "lib/base/cleanup.h"
#include "lib/model/read_ahead.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Fraction of a step's compute time that the forward pass takes. */
static const double FORWARD = 1.0 / 3;
/* Bytes per second that one core reads, adds and writes. */
static const double MEMORY_BYTES_PER_S = 4e9;
static const double CONVERT_BYTE_S =
    0.2e-9 / 4;                    /* s per byte of float32, to 16 bits or back: bench/half */
static const double STEP = 0.75;   /* damping of the iteration in settle_once */
static const double AGREED = 1e-9; /* relative change at which the iteration ends */
/* Assumed largest load of a link by other parties; at 1 waits would have no bound. */
static const double MAX_LOAD = 0.95;

enum {
    ITERATIONS = 60,   /* most iterations in settle */
    AUTO_BUCKETS = 8,  /* least number of buckets if workers choose their size */
    MOST_BUCKETS = 64, /* largest number of buckets if workers choose their size */
};

/* Seconds that an all-reduce takes */
struct combining {
    double node_s; /* the sum within nodes */
    double ring_s; /* the ring between nodes, on links without other traffic */
};

/* Workers that train one model together. */
struct party {
    /* Samples of all members in a step; compute time of a step of the slowest member. */
    double samples, compute_s;
    int members, nodes;         /* number of members, and of nodes on which they run */
    int last_node;              /* node of the last member added */
    int root;                   /* node of the first member */
    struct combining gradients; /* of its gradients, in a step */
    double step_s;              /* duration of a step, communication of gradients included */
    double period_s; /* seconds from one exchange of models to the next; 0: not computed yet */
    double hidden_s; /* part of an exchange, the read of the center, that steps hide */
};

/* Return the larger number: fmax is a call, and these are the innermost loops. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Check whether communication between nodes takes a known time: the job has several nodes, and the
 * size of the model and the bandwidth of the links are known.
 */
static bool has_wire(const struct modes_setup *s)
{
    return s->n_nodes > 1 && s->model_bytes > 0 && s->bytes_per_s > 0;
}

/* Return the bytes of a worker's gradients. */
static double gradient_bytes(const struct modes_setup *s)
{
    return (double)program_sizes(&s->program, s->model_bytes).gradient_bytes;
}

/* Return the bytes of the center variable. */
static double centre_bytes(const struct modes_setup *s)
{
    return (double)program_sizes(&s->program, s->model_bytes).centre_bytes;
}

/* Return the bytes that take as long on a link as `all` bytes in the setup's format, conversion
 * included. narrow: bytes of `all` that are float32, which a wire format of 16 bits halves and
 * converts.
 */
static double wire_bytes(const struct modes_setup *s, double all, double narrow)
{
    return sync_wire_is_half(s->wire) ? all - narrow / 2 + narrow * CONVERT_BYTE_S * s->bytes_per_s
                                      : all;
}

/* Return the times of an all-reduce of `all` bytes over `members` workers on `nodes` nodes; the
 * ring takes time if has_wire. narrow: see wire_bytes.
 */
static struct combining combining_bytes(const struct modes_setup *s, int members, int nodes,
                                        double all, double narrow)
{
    struct combining c = { .node_s = members > nodes ? 2 * all / MEMORY_BYTES_PER_S : 0 };

    if (nodes < 2 || !has_wire(s))
        return c;
    c.ring_s = 2.0 * (nodes - 1) / nodes * wire_bytes(s, all, narrow) / s->bytes_per_s +
               2.0 * (nodes - 1) * s->latency_s;
    return c;
}

/* Return the times of an all-reduce of all gradients, as combining_bytes.  0 if the program
 * combines its gradients itself: how long that takes is measured, not predicted.
 */
static struct combining combining_of(const struct modes_setup *s, int members, int nodes)
{
    struct program p = program_sizes(&s->program, s->model_bytes);
    double all = (double)p.gradient_bytes;

    if (program_is_external(&s->program))
        return (struct combining){ 0 };
    return combining_bytes(s, members, nodes, all, fmin((double)p.float32_bytes, all));
}

/* Which gradients are sent together, and which is the largest */
struct buckets {
    double n; /* number of buckets of a step */
    /* fractions of all bytes: those ready after the largest gradient, and those not yet sent when
     * it is ready; left 0: the size of the largest gradient is unknown
     */
    double behind, left;
};

/* Return the number of buckets of a step. If bucket_bytes is set, it follows from the gradients'
 * size. Otherwise it is the number of gradients, limited to AUTO_BUCKETS .. MOST_BUCKETS. Workers
 * that choose their own buckets send the first bucket as soon as it has a gradient, if the network
 * is the bottleneck. If compute is, their last bucket holds only one gradient. If a model has few
 * gradients, these differ in size, and AUTO_BUCKETS is the better estimate.
 */
static double parts_of_model(const struct modes_setup *s)
{
    if (s->bucket_bytes > 0)
        return fmax(ceil(gradient_bytes(s) / (double)s->bucket_bytes), 1);
    return fmin(fmax((double)s->n_gradients, AUTO_BUCKETS), MOST_BUCKETS);
}

/* Return the seconds from the begin of a step until a gradient is ready. behind: fraction of the
 * gradient bytes that become ready after this gradient. Layers are assumed to compute in proportion
 * to their parameters, as dense layers do.
 */
static double ready_s(double compute_s, double behind)
{
    return compute_s * (FORWARD + (1 - FORWARD) * (1 - behind));
}

/* Return the buckets of the model's gradients. */
static struct buckets buckets_of(const struct modes_setup *s)
{
    struct program p = program_sizes(&s->program, s->model_bytes);
    double all = (double)p.gradient_bytes;
    struct buckets b = { .n = parts_of_model(s) };

    if (p.largest_bytes > 0 && all > 0) {
        b.behind = fmin((double)p.largest_behind / all, 1);
        b.left = fmin((double)p.largest_bytes / all + b.behind, 1);
    }
    return b;
}

/* Return the duration of a step that computes for compute_s. Meanwhile the all-reduce of all
 * gradients takes combine_s, and begins when the first bucket is full. The largest gradient is sent
 * as a whole when it is ready, and all later gradients after it.
 */
static double overlapped_s(const struct buckets *b, double compute_s, double combine_s)
{
    double end_s;

    if (combine_s <= 0)
        return compute_s;
    end_s = larger(compute_s + combine_s / b->n, ready_s(compute_s, 1 - 1 / b->n) + combine_s);
    if (b->left > 0)
        end_s = larger(end_s, ready_s(compute_s, b->behind) + combine_s * b->left);
    return end_s;
}

/* Return the factor on the time of a transfer over a link with this load by other transfers. */
static inline double slowed(double load)
{
    return 1 / (1 - (load < MAX_LOAD ? load : MAX_LOAD));
}

/* Return the duration of a step of a party. load: load of its links by exchanges of models. */
static double step_s(const struct buckets *b, const struct party *p, double load)
{
    return overlapped_s(b, p->compute_s, p->gradients.node_s + p->gradients.ring_s * slowed(load));
}

/* Add a worker to a party: its samples, its compute time and its node. The workers of one node must
 * be added one after another.
 */
static void add_member(struct party *p, const struct modes_worker *w)
{
    if (p->members++ == 0)
        p->root = w->node;
    p->nodes += p->members == 1 || w->node != p->last_node;
    p->last_node = w->node;
    p->samples += (double)w->batch;
    p->compute_s = fmax(p->compute_s, time_model_s(&w->t, w->batch));
}

/* Set how long a party's steps take without exchanges of models. */
static void set_step(const struct modes_setup *s, const struct buckets *b, struct party *p)
{
    p->gradients = combining_of(s, p->members, p->nodes);
    p->step_s = step_s(b, p, 0);
}

/* Return the parties with their step times, and their number in *ret_n; the caller frees them.
 * NULL: no memory. group [s->n]: party of each worker; NULL: each worker is a party.
 */
static struct party *gather(const struct modes_setup *s, const int *group, int *ret_n)
{
    const struct buckets b = buckets_of(s);
    int n = group ? 0 : s->n;
    struct party *p;

    for (int i = 0; group && i < s->n; i++)
        n = group[i] >= n ? group[i] + 1 : n;
    p = calloc((size_t)n, sizeof *p);
    for (int i = 0; p && i < s->n; i++)
        add_member(&p[group ? group[i] : i], &s->worker[i]);
    for (int g = 0; p && g < n; g++)
        set_step(s, &b, &p[g]);
    *ret_n = n;
    return p;
}

double modes_sync(const struct modes_setup *s)
{
    const struct buckets b = buckets_of(s);
    struct party all = { 0 };

    for (int i = 0; i < s->n; i++)
        add_member(&all, &s->worker[i]);
    set_step(s, &b, &all);
    return all.step_s > 0 ? all.samples / all.step_s : 0;
}

/* Fill load [n_nodes] with the load of each node's link, as a fraction of its capacity. The load is
 * the models that parties rooted on the node read, and the stripes of other parties' increments.
 * period_s of each party must be known.
 */
static void add_loads(const struct modes_setup *s, const struct party *p, int n, double *load)
{
    double m = centre_bytes(s) / s->bytes_per_s, nodes = s->n_nodes, sum = 0;

    for (int g = 0; g < n; g++)
        sum += m / nodes / p[g].period_s;
    for (int k = 0; k < s->n_nodes; k++)
        load[k] = sum;
    for (int g = 0; g < n; g++)
        load[p[g].root] += m * (nodes - 2) / nodes / p[g].period_s;
}

/* Seconds that an exchange of models takes, the same for every party */
struct exchange {
    double wire_s;    /* reading or writing the part on other nodes, on a link without load */
    double latency_s; /* of that */
    double local_s;   /* reading or writing the center variable in memory */
    double link_s;    /* sending the result from node to node, if a party has several */
    double memory_s;  /* copying the result inside a node, if a party has several workers there */
};

static struct exchange exchange_of(const struct modes_setup *s)
{
    double m = centre_bytes(s), values = (double)s->model_bytes, nodes = s->n_nodes;
    struct exchange x = { .local_s = 3 * m / MEMORY_BYTES_PER_S,
                          .memory_s = values / MEMORY_BYTES_PER_S };

    if (has_wire(s)) {
        x.wire_s = m * (nodes - 1) / nodes / s->bytes_per_s;
        x.latency_s = 2 * s->latency_s;
        x.link_s = values / s->bytes_per_s;
    }
    return x;
}

/* Return the seconds from one exchange of models of party p to the next, `period` steps later, and
 * set p->hidden_s.  load: load of the root's link by other parties.
 */
static double exchange_period_s(const struct exchange *x, struct party *p, int64_t period,
                                double load)
{
    double wire = x->wire_s * slowed(load) + x->latency_s;
    double spread = p->members > p->nodes ? x->memory_s : 0;
    double steps = (double)period * p->step_s, least = READ_AHEAD_LEAST * p->step_s;
    double written = wire + x->local_s, wait = wire < least ? wire : least;

    p->hidden_s = 0;
    if (p->nodes > 1) /* the root writes and passes the model on by the same link */
        return steps + wire + x->local_s + wire + x->link_s + spread;
    if (steps > written)
        p->hidden_s = larger(wire - larger(wait, written + wire - steps), 0);
    return larger(steps + wait, written + wire) + x->local_s + spread;
}

/* Move period_s of each party towards its value under these loads, once. Return the largest
 * relative change of a period_s.
 */
static double settle_once(const struct buckets *b, const struct exchange *x, struct party *p, int n,
                          int64_t period, const double *load)
{
    double change = 0;

    for (int g = 0; g < n; g++) {
        double before = p[g].period_s, own = before > 0 ? x->wire_s / before : 0;
        double others = larger(load[p[g].root] - own, 0), now;

        if (p[g].gradients.ring_s > 0)
            p[g].step_s = step_s(b, &p[g], others);
        now = exchange_period_s(x, &p[g], period, others);
        /* Go only part of the way, so that loads and times do not oscillate. */
        p[g].period_s = before > 0 ? before + STEP * (now - before) : now;
        if (p[g].period_s > 0)
            change = larger(change, fabs(p[g].period_s - before) / p[g].period_s);
    }
    return change;
}

/* Compute period_s of each party and load [n_nodes], the load of each node's link, by iteration
 * until both agree. load must be 0 before. Without has_wire it stays 0.
 */
static void settle(const struct modes_setup *s, struct party *p, int n, int64_t period,
                   double *load)
{
    const struct buckets b = buckets_of(s);
    const struct exchange x = exchange_of(s);

    for (int i = 0; i < ITERATIONS; i++) {
        double change = settle_once(&b, &x, p, n, period, load);

        if (!has_wire(s) || change < AGREED)
            return;
        add_loads(s, p, n, load);
    }
}

/* Return the load of the busiest link, but at least 1. The caller multiplies all times by it, since
 * no link carries more than its capacity, which the iteration does not enforce.
 */
static double overload(const struct modes_setup *s, const double *load)
{
    double heaviest = 1;

    for (int k = 0; k < s->n_nodes; k++)
        heaviest = fmax(heaviest, load[k]);
    return heaviest;
}

int modes_elastic(const struct modes_setup *s, const int *group, int64_t period,
                  double *ret_samples_per_s, struct eddis_error *err)
{
    int n;
    cleanup_free struct party *p = gather(s, group, &n);
    cleanup_free double *load = calloc((size_t)s->n_nodes + 1, sizeof *load);
    double sum = 0;

    if (!p || !load)
        return eddis_fail(err, -ENOMEM, "no memory to predict the modes");
    settle(s, p, n, period, load);
    for (int g = 0; g < n; g++)
        if (p[g].period_s > 0)
            sum += (double)period * p[g].samples / p[g].period_s;
    *ret_samples_per_s = sum / overload(s, load);
    return 0;
}

int modes_unexchanged(const struct modes_setup *s, const int *group, double *ret_samples_per_s,
                      struct eddis_error *err)
{
    int n;
    cleanup_free struct party *p = gather(s, group, &n);

    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory to predict the modes");
    *ret_samples_per_s = 0;
    for (int g = 0; g < n; g++)
        if (p[g].step_s > 0)
            *ret_samples_per_s += p[g].samples / p[g].step_s;
    return 0;
}

int modes_times(const struct modes_setup *s, const int *group, int64_t period,
                struct modes_time *ret, struct eddis_error *err)
{
    int n;
    cleanup_free struct party *p = gather(s, group, &n);
    cleanup_free double *load = calloc((size_t)s->n_nodes + 1, sizeof *load);

    if (!p || !load)
        return eddis_fail(err, -ENOMEM, "no memory to predict the modes");
    if (period > 0)
        settle(s, p, n, period, load);
    for (int g = 0; g < n; g++) {
        ret[g] = (struct modes_time){ .compute_s = p[g].compute_s,
                                      .exposed_s = p[g].step_s - p[g].compute_s,
                                      .nodes = p[g].nodes };
        if (period > 0)
            ret[g].exchange_s =
                p[g].period_s * overload(s, load) - (double)period * p[g].step_s + p[g].hidden_s;
        ret[g].hidden_s = period > 0 ? p[g].hidden_s : 0;
    }
    return n;
}

/* ---- rounds ---- */

double modes_round_batches(double epoch_steps, int64_t period)
{
    double most = (double)period;

    return epoch_steps > 0 ? epoch_steps / ceil(epoch_steps / most) : most;
}

double modes_longest_round(double epoch_steps, int64_t period)
{
    double most = (double)period;

    if (period > 1 && epoch_steps > most && epoch_steps < 2 * most)
        return epoch_steps / 2;
    return epoch_steps > 0 ? fmin(epoch_steps, most) : most;
}

double modes_shortest_round(double epoch_steps, int64_t period)
{
    double most = (double)period, rest = fmod(epoch_steps, most);

    if (epoch_steps <= 0 || (epoch_steps > most && !(rest > 0)))
        return most;
    if (epoch_steps <= most)
        return epoch_steps;
    return period > 1 ? (most + rest) / 2 : rest;
}

/* Return the number of steps that a group with `samples` in a step of the plan makes in a round, as
 * lib/data/sample_rounds divides it. total: samples of all n groups in a step of the plan; batches:
 * of modes_round_batches.
 */
static double steps_of_round(const struct modes_setup *s, double samples, double total, int n,
                             double batches)
{
    double most = fmax(fmin(samples, ceil(total / n)), 1), count = batches * samples;
    double least = fmax((double)s->program.min_count, 1);

    return batches <= 1 ? 1 : fmax(fmin(ceil(count / most), floor(count / least)), 1);
}

/* Gather the parties with compute_s and step_s of a step of a round, and period_s, the seconds of
 * all its steps. Return as gather.
 */
static struct party *gather_rounds(const struct modes_setup *s, const int *group, int64_t period,
                                   int *ret_n)
{
    const struct buckets b = buckets_of(s);
    struct party *p = gather(s, group, ret_n);
    double total = 0, batches = modes_round_batches(s->epoch_steps, period);

    for (int g = 0; p && g < *ret_n; g++) {
        total += p[g].samples;
        p[g].compute_s = 0;
    }
    for (int i = 0; p && i < s->n; i++) {
        const struct modes_worker *w = &s->worker[i];
        struct party *of = &p[group ? group[i] : i];
        double steps = steps_of_round(s, of->samples, total, *ret_n, batches);
        double batch = (double)w->batch * batches / steps;

        if (w->batch > 0)
            of->compute_s = fmax(of->compute_s, w->t.fixed_s + w->t.sample_s * batch);
    }
    for (int g = 0; p && g < *ret_n; g++) {
        if (!(p[g].samples > 0))
            continue;
        set_step(s, &b, &p[g]);
        p[g].period_s = p[g].step_s * steps_of_round(s, p[g].samples, total, *ret_n, batches);
    }
    return p;
}

/* Return the bytes of differences of models that 16 bits halve (narrow, see wire_bytes).
 * Differences of 16-bit parameters are float32, so 2 more bytes of the centre than of the gradients
 * are 4 bytes of float32; those of float64 are not narrowed.
 */
static double narrow_centre(const struct program *p)
{
    double m = (double)p->centre_bytes, more = fmax(m - (double)p->gradient_bytes, 0);

    return fmin((double)p->float32_bytes + 2 * more, m);
}

/* Return the seconds from the end of the last step of a round to the first step of the next. */
static double combine_s(const struct modes_setup *s)
{
    struct program p = program_sizes(&s->program, s->model_bytes);
    double m = (double)p.centre_bytes;
    struct combining c = combining_bytes(s, s->n, s->n_nodes, m, narrow_centre(&p));

    return c.node_s + c.ring_s + 3 * m / MEMORY_BYTES_PER_S;
}

void modes_sending(const struct modes_setup *s, struct modes_sending *ret)
{
    struct program p = program_sizes(&s->program, s->model_bytes);
    double all = program_is_external(&s->program) ? 0 : (double)p.gradient_bytes;
    struct buckets b = buckets_of(s);

    *ret = (struct modes_sending){
        .gradient_bytes = all,
        .wire_bytes = wire_bytes(s, all, fmin((double)p.float32_bytes, all)),
        .model_bytes = (double)p.centre_bytes,
        .model_wire_bytes = wire_bytes(s, (double)p.centre_bytes, narrow_centre(&p)),
        .buckets = b.n,
        .behind = b.behind,
        .left = b.left,
    };
}

/* Return the part of combine_s that the first steps of a party's next round do not hide.  period_s
 * of the party is that of its steps.
 */
static double exposed_combine_s(const struct modes_setup *s, const struct party *p)
{
    double hidden_s = fmin((double)s->overlap * p->step_s, p->period_s);

    return fmax(combine_s(s) - hidden_s, 0);
}

int modes_rounds(const struct modes_setup *s, const int *group, int64_t period,
                 double *ret_samples_per_s, struct eddis_error *err)
{
    int n;
    cleanup_free struct party *p = gather_rounds(s, group, period, &n);
    double samples = 0, round_s = 0;

    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory to predict the modes");
    for (int g = 0; g < n; g++) {
        samples += p[g].samples;
        round_s = fmax(round_s, p[g].period_s + exposed_combine_s(s, &p[g]));
    }
    *ret_samples_per_s =
        round_s > 0 ? modes_round_batches(s->epoch_steps, period) * samples / round_s : 0;
    return 0;
}

int modes_round_times(const struct modes_setup *s, const int *group, int64_t period,
                      struct modes_time *ret, struct eddis_error *err)
{
    int n;
    cleanup_free struct party *p = gather_rounds(s, group, period, &n);

    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory to predict the modes");
    for (int g = 0; g < n; g++)
        ret[g] = (struct modes_time){ .compute_s = p[g].compute_s,
                                      .exposed_s = p[g].step_s - p[g].compute_s,
                                      .exchange_s = exposed_combine_s(s, &p[g]),
                                      .nodes = p[g].nodes };
    return n;
}
