/* SPDX-License-Identifier: Apache-2.0 */
/* slow_links.c - finds connections that have become slow, and the machine that they share */
#include "slow_links.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SLOWER = 1 / 0.7; /* slowdown from which a link is slow, as STRAGGLER_TIMES */
static const double OVER = 1.2;       /* slowdown below which a slow link is slow no longer */
/* Fraction of the extra step time that a slow connection must explain. */
static const double EXPLAINS = 0.5;
/* Seconds that a change must last before it is reported; readings come at most once a second. */
static const double LASTS_S = 3;
static const double FOLLOWS = 0.1; /* weight of the newest reading in the usual values */
static const double DOUBTS = 0.01; /* weight of a reading whose step is longer than usual */

enum { SETTLED = 10 }; /* readings after which the usual values are known */

/* Measurements of a connection: seconds in which it is busy in a step, seconds of a step,
 * bandwidth.
 */
struct metrics {
    double busy_s, step_s, bytes_per_s;
};

/* A worker's busiest connection. */
struct way {
    struct metrics now, usual;
    int node;     /* of the worker */
    int n;        /* readings in `usual`, at most SETTLED */
    int peer;     /* node at the other end */
    int64_t step; /* number of the last step */
    bool slow;
};

struct slow_links {
    int *ends; /* [n_nodes] ends of slow connections at each node; scratch */
    int n, n_nodes;
    int candidate, reported; /* rank to report, and rank reported as slow; -1: none */
    int at;                  /* rank whose connection is, or was, the slow one of `candidate` */
    int64_t since;           /* number of the step at which `candidate` changed */
    double noticed_s;        /* when it changed */
    struct slow_link last;   /* as reported */
    struct way way[];        /* [n] */
};

int slow_links_new(const int *node, int n, int n_nodes, struct slow_links **ret,
                   struct eddis_error *err)
{
    struct slow_links *s;

    if (n < 1 || n_nodes < 1)
        return eddis_fail(err, -EINVAL, "no links of %d workers on %d nodes", n, n_nodes);
    s = calloc(1, sizeof *s + (size_t)n * sizeof *s->way);
    if (s)
        s->ends = calloc((size_t)n_nodes, sizeof *s->ends);
    if (!s || !s->ends) {
        slow_links_free(s);
        return eddis_fail(err, -ENOMEM, "no memory to watch %d workers' links", n);
    }
    s->n = n;
    s->n_nodes = n_nodes;
    s->candidate = s->reported = -1;
    for (int i = 0; i < n; i++)
        s->way[i].node = node[i];
    *ret = s;
    return 0;
}

void slow_links_free(struct slow_links *s)
{
    if (!s)
        return;
    free(s->ends);
    free(s);
}

/* ---- one connection ---- */

/* Return by how much the connection is busier than usual in a step, as a fraction of the extra step
 * time, 0 to 1.
 */
static double explained(const struct way *w)
{
    double more_s = w->now.step_s - w->usual.step_s;

    return more_s > 0 ? fmin(fmax((w->now.busy_s - w->usual.busy_s) / more_s, 0), 1) : 0;
}

/* Check whether a connection is slow: steps are longer than usual, the connection carries less, and
 * it explains the extra time. If it was slow before, lower limits hold.
 */
static bool is_slow(const struct way *w)
{
    double times = w->slow ? OVER : SLOWER;

    return w->n >= SETTLED && w->now.step_s > times * w->usual.step_s &&
           w->now.bytes_per_s * times < w->usual.bytes_per_s &&
           explained(w) >= (w->slow ? EXPLAINS / 2 : EXPLAINS);
}

/* Move *usual towards `now`, by `part` of the difference. */
static void follow(double *usual, double now, double part)
{
    *usual += part * (now - *usual);
}

/* Enter the newest reading into the usual values. */
static void learn(struct way *w)
{
    double part = w->now.step_s > OVER * w->usual.step_s ? DOUBTS : FOLLOWS;

    if (w->n == 0)
        w->usual = w->now;
    w->n += w->n < SETTLED;
    follow(&w->usual.busy_s, w->now.busy_s, part);
    follow(&w->usual.step_s, w->now.step_s, part);
    follow(&w->usual.bytes_per_s, w->now.bytes_per_s, part);
}

void slow_links_take(struct slow_links *s, int rank, const struct link_load *l, int peer,
                     double step_s, int64_t step)
{
    struct way *w;

    if (rank < 0 || rank >= s->n)
        return;
    w = &s->way[rank];
    w->step = step;
    if (!isfinite(l->busy) || !isfinite(l->bytes_per_s) || !(step_s > 0) || peer < 0 ||
        peer >= s->n_nodes || peer == s->way[rank].node) {
        w->slow = false;
        return;
    }
    w->now = (struct metrics){ l->busy * step_s, step_s, l->bytes_per_s };
    w->peer = peer;
    w->slow = is_slow(w);
    if (!w->slow)
        learn(w);
}

/* ---- which machine ---- */

/* Return the node at which most slow connections end, from s->ends; -1: no connection is slow, or
 * two nodes have equally many.
 */
static int shared_node(const struct slow_links *s)
{
    int most = -1;
    bool alone = false;

    for (int i = 0; i < s->n_nodes; i++) {
        if (s->ends[i] == 0 || (most >= 0 && s->ends[i] < s->ends[most]))
            continue;
        alone = most < 0 || s->ends[i] > s->ends[most];
        most = alone ? i : most;
    }
    return alone ? most : -1;
}

/* Return the rank whose slow connection is reported for a node: the busiest one of the node's own
 * ranks, otherwise the busiest one to the node; -1: none is slow.
 */
static int slowest_of(const struct slow_links *s, int node)
{
    int ret = -1;

    for (int i = 0; i < s->n; i++) {
        const struct way *w = &s->way[i];
        bool own = s->way[i].node == node;

        if (!w->slow || !(own || w->peer == node))
            continue;
        if (ret < 0 || (own && s->way[ret].node != node) ||
            (own == (s->way[ret].node == node) && w->now.busy_s > s->way[ret].now.busy_s))
            ret = i;
    }
    return ret;
}

/* Return the first rank on a node; -1: none. */
static int first_of(const struct slow_links *s, int node)
{
    for (int i = 0; i < s->n; i++)
        if (s->way[i].node == node)
            return i;
    return -1;
}

/* Return the node to blame for the slow connections: the one that more of them begin or end at than
 * at any other node.  If there is only one, return its sender.  -1: none is slow, or two nodes have
 * equally many.  Recounts s->ends.
 */
static int find_node(struct slow_links *s)
{
    int n = 0, one = -1;

    memset(s->ends, 0, (size_t)s->n_nodes * sizeof *s->ends);
    for (int i = 0; i < s->n; i++) {
        if (!s->way[i].slow)
            continue;
        n++;
        one = s->way[i].node;
        s->ends[s->way[i].node]++;
        s->ends[s->way[i].peer]++;
    }
    return n == 1 && s->n_nodes > 2 ? one : shared_node(s);
}

/* Fill *ret with the report that a node's link is slow. rank: the first rank on the node. */
static void tell(const struct slow_links *s, int node, int rank, struct slow_link *ret)
{
    int at = slowest_of(s, node);
    const struct way *w = &s->way[at];

    *ret = (struct slow_link){ .rank = rank,
                               .from = s->way[at].node,
                               .to = w->peer,
                               .since = s->since,
                               .times = w->now.step_s / w->usual.step_s,
                               .confidence = explained(w),
                               .busy_s = w->now.busy_s,
                               .step_s = w->now.step_s,
                               .bytes_per_s = w->now.bytes_per_s,
                               .usual_bytes_per_s = w->usual.bytes_per_s };
}

/* Return the rank to report as slow: the reported one while any connection of its machine is slow,
 * otherwise the first rank of the node whose link is slow; -1: none.
 */
static int candidate_rank(struct slow_links *s)
{
    int node = find_node(s);

    if (s->reported >= 0 && slowest_of(s, s->way[s->reported].node) >= 0)
        return s->reported;
    return node >= 0 ? first_of(s, node) : -1;
}

bool slow_links_next(struct slow_links *s, double now_s, struct slow_link *ret)
{
    int rank = candidate_rank(s);

    if (rank != s->candidate || rank == s->reported) {
        s->candidate = rank;
        s->noticed_s = now_s;
        s->at = rank >= 0 ? slowest_of(s, s->way[rank].node) : s->at;
        s->since = s->way[s->at].step;
    }
    if (rank == s->reported || now_s - s->noticed_s < LASTS_S)
        return false;
    if (s->reported >= 0) {
        s->last.over = true;
        s->last.since = s->since;
        s->reported = -1;
    } else {
        tell(s, s->way[rank].node, rank, &s->last);
        s->reported = rank;
    }
    *ret = s->last;
    return true;
}

void slow_links_take_back(struct slow_links *s)
{
    s->reported = s->candidate = -1;
}
