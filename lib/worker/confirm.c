/* SPDX-License-Identifier: Apache-2.0 */
/* confirm.c - send one message over each of a few links, and judge from them the whole network
 *
 * Every rank runs the same number of collectives in each turn, as the communication thread
 * requires.  A pair's collectives have two ranks; those of all other ranks have one member and are
 * done at once.
 */
#include "confirm.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Seconds that a measured message should take at the expected speed, and limits of its size in
 * bytes; FIRST: the same of a message before it, which is not measured.  That one lets the
 * connection reach its speed and uses up the burst that a shaped link allows.
 */
#define MESSAGE_S     0.016
#define MESSAGE_MOST  ((size_t)16 << 20)
#define MESSAGE_LEAST ((size_t)64 << 10)
#define FIRST_S       0.1
#define FIRST_MOST    ((size_t)512 << 10)

/* Number of passes over the links; each pass doubles the message, so that a busy core matters less.
 */
enum { PASSES = 3 };

#define RATIO_ONE 1000000 /* ratio 1 in fixed-point numbers */

/* The speed of one direction of a link. */
struct speed {
    double was; /* expected: bytes a second, as measured earlier */
    double now; /* bytes a second, measured now; 0: not measured yet */
};

/* The state of one confirm_network.  there, back: speeds from this rank and to it, of each row. */
struct confirming {
    struct collectives *all;
    int pass;
    const struct network_checks *asked;
    /* the links that this rank measures; peer -1: none */
    struct network_check_row row[NETWORK_CHECK_ROWS];
    struct speed there[NETWORK_CHECK_ROWS], back[NETWORK_CHECK_ROWS];
    void *message; /* [MESSAGE_MOST]; NULL if this rank sends nothing */
};

static const char what[] = "the check of the network";

/* ---- one message ---- */

/* The two ranks of a link, or this rank alone. */
struct pair {
    struct comm_place place;
    int peer[2];
};

/* Set up the pair of this rank and rank `with`; with -1: this rank alone. */
static void pair_init(struct pair *p, const struct confirming *c, int with)
{
    int own = c->all->place.rank;

    p->peer[0] = with < 0 || own < with ? own : with;
    p->peer[1] = own < with ? with : own;
    p->place = c->all->place;
    p->place.n_ranks = with < 0 ? 1 : 2;
    p->place.rank = with >= 0 && own > with;
    p->place.peer = p->peer;
    p->place.nodes = NULL;
    p->place.limits = NULL;
}

/* Copy data [bytes] from member `second` (0 or 1) of the pair to the other member.  A rank alone
 * runs an empty collective.  Return 0 or a negative errno.
 */
static int copy(const struct confirming *c, const struct pair *p, void *data, size_t bytes,
                int second, struct eddis_error *err)
{
    bool alone = p->place.n_ranks == 1;
    struct collective *made;
    int rc = broadcast_new(&p->place, data, alone ? 0 : bytes, alone ? 0 : second, &made, err);

    return rc < 0 ? rc : collectives_run(c->all, what, REQUEST_ALL, made, err);
}

/* Send a message of so many bytes from member `second` of the pair to the other, and wait for the
 * answer; *ret_s: seconds between the two, valid on the sender.  Return 0 or the failure of the
 * communication.
 */
static int message(const struct confirming *c, const struct pair *p, size_t bytes, int second,
                   double *ret_s, struct eddis_error *err)
{
    int64_t began = clock_now_ns(), answer = 0;
    int rc = copy(c, p, c->message, bytes, second, err);

    if (rc == 0)
        rc = copy(c, p, &answer, sizeof answer, !second, err);
    *ret_s = fmax((double)(clock_now_ns() - began) / (double)CLOCK_S, 1e-9);
    return rc;
}

/* Return the bytes that this speed carries in so many seconds, within MESSAGE_LEAST .. most. */
static size_t bytes_in(double seconds, double bytes_per_s, size_t most)
{
    double n = bytes_per_s * seconds;

    return n > (double)most ? most : n < (double)MESSAGE_LEAST ? MESSAGE_LEAST : (size_t)n;
}

/* Return the better of two measurements of a speed, s->now (0: none) and now: the one closer to the
 * expected speed.  A disturbance makes a message slower, or the next one faster; a speed that has
 * changed is never close.
 */
static double better(const struct speed *s, double now)
{
    return s->now > 0 && fabs(log(s->now / s->was)) < fabs(log(now / s->was)) ? s->now : now;
}

/* Measure the speed from member `second` of the pair to the other and store it in *s on both.
 * s->was must be set on the sender; the other member gets it.  Return 0 or the failure of the
 * communication.
 */
static int measure(const struct confirming *c, const struct pair *p, int second, struct speed *s,
                   struct eddis_error *err)
{
    double tell[2] = { s->was, fmax(s->was, s->now) }, taken_s = 1, ignored_s;
    size_t bytes;
    int rc = copy(c, p, tell, sizeof tell, second, err);

    if (rc == 0)
        rc = message(c, p, bytes_in(FIRST_S, tell[1], FIRST_MOST), second, &ignored_s, err);
    bytes = bytes_in(MESSAGE_S * (1 << c->pass), tell[1], MESSAGE_MOST);
    if (rc == 0)
        rc = message(c, p, bytes, second, &taken_s, err);
    tell[1] = (double)bytes / taken_s;
    if (rc == 0)
        rc = copy(c, p, tell, sizeof tell, second, err);
    s->was = tell[0];
    s->now = better(s, tell[1]);
    return rc;
}

/* ---- all links ---- */

/* Check whether the measured speed is as expected, or both it and the expected one are too high to
 * matter.
 */
static bool same(const struct speed *s)
{
    return (s->now >= s->was * NETWORK_CHECK_LEAST && s->now <= s->was * NETWORK_CHECK_MOST) ||
           (s->now >= NETWORK_CHECK_FAST && s->was >= NETWORK_CHECK_FAST);
}

/* Return the row of the link that this rank measures in a turn; -1: it has none, or has measured
 * both directions as expected.
 */
static int row_of(const struct confirming *c, int turn)
{
    for (int i = 0; i < NETWORK_CHECK_ROWS; i++)
        if (c->row[i].peer >= 0 && c->row[i].turn == turn &&
            (!c->back[i].now || !same(&c->there[i]) || !same(&c->back[i])))
            return i;
    return -1;
}

/* Measure both directions of this rank's link in this turn, if row_of has one.  Every rank takes
 * part in every turn.  Collective.  Return 0 or the failure of the communication.
 */
static int take_turn(struct confirming *c, int turn, struct eddis_error *err)
{
    int i = row_of(c, turn), rc = collectives_barrier(c->all, err);
    int with = i < 0 ? -1 : c->row[i].peer;
    struct pair p;

    pair_init(&p, c, with);
    for (int second = 0; rc == 0 && second < 2; second++) {
        struct speed nobody = { 0 };
        struct speed *of = i < 0 ? &nobody : p.place.rank == second ? &c->there[i] : &c->back[i];

        rc = measure(c, &p, second, of, err);
    }
    return rc;
}

/* The largest changes of this rank's links, and their mean speed. */
struct own {
    int64_t least, most;      /* least and greatest ratio of new to earlier speed, in millionths */
    int64_t wire_bytes_per_s; /* mean over the links; INT64_MAX: there are none */
    int64_t links;
    int slowest, fastest; /* rows of the links with `least` and `most` */
};

/* Return the ratio of the new to the earlier speed from this rank in a row, in millionths;
 * RATIO_ONE if the speed is as expected.
 */
static int64_t ratio_of(const struct confirming *c, int row)
{
    const struct speed *t = &c->there[row];

    return same(t) ? RATIO_ONE : (int64_t)(fmin(t->now / t->was, RATIO_ONE) * RATIO_ONE);
}

/* Return this rank's slowest and fastest link in relation to earlier, and the mean speed of its
 * links.
 */
static struct own own_of(const struct confirming *c)
{
    struct own o = { INT64_MAX, 0, INT64_MAX, 0, 0, 0 };
    double sum = 0;

    for (int i = 0; i < NETWORK_CHECK_ROWS && c->row[i].peer >= 0; i++) {
        int64_t ratio = ratio_of(c, i);

        o.slowest = ratio < o.least ? i : o.slowest;
        o.fastest = ratio > o.most ? i : o.fastest;
        o.least = ratio < o.least ? ratio : o.least;
        o.most = ratio > o.most ? ratio : o.most;
        sum += (c->there[i].now + c->back[i].now) / 2;
        o.links++;
    }
    if (o.links)
        o.wire_bytes_per_s = (int64_t)(sum / (double)o.links);
    return o;
}

/* Store in *ret, on all ranks, ends and speeds of the link that changed most: the slowest if
 * `slower`, otherwise the fastest.  `mine`: it is one of this rank's; the lowest such rank fills it
 * in.  Collective.  Return 0 or a negative errno.
 */
static int name_link(const struct confirming *c, const struct own *o, bool slower, bool mine,
                     struct network_check *ret, struct eddis_error *err)
{
    const struct comm_place *at = &c->all->place;
    int64_t first = mine ? at->rank : at->n_ranks;
    int i = slower ? o->slowest : o->fastest, rc = collectives_least(c->all, &first, 1, err);

    if (rc < 0)
        return rc;
    if (first == at->rank) {
        ret->from = at->rank;
        ret->to = c->row[i].peer;
        ret->was_bytes_per_s = c->there[i].was;
        ret->bytes_per_s = c->there[i].now;
    }
    return collectives_broadcast(c->all, ret, sizeof *ret, (int)first, err);
}

/* Combine the results of all ranks into *ret, the same on all; leave it as it is if no rank has a
 * link.  Collective.  Return 0 or a negative errno.
 */
static int sum_up(const struct confirming *c, struct network_check *ret, struct eddis_error *err)
{
    const struct own o = own_of(c);
    int64_t all[4] = { o.least, -o.most, o.wire_bytes_per_s, -o.links };
    int rc = collectives_least(c->all, all, 4, err);
    bool slower;

    if (rc < 0 || all[3] == 0)
        return rc;
    slower = (double)all[0] < RATIO_ONE * NETWORK_CHECK_LEAST;
    ret->known = 1;
    ret->holds = !slower && (double)-all[1] <= RATIO_ONE * NETWORK_CHECK_MOST;
    ret->wire_bytes_per_s = (double)all[2];
    return name_link(c, &o, slower, slower ? o.least == all[0] : o.links && -o.most == all[1], ret,
                     err);
}

/* Measure all links, in up to PASSES passes, until ret->holds: the network is as expected.
 * Collective.  Return 0 or a negative errno.
 */
static int measure_all(struct confirming *c, struct network_check *ret, struct eddis_error *err)
{
    int rc = 0;

    for (c->pass = 0; rc == 0 && !ret->holds && c->pass < PASSES; c->pass++) {
        for (int turn = 0; rc == 0 && turn < c->asked->turns; turn++)
            rc = take_turn(c, turn, err);
        if (rc == 0)
            rc = sum_up(c, ret, err);
    }
    return rc;
}

int confirm_network(struct collectives *all, const struct board_area *area,
                    struct network_check *ret, struct eddis_error *err)
{
    struct confirming c = { .all = all, .asked = area ? &area->checks : NULL };
    bool first = area && all->place.rank == area->first_rank;
    int rc;

    *ret = (struct network_check){ 0 };
    if (!area || !area->checks.turns)
        return 0;
    for (int i = 0; i < NETWORK_CHECK_ROWS; i++) {
        c.row[i] = area->checks.row[i];
        c.row[i].peer = first ? c.row[i].peer : -1;
        c.there[i].was = c.row[i].bytes_per_s;
    }
    c.message = first ? calloc(1, MESSAGE_MOST) : NULL;
    rc = first && !c.message ? eddis_fail(err, -ENOMEM, "no memory to check the network") : 0;
    rc = collectives_agree(all, rc, err);
    if (rc == 0)
        rc = measure_all(&c, ret, err);
    free(c.message);
    return rc;
}
