/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - bench-overlap ready|end STEPS: training steps of a model of 30 layers whose computing
 * is replaced by sleep, over the ranks of an mpirun
 *
 * A step computes for STEP_NS: a third of it forward, the rest backward, layer by layer.  A layer's
 * gradient is announced when it is `ready`, or all at the `end` of the backward pass.  Rank 0
 * prints three things.  First, seconds of communication that no computing hides: the shortest wait
 * of any rank, median of the steps.  Second, seconds of a step.  Third, bytes per second that leave
 * its host: the highest rate within WINDOW_NS (median of the steps), and the mean.  Steps up to the
 * one that takes the buckets' measured layout are not counted.
 */
#include "layers.h"

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/eddis.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 30, WARM = 6, MAX_STEPS = 500, ELEMENTS = 1 << 16 }; /* 256 KiB a layer */

#define STEP_NS    (300 * CLOCK_MS)
#define WINDOW_NS  (20 * CLOCK_MS)
#define TIMEOUT_NS (60 * CLOCK_S)
#define SENT_FILE  "/sys/class/net/eth0/statistics/tx_bytes"

/* ---- bytes that leave the host ---- */

struct meter {
    pthread_t thread;
    pthread_mutex_t lock;
    bool stop;
    double peak; /* highest bytes per second since meter_take */
};

/* Return the bytes that this host's interface has sent; -1: unknown. */
static int64_t sent_bytes(void)
{
    FILE *f = fopen(SENT_FILE, "re");
    int64_t n = 0;

    if (!f || fscanf(f, "%" SCNd64, &n) != 1)
        n = -1;
    if (f)
        (void)fclose(f);
    return n;
}

/* Measure the rate of each window until stopped; the meter's thread. */
static void *meter_main(void *arg)
{
    struct meter *m = arg;
    int64_t then = clock_now_ns(), before = sent_bytes();
    bool stop = false;

    while (!stop) {
        int64_t now, bytes;
        double rate;

        clock_sleep_until_ns(then + WINDOW_NS);
        now = clock_now_ns();
        bytes = sent_bytes();
        rate = (double)(bytes - before) * 1e9 / (double)(now - then);
        then = now;
        before = bytes;
        pthread_mutex_lock(&m->lock);
        m->peak = rate > m->peak ? rate : m->peak;
        stop = m->stop;
        pthread_mutex_unlock(&m->lock);
    }
    return NULL;
}

/* Return the highest rate since the last call, bytes per second. */
static double meter_take(struct meter *m)
{
    double peak;

    pthread_mutex_lock(&m->lock);
    peak = m->peak;
    m->peak = 0;
    pthread_mutex_unlock(&m->lock);
    return peak;
}

/* Start to measure the rate of bytes sent.  Return 0, or a negative errno if it cannot be read. */
static int meter_start(struct meter *m)
{
    pthread_mutex_init(&m->lock, NULL);
    return sent_bytes() < 0 ? -EIO : -pthread_create(&m->thread, NULL, meter_main, m);
}

/* End the meter's thread. */
static void meter_stop(struct meter *m)
{
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
}

/* ---- training ---- */

struct metrics {
    double waited_s[MAX_STEPS], step_s[MAX_STEPS], peak[MAX_STEPS];
    int n;
    int64_t begin_ns, begin_bytes, end_ns, end_bytes;
};

/* Sleep through the forward and backward pass, and announce the gradients, which are 1. */
static int compute(struct eddis *e, bool ready, struct eddis_error *err)
{
    int64_t begin = clock_now_ns();
    int rc = 0;

    for (int i = LAYERS - 1, done = 1; rc == 0 && i >= 0; i--, done++) {
        float *g = eddis_gradient(e, i);

        clock_sleep_until_ns(begin + STEP_NS / 3 + STEP_NS * 2 / 3 * done / LAYERS);
        for (int k = 0; k < ELEMENTS; k++)
            g[k] = 1;
        if (ready)
            rc = eddis_announce(e, i, NULL, NULL, err);
    }
    for (int i = LAYERS - 1; rc == 0 && !ready && i >= 0; i--)
        rc = eddis_announce(e, i, NULL, NULL, err);
    return rc;
}

/* Check that all combined gradients are 1.  Return 0 or -EPROTO. */
static int check_result(struct eddis *e, struct eddis_error *err)
{
    for (int i = 0; i < LAYERS; i++) {
        const float *g = eddis_gradient(e, i);

        for (int k = 0; k < ELEMENTS; k++)
            if (g[k] < 1 - 1e-5F || g[k] > 1 + 1e-5F)
                return eddis_fail(err, -EPROTO, "layer %d: the mean of ones is %g", i, g[k]);
    }
    return 0;
}

/* Make one step.  Return in *ret_waited_s the shortest wait of any rank: that rank waits for
 * communication only, not for other ranks.
 */
static int one_step(struct eddis *e, bool ready, double *ret_waited_s, struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    int64_t computed = 0, done = 0;
    int rc = eddis_step_begin(e, &s, err);

    if (rc == 1)
        rc = compute(e, ready, err);
    computed = clock_now_ns();
    if (rc == 0)
        rc = eddis_wait(e, TIMEOUT_NS, err);
    done = clock_now_ns();
    if (rc == 0)
        rc = check_result(e, err);
    if (rc == 0)
        rc = eddis_step_end(e, NULL, err);
    *ret_waited_s = (double)(done - computed) / 1e9;
    return rc < 0 ? rc
                  : eddis_allreduce(e, ret_waited_s, 1, EDDIS_FLOAT64, EDDIS_MIN, TIMEOUT_NS, err);
}

/* Make WARM steps and then `steps` measured ones, and record their metrics in f. */
static int train(struct eddis *e, bool ready, int steps, struct meter *m, struct metrics *f,
                 struct eddis_error *err)
{
    int rc = 0;

    for (int t = 0; rc == 0 && t < WARM + steps; t++) {
        int64_t begin = clock_now_ns();
        double waited_s;

        if (t == WARM) {
            (void)meter_take(m);
            f->begin_ns = begin;
            f->begin_bytes = sent_bytes();
        }
        rc = one_step(e, ready, &waited_s, err);
        f->end_ns = clock_now_ns();
        if (t < WARM)
            continue;
        f->waited_s[f->n] = waited_s;
        f->step_s[f->n] = (double)(f->end_ns - begin) / 1e9;
        f->peak[f->n++] = meter_take(m);
    }
    f->end_bytes = sent_bytes();
    return rc;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

/* Open the job, train, and close it.  Return 0 or a negative errno. */
static int run(bool ready, int steps, struct metrics *f, int *ret_rank, struct eddis_error *err)
{
    struct eddis_options o = { .size = sizeof o, .samples = 1 << 30, .measure = 1 };
    struct eddis_world w = { .size = sizeof w };
    float *value = calloc(LAYERS, ELEMENTS * sizeof *value);
    struct meter m = { 0 };
    struct eddis *e = NULL;
    int rc = eddis_open(&o, &e, err);

    if (rc < 0 || !value) {
        free(value);
        return rc < 0 ? rc : eddis_fail(err, -ENOMEM, "no memory for a model");
    }
    rc = eddis_world(e, &w);
    *ret_rank = w.rank;
    if (rc == 0)
        rc = layers_register(e, value, LAYERS, ELEMENTS, err);
    if (rc == 0)
        rc = meter_start(&m);
    if (rc == 0) {
        rc = train(e, ready, steps, &m, f, err);
        meter_stop(&m);
    }
    if (rc < 0) {
        (void)fprintf(stderr, "bench-overlap: %s\n", err->code ? err->text : strerror(-rc));
        eddis_abort(e, 1);
    }
    rc = eddis_close(e, err);
    free(value);
    return rc;
}

int main(int argc, char **argv)
{
    static struct metrics f;
    struct eddis_error err = { 0 };
    int steps = argc == 3 ? atoi(argv[2]) : 0, rank = 0;

    if (steps < 1 || steps > MAX_STEPS || (strcmp(argv[1], "ready") && strcmp(argv[1], "end"))) {
        (void)fprintf(stderr, "usage: bench-overlap ready|end STEPS\n");
        return 2;
    }
    if (run(strcmp(argv[1], "ready") == 0, steps, &f, &rank, &err) < 0) {
        (void)fprintf(stderr, "bench-overlap: %s\n", err.text);
        return 1;
    }
    if (rank == 0)
        (void)printf("%.6f %.6f %.0f %.0f\n", median(f.waited_s, f.n), median(f.step_s, f.n),
                     median(f.peak, f.n),
                     (double)(f.end_bytes - f.begin_bytes) * 1e9 / (double)(f.end_ns - f.begin_ns));
    return 0;
}
