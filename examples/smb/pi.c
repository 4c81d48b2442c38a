/* SPDX-License-Identifier: Apache-2.0 */
/* pi.c - the Soft Memory Box by itself: workers of unlike speed add up one integral
 *
 *     cc pi.c -o pi $(pkg-config --cflags --libs eddis)
 *     eddis-run -n 4 -- ./pi
 *
 * Bare mpirun starts it, too: mpirun -n 4 --oversubscribe ./pi, which on fewer than four cores is
 * needed, and root has to add --allow-run-as-root.
 *
 * Slices of the integral are taken from a shared counter, so that a fast worker takes more of them;
 * each slice is added to a shared sum.  Nobody waits for anybody else before the end.
 */
#include <eddis_smb.h>

#include <stdio.h>
#include <stdlib.h>

enum { SLICES = 400, POINTS = 20000 };

static const int64_t timeout_ns = 60 * INT64_C(1000000000);

static void check(int rc, const struct eddis_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "pi: %s\n", err->text);
        exit(1); /* without eddis_close: the library ends the job, nobody waits for us */
    }
}

/* Of 4 / (1 + x^2) from 0 to 1. */
static double integral(int64_t slice)
{
    const double h = 1.0 / SLICES / POINTS;
    double sum = 0;

    for (int i = 0; i < POINTS; i++) {
        double x = ((double)slice * POINTS + i + 0.5) * h;

        sum += 4 / (1 + x * x) * h;
    }
    return sum;
}

int main(void)
{
    struct eddis_options o = { .size = sizeof o, .samples = 1 };
    struct eddis_world world = { .size = sizeof world };
    struct eddis_error err = { 0 };
    uint64_t key[2] = { 0 }, own; /* the counter, the sum; what is added to it */
    int64_t slice = 0;
    int taken = 0;
    struct eddis *e;

    check(eddis_open(&o, &e, &err), &err);
    eddis_world(e, &world);
    check(eddis_smb_open(e, 0, &err), &err);
    if (world.rank == 0) {
        check(eddis_smb_create(e, EDDIS_INT64, 1, &key[0], timeout_ns, &err), &err);
        check(eddis_smb_create(e, EDDIS_FLOAT64, 1, &key[1], timeout_ns, &err), &err);
    }
    check(eddis_broadcast(e, key, sizeof key, 0, timeout_ns, &err), &err);
    for (int i = 0; world.rank != 0 && i < 2; i++)
        check(eddis_smb_attach(e, key[i], NULL, NULL, timeout_ns, &err), &err);
    check(eddis_smb_create(e, EDDIS_FLOAT64, 1, &own, timeout_ns, &err), &err);
    for (;;) {
        double x;

        check(eddis_smb_fetch_add(e, key[0], 0, 1, &slice, timeout_ns, &err), &err);
        if (slice >= SLICES)
            break;
        x = integral(slice);
        check(eddis_smb_write(e, own, 0, 1, &x, timeout_ns, &err), &err);
        check(eddis_smb_accumulate(e, key[1], own, timeout_ns, &err), &err);
        taken++;
    }
    check(eddis_barrier(e, timeout_ns, &err), &err); /* all have added what they took */
    printf("worker %d of %d took %d slices\n", world.rank, world.n_ranks, taken);
    if (world.rank == 0) {
        double pi;

        check(eddis_smb_read(e, key[1], 0, 1, &pi, timeout_ns, &err), &err);
        printf("pi is %.10f\n", pi);
    }
    check(eddis_close(e, &err), &err); /* buffers go with their last user, or with the box */
    return 0;
}
