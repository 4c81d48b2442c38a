/* SPDX-License-Identifier: Apache-2.0 */
/* smb_scenario.c - every operation of the Soft Memory Box between ranks, and what each must give */
#include "lib/eddis_smb.h"
#include "scenario.h"

#include <errno.h>
#include <stdlib.h>

#define SHORT_NS (INT64_C(1000000) * 20)

enum { N = 200001, STARTED = 4, COUNTS = 400 };

struct worker {
    struct eddis *e;
    struct eddis_world world;
    float *x; /* [N] */
};

static void barrier(struct worker *w)
{
    OK(eddis_barrier(w->e, TIMEOUT_NS, &err));
}

/* Rank 0 makes a buffer, the others attach to it. */
static uint64_t share(struct worker *w, enum eddis_dtype dtype, size_t n)
{
    enum eddis_dtype got = 0;
    uint64_t key = 0;
    size_t length = 0;

    if (w->world.rank == 0)
        OK(eddis_smb_create(w->e, dtype, n, &key, TIMEOUT_NS, &err));
    OK(eddis_broadcast(w->e, &key, sizeof key, 0, TIMEOUT_NS, &err));
    CHECK(key != 0, "the key is 0");
    if (w->world.rank != 0) {
        OK(eddis_smb_attach(w->e, key, &got, &length, TIMEOUT_NS, &err));
        CHECK(got == dtype && length == n, "type %d of %zu elements", got, length);
    }
    return key;
}

static void fill(struct worker *w, float value)
{
    for (int i = 0; i < N; i++)
        w->x[i] = value;
}

/* ---- sums ---- */

/* Some of the accumulates are started and not waited for until the last. */
static void add(struct worker *w, uint64_t key, uint64_t own, int accumulates)
{
    struct eddis_smb_request *r[STARTED];
    int started = accumulates < STARTED ? accumulates : STARTED;

    for (int i = 0; i < started; i++)
        OK(eddis_smb_accumulate_start(w->e, key, own, &r[i], &err));
    for (int i = started; i < accumulates; i++)
        OK(eddis_smb_accumulate(w->e, key, own, TIMEOUT_NS, &err));
    for (int i = 0; i < started; i++)
        OK(eddis_smb_request_wait(w->e, r[i], TIMEOUT_NS, &err));
}

/* n writers times k accumulates of ones are exactly n k, and as many notices. */
static void sums(struct worker *w, int accumulates)
{
    uint64_t key = share(w, EDDIS_FLOAT32, N), own = 0;
    uint64_t wanted = (uint64_t)accumulates * (uint64_t)w->world.n_ranks, notices = wanted - 1;
    struct eddis_smb_request *r;
    int wrong = 0;

    OK(eddis_smb_create(w->e, EDDIS_FLOAT32, N, &own, TIMEOUT_NS, &err));
    fill(w, 1);
    OK(eddis_smb_write_start(w->e, own, 0, N, w->x, &r, &err));
    OK(eddis_smb_request_wait(w->e, r, TIMEOUT_NS, &err));
    barrier(w);
    add(w, key, own, accumulates);
    OK(eddis_smb_wait(w->e, key, &notices, TIMEOUT_NS, &err));
    CHECK(notices == wanted, "%llu notices", (unsigned long long)notices);
    OK(eddis_smb_read_start(w->e, key, 0, N, w->x, &r, &err));
    OK(eddis_smb_request_wait(w->e, r, TIMEOUT_NS, &err));
    for (int i = 0; i < N; i++)
        wrong += w->x[i] != (float)wanted;
    CHECK(wrong == 0, "%d elements are wrong, the first is %g instead of %llu", wrong,
          (double)w->x[0], (unsigned long long)wanted);
    OK(eddis_smb_detach(w->e, own, TIMEOUT_NS, &err));
    OK(eddis_smb_detach(w->e, key, TIMEOUT_NS, &err));
    barrier(w);
    REFUSED(-ENOENT, "has left", eddis_smb_attach(w->e, key, NULL, NULL, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "not attached", eddis_smb_detach(w->e, key, TIMEOUT_NS, &err));
}

/* ---- counters ---- */

/* Every number is taken once. */
static void counter(struct worker *w)
{
    uint64_t key = share(w, EDDIS_INT64, 3);
    int64_t before = -1, last = -1, sum[2] = { 0 };

    while (before < COUNTS && !check_failures()) {
        OK(eddis_smb_fetch_add(w->e, key, 2, 1, &before, TIMEOUT_NS, &err));
        CHECK(before > last, "%lld after %lld", (long long)before, (long long)last);
        last = before;
        if (before < COUNTS) {
            sum[0]++;
            sum[1] += before;
        }
    }
    OK(eddis_allreduce(w->e, sum, 2, EDDIS_INT64, EDDIS_SUM, TIMEOUT_NS, &err));
    CHECK(sum[0] == COUNTS && sum[1] == COUNTS * (COUNTS - 1) / 2, "%lld numbers, their sum %lld",
          (long long)sum[0], (long long)sum[1]);
    REFUSED(-EINVAL, "has 3", eddis_smb_fetch_add(w->e, key, 3, 1, &before, TIMEOUT_NS, &err));
    OK(eddis_smb_detach(w->e, key, TIMEOUT_NS, &err));
}

/* ---- notices, deadlines, bad use ---- */

/* Who waits in vain hears of it, and can go on. */
static void notices(struct worker *w)
{
    uint64_t key = share(w, EDDIS_FLOAT64, 5), count = 0;
    double x = 0;

    REFUSED(-ETIMEDOUT, "no notice", eddis_smb_wait(w->e, key, &count, SHORT_NS, &err));
    barrier(w);
    if (w->world.rank == w->world.n_ranks - 1) {
        OK(eddis_smb_write(w->e, key, 4, 1, &(double){ 0.5 }, TIMEOUT_NS, &err));
        OK(eddis_smb_notify(w->e, key, TIMEOUT_NS, &err));
    }
    while (count < 2 && !check_failures())
        OK(eddis_smb_wait(w->e, key, &count, TIMEOUT_NS, &err));
    OK(eddis_smb_read(w->e, key, 4, 1, &x, TIMEOUT_NS, &err));
    CHECK(x == 0.5, "%g", x);
    OK(eddis_smb_detach(w->e, key, TIMEOUT_NS, &err));
}

static void bad_use(struct worker *w)
{
    uint64_t key = share(w, EDDIS_FLOAT32, 10), other = 0;
    int64_t before;
    struct eddis_smb_request *r;

    OK(eddis_smb_create(w->e, EDDIS_FLOAT64, 10, &other, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "has 10", eddis_smb_read(w->e, key, 8, 3, w->x, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "has 10", eddis_smb_write(w->e, key, SIZE_MAX, 2, w->x, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "NULL", eddis_smb_read(w->e, key, 0, 3, NULL, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "of the same type", eddis_smb_accumulate(w->e, key, other, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "itself", eddis_smb_accumulate(w->e, key, key, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "int64", eddis_smb_fetch_add(w->e, key, 0, 1, &before, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "type", eddis_smb_create(w->e, EDDIS_UINT8, 10, &other, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "0", eddis_smb_create(w->e, EDDIS_FLOAT32, 0, &other, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "NULL", eddis_smb_wait(w->e, key, NULL, TIMEOUT_NS, &err));
    REFUSED(-ENOENT, "4d", eddis_smb_attach(w->e, 77, NULL, NULL, TIMEOUT_NS, &err));
    OK(eddis_smb_read_start(w->e, 77, 0, 1, w->x, &r, &err));
    REFUSED(-EINVAL, "not attached", eddis_smb_request_wait(w->e, r, TIMEOUT_NS, &err));
    /* What is not detached goes with the box; so does a request that nobody waits for. */
    OK(eddis_smb_create(w->e, EDDIS_FLOAT32, 10, &other, TIMEOUT_NS, &err));
    OK(eddis_smb_accumulate_start(w->e, key, other, &r, &err));
    barrier(w);
}

void scenario_smb(struct eddis *e, struct scenario *s)
{
    struct worker w = { .e = e, .world = world_of(e) };
    uint64_t key;

    w.x = malloc(N * sizeof *w.x);
    REFUSED(-EINVAL, "open", eddis_smb_create(e, EDDIS_FLOAT32, 10, &key, TIMEOUT_NS, &err));
    REFUSED(-EINVAL, "1000 servers", eddis_smb_open(e, 1000, &err));
    OK(eddis_smb_open(e, 0, &err));
    OK(eddis_smb_open(e, 1, &err));
    sums(&w, s->repeats);
    counter(&w);
    notices(&w);
    bad_use(&w);
    free(w.x);
}
