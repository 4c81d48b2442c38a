/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.c - bench-allreduce LIBRARY BYTES[,BYTES...] MILLISECONDS: all-reduces of float32 over
 * the ranks of an mpirun on one machine
 *
 * LIBRARY is `mpi`, which measures MPI_Allreduce, or `eddis`.  The latter measures lib/comm,
 * without the engine above it, on buffers in the node's shared memory and in private memory.  It
 * also measures a stream through private arrays larger than the caches, for the memory's bandwidth.
 * Rank 0 prints "BYTES WHAT SECONDS" for each: the mean of as many operations as fit into so many
 * milliseconds, at least one, on the slowest rank.  One operation before them is checked element by
 * element and not counted.
 */
#include "lib/base/clock.h"
#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"
#include "lib/comm/transport.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SIZES = 8,
    POLL = 16,
    SPIN_NS = 100 * 1000, /* poll without a pause for so long after progress, then with naps */
    NAP_NS = 20 * 1000,
    ROW_MAX = 1000,
    STREAM_BYTES =
        64 << 20, /* moved by each rank: two of four parts read, one fetched and written */
};
#define DEADLINE_NS (60 * CLOCK_S)

struct machine {
    struct transport *transport;
    struct comm_place place;
    struct node_groups *nodes;
    struct outbox out;
    int tag;
};

/* Run one collective to its end.  Return 0 or a negative errno. */
static int run_one(struct machine *m, struct collective *c, struct eddis_error *err)
{
    int64_t moved = clock_now_ns();
    int over = collective_start(c, m->tag++ % 1000, &m->out, err);

    while (over == 0) {
        struct comm_op op[POLL];
        int n = transport_post(m->transport, &m->out, err);
        int64_t now;

        if (n >= 0 && m->transport->under_way)
            n = transport_poll(m->transport, op, POLL, err);
        if (n < 0)
            return n;
        for (int i = 0; i < n && over == 0; i++)
            over = collective_done(c, &op[i], &m->out, err);
        if (over == 0 && collective_polls(c))
            over = collective_poll(c, &m->out, err);
        now = clock_now_ns();
        if (n > 0)
            moved = now;
        else if (now - moved > DEADLINE_NS)
            return eddis_fail(err, -ETIMEDOUT, "waiting for rank %d for a minute",
                              collective_waits_for(c));
        else if (over == 0 && now - moved < SPIN_NS)
            sched_yield();
        else if (over == 0)
            clock_sleep_until_ns(now + NAP_NS);
    }
    return over < 0 ? over : 0;
}

/* Open the transport and the node's shared memory for `sizes` buffers of at most `bytes`. */
static int machine_open(struct machine *m, size_t bytes, int sizes, struct eddis_error *err)
{
    const struct comm_shm_size size = { .arena_bytes = bytes, .slots = sizes, .pool = true };
    struct comm_place here;
    struct collective *share;
    int *node_of, rc = transport_mpi_open(&m->transport, err);

    if (rc < 0)
        return rc;
    m->place = (struct comm_place){ .rank = m->transport->rank, .n_ranks = m->transport->n_ranks };
    node_of = calloc((size_t)m->place.n_ranks, sizeof *node_of); /* all on node 0 */
    rc = node_of ? node_groups_new(&m->place, node_of, &m->nodes, err)
                 : eddis_fail(err, -ENOMEM, "no memory");
    free(node_of);
    if (rc < 0)
        return rc;
    here = node_groups_here(m->nodes, COMM_REQUESTS);
    rc = comm_shm_share(&here, &size, &share, err);
    if (rc == 0)
        rc = run_one(m, share, err);
    if (rc == 0)
        rc = comm_shm_take(share, &m->nodes->shm, err);
    if (rc < 0)
        return rc;
    collective_free(share);
    m->place.nodes = m->nodes;
    return 0;
}

/* Close the shared memory and the transport.  Collective. */
static int machine_close(struct machine *m, struct eddis_error *err)
{
    comm_shm_close(m->nodes->shm);
    node_groups_free(m->nodes);
    outbox_fini(&m->out);
    return transport_close(m->transport, true, err);
}

/* ---- what is measured ---- */

struct job {
    struct machine *machine; /* NULL: use MPI_Allreduce */
    int rank, ranks;
    double row_s; /* how long to repeat the operation */
    float *x;
    size_t n;
    struct collective *sum; /* lib/comm's all-reduce; NULL for MPI */
    const float *result;
};

typedef int (*once_fn)(struct job *j, struct eddis_error *err);

/* Run lib/comm's all-reduce once. */
static int once_eddis(struct job *j, struct eddis_error *err)
{
    return run_one(j->machine, j->sum, err);
}

/* Run MPI_Allreduce once, in place on x. */
static int once_mpi(struct job *j, struct eddis_error *err)
{
    (void)err;
    MPI_Allreduce(MPI_IN_PLACE, j->x, (int)j->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}

/* Add two parts of x, whose length is 3 n / 4, into the third; then wait for all ranks. */
static int once_stream(struct job *j, struct eddis_error *err)
{
    size_t part = j->n / 4;
    const float *a = j->x, *b = a + part;
    float *restrict sum = j->x + 2 * part;

    (void)err;
    for (size_t i = 0; i < part; i++)
        sum[i] = a[i] + 0.5f * b[i];
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

/* Run the operation once on whole numbers that float32 adds exactly, and check every element. */
static int check_once(struct job *j, once_fn once, struct eddis_error *err)
{
    int ranks = j->ranks, rc;

    for (size_t i = 0; i < j->n; i++)
        j->x[i] = (float)((int)(i % 97) + j->rank);
    rc = once(j, err);
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        if (j->result[i] != (float)(ranks * (int)(i % 97) + ranks * (ranks - 1) / 2))
            return eddis_fail(err, -EIO, "element %zu is %g", i, (double)j->result[i]);
    memset(j->x, 0, j->n * sizeof *j->x); /* sums in a row grow */
    return rc;
}

/* Return in *ret_s the seconds of one of `rows` operations on the slowest rank, equal on all ranks.
 */
static int measure_row(struct job *j, int rows, once_fn once, double *ret_s,
                       struct eddis_error *err)
{
    double s;
    int rc = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    s = MPI_Wtime();
    for (int i = 0; rc == 0 && i < rows; i++)
        rc = once(j, err);
    s = (MPI_Wtime() - s) / rows;
    MPI_Allreduce(&s, ret_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return rc;
}

/* Measure an operation as often as fits into row_s; rank 0 prints the result under the name `what`.
 */
static int measure(struct job *j, const char *what, once_fn once, struct eddis_error *err)
{
    double s = 0, rows;
    int rc = measure_row(j, 1, once, &s, err);

    rows = j->row_s / (s > 0 ? s : j->row_s / ROW_MAX);
    if (rc == 0 && rows >= 2)
        rc = measure_row(j, rows < ROW_MAX ? (int)rows : ROW_MAX, once, &s, err);
    if (rc == 0 && j->rank == 0)
        printf("%zu %s %.9f\n", j->n * sizeof(float), what, s);
    return rc;
}

/* Check and measure lib/comm's all-reduce of j's buffer. */
static int measure_eddis(struct job j, const char *what, struct eddis_error *err)
{
    const struct allreduce a = { .data = j.x, .n = j.n, .type = COMM_FLOAT32, .rule = COMM_SUM };
    int rc = allreduce_new(&j.machine->place, &a, &j.sum, err);

    if (rc < 0)
        return rc;
    j.result = allreduce_result(j.sum);
    rc = check_once(&j, once_eddis, err);
    if (rc == 0)
        rc = measure(&j, what, once_eddis, err);
    collective_free(j.sum);
    return rc;
}

/* Measure the memory's bandwidth by once_stream. */
static int measure_stream(struct job j, struct eddis_error *err)
{
    size_t bytes = (size_t)STREAM_BYTES / 4 * 3;
    int rc;

    j.n = STREAM_BYTES / sizeof *j.x;
    j.x = malloc(bytes);
    if (!j.x)
        return eddis_fail(err, -ENOMEM, "no memory for a stream of %zu bytes", bytes);
    memset(j.x, 0, bytes);
    once_stream(&j, err);
    rc = measure(&j, "stream", once_stream, err);
    free(j.x);
    return rc;
}

struct options {
    size_t bytes[MAX_SIZES], most;
    int sizes;
    double row_s;
};

/* Measure lib/comm for all sizes, in shared and in private memory, and the stream. */
static int run_eddis(const struct options *o, float *x, struct eddis_error *err)
{
    struct machine m = { 0 };
    struct job j = { .machine = &m, .row_s = o->row_s };
    int rc = machine_open(&m, o->most, o->sizes, err);

    if (rc < 0)
        return rc;
    j.rank = m.place.rank;
    j.ranks = m.place.n_ranks;
    for (int i = 0; rc == 0 && i < o->sizes; i++) {
        j.n = o->bytes[i] / sizeof *x;
        j.x = comm_shm_arena(m.nodes->shm);
        rc = measure_eddis(j, "in_place", err);
        j.x = x;
        if (rc == 0)
            rc = measure_eddis(j, "private", err);
    }
    if (rc == 0)
        rc = measure_stream(j, err);
    return rc < 0 ? rc : machine_close(&m, err);
}

/* Measure MPI_Allreduce for all sizes.  MPI is initialized without threads, whose locks would cost
 * time.
 */
static int run_mpi(const struct options *o, float *x, struct eddis_error *err)
{
    struct job j = { .row_s = o->row_s, .x = x, .result = x };
    int rc = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
    for (int i = 0; rc == 0 && i < o->sizes; i++) {
        j.n = o->bytes[i] / sizeof *x;
        rc = check_once(&j, once_mpi, err);
        if (rc == 0)
            rc = measure(&j, "mpi", once_mpi, err);
    }
    MPI_Finalize();
    return rc;
}

/* Allocate the private buffer and measure one of the libraries. */
static int run(bool mpi, const struct options *o, struct eddis_error *err)
{
    float *x = aligned_alloc(64, (o->most + 63) / 64 * 64);
    int rc;

    if (!x)
        return eddis_fail(err, -ENOMEM, "no memory for %zu bytes", o->most);
    rc = mpi ? run_mpi(o, x, err) : run_eddis(o, x, err);
    free(x);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o = { .most = 64 };
    struct eddis_error err = { 0 };
    int rc;

    if (argc != 4 || (strcmp(argv[1], "mpi") != 0 && strcmp(argv[1], "eddis") != 0)) {
        fprintf(stderr, "usage: bench-allreduce mpi|eddis BYTES[,BYTES...] MILLISECONDS\n");
        return 2;
    }
    for (char *word = strtok(argv[2], ","); word && o.sizes < MAX_SIZES; word = strtok(NULL, ",")) {
        size_t bytes = strtoul(word, NULL, 10);

        o.bytes[o.sizes++] = bytes;
        o.most = bytes > o.most ? bytes : o.most;
    }
    o.row_s = strtod(argv[3], NULL) / 1000;
    rc = run(strcmp(argv[1], "mpi") == 0, &o, &err);
    if (rc < 0)
        fprintf(stderr, "bench-allreduce: %s\n", err.text);
    return rc < 0;
}
