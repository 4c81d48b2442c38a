/* SPDX-License-Identifier: Apache-2.0 */
/* probe_memory.c - time sweeps through memory */
#include "probe_memory.h"

#include "cpu.h"

#include "lib/base/clock.h"
#include "lib/topo/topo.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_THREADS = 1024, PAGE_BYTES = 2 << 20, LARGE_BYTES = 8 * PAGE_BYTES };

/* State shared by the threads of a sweep */
struct sweep {
    pthread_barrier_t barrier;
    size_t n;                   /* floats per thread */
    atomic_bool failed, enough; /* a thread had no memory; the time is over */
};

int64_t probe_memory_sweep_bytes(int64_t cache_bytes, int64_t free_bytes)
{
    int64_t bytes = 4 * cache_bytes;

    if (bytes < INT64_C(64) << 20)
        bytes = INT64_C(64) << 20;
    if (bytes > INT64_C(2) << 30)
        bytes = INT64_C(2) << 30;
    if (bytes > free_bytes / 8)
        bytes = free_bytes / 8;
    return bytes > 1 << 20 ? bytes : 1 << 20;
}

/* Read and write each of n elements once. Not instrumented by the thread sanitizer, whose cost per
 * element would be measured instead.
 */
__attribute__((no_sanitize("thread"))) static void pass(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * 0.999F + 0.001F;
}

/* Set all n elements to 1. */
__attribute__((no_sanitize("thread"))) static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 1.0F;
}

/* Return new memory of s->n elements, filled by the calling thread, so that its pages are on its
 * NUMA node. Large areas use huge pages if available: a GB of small pages takes longer to allocate
 * than to sweep. Without memory, return NULL and set s->failed.
 */
static float *own_memory(struct sweep *s)
{
    size_t bytes = sizeof(float) * s->n;
    bool large = bytes >= LARGE_BYTES;
    float *x = large ? aligned_alloc(PAGE_BYTES, bytes / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES)
                     : malloc(bytes);

    if (!x) {
        atomic_store(&s->failed, true);
        return NULL;
    }
    if (large)
        (void)madvise(x, bytes, MADV_HUGEPAGE);
    fill(x, s->n);
    return x;
}

/* Thread function of all threads but the first; arg: struct sweep. Sweep in step with the first
 * thread until s->enough or s->failed is set. Return NULL.
 */
static void *helper(void *arg)
{
    struct sweep *s = arg;
    float *x = own_memory(s);

    for (;;) {
        (void)pthread_barrier_wait(&s->barrier);
        if (atomic_load(&s->failed) || atomic_load(&s->enough))
            break;
        pass(x, s->n);
        (void)pthread_barrier_wait(&s->barrier);
    }
    free(x);
    return NULL;
}

/* Sweep as the first thread, time the rounds of all threads, and set s->enough after 0.25 s. Return
 * the best bytes per second; 0 without memory.
 */
static double keep_time(struct sweep *s, int threads)
{
    double bytes = 2.0 * (double)sizeof(float) * (double)s->n * threads, best = 0;
    float *x = own_memory(s);
    int64_t deadline = clock_now_ns() + 250 * CLOCK_MS;

    for (;;) {
        int64_t start;
        double rate;

        if (best > 0 && clock_now_ns() >= deadline)
            atomic_store(&s->enough, true);
        (void)pthread_barrier_wait(&s->barrier);
        if (atomic_load(&s->failed) || atomic_load(&s->enough))
            break;
        start = clock_now_ns();
        pass(x, s->n);
        (void)pthread_barrier_wait(&s->barrier);
        rate = bytes * (double)CLOCK_S / (double)(clock_now_ns() - start + 1);
        best = rate > best ? rate : best;
    }
    free(x);
    return best;
}

int probe_memory_sweep(const void *task, void *result, struct eddis_error *err)
{
    const struct cpu_task *t = task;
    int threads = t->threads < MOST_THREADS ? t->threads : MOST_THREADS;
    struct sweep s = { .n = (size_t)t->sweep_bytes / sizeof(float) / (size_t)threads };
    pthread_t id[MOST_THREADS];
    int rc = t->cpus[0] ? topo_bind(t->cpus, err) : 0;

    if (rc < 0)
        return rc;
    (void)pthread_barrier_init(&s.barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) {
        rc = pthread_create(&id[i], NULL, helper, &s);
        if (rc) /* the other threads wait at the barrier until this process exits */
            return eddis_fail_errno(err, -rc, "cannot start thread %d of the memory sweep", i);
    }
    *(double *)result = keep_time(&s, threads);
    for (int i = 1; i < threads; i++)
        (void)pthread_join(id[i], NULL);
    (void)pthread_barrier_destroy(&s.barrier);
    return atomic_load(&s.failed) ? eddis_fail(err, -ENOMEM, "no memory for the memory sweep") : 0;
}
