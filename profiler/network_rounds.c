/* SPDX-License-Identifier: Apache-2.0 */
/* network_rounds.c - assign pairs of nodes to rounds, and pairs on one machine to time slots */
#include "network_rounds.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <string.h>

/* Return the rank's partner in a round of a round-robin tournament of all n ranks; -1: none. Circle
 * method: one rank stays, the other ranks rotate.
 */
static int circle_partner(int n, int round, int rank)
{
    int seats = n + n % 2, turn = seats - 1, partner;

    if (rank == seats - 1)
        partner = round * (seats / 2) % turn;
    else
        partner = (round - rank % turn + turn) % turn;
    if (rank != seats - 1 && partner == rank)
        partner = seats - 1;
    return partner < n ? partner : -1;
}

/* Return the rank's partner in a round of a ring of n ranks; -1: none. Round 0 has the edges that
 * begin at an even rank, round 1 those that begin at an odd rank, round 2 the closing edge of an
 * odd ring.
 */
static int ring_partner(int n, int round, int rank)
{
    int partner = (rank + round) % 2 ? rank - 1 : rank + 1;

    if (round == 2)
        return rank == 0 ? n - 1 : rank == n - 1 ? 0 : -1;
    if (n % 2)
        return partner < n ? partner : -1;
    return (partner + n) % n;
}

/* Return the number of rounds for all edges of a ring. */
static int ring_rounds(int n)
{
    return n % 2 ? 3 : 2;
}

int network_rounds(int n)
{
    int rounds = ring_rounds(n);

    if (n < 2)
        return 0;
    if (n <= NETWORK_ALL_PAIRS)
        return n + n % 2 - 1;
    for (int distance = 2; distance < n; distance *= 2)
        rounds++;
    return rounds;
}

int network_partner(int n, int round, int rank)
{
    int partner;

    if (n <= NETWORK_ALL_PAIRS)
        return circle_partner(n, round, rank);
    if (round < ring_rounds(n))
        return ring_partner(n, round, rank);
    partner = rank ^ (2 << (round - ring_rounds(n)));
    return partner < n ? partner : -1;
}

/* ---- time slots ---- */

/* A rank and its machine */
struct resident {
    int64_t machine;
    int rank;
};

/* Order residents by machine, then by rank, for qsort. */
static int by_machine(const void *x, const void *y)
{
    const struct resident *a = x, *b = y;

    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    return a->rank - b->rank;
}

/* Write the lowest rank of each rank's machine to ret [n]; r [n] is scratch space. */
static void first_residents(const int64_t *machine, int n, struct resident *r, int *ret)
{
    for (int i = 0; i < n; i++)
        r[i] = (struct resident){ machine[i], i };
    qsort(r, (size_t)n, sizeof *r, by_machine);
    for (int i = 0, first = 0; i < n; i++) {
        if (r[i].machine != r[first].machine)
            first = i;
        ret[r[i].rank] = r[first].rank;
    }
}

/* Return the rank's time slot and the number of slots in a round. A pair takes a slot of the
 * machine of its lower rank. first [n]: lowest rank on each rank's machine; count [n] is scratch
 * space.
 */
static struct network_turn turn_in(const int *first, int n, int round, int rank, int *count)
{
    int partner = network_partner(n, round, rank), lower = partner < rank ? partner : rank;
    struct network_turn ret = { -1, 1 };

    memset(count, 0, (size_t)n * sizeof *count);
    for (int i = 0; i < n; i++) {
        int turn;

        if (network_partner(n, round, i) < i)
            continue;
        turn = count[first[i]]++ % NETWORK_TURNS;
        ret.n = turn >= ret.n ? turn + 1 : ret.n;
        if (partner >= 0 && i == lower)
            ret.own = turn;
    }
    return ret;
}

int network_turns(const int64_t *machine, int n, int rank, struct network_turn *ret,
                  struct eddis_error *err)
{
    cleanup_free struct resident *r = calloc((size_t)n, sizeof *r);
    cleanup_free int *first = calloc((size_t)n, sizeof *first);
    cleanup_free int *count = calloc((size_t)n, sizeof *count);

    if (!r || !first || !count)
        return eddis_fail(err, -ENOMEM, "no memory for the rounds of %d nodes", n);
    first_residents(machine, n, r, first);
    for (int round = 0; round < network_rounds(n); round++)
        ret[round] = turn_in(first, n, round, rank, count);
    return 0;
}
