/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.c - bench-allreduce LIBRARY BYTES[,BYTES...]: all-reduces of float32 over the ranks
 * of an mpirun on one machine
 *
 * LIBRARY is `mpi`, MPI_Allreduce alone, or `eddis`: lib/comm alone, without the engine above it,
 * in the node's shared memory and of private memory, and how long the machine takes to read and to
 * rewrite as much.  Rank 0 prints "BYTES WHAT SECONDS" for each, the mean of some in a row, of the
 * slowest rank.  One before them is checked element by element and not counted.
 */
#include "lib/base/clock.h"
#include "lib/comm/node.h"
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
    SPIN_NS = 100 * 1000, /* without a pause after something moved, then with naps; as the driver */
    NAP_NS = 20 * 1000,
    ROW_BYTES = 128 << 20, /* all-reduced in a row, but at most so often: */
    ROW_MAX = 300,
};
#define DEADLINE_NS (60 * CLOCK_S)

struct machine {
    struct transport *transport;
    struct comm_place place;
    struct comm_nodes *nodes;
    struct outbox out;
    int tag;
};

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

static int machine_open(struct machine *m, size_t bytes, int sizes, struct eddis_error *err)
{
    const struct comm_node_size size = { .arena_bytes = bytes, .slots = sizes, .pool = true };
    struct comm_place here;
    struct collective *share;
    int *node_of, rc = transport_mpi_open(&m->transport, err);

    if (rc < 0)
        return rc;
    m->place = (struct comm_place){ .rank = m->transport->rank, .n_ranks = m->transport->n_ranks };
    node_of = calloc((size_t)m->place.n_ranks, sizeof *node_of); /* all on node 0 */
    rc = node_of ? comm_nodes_new(&m->place, node_of, &m->nodes, err)
                 : eddis_fail(err, -ENOMEM, "no memory");
    free(node_of);
    if (rc < 0)
        return rc;
    here = comm_nodes_here(m->nodes, COMM_REQUESTS);
    rc = comm_node_share(&here, &size, &share, err);
    if (rc == 0)
        rc = run_one(m, share, err);
    if (rc == 0)
        rc = comm_node_take(share, &m->nodes->node, err);
    if (rc < 0)
        return rc;
    collective_free(share);
    m->place.nodes = m->nodes;
    return 0;
}

static int machine_close(struct machine *m, struct eddis_error *err)
{
    comm_node_close(m->nodes->node);
    comm_nodes_free(m->nodes);
    outbox_fini(&m->out);
    return transport_close(m->transport, true, err);
}

/* ---- what is measured ---- */

struct job {
    struct machine *machine; /* NULL: MPI's */
    int rank, ranks;
    float *x;
    size_t n;
    struct collective *sum; /* lib/comm's */
    const float *result;
};

typedef int (*once_fn)(struct job *j, struct eddis_error *err);

static int once_eddis(struct job *j, struct eddis_error *err)
{
    return run_one(j->machine, j->sum, err);
}

static int once_mpi(struct job *j, struct eddis_error *err)
{
    (void)err;
    MPI_Allreduce(MPI_IN_PLACE, j->x, (int)j->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}

/* Every byte of every rank read once, the least that any all-reduce does. */
static int once_read(struct job *j, struct eddis_error *err)
{
    enum { STREAMS = 8, LINE = 16 }; /* read side by side, which is faster than one */
    float sum[LINE] = { 0 };
    size_t part = j->n / STREAMS / LINE * LINE;
    volatile float keep;

    (void)err;
    for (size_t i = 0; i < part; i += LINE)
        for (size_t s = 0; s < STREAMS; s++)
            for (size_t k = 0; k < LINE; k++)
                sum[k] += j->x[s * part + i + k];
    for (size_t k = 1; k < LINE; k++)
        sum[0] += sum[k];
    keep = sum[0];
    (void)keep;
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

/* And written once, the least of one that leaves the sum in every rank's own memory. */
static int once_rewrite(struct job *j, struct eddis_error *err)
{
    (void)err;
    for (size_t i = 0; i < j->n; i++)
        j->x[i] = j->x[i] * 0.5f;
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

static int rows_of(size_t n)
{
    size_t rows = ROW_BYTES / (n * sizeof(float)) + 1;

    return rows > ROW_MAX ? ROW_MAX : (int)rows;
}

/* Whole numbers that float32 sums exactly. */
static int check_once(struct job *j, once_fn once, struct eddis_error *err)
{
    int ranks = j->ranks, rc;

    for (size_t i = 0; i < j->n; i++)
        j->x[i] = (float)((int)(i % 97) + j->rank);
    rc = once(j, err);
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        if (j->result[i] != (float)(ranks * (int)(i % 97) + ranks * (ranks - 1) / 2))
            return eddis_fail(err, -EIO, "element %zu is %g", i, (double)j->result[i]);
    return rc;
}

static int measure(struct job *j, const char *what, bool check, once_fn once,
                   struct eddis_error *err)
{
    int rows = rows_of(j->n), rc = check ? check_once(j, once, err) : 0;
    double s, slowest;

    memset(j->x, 0, j->n * sizeof *j->x); /* sums in a row grow */
    MPI_Barrier(MPI_COMM_WORLD);
    s = MPI_Wtime();
    for (int i = 0; rc == 0 && i < rows; i++)
        rc = once(j, err);
    s = (MPI_Wtime() - s) / rows;
    MPI_Allreduce(&s, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rc == 0 && j->rank == 0)
        printf("%zu %s %.9f\n", j->n * sizeof(float), what, slowest);
    return rc;
}

static int measure_eddis(struct machine *m, float *x, size_t n, const char *what,
                         struct eddis_error *err)
{
    const struct allreduce a = { .data = x, .n = n, .type = COMM_FLOAT32, .rule = COMM_SUM };
    struct job j = { m, m->place.rank, m->place.n_ranks, x, n, NULL, NULL };
    int rc = allreduce_new(&m->place, &a, &j.sum, err);

    if (rc < 0)
        return rc;
    j.result = allreduce_result(j.sum);
    rc = measure(&j, what, true, once_eddis, err);
    collective_free(j.sum);
    return rc;
}

static int run_eddis(const size_t *bytes, int sizes, size_t most, float *x, struct eddis_error *err)
{
    struct machine m = { 0 };
    int rc = machine_open(&m, most, sizes, err);

    for (int i = 0; rc == 0 && i < sizes; i++) {
        struct job j = { &m, m.place.rank, m.place.n_ranks, x, bytes[i] / sizeof *x, NULL, x };

        rc = measure_eddis(&m, comm_node_arena(m.nodes->node), j.n, "in_place", err);
        if (rc == 0)
            rc = measure_eddis(&m, x, j.n, "private", err);
        if (rc == 0)
            rc = measure(&j, "read", false, once_read, err);
        if (rc == 0)
            rc = measure(&j, "rewrite", false, once_rewrite, err);
    }
    return rc < 0 ? rc : machine_close(&m, err);
}

/* Without threads, which MPI would lock for. */
static int run_mpi(const size_t *bytes, int sizes, float *x, struct eddis_error *err)
{
    struct job j = { .x = x, .result = x };
    int rc = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
    for (int i = 0; rc == 0 && i < sizes; i++) {
        j.n = bytes[i] / sizeof *x;
        rc = measure(&j, "mpi", true, once_mpi, err);
    }
    MPI_Finalize();
    return rc;
}

static int run(bool mpi, const size_t *bytes, int sizes, struct eddis_error *err)
{
    size_t most = 64;
    float *x;
    int rc;

    for (int i = 0; i < sizes; i++)
        most = bytes[i] > most ? bytes[i] : most;
    x = aligned_alloc(64, (most + 63) / 64 * 64);
    if (!x)
        return eddis_fail(err, -ENOMEM, "no memory for %zu bytes", most);
    rc = mpi ? run_mpi(bytes, sizes, x, err) : run_eddis(bytes, sizes, most, x, err);
    free(x);
    return rc;
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    size_t bytes[MAX_SIZES];
    int sizes = 0, rc;

    if (argc != 3 || (strcmp(argv[1], "mpi") != 0 && strcmp(argv[1], "eddis") != 0)) {
        fprintf(stderr, "usage: bench-allreduce mpi|eddis BYTES[,BYTES...]\n");
        return 2;
    }
    for (char *word = strtok(argv[2], ","); word && sizes < MAX_SIZES; word = strtok(NULL, ","))
        bytes[sizes++] = strtoul(word, NULL, 10);
    rc = run(strcmp(argv[1], "mpi") == 0, bytes, sizes, &err);
    if (rc < 0)
        fprintf(stderr, "bench-allreduce: %s\n", err.text);
    return rc < 0;
}
