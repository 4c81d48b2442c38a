/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.c - chooses the next measurement, predicts times, and chooses limits by them */
#include "tuner.h"

#include "shm.h"

#include <math.h>
#include <stdio.h>

enum {
    MAX_RUNS = 2, /* the faster one counts */
    MUST = 2,     /* rungs measured even beyond the budget: two points make a line */
    MESSAGE_KINDS = TUNER_RING + 1,
    /* number of sizes by which limits are chosen: one more than rungs, predicted */
    SIZES = TUNER_RUNGS + 1,
    STAGE_MOST = 8, /* largest piece between nodes, in multiples of the default */
};

/* A kind is not tried if its predicted time is more than this factor times that of the best. */
#define MAY_WIN 3.0
/* The same factor if fewer kinds make room for a second run of each. */
#define LIKELY 1.5

/* Factor for the time of halving among hosts, where several buckets at once disturb each other. */
#define CROSSES 1.15

/* The least speed-up for a choice other than the default, in the mean of the rungs; for `few` in
 * their product.
 */
#define CLEARLY 1.1
#define SLOWER  2.0 /* shared memory slower by this factor is not chosen */
#define LATENCY 8   /* a piece's transfer takes this many times its latency */

/* Return the size in bytes of a rung, 0 .. TUNER_RUNGS - 1. */
static size_t tuner_bytes(int rung)
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

/* Check whether the kind can be used by these ranks. */
static bool is_possible(const struct tuner *t, int kind)
{
    if (kind == TUNER_SHARED)
        return t->shared_bytes > 0;
    return kind != TUNER_DIRECT || t->place.n_ranks <= COMM_DIRECT_RANKS;
}

/* ---- predicting ---- */

/* Return the highest rung below `before` on which the kind was measured; negative: none. */
static int rung_measured(const struct tuner *t, int kind, int before)
{
    int i = before - 1;

    while (i >= 0 && t->seconds[i][kind] <= 0)
        i--;
    return i;
}

/* Return the seconds per byte between the kind's last two measured rungs; 0 if there are not two,
 * or if the later one was not slower.
 */
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

/* Check whether the number of ranks is no power of two, so that halving has extra ranks. */
static bool has_guests(const struct tuner *t)
{
    return exp2(floor(log2(t->place.n_ranks))) < t->place.n_ranks;
}

/* Return how many messages an all-reduce of this kind sends one after another, so how many
 * latencies it costs; see tuner.h.
 */
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

/* Return how many times a kind sends the data over the busiest link; see tuner.h. */
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

/* Return the seconds per byte of a message, the most that the measurements of any kind suggest.  A
 * link that lets a few hundred KB pass in a burst hides from some kinds the rate that larger data
 * gets.
 */
static double byte_s(const struct tuner *t)
{
    double most = 0;

    for (int k = 0; k < MESSAGE_KINDS; k++)
        most = fmax(most, slope(t, k) / kind_copies(t, k));
    return most;
}

/* Return the predicted seconds of a kind at a size, by the formulas of tuner.h. */
static double model_s(const struct tuner *t, int kind, size_t bytes)
{
    double a = t->seconds[0][TUNER_TREE] / kind_steps(t, TUNER_TREE);

    return kind_steps(t, kind) * a + kind_copies(t, kind) * byte_s(t) * (double)bytes;
}

/* Return the seconds of a kind at a rung, measured or else predicted; INFINITY if these ranks
 * cannot use it.
 */
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

/* Return the seconds of the fastest kind of message at a rung. */
static double best_s(const struct tuner *t, int rung)
{
    double best = INFINITY;

    for (int k = 0; k < MESSAGE_KINDS; k++)
        best = fmin(best, time_s(t, k, rung));
    return best;
}

/* Return a kind's seconds at a rung as they count for the choice.  Alone, halving and a ring take
 * the same time on a full link.  But several buckets halved at once use different partners: two may
 * use one host's link while another's is idle.  In a ring they never meet.  Between nodes that
 * share memory a bucket's pieces follow each other.
 */
static double weighed_s(const struct tuner *t, int kind, int rung)
{
    bool crosses = kind == TUNER_HALVING && t->place.hosts && !t->few;

    return time_s(t, kind, rung) * (crosses ? CROSSES : 1);
}

/* ---- the next measurement ---- */

/* Check whether the kind is measured on the next rung.  First rung: trees, which are never bad, and
 * with few ranks all kinds.  Later ones: kinds that are predicted to take at most may_win times the
 * best time and to fit into the budget.  Shared memory wherever it is available and fits.
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

/* Store the kinds of the next rung in ret->kind.  Return the predicted seconds of one run of each
 * kind together; 0 on the first rung.
 */
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

/* ---- the choice ---- */

/* Return the number of sizes by which limits are chosen: for `few` no predicted size counts. */
static int sizes(const struct tuner *t)
{
    return t->few ? t->n : SIZES;
}

/* Return the limit between a rung and the one below it, their geometric mean.  For the rung after
 * the last one return the last one's size, or `usual`, the default, if that is larger.
 */
static size_t size_before(const struct tuner *t, int rung, size_t usual)
{
    size_t below = rung ? tuner_bytes(rung - 1) : 0;

    if (rung == sizes(t))
        return below > usual ? below : usual;
    return (size_t)sqrt((double)below * (double)tuner_bytes(rung));
}

/* Return the kind of message that allreduce_choose takes with these limits for so many bytes. */
static int kind_of(const struct tuner *t, const struct comm_limits *l, size_t bytes)
{
    if (is_possible(t, TUNER_DIRECT) && bytes <= l->direct_bytes)
        return TUNER_DIRECT;
    if (bytes <= l->tree_bytes)
        return TUNER_TREE;
    return bytes <= l->halving_bytes ? TUNER_HALVING : TUNER_RING;
}

/* Return the logarithm of the product of the times of all rungs with these limits; a product, so
 * that one disturbed measurement does not decide alone.
 */
static double loss(const struct tuner *t, const struct comm_limits *l)
{
    double all = 0;

    for (int i = 0; i < sizes(t); i++)
        all += log(weighed_s(t, kind_of(t, l, tuner_bytes(i)), i));
    return all;
}

/* Return the limits with the smallest loss: the default ones, or limits between rungs that are
 * clearly better.
 */
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

/* Check whether shared memory was measured and is not clearly slower than messages with these
 * limits, in the product over all rungs.  Without that margin two runs on a busy machine would
 * choose differently.
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

/* Fit the cost: the line through the chosen kinds' times, measured or predicted, at the two largest
 * sizes; its latency is at least that of a few bytes.  Leave it 0 if only small messages were
 * measured, which do not show the bandwidth.
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

/* Write a size like "64 KB" to ret [n] and return ret, never NULL. */
static const char *size_text(size_t bytes, char *ret, size_t n)
{
    const size_t mb = (size_t)1 << 20;

    (void)snprintf(ret, n, bytes < mb ? "%.3g KB" : "%.3g MB",
                   (double)bytes / (bytes < mb ? 1024 : (double)mb));
    return ret;
}

/* Write the limits to ret [n], like "direct up to 64 KB, by a tree up to 1 MB, by a ring above". */
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

/* Write the sentence about the choice to r->reason. */
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
                       "a measured all-reduce takes %.3g ms plus %.3g ms per MB: %s",
                       r->cost.latency_s * 1e3, 1e9 / r->cost.bytes_per_s, how);
    else
        (void)snprintf(r->reason, sizeof r->reason, "%s: %s",
                       t->n <= MUST ? "messages are too slow to measure more"
                                    : "the time per MB could not be measured",
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

/* Return the size of pieces between nodes.  The cost's latency is that of a few bytes, which take 2
 * log2 n steps; a ring has 2 (n - 1).
 */
size_t tuner_stage_bytes(const struct comm_cost *c, const struct comm_limits *l, int n_nodes)
{
    const size_t usual = COMM_SHM_PIECE_BYTES, most = STAGE_MOST * usual;
    double bytes = LATENCY * c->latency_s * c->bytes_per_s;

    if (n_nodes > 2 && fmax(bytes, (double)usual) > (double)l->halving_bytes)
        bytes *= (n_nodes - 1) / ceil(log2(n_nodes));
    return bytes < (double)usual ? usual : bytes < (double)most ? (size_t)bytes : most;
}
