/* SPDX-License-Identifier: Apache-2.0 */
/* probe_network.c - measure latency and bandwidth between ranks, pair by pair */
#include "probe_network.h"

#include "network_rounds.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/comm/collective.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum {
    SMALL = 8,         /* bytes of a message for latency */
    PINGS = 20,        /* most round trips of a latency measurement */
    ALLREDUCES = 5,    /* repetitions; the median counts */
    CHUNK = 128 << 10, /* bytes per message of a stream */
    /* Chunks of a burst; the rest of the room is for small messages. */
    MAX_CHUNKS = PROBE_NETWORK_ROOM / CHUNK - 1,
    WARM_UPS = 2,    /* first bursts of a stream, not counted */
    AGAIN = 2,       /* most late bursts of a stream that are sent again */
    TAG_CONNECT = 1, /* a tag for each step */
    TAG_MACHINE,
    TAG_TURN,
    TAG_PING,
    TAG_STREAM,
    TAG_ALLREDUCE,
    TAG_GATHER,
};

#define PINGS_NS (20 * CLOCK_MS) /* total time of all pings */
#define SPIN_NS  CLOCK_MS /* wait after which a rank sleeps and no longer only yields its core */
#define NAP_NS   (CLOCK_MS / 20) /* longest sleep while a message is timed */
#define REST_NS  CLOCK_MS        /* longest sleep while other pairs measure in their time slots */

/* Factor on the deadline of an answer that is waited for a second time: a machine under load may
 * not run a rank for seconds.
 */
enum { SECOND = 4 };

/* Factor on deadlines of collective operations: on a slow network other ranks come late, and a pair
 * that fails, also at the second attempt, is reported first.
 */
enum { LATER = 2 * SECOND };

const struct probe_network_options network_defaults = { .connect_ns = 3 * CLOCK_S,
                                                        .deadline_ns = 5 * CLOCK_S,
                                                        .stream_ns = 80 * CLOCK_MS };

/* ---- messages with a deadline ---- */

/* State of a measurement among all ranks */
struct meeting {
    struct transport *t;
    const struct probe_network_options *o;
    struct network *net;
    int64_t *word; /* [CHUNK / SMALL] number to send, number received, numbers from the partners */
    char *buffer;  /* [MAX_CHUNKS * CHUNK] */
    struct outbox out;
    int64_t late; /* answers that came behind deadline_ns, at the second attempt */
    int turns;    /* time slots of this round, which share the time of one measurement */
};

/* Queue an operation; flush starts it. data is borrowed until the operation has completed. Return
 * 0, or -ENOMEM, which flush returns again.
 */
static int post(struct meeting *m, enum comm_kind kind, int peer, int tag, void *data, size_t bytes)
{
    struct comm_op op = { .kind = kind, .peer = peer, .tag = tag, .data = data, .bytes = bytes };

    outbox_add(&m->out, &op);
    return m->out.failed ? -ENOMEM : 0;
}

/* Start the queued operations. Return 0; -ENOMEM: an operation could not be queued; or the
 * transport's error.
 */
static int flush(struct meeting *m, struct eddis_error *err)
{
    return m->out.failed ? eddis_fail(err, -ENOMEM, "no memory for a message")
                         : transport_post(m->t, &m->out, err);
}

/* Record the pair and the step that failed in m->net, with the time that it was waited for, and
 * return -ETIMEDOUT with all three in err. peer -1: unknown.
 */
static int no_answer(struct meeting *m, int peer, const char *step, int64_t waited_ns,
                     struct eddis_error *err)
{
    char *what = m->net->failed;

    m->net->failed_from = m->t->rank;
    m->net->failed_to = peer;
    snprintf(what, sizeof m->net->failed, "%s, within %.3g s", step, (double)waited_ns / CLOCK_S);
    if (peer < 0)
        return eddis_fail(err, -ETIMEDOUT, "data that node %d sent does not arrive (%s)",
                          m->t->rank, what);
    return eddis_fail(err, -ETIMEDOUT, "node %d receives nothing from node %d (%s)", m->t->rank,
                      peer, what);
}

/* Wait a little after a poll that found nothing. In the first SPIN_NS since since_ns only yield the
 * core; later sleep for up to nap_ns, since the peer may need this core.
 */
static void idle(int64_t since_ns, int64_t nap_ns)
{
    int64_t now = clock_now_ns(), waited = now - since_ns;

    if (waited > SPIN_NS)
        clock_sleep_until_ns(now + (waited / 8 < nap_ns ? waited / 8 : nap_ns));
    else
        (void)sched_yield();
}

/* Start the queued operations and wait until all have completed. If some have not within
 * deadline_ns, count this in m->late and wait for them a second time, for longer. Return 0;
 * -ETIMEDOUT: some have not completed then, and peer and step are recorded in m->net; or the
 * transport's error.
 */
static int wait_for(struct meeting *m, int peer, const char *step, struct eddis_error *err)
{
    int64_t began = clock_now_ns(), since = began, all_ns = SECOND * m->o->deadline_ns;
    int rc = flush(m, err);

    while (rc >= 0 && m->t->under_way > 0) {
        struct comm_op done[16];

        rc = transport_poll(m->t, done, 16, err);
        if (rc == 0 && clock_now_ns() > clock_after_ns(began, all_ns))
            return no_answer(m, peer, step, all_ns, err);
        if (rc == 0)
            idle(since, NAP_NS);
        else
            since = clock_now_ns();
    }
    m->late += clock_now_ns() - began > m->o->deadline_ns;
    return rc < 0 ? rc : 0;
}

/* Send a message and wait until it was sent. Return 0, -ETIMEDOUT as wait_for, or another negative
 * errno.
 */
static int send_to(struct meeting *m, int peer, int tag, void *data, size_t bytes, const char *step,
                   struct eddis_error *err)
{
    (void)post(m, COMM_SEND, peer, tag, data, bytes);
    return wait_for(m, peer, step, err);
}

/* Receive a message into data and wait for it. Return 0, -ETIMEDOUT as wait_for, or another
 * negative errno.
 */
static int receive_from(struct meeting *m, int peer, int tag, void *data, size_t bytes,
                        const char *step, struct eddis_error *err)
{
    (void)post(m, COMM_RECEIVE, peer, tag, data, bytes);
    return wait_for(m, peer, step, err);
}

/* Send one number and wait until it was sent. Return 0, -ETIMEDOUT as wait_for, or another negative
 * errno.
 */
static int send_word(struct meeting *m, int peer, int tag, int64_t word, const char *step,
                     struct eddis_error *err)
{
    m->word[0] = word;
    return send_to(m, peer, tag, &m->word[0], SMALL, step, err);
}

/* Receive one number into *ret and wait for it. Return 0, -ETIMEDOUT as wait_for, or another
 * negative errno.
 */
static int receive_word(struct meeting *m, int peer, int tag, int64_t *ret, const char *step,
                        struct eddis_error *err)
{
    int rc = receive_from(m, peer, tag, &m->word[1], SMALL, step, err);

    if (rc == 0)
        *ret = m->word[1];
    return rc;
}

/* ---- connect ---- */

/* Exchange a number with every partner, all in parallel, so that a partner that does not answer
 * does not delay the others. Return 0; -ETIMEDOUT: a partner did not answer within connect_ns, and
 * is recorded in m->net; or another negative errno.
 */
static int connect_all(struct meeting *m, struct eddis_error *err)
{
    int n = m->t->n_ranks, me = m->t->rank, left = 0;
    int64_t since = clock_now_ns(), end = clock_after_ns(since, m->o->connect_ns);
    int64_t *heard = &m->word[2];
    cleanup_free bool *waiting = calloc((size_t)n, sizeof *waiting);
    int rc;

    if (!waiting)
        return eddis_fail(err, -ENOMEM, "no memory for the network's probe");
    for (int round = 0; round < network_rounds(n); round++) {
        int peer = network_partner(n, round, me);

        if (peer < 0 || waiting[peer])
            continue;
        waiting[peer] = true;
        left++;
        (void)post(m, COMM_RECEIVE, peer, TAG_CONNECT, heard++, SMALL);
        (void)post(m, COMM_SEND, peer, TAG_CONNECT, &m->word[0], SMALL);
    }
    rc = flush(m, err);
    while (rc >= 0 && (left > 0 || m->t->under_way > 0)) {
        struct comm_op done;

        rc = transport_poll(m->t, &done, 1, err);
        if (rc > 0 && done.kind == COMM_RECEIVE) {
            waiting[done.peer] = false;
            left--;
        }
        if (rc == 0 && clock_now_ns() > end)
            break;
        if (rc == 0)
            idle(since, NAP_NS);
    }
    for (int peer = 0; rc >= 0 && peer < n; peer++)
        if (waiting[peer])
            return no_answer(m, peer, "connecting", m->o->connect_ns, err);
    return rc < 0 ? rc : 0;
}

/* ---- measure ---- */

/* Order doubles, for qsort. */
static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Return the median of x [n], the larger of the two middle values if n is even; x is sorted in
 * place.
 */
static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

/* Return the seconds since this monotonic time. */
static double seconds_since(int64_t began_ns)
{
    return (double)(clock_now_ns() - began_ns) / (double)CLOCK_S;
}

/* Measure the latency to a peer as the median of half round trips, and store it in *ret_s. The last
 * message holds 1, which ends the peer's answer_pings, all others 0. Return 0, -ETIMEDOUT as
 * wait_for, or another negative errno.
 */
static int ping(struct meeting *m, int peer, double *ret_s, struct eddis_error *err)
{
    int64_t began = clock_now_ns(), word = 0;
    double taken[PINGS];
    int n = 0, rc = 0;

    while (rc == 0 && word == 0) {
        int64_t sent = clock_now_ns(), back;

        word = n == PINGS - 1 || (n > 2 && sent - began > PINGS_NS);
        rc = send_word(m, peer, TAG_PING, word, "latency", err);
        if (rc == 0)
            rc = receive_word(m, peer, TAG_PING, &back, "latency", err);
        taken[n++] = seconds_since(sent) / 2;
    }
    if (rc == 0)
        *ret_s = median(taken, n);
    return rc;
}

/* Send each ping back to the peer, until one holds a number other than 0. Return 0, -ETIMEDOUT as
 * wait_for, or another negative errno.
 */
static int answer_pings(struct meeting *m, int peer, struct eddis_error *err)
{
    int64_t word = 0;
    int rc = 0;

    while (rc == 0 && word == 0) {
        rc = receive_word(m, peer, TAG_PING, &word, "latency", err);
        if (rc == 0)
            rc = send_word(m, peer, TAG_PING, word, "latency", err);
    }
    return rc;
}

/* Send `chunks` chunks, and store in *ret_s the seconds until the peer confirms all of them. Return
 * 0, -ETIMEDOUT as wait_for, or another negative errno.
 */
static int stream(struct meeting *m, int peer, int64_t chunks, double *ret_s,
                  struct eddis_error *err)
{
    int64_t began = clock_now_ns();
    int rc;

    for (int64_t i = 0; i < chunks; i++)
        (void)post(m, COMM_SEND, peer, TAG_STREAM, m->buffer + i * CHUNK, CHUNK);
    (void)post(m, COMM_RECEIVE, peer, TAG_STREAM, &m->word[1], SMALL);
    rc = wait_for(m, peer, "bandwidth", err);
    if (rc == 0)
        *ret_s = seconds_since(began);
    return rc;
}

/* Receive `chunks` chunks and confirm them with one message. Return 0, -ETIMEDOUT as wait_for, or
 * another negative errno.
 */
static int take_stream(struct meeting *m, int peer, int64_t chunks, struct eddis_error *err)
{
    int rc;

    for (int64_t i = 0; i < chunks; i++)
        (void)post(m, COMM_RECEIVE, peer, TAG_STREAM, m->buffer + i * CHUNK, CHUNK);
    rc = wait_for(m, peer, "bandwidth", err);
    return rc < 0 ? rc : send_word(m, peer, TAG_STREAM, chunks, "bandwidth", err);
}

/* Announce `chunks` chunks to the peer and send them, as stream does. Return as stream. */
static int burst(struct meeting *m, int peer, int64_t chunks, double *ret_s,
                 struct eddis_error *err)
{
    int rc = send_word(m, peer, TAG_STREAM, chunks, "bandwidth", err);

    return rc < 0 ? rc : stream(m, peer, chunks, ret_s, err);
}

/* Check whether a bandwidth measurement is done: after two counted bursts and all of the planned
 * time, or one counted burst and twice that time. part_of_time: time used, relative to the planned
 * time.
 */
static bool enough(double part_of_time, int counted)
{
    return counted > 0 && part_of_time >= (counted > 1 ? 1 : 2);
}

/* Measure the bandwidth to a peer by bursts, each twice as long as the one before until it takes a
 * third of the measurement, and store it in *ret_bytes_per_s. Other load only slows a burst down,
 * so the fastest burst counts. The first two do not count: the connection is still speeding up, and
 * a traffic shaper may let an initial burst pass. Neither does one that came only at the second
 * attempt, unless several do. A burst of 0 chunks ends the peer's receive_stream. Return 0,
 * -ETIMEDOUT as wait_for, or another negative errno.
 */
static int send_stream(struct meeting *m, int peer, double latency_s, double *ret_bytes_per_s,
                       struct eddis_error *err)
{
    double wanted_s = (double)m->o->stream_ns / (double)CLOCK_S / m->turns, all_s = 0, best = 0;
    int64_t n = 1;
    int counted = 0, again = 0, rc = 0;

    for (int i = 0; rc == 0 && !enough(all_s / wanted_s, counted); i++) {
        int64_t late = m->late;
        double taken_s = 0;

        rc = burst(m, peer, n, &taken_s, err);
        if (m->late > late && again++ < AGAIN)
            continue;
        all_s += taken_s;
        taken_s -= taken_s > 2 * latency_s ? latency_s : 0; /* of the confirmation */
        if (i >= WARM_UPS && (taken_s > wanted_s / 3 || n == MAX_CHUNKS)) {
            best = fmax(best, (double)(n * CHUNK) / fmax(taken_s, 1e-9));
            counted++;
        }
        if (taken_s < wanted_s / 3)
            n = 2 * n < MAX_CHUNKS ? 2 * n : MAX_CHUNKS;
    }
    *ret_bytes_per_s = best;
    return rc < 0 ? rc : send_word(m, peer, TAG_STREAM, 0, "bandwidth", err);
}

/* Receive and confirm bursts until the peer announces 0 chunks. Return 0; -EPROTO: too many chunks;
 * -ETIMEDOUT as wait_for; or another negative errno.
 */
static int receive_stream(struct meeting *m, int peer, struct eddis_error *err)
{
    int64_t n = 1;
    int rc = 0;

    while (rc == 0 && n > 0) {
        rc = receive_word(m, peer, TAG_STREAM, &n, "bandwidth", err);
        if (rc == 0 && (n < 0 || n > MAX_CHUNKS))
            return eddis_fail(err, -EPROTO, "node %d announced %lld chunks", peer, (long long)n);
        if (rc == 0 && n > 0)
            rc = take_stream(m, peer, n, err);
    }
    return rc;
}

/* Measure the direction from this rank to peer into *row, and answer the measurement of the other
 * direction. The lower rank begins, and measures the latency, too; the other rank's latency stays
 * 0. Return 0, -ETIMEDOUT as wait_for, or another negative errno; *row then has what was measured
 * before.
 */
static int measure_pair(struct meeting *m, int peer, struct network_link *row,
                        struct eddis_error *err)
{
    int rc;

    *row = (struct network_link){ .from = m->t->rank, .to = peer };
    if (m->t->rank < peer) {
        if ((rc = ping(m, peer, &row->latency_s, err)) < 0 ||
            (rc = send_stream(m, peer, row->latency_s, &row->bytes_per_s, err)) < 0)
            return rc;
        return receive_stream(m, peer, err);
    }
    if ((rc = answer_pings(m, peer, err)) < 0 || (rc = receive_stream(m, peer, err)) < 0)
        return rc;
    return send_stream(m, peer, 0, &row->bytes_per_s, err);
}

/* ---- collective steps ---- */

/* Run a collective operation to its end, free it, and return 0. If rc is negative, c was not made
 * (may be NULL), and rc is returned. -ETIMEDOUT: a rank did not answer within LATER times the
 * deadline; c is not freed then. Other errors are those of the collective or the transport; c is
 * freed.
 */
static int together(struct meeting *m, struct collective *c, int rc, int tag, int64_t nap_ns,
                    int64_t deadline_ns, const char *step, struct eddis_error *err)
{
    int64_t since = clock_now_ns(), all_ns = LATER * deadline_ns;
    int64_t end = clock_after_ns(since, all_ns);
    int over = rc < 0 ? rc : collective_start(c, tag, &m->out, err);

    rc = over < 0 ? over : flush(m, err);
    while (rc >= 0 && (over == 0 || m->t->under_way > 0)) {
        struct comm_op done;

        rc = transport_poll(m->t, &done, 1, err);
        if (rc == 0 && clock_now_ns() > end)
            return no_answer(m, collective_waits_for(c), step, all_ns, err);
        if (rc == 0)
            idle(since, nap_ns);
        if (rc <= 0 || !done.owner)
            continue;
        since = clock_now_ns();
        over = collective_done(c, &done, &m->out, err);
        rc = over < 0 ? over : flush(m, err);
    }
    collective_free(c);
    return rc < 0 ? rc : 0;
}

/* Add up one number per rank by an all-reduce. Return 0; -EPROTO: the sum is wrong; or an error of
 * together().
 */
static int add_up(struct meeting *m, struct eddis_error *err)
{
    struct comm_place place = { m->t->rank, m->t->n_ranks };
    double number = m->t->rank + 1, n = m->t->n_ranks;
    struct allreduce what = { .data = &number, .n = 1, .type = COMM_FLOAT64, .rule = COMM_SUM };
    struct collective *c = NULL;
    int rc = allreduce_new(&place, &what, &c, err);

    rc = together(m, c, rc, TAG_ALLREDUCE, NAP_NS, m->o->deadline_ns, "adding up", err);
    if (rc == 0 && number != n * (n + 1) / 2)
        rc = eddis_fail(err, -EPROTO, "the sum over all nodes is wrong");
    return rc;
}

/* Store the median duration of several such all-reduces in m->net->allreduce_s. Return 0, or the
 * error of the first that fails: then nothing is stored.
 */
static int add_up_often(struct meeting *m, struct eddis_error *err)
{
    double taken[ALLREDUCES];

    for (int i = 0; i < ALLREDUCES; i++) {
        int64_t began = clock_now_ns();
        int rc = add_up(m, err);

        if (rc < 0)
            return rc;
        taken[i] = seconds_since(began);
    }
    m->net->allreduce_s = median(taken, ALLREDUCES);
    return 0;
}

/* Add the rows [n] that were measured to the network's links. A row without latency takes that of
 * the opposite direction. If a pair was measured twice, only its first rows are added.
 */
static void keep(struct network *net, const struct network_link *row, int n)
{
    for (int i = 0; i < n; i++) {
        struct network_link l = row[i];
        bool known = false;

        if (l.from == l.to)
            continue;
        for (int j = 0; j < n; j++)
            if (l.latency_s == 0 && row[j].from == l.to && row[j].to == l.from)
                l.latency_s = row[j].latency_s;
        for (int j = 0; j < net->n_links; j++)
            known = known || (net->link[j].from == l.from && net->link[j].to == l.to);
        if (!known)
            net->link[net->n_links++] = l;
    }
}

/* Send this rank's rows [rounds] to rank 0. On rank 0, receive those of all ranks, in order, and
 * store them in m->net. Return 0, -ENOMEM, -ETIMEDOUT as wait_for, or another negative errno.
 */
static int gather(struct meeting *m, struct network_link *row, struct eddis_error *err)
{
    size_t rounds = (size_t)network_rounds(m->t->n_ranks), n = rounds * (size_t)m->t->n_ranks;
    cleanup_free struct network_link *all = NULL;
    int rc;

    if (m->t->rank > 0)
        return send_to(m, 0, TAG_GATHER, row, rounds * sizeof *row, "gathering", err);
    all = calloc(n + 1, sizeof *all);
    m->net->link = calloc(n + 1, sizeof *m->net->link);
    if (!all || !m->net->link)
        return eddis_fail(err, -ENOMEM, "no memory for the links");
    memcpy(all, row, rounds * sizeof *row);
    for (int i = 1; i < m->t->n_ranks; i++) {
        rc = receive_from(m, i, TAG_GATHER, all + (size_t)i * rounds, rounds * sizeof *row,
                          "gathering", err);
        if (rc < 0)
            return rc;
    }
    keep(m->net, all, (int)n);
    return 0;
}

/* Exchange the machines of all ranks and compute the time slots of this rank into ret [rounds].
 * Return 0, -ENOMEM, or an error of together().
 */
static int find_turns(struct meeting *m, struct network_turn *ret, struct eddis_error *err)
{
    struct comm_place place = { m->t->rank, m->t->n_ranks };
    int64_t *machine = (int64_t *)m->buffer;
    struct collective *c = NULL;
    int rc;

    m->word[0] = m->o->machine;
    rc = allgather_new(&place, &m->word[0], machine, SMALL, &c, err);
    rc = together(m, c, rc, TAG_MACHINE, REST_NS, m->o->deadline_ns, "gathering", err);
    return rc < 0 ? rc : network_turns(machine, m->t->n_ranks, m->t->rank, ret, err);
}

/* Wait until all ranks have reached the next time slot. The deadline is longer than a pair's, so
 * that a pair that fails is reported first. Return 0, or an error of together().
 */
static int next_turn(struct meeting *m, struct eddis_error *err)
{
    struct comm_place place = { m->t->rank, m->t->n_ranks };
    struct collective *c = NULL;
    int rc = barrier_new(&place, &c, err);

    return together(m, c, rc, TAG_TURN, REST_NS, 2 * m->o->deadline_ns, "taking turns", err);
}

/* Measure this rank's pair of a round into *row, in its time slot; with several slots, wait for
 * each. Return 0, or a negative errno of the first slot that fails. Without a slot of its own the
 * rank leaves *row unchanged.
 */
static int measure_round(struct meeting *m, int round, const struct network_turn *turn,
                         struct network_link *row, struct eddis_error *err)
{
    int peer = network_partner(m->t->n_ranks, round, m->t->rank), rc = 0;

    m->turns = turn->n;
    for (int i = 0; rc == 0 && i < turn->n; i++) {
        if (turn->n > 1)
            rc = next_turn(m, err);
        if (rc == 0 && i == turn->own)
            rc = measure_pair(m, peer, row, err);
    }
    return rc;
}

/* Connect, measure all rounds and the all-reduce, and gather the results on rank 0. Return 0, or
 * the error of the first part that fails.
 */
static int measure_all(struct meeting *m, struct eddis_error *err)
{
    int n = m->t->n_ranks, rounds = network_rounds(n);
    cleanup_free struct network_link *row = calloc((size_t)rounds + 1, sizeof *row);
    cleanup_free struct network_turn *turn = calloc((size_t)rounds + 1, sizeof *turn);
    int rc =
        row && turn ? connect_all(m, err) : eddis_fail(err, -ENOMEM, "no memory for the links");

    if (rc == 0)
        rc = find_turns(m, turn, err);
    for (int round = 0; rc == 0 && round < rounds; round++)
        rc = measure_round(m, round, &turn[round], &row[round], err);
    if (rc == 0)
        rc = add_up_often(m, err);
    return rc < 0 ? rc : gather(m, row, err);
}

int probe_network_measure(struct transport *t, const struct probe_network_options *o, void *room,
                          struct network **ret, struct eddis_error *err)
{
    struct meeting m = { .t = t, .o = o, .word = room, .buffer = (char *)room + CHUNK };
    int rc;

    m.net = calloc(1, sizeof *m.net);
    if (!m.net)
        return eddis_fail(err, -ENOMEM, "no memory for the network's probe");
    memset(room, 0, PROBE_NETWORK_ROOM); /* page faults would make the network look slow */
    m.net->n_nodes = t->n_ranks;
    m.net->failed_from = m.net->failed_to = -1;
    m.net->allreduce_s = NAN;
    rc = measure_all(&m, err);
    outbox_fini(&m.out);
    if (rc == 0 || rc == -ETIMEDOUT)
        *ret = m.net;
    else
        network_free(m.net);
    return rc;
}
