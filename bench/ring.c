/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - bench-ring eddis|mpi BYTES ROUNDS [PIECE]: all-reduces of float32 over the ranks of an
 * mpirun
 *
 * Rank 0 prints one line a round: the seconds of the slowest rank, and the processor seconds of all
 * ranks together.  A first round is not counted.  `eddis` is lib/comm without the engine above it;
 * `mpi` is MPI_Allreduce.  Both work in place, and every element is checked.  PIECE is the size of
 * the messages of eddis' ring.
 */
#include "lib/base/clock.h"
#include "lib/comm/collective.h"
#include "lib/comm/transport.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    POLL = 16,
    /* As lib/sync/comm_thread.c: poll without a pause for SPIN_NS after progress, then with longer
     * and longer naps.
     */
    SPIN_NS = 100 * 1000,
    NAP_MIN_NS = 20 * 1000,
    NAP_MAX_NS = 200 * 1000,
};
#define DEADLINE_NS (120 * CLOCK_S)

enum { WALL, CPU, FIGURES };

/* One library: its all-reduce of x [n], and its all-reduce of the ranks' measurements, the largest
 * WALL and the sum of CPU.
 */
struct library {
    const char *name;
    int (*open)(int *ret_rank, int *ret_ranks, struct eddis_error *err);
    int (*reduce)(float *x, size_t n, struct eddis_error *err);
    int (*gather)(double figure[FIGURES], struct eddis_error *err);
    int (*close)(struct eddis_error *err);
};

/* ---- lib/comm ---- */

static struct {
    struct transport *transport;
    struct comm_place place;
    struct outbox out;
    struct collective *made; /* the all-reduce of the buffer, used in every round */
    size_t piece_bytes;      /* size of the ring's messages; 0: the default */
    struct comm_limits limits;
    int tag;
} ours;

/* Open the transport, and set the ring's limits.  Collective. */
static int eddis_open_it(int *ret_rank, int *ret_ranks, struct eddis_error *err)
{
    int rc = transport_mpi_open(&ours.transport, err);

    if (rc < 0)
        return rc;
    ours.place.rank = *ret_rank = ours.transport->rank;
    ours.place.n_ranks = *ret_ranks = ours.transport->n_ranks;
    ours.place.hosts = ours.transport->hosts;
    if (ours.piece_bytes) {
        ours.limits = comm_limits(&ours.place);
        ours.limits.piece_bytes = ours.piece_bytes;
        ours.place.limits = &ours.limits;
    }
    return 0;
}

/* Yield or nap, the longer the more time has passed since progress was made at moved_ns. */
static void pause_since(int64_t moved_ns)
{
    int64_t now = clock_now_ns(), quiet = now - moved_ns, nap = quiet / 16;

    if (quiet < SPIN_NS)
        sched_yield();
    else
        clock_sleep_until_ns(now + (nap < NAP_MIN_NS   ? NAP_MIN_NS
                                    : nap > NAP_MAX_NS ? NAP_MAX_NS
                                                       : nap));
}

/* Run one collective to its end.  Return 0 or a negative errno. */
static int eddis_run_it(struct collective *c, struct eddis_error *err)
{
    int64_t moved = clock_now_ns();
    int over = collective_start(c, ours.tag++ % 1000, &ours.out, err);

    while (over == 0) {
        struct comm_op op[POLL];
        int n = transport_post(ours.transport, &ours.out, err);

        n = n < 0 ? n : transport_poll(ours.transport, op, POLL, err);
        if (n < 0)
            return n;
        for (int i = 0; i < n && over == 0; i++)
            over = collective_done(c, &op[i], &ours.out, err);
        if (n > 0)
            moved = clock_now_ns();
        else if (clock_now_ns() - moved > DEADLINE_NS)
            return eddis_fail(err, -ETIMEDOUT, "nothing has come from rank %d for two minutes",
                              collective_waits_for(c));
        else
            pause_since(moved);
    }
    return over < 0 ? over : 0;
}

/* Sum x [n] over all ranks in place.  Collective. */
static int eddis_reduce(float *x, size_t n, struct eddis_error *err)
{
    const struct allreduce a = { .data = x, .n = n, .type = COMM_FLOAT32, .rule = COMM_SUM };
    int rc = ours.made ? 0 : allreduce_new(&ours.place, &a, &ours.made, err);

    return rc < 0 ? rc : eddis_run_it(ours.made, err);
}

/* Combine two ranks' measurements: the larger WALL, the sum of CPU. */
static void gather_rule(void *acc, const void *in)
{
    double *a = acc;
    const double *b = in;

    a[WALL] = b[WALL] > a[WALL] ? b[WALL] : a[WALL];
    a[CPU] += b[CPU];
}

/* Combine all ranks' measurements.  Collective. */
static int eddis_gather(double figure[FIGURES], struct eddis_error *err)
{
    const struct allreduce a = { .data = figure,
                                 .type = COMM_FLOAT64,
                                 .rule = COMM_SUM,
                                 .tail_bytes = FIGURES * sizeof *figure,
                                 .trailer_rule = gather_rule };
    struct collective *c;
    int rc = allreduce_new(&ours.place, &a, &c, err);

    if (rc < 0)
        return rc;
    rc = eddis_run_it(c, err);
    collective_free(c);
    return rc;
}

/* Free the all-reduce and close the transport.  Collective. */
static int eddis_close_it(struct eddis_error *err)
{
    collective_free(ours.made);
    outbox_fini(&ours.out);
    return transport_close(ours.transport, true, err);
}

/* ---- MPI's own; its errors end the program ---- */

static int mpi_open_it(int *ret_rank, int *ret_ranks, struct eddis_error *err)
{
    (void)err;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, ret_rank);
    MPI_Comm_size(MPI_COMM_WORLD, ret_ranks);
    return 0;
}

/* Sum x [n] over all ranks in place by MPI_Allreduce.  Collective. */
static int mpi_reduce(float *x, size_t n, struct eddis_error *err)
{
    (void)err;
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}

/* Combine all ranks' measurements: the largest WALL, the sum of CPU. Collective. */
static int mpi_gather(double figure[FIGURES], struct eddis_error *err)
{
    (void)err;
    MPI_Allreduce(MPI_IN_PLACE, &figure[WALL], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &figure[CPU], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}

static int mpi_close_it(struct eddis_error *err)
{
    (void)err;
    MPI_Finalize();
    return 0;
}

static const struct library libraries[] = {
    { "eddis", eddis_open_it, eddis_reduce, eddis_gather, eddis_close_it },
    { "mpi", mpi_open_it, mpi_reduce, mpi_gather, mpi_close_it },
};

/* ---- both ---- */

/* Return element i of a rank's buffer: a whole number, so that float32 adds them exactly. */
static float value(size_t i, int rank)
{
    return (float)((int)(i % 97) + rank);
}

static double now_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Run and check one round, and return all ranks' measurements in figure. -EIO: an element is wrong.
 */
static int round_of(const struct library *l, float *x, size_t n, int rank, int ranks,
                    double figure[FIGURES], struct eddis_error *err)
{
    double wall, cpu;
    int rc;

    for (size_t i = 0; i < n; i++)
        x[i] = value(i, rank);
    rc = l->gather(figure, err); /* also a barrier */
    wall = now_s(CLOCK_MONOTONIC);
    cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
    if (rc == 0)
        rc = l->reduce(x, n, err);
    figure[WALL] = now_s(CLOCK_MONOTONIC) - wall;
    figure[CPU] = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (x[i] != (float)(ranks * (int)(i % 97) + ranks * (ranks - 1) / 2))
            rc = eddis_fail(err, -EIO, "element %zu is %g", i, (double)x[i]);
    return rc < 0 ? rc : l->gather(figure, err);
}

/* Measure `rounds` rounds of n elements with one library; rank 0 prints them. */
static int measure(const struct library *l, size_t n, int rounds, struct eddis_error *err)
{
    float *x = malloc(n * sizeof *x);
    int rank = 0, ranks = 1, rc;

    if (!x)
        return eddis_fail(err, -ENOMEM, "no memory for %zu elements", n);
    rc = l->open(&rank, &ranks, err);
    for (int k = -1; rc == 0 && k < rounds; k++) {
        double figure[FIGURES] = { 0 };

        rc = round_of(l, x, n, rank, ranks, figure, err);
        if (rc == 0 && k >= 0 && rank == 0)
            printf("%.6f %.6f\n", figure[WALL], figure[CPU]);
    }
    free(x);
    return rc < 0 ? rc : l->close(err);
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };

    ours.piece_bytes = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    for (size_t i = 0; argc >= 4 && argc <= 5 && i < sizeof libraries / sizeof *libraries; i++) {
        int rc;

        if (strcmp(argv[1], libraries[i].name) != 0)
            continue;
        rc =
            measure(&libraries[i], strtoul(argv[2], NULL, 10) / sizeof(float), atoi(argv[3]), &err);
        if (rc < 0)
            fprintf(stderr, "bench-ring: %s\n", err.text);
        return rc < 0;
    }
    fprintf(stderr, "usage: bench-ring eddis|mpi BYTES ROUNDS [PIECE]\n");
    return 2;
}
