/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.c - what to measure next, predicting the rest, and choosing limits by it */
#include "tuner.h"

#include "shm.h"

#include <math.h>
#include <stdio.h>

enum {
    MAX_RUNS = 2, /* the quicker one counts */
    MUST = 2,     /* rungs that are measured though they do not fit: two make a line */
    MESSAGE_KINDS = TUNER_RING + 1,
    SIZES = TUNER_RUNGS + 1, /* that limits are chosen by: one more is predicted */
    STAGE_MOST = 8,          /* times the usual, of a piece between nodes */
};

#define MAY_WIN 3.0  /* times the predicted best: worth a try */
#define LIKELY  1.5  /* times the predicted best: worth it if that makes room for a second run */
#define CROSSES 1.15 /* times as long among hosts, when several buckets are halved at once */
#define CLEARLY 1.1  /* times faster in the mean of the rungs, or in all: worth another choice */
#define SLOWER  2.0  /* times slower: shared memory is not taken */
#define LATENCY 8    /* a piece travels so many times as long as its latency */

size_t tuner_bytes(int rung)
{
    size_t bytes = TUNER_FIRST_BYTES;

    while (rung-- > 0)
        bytes *= TUNER_GROWTH;
    return bytes;
}

void tuner_init(struct tuner *t, const struct comm_place *p, size_t shared_bytes, double budget_s)
{
    *t = (struct tuner){ .place = *p, .shared_bytes = shared_bytes, .left_s = budget_s };
}

static bool is_possible(const struct tuner *t, int kind)
{
    if (kind == TUNER_SHARED)
        return t->shared_bytes > 0;
    return kind != TUNER_DIRECT || t->place.n_ranks <= COMM_DIRECT_RANKS;
}

/* ---- predicting ---- */

/* The last rung before `before` at which the kind was measured, or -1. */
static int rung_measured(const struct tuner *t, int kind, int before)
{
    int i = before - 1;

    while (i >= 0 && t->seconds[i][kind] <= 0)
        i--;
    return i;
}

/* Seconds a byte between the kind's last two measured rungs; 0 when there are none. */
static double slope(const struct tuner *t, int kind)
{
    int last = rung_measured(t, kind, t->n), first = rung_measured(t, kind, last);
    double s;

    if (first < 0)
        return 0;
    s = (t->seconds[last][kind] - t->seconds[first][kind]) /
        (double)(tuner_bytes(last) - tuner_bytes(first));
    return s > 0 ? s : 0;
}

/* ---- the formulas of tuner.h ---- */

static bool has_guests(const struct tuner *t)
{
    return exp2(floor(log2(t->place.n_ranks))) < t->place.n_ranks;
}

/* Messages one after the other. */
static double kind_steps(const struct tuner *t, int kind)
{
    double p = t->place.n_ranks;

    switch (kind) {
    case TUNER_DIRECT:
        return 1;
    case TUNER_TREE:
        return 2 * ceil(log2(p));
    case TUNER_HALVING:
        return 2 * floor(log2(p)) + (has_guests(t) ? 2 : 0);
    default:
        return 2 * (p - 1);
    }
}

/* How often the buffer goes over the busiest link. */
static double kind_copies(const struct tuner *t, int kind)
{
    double p = t->place.n_ranks;

    switch (kind) {
    case TUNER_DIRECT:
        return p - 1;
    case TUNER_TREE:
        return 2 * ceil(log2(p));
    case TUNER_HALVING:
        return 2 * (1 - 1 / p) + (has_guests(t) ? 2 : 0);
    default:
        return 2 * (1 - 1 / p);
    }
}

/* Seconds a byte of a message, as the kind says that is slowed most by them: a link that lets a few
 * hundred KB pass at once hides from some what all will see of more.
 */
static double byte_s(const struct tuner *t)
{
    double most = 0;

    for (int k = 0; k < MESSAGE_KINDS; k++)
        most = fmax(most, slope(t, k) / kind_copies(t, k));
    return most;
}

static double model_s(const struct tuner *t, int kind, size_t bytes)
{
    double a = t->seconds[0][TUNER_TREE] / kind_steps(t, TUNER_TREE);

    return kind_steps(t, kind) * a + kind_copies(t, kind) * byte_s(t) * (double)bytes;
}

/* Time of a kind at a rung, as measured or else predicted. */
static double time_s(const struct tuner *t, int kind, int rung)
{
    int last = rung_measured(t, kind, t->n);
    double own = kind == TUNER_SHARED ? slope(t, kind) : 0;
    double a_byte = own > 0 ? own : kind_copies(t, kind) * byte_s(t);

    if (!is_possible(t, kind))
        return INFINITY;
    if (rung < TUNER_RUNGS && t->seconds[rung][kind] > 0)
        return t->seconds[rung][kind];
    if (last < 0 || rung < last)
        return model_s(t, kind, tuner_bytes(rung));
    return t->seconds[last][kind] + a_byte * (double)(tuner_bytes(rung) - tuner_bytes(last));
}

/* By messages. */
static double best_s(const struct tuner *t, int rung)
{
    double best = INFINITY;

    for (int k = 0; k < MESSAGE_KINDS; k++)
        best = fmin(best, time_s(t, k, rung));
    return best;
}

/* Time as it counts for the choice.  On a full link halving and a ring take the same time alone.
 * But buckets that are halved at once send to unlike partners, two of them to one host while
 * another's link is idle; those in a ring never meet.  Between nodes that share memory a bucket's
 * pieces follow each other.
 */
static double weighed_s(const struct tuner *t, int kind, int rung)
{
    bool crosses = kind == TUNER_HALVING && t->place.hosts && !t->few;

    return time_s(t, kind, rung) * (crosses ? CROSSES : 1);
}

/* ---- what to measure ---- */

/* At first trees, which are never bad, and with few ranks all; shared memory wherever it is there.
 */
static bool is_tried(const struct tuner *t, int kind, double may_win)
{
    double s;

    if (kind == TUNER_SHARED)
        return tuner_bytes(t->n) <= t->shared_bytes &&
               (t->n == 0 || time_s(t, kind, t->n) <= t->left_s);
    if (t->n == 0)
        return kind == TUNER_TREE || t->place.n_ranks <= COMM_DIRECT_RANKS;
    s = time_s(t, kind, t->n);
    return s <= may_win * best_s(t, t->n) &&
           (s <= t->left_s || (t->n < MUST && kind == TUNER_TREE));
}

/* Choose the kinds of the next rung.  Returns how long one run of each takes. */
static double next_kinds(const struct tuner *t, double may_win, struct tuner_rung *ret)
{
    static const char *const name[TUNER_KINDS] = { "direct", "tree", "halving", "ring", "shared" };
    double all = 0;

    for (int k = 0; k < TUNER_KINDS; k++) {
        bool tried = is_tried(t, k, may_win);

        ret->kind[k] = tried ? name[k] : NULL;
        all += tried && t->n ? time_s(t, k, t->n) : 0;
    }
    return all;
}

bool tuner_next(const struct tuner *t, struct tuner_rung *ret)
{
    double all;
    bool any = false;

    *ret = (struct tuner_rung){ .runs = MAX_RUNS, .warm_up = t->n == 0 };
    if (t->n == TUNER_RUNGS || t->place.n_ranks < 2)
        return false;
    ret->bytes = tuner_bytes(t->n);
    all = next_kinds(t, MAY_WIN, ret);
    if (all <= t->left_s && all * ret->runs > t->left_s) {
        all = next_kinds(t, LIKELY, ret);
        if (all * ret->runs > t->left_s)
            all = next_kinds(t, MAY_WIN, ret);
    }
    while (ret->runs > 1 && all * ret->runs > t->left_s)
        ret->runs--;
    for (int k = 0; k < TUNER_KINDS; k++)
        any |= ret->kind[k] != NULL;
    return any && (t->n < MUST || all <= t->left_s);
}

void tuner_note(struct tuner *t, const double *seconds)
{
    struct tuner_rung rung;

    if (!tuner_next(t, &rung))
        return;
    for (int k = 0; k < TUNER_KINDS; k++)
        if (rung.kind[k]) {
            t->seconds[t->n][k] = seconds[k];
            t->left_s -= seconds[k] * (rung.runs + rung.warm_up);
        }
    t->n++;
}

/* ---- what to make of it ---- */

/* The rungs that limits are chosen by: where a tenth in all counts none that is predicted. */
static int sizes(const struct tuner *t)
{
    return t->few ? t->n : SIZES;
}

/* A limit between the rung and the one below it, or beyond the last. */
static size_t size_before(const struct tuner *t, int rung, size_t usual)
{
    size_t below = rung ? tuner_bytes(rung - 1) : 0;

    if (rung == sizes(t))
        return below > usual ? below : usual;
    return (size_t)sqrt((double)below * (double)tuner_bytes(rung));
}

/* As allreduce_choose. */
static int kind_of(const struct tuner *t, const struct comm_limits *l, size_t bytes)
{
    if (is_possible(t, TUNER_DIRECT) && bytes <= l->direct_bytes)
        return TUNER_DIRECT;
    if (bytes <= l->tree_bytes)
        return TUNER_TREE;
    return bytes <= l->halving_bytes ? TUNER_HALVING : TUNER_RING;
}

/* Logarithm of the times of all rungs multiplied: thus one disturbed figure does not decide alone.
 */
static double loss(const struct tuner *t, const struct comm_limits *l)
{
    double all = 0;

    for (int i = 0; i < sizes(t); i++)
        all += log(weighed_s(t, kind_of(t, l, tuner_bytes(i)), i));
    return all;
}

/* The usual limits, or those between two rungs that are clearly better. */
static struct comm_limits best_limits(const struct tuner *t)
{
    const struct comm_limits usual = comm_limits(&t->place);
    struct comm_limits best = usual, l = best;
    double least = loss(t, &best) - (t->few ? 1 : SIZES) * log(CLEARLY);

    for (int trees = 0; trees <= sizes(t); trees++)
        for (int halvings = trees; halvings <= sizes(t); halvings++)
            for (int rings = halvings; rings <= sizes(t); rings++) {
                l.direct_bytes = size_before(t, trees, usual.direct_bytes);
                l.tree_bytes = size_before(t, halvings, usual.tree_bytes);
                l.halving_bytes = size_before(t, rings, usual.halving_bytes);
                if (loss(t, &l) < least) {
                    least = loss(t, &l);
                    best = l;
                }
            }
    return best;
}

/* Whether memory of the nodes is not clearly slower than messages with these limits, all rungs
 * multiplied: of two runs on a busy machine one would else take the other way.
 */
static bool is_shared_taken(const struct tuner *t, const struct comm_limits *l)
{
    double all = 0;
    int n = 0;

    for (int i = 0; i < t->n; i++)
        if (t->seconds[i][TUNER_SHARED] > 0) {
            all += log(t->seconds[i][TUNER_SHARED] / time_s(t, kind_of(t, l, tuner_bytes(i)), i));
            n++;
        }
    return n && all < n * log(SLOWER);
}

/* The line through the times of what is taken, which may be predicted, at the two largest sizes;
 * the latency is no less than that of a few bytes.  Times of small messages alone tell nothing of
 * the bandwidth.
 */
static void fit_cost(const struct tuner *t, const struct tuner_result *r, struct comm_cost *ret)
{
    enum { LAST = TUNER_RUNGS - 1 };
    double seconds[2], least = r->shared ? time_s(t, TUNER_SHARED, 0) : best_s(t, 0);
    double bytes = (double)tuner_bytes(LAST);

    for (int i = 0; i < 2; i++) {
        int rung = LAST - 1 + i;

        seconds[i] =
            time_s(t, r->shared ? TUNER_SHARED : kind_of(t, &r->limits, tuner_bytes(rung)), rung);
    }
    if (t->n <= MUST || seconds[1] <= seconds[0])
        return;
    ret->bytes_per_s = (bytes - (double)tuner_bytes(LAST - 1)) / (seconds[1] - seconds[0]);
    ret->latency_s = fmax(least, seconds[1] - bytes / ret->bytes_per_s);
}

/* "64 KB" */
static const char *size_text(size_t bytes, char *ret, size_t n)
{
    const size_t mb = (size_t)1 << 20;

    (void)snprintf(ret, n, bytes < mb ? "%.3g KB" : "%.3g MB",
                   (double)bytes / (bytes < mb ? 1024 : (double)mb));
    return ret;
}

/* "direct up to 64 KB, by a tree up to 1 MB, by a ring above" */
static void messages_text(const struct tuner *t, const struct comm_limits *l, char *ret, size_t n)
{
    const struct {
        const char *how;
        size_t limit;
    } row[] = { { "direct", is_possible(t, TUNER_DIRECT) ? l->direct_bytes : 0 },
                { "by a tree", l->tree_bytes },
                { "by halving", l->halving_bytes } };
    size_t above = 0, used = 0;
    char size[24];

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (row[i].limit <= above)
            continue;
        above = row[i].limit;
        used += (size_t)snprintf(ret + used, n - used, "%s up to %s, ", row[i].how,
                                 size_text(above, size, sizeof size));
    }
    (void)snprintf(ret + used, n - used, "by a ring%s", above ? " above" : "");
}

static void explain(const struct tuner *t, struct tuner_result *r)
{
    char how[160] = "in memory that ranks of a node share";

    if (!r->shared)
        (void)snprintf(how, sizeof how, "%s", r->messages);
    else if (t->between)
        (void)snprintf(how, sizeof how, "in memory that ranks of a node share, between nodes %s",
                       r->messages);
    if (r->cost.bytes_per_s > 0)
        (void)snprintf(r->reason, sizeof r->reason,
                       "an all-reduce lasts %.3g ms and %.3g ms a MB, as measured: %s",
                       r->cost.latency_s * 1e3, 1e9 / r->cost.bytes_per_s, how);
    else
        (void)snprintf(r->reason, sizeof r->reason, "%s: %s",
                       t->n <= MUST ? "messages are too slow to measure more"
                                    : "what a MB takes could not be measured",
                       how);
}

void tuner_choose(const struct tuner *t, struct tuner_result *ret)
{
    *ret = (struct tuner_result){ .limits = comm_limits(&t->place) };
    if (t->n >= MUST)
        ret->limits = best_limits(t);
    ret->shared = is_shared_taken(t, &ret->limits);
    fit_cost(t, ret, &ret->cost);
    messages_text(t, &ret->limits, ret->messages, sizeof ret->messages);
    if (ret->shared && t->between) {
        ret->limits = t->between->limits;
        (void)snprintf(ret->messages, sizeof ret->messages, "%s", t->between->messages);
    }
    explain(t, ret);
}

/* The cost's latency is that of few bytes, which take 2 log2 n steps; a ring has 2 (n - 1). */
size_t tuner_stage_bytes(const struct comm_cost *c, const struct comm_limits *l, int n_nodes)
{
    const size_t usual = COMM_SHM_PIECE_BYTES, most = STAGE_MOST * usual;
    double bytes = LATENCY * c->latency_s * c->bytes_per_s;

    if (n_nodes > 2 && fmax(bytes, (double)usual) > (double)l->halving_bytes)
        bytes *= (n_nodes - 1) / ceil(log2(n_nodes));
    return bytes < (double)usual ? usual : bytes < (double)most ? (size_t)bytes : most;
}
