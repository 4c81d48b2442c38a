/* SPDX-License-Identifier: Apache-2.0 */
/* smb.c - bench-smb BYTES SERVERS FIRST TIMES ROUNDS: throughput of the Soft Memory Box among the
 * ranks of an mpirun
 *
 * Ranks FIRST and above are the clients.  Each moves a buffer of so many bytes of float32 TIMES
 * times, all clients at once, in four ways: memcpy between private buffers, reading the shared
 * buffer, writing its own one, and adding its own one to the shared one.  A first round is not
 * counted.  Rank 0 prints one line a round: the bytes per second of all clients together in each of
 * these ways.  At the end the shared buffer must hold exactly the number of additions; else the
 * program exits 1.
 */
#include "lib/base/clock.h"
#include "lib/eddis_smb.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (120 * CLOCK_S)

enum way { COPY, READ, WRITE, ACCUMULATE, WAYS };

static struct {
    struct eddis *e;
    struct eddis_world world;
    bool client;
    int clients, times, rounds;
    size_t n;
    float *ones, *x; /* [n] */
    uint64_t shared, own;
} b;

static struct eddis_error err;

/* Print the error and exit if rc is negative. */
static void check(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "bench-smb: %s\n", err.text);
        exit(1); /* without eddis_close, so that the other ranks end, too */
    }
}

/* Move the buffer once in this way.  Return 0 or a negative errno. */
static int move(enum way way)
{
    switch (way) {
    case COPY:
        memcpy(b.x, b.ones, b.n * sizeof *b.x);
        /* keeps the compiler from dropping an unused copy */
        __asm__ volatile("" : : "r"(b.x) : "memory");
        return 0;
    case READ:
        return eddis_smb_read(b.e, b.shared, 0, b.n, b.x, TIMEOUT_NS, &err);
    case WRITE:
        return eddis_smb_write(b.e, b.own, 0, b.n, b.ones, TIMEOUT_NS, &err);
    default:
        return eddis_smb_accumulate(b.e, b.shared, b.own, TIMEOUT_NS, &err);
    }
}

/* Return the bytes per second of all clients together in this way.  Collective. */
static double measure(enum way way)
{
    double s;
    int64_t start;

    check(eddis_barrier(b.e, TIMEOUT_NS, &err));
    start = clock_now_ns();
    for (int i = 0; b.client && i < b.times; i++)
        check(move(way));
    s = b.client ? (double)(clock_now_ns() - start) / CLOCK_S : 0;
    check(eddis_allreduce(b.e, &s, 1, EDDIS_FLOAT64, EDDIS_MAX, TIMEOUT_NS, &err));
    return (double)b.clients * b.times * (double)(b.n * sizeof *b.x) / s;
}

/* Create the buffers: a shared one by rank 0, and one of ones by each client. */
static void prepare(void)
{
    b.ones = malloc(b.n * sizeof *b.ones);
    b.x = malloc(b.n * sizeof *b.x);
    if (!b.ones || !b.x) {
        fprintf(stderr, "bench-smb: no memory for %zu elements\n", b.n);
        exit(1);
    }
    for (size_t i = 0; i < b.n; i++)
        b.ones[i] = 1;
    if (b.world.rank == 0)
        check(eddis_smb_create(b.e, EDDIS_FLOAT32, b.n, &b.shared, TIMEOUT_NS, &err));
    check(eddis_broadcast(b.e, &b.shared, sizeof b.shared, 0, TIMEOUT_NS, &err));
    if (!b.client)
        return;
    if (b.world.rank != 0)
        check(eddis_smb_attach(b.e, b.shared, NULL, NULL, TIMEOUT_NS, &err));
    check(eddis_smb_create(b.e, EDDIS_FLOAT32, b.n, &b.own, TIMEOUT_NS, &err));
    check(eddis_smb_write(b.e, b.own, 0, b.n, b.ones, TIMEOUT_NS, &err));
}

/* Check that the shared buffer holds the number of additions: clients times additions of 1 each. */
static void look(void)
{
    float wanted = (float)(b.clients * b.times * (b.rounds + 1));

    check(eddis_barrier(b.e, TIMEOUT_NS, &err));
    if (!b.client)
        return;
    check(eddis_smb_read(b.e, b.shared, 0, b.n, b.x, TIMEOUT_NS, &err));
    for (size_t i = 0; i < b.n; i++)
        if (b.x[i] != wanted) {
            fprintf(stderr, "bench-smb: element %zu is %g instead of %g\n", i, (double)b.x[i],
                    (double)wanted);
            exit(1);
        }
}

int main(int argc, char **argv)
{
    struct eddis_options o = { .size = sizeof o, .samples = 1 };

    if (argc != 6) {
        fprintf(stderr, "usage: bench-smb BYTES SERVERS FIRST TIMES ROUNDS\n");
        return 2;
    }
    b.world.size = sizeof b.world;
    check(eddis_open(&o, &b.e, &err));
    eddis_world(b.e, &b.world);
    b.n = strtoul(argv[1], NULL, 10) / sizeof *b.x;
    b.client = b.world.rank >= atoi(argv[3]);
    b.clients = b.world.n_ranks - atoi(argv[3]);
    b.times = atoi(argv[4]);
    b.rounds = atoi(argv[5]);
    check(eddis_smb_open(b.e, atoi(argv[2]), &err));
    prepare();
    for (int k = -1; k < b.rounds; k++) {
        double speed[WAYS];

        for (int way = 0; way < WAYS; way++)
            speed[way] = measure(way);
        if (k >= 0 && b.world.rank == 0)
            printf("%.0f %.0f %.0f %.0f\n", speed[COPY], speed[READ], speed[WRITE],
                   speed[ACCUMULATE]);
    }
    look();
    free(b.ones);
    free(b.x);
    check(eddis_close(b.e, &err));
    return 0;
}
