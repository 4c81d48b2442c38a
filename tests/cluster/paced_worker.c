/* SPDX-License-Identifier: Apache-2.0 */
/* paced_worker.c - a rank whose steps last as long as a file says, which may change meanwhile
 *
 *     paced-worker FOLDER           each step sleeps as many ms as FOLDER/<rank> holds; a second
 *                                   number there are ms that it uses its processor for besides
 *     paced-worker FOLDER SAMPLES   the same for each sample, which it first reads from
 * SAMPLES/<rank>/images
 *
 * It does not read ahead.  Without samples rank 0 reports what it measured: 7 ms of compute and 1
 * ms of waiting for input, three units of work a sample, 4 MiB of memory.  The others report
 * nothing, but each the precision that PACED_PRECISION names.  Ends when the job is told to.
 */
#include <eddis.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void die(const struct eddis_error *err)
{
    fprintf(stderr, "paced-worker: %s\n", err->text);
    exit(1);
}

static int64_t used_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void compute(int64_t ms)
{
    int64_t until_ns = used_ns() + ms * 1000000;

    while (used_ns() < until_ns)
        ;
}

static void pace(const char *folder, int rank, int64_t times)
{
    char path[512];
    struct timespec t = { 0 };
    int64_t ms = 1, used_ms = 0;
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%d", folder, rank);
    f = fopen(path, "re");
    if (f && fscanf(f, "%" SCNd64 " %" SCNd64, &ms, &used_ms) < 1)
        ms = 1; /* it is being written */
    if (f)
        (void)fclose(f);
    compute(used_ms * times);
    ms *= times;
    t.tv_sec = ms / 1000;
    t.tv_nsec = ms % 1000 * 1000000L;
    (void)nanosleep(&t, NULL);
}

/* Each by a call of its own, as trainers do whose samples are shuffled. */
static void read_samples(struct eddis *e, int fd, int64_t n)
{
    char sample[64];

    eddis_set_phase(e, EDDIS_PHASE_INPUT);
    for (int64_t i = 0; i < n; i++)
        if (pread(fd, sample, sizeof sample, i * (int64_t)sizeof sample) != sizeof sample)
            exit(1);
    eddis_set_phase(e, EDDIS_PHASE_COMPUTE);
}

static int step(struct eddis *e, int rank, const char *folder, int samples_fd,
                struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_report r = { .size = sizeof r };
    int rc = eddis_step_begin(e, &s, err);

    if (rc != 1)
        return rc;
    if (samples_fd >= 0)
        read_samples(e, samples_fd, s.count);
    pace(folder, rank, samples_fd >= 0 ? s.count : 1);
    rc = eddis_wait(e, EDDIS_FOREVER, err);
    if (rc < 0)
        return rc;
    if (rank == 0 && samples_fd < 0) {
        r.compute_ns = 7000000;
        r.input_ns = 1000000;
        r.work = 3 * (double)s.count;
        r.memory_bytes = 4 << 20;
    }
    r.precision = getenv("PACED_PRECISION");
    rc = eddis_step_end(e, &r, err);
    return rc < 0 ? rc : 1;
}

/* Returns a descriptor, or -1. */
static int open_samples(const char *folder, int rank)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%d/images", folder, rank);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    const struct eddis_options o = { .size = sizeof o, .samples = 1 << 24 };
    static float value[1], result[1];
    const struct eddis_parameter p = { .size = sizeof p,
                                       .name = "w",
                                       .dtype = EDDIS_FLOAT32,
                                       .n_dims = 1,
                                       .dims = { 1 },
                                       .value = value,
                                       .result = result };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int rc, samples_fd = -1;

    if (argc != 2 && argc != 3)
        return 2;
    if (eddis_open(&o, &e, &err) < 0 || eddis_world(e, &w) < 0 ||
        eddis_add_layer(e, "one", EDDIS_LAYER_OTHER, &err) < 0 ||
        eddis_add_parameter(e, 0, &p, &err) < 0 || eddis_commit(e, &err) < 0)
        die(&err);
    if (argc == 3 && (samples_fd = open_samples(argv[2], w.rank)) < 0)
        return 1;
    do
        rc = step(e, w.rank, argv[1], samples_fd, &err);
    while (rc == 1);
    if (rc < 0 || eddis_close(e, &err) < 0)
        die(&err);
    return 0;
}
