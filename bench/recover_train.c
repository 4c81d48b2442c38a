/* SPDX-License-Identifier: Apache-2.0 */
/* recover_train.c - a training program that records when it began and when its first step was done
 *
 *     bench-recover-train FOLDER STEPS
 *
 * Rank r writes its pid to FOLDER/pid-<r>.<generation>.  After its first step, rank 0 writes
 * FOLDER/first.<generation>: when it began and when that step was done (CLOCK_MONOTONIC, ns), and
 * the step's number.  Steps take 5 ms.  A later generation continues from the newest checkpoint and
 * ends after STEPS steps of its own.
 */
#include <eddis.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FLOATS = 10000, SAMPLES = 640, BATCH = 64, EPOCHS = 1000, STEP_US = 5000 };

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-recover-train: %s\n", err->text);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Write text to the file `path`, which appears only when it is complete. */
static void tell(const char *path, const char *text)
{
    char part[600];
    FILE *f;

    (void)snprintf(part, sizeof part, "%s.part", path);
    f = fopen(part, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) || rename(part, path)) {
        perror(path);
        exit(1);
    }
}

/* Write this process's pid to its file in folder. */
static void tell_pid(const char *folder, const struct eddis_world *w)
{
    char path[512], text[32];

    (void)snprintf(path, sizeof path, "%s/pid-%d.%d", folder, w->rank, w->generation);
    (void)snprintf(text, sizeof text, "%d\n", (int)getpid());
    tell(path, text);
}

/* Write the times of the beginning and of the first step to their file in folder. */
static void tell_first(const char *folder, const struct eddis_world *w, int64_t begun_ns,
                       int64_t step)
{
    char path[512], text[96];

    (void)snprintf(path, sizeof path, "%s/first.%d", folder, w->generation);
    (void)snprintf(text, sizeof text, "%lld %lld %lld\n", (long long)begun_ns, (long long)now_ns(),
                   (long long)step);
    tell(path, text);
}

/* Read value from the checkpoint from which the job starts, if there is one. */
static void resume(struct eddis *e, float *value)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    int there = eddis_restore_begin(e, NULL, &c, &err);

    check(there, &err);
    if (!there)
        return;
    check(eddis_checkpoint_get(c, "value", value, FLOATS * sizeof *value, &err), &err);
    check(eddis_restore_end(c, &err), &err);
}

/* Write a checkpoint of value.  Collective. */
static void save(struct eddis *e, int rank, const float *value)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    check(eddis_checkpoint_begin(e, NULL, &c, &err), &err);
    if (rank == 0)
        (void)eddis_checkpoint_put(c, "value", value, FLOATS * sizeof *value, NULL);
    check(eddis_checkpoint_commit(c, 0, &err), &err);
}

int main(int argc, char **argv)
{
    static float value[FLOATS], gradient[FLOATS];
    int64_t begun_ns = now_ns(), most = argc > 2 ? atoll(argv[2]) : 0, done = 0;
    struct eddis_error err = { 0 };
    struct eddis_options o = {
        .size = sizeof o, .samples = SAMPLES, .epochs = EPOCHS, .batch = BATCH
    };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_world world = { .size = sizeof world };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { FLOATS },
                                 .value = value };
    struct eddis *e;
    int layer, parameter;

    if (argc < 3)
        return 2;
    check(eddis_open(&o, &e, &err), &err);
    check(eddis_world(e, &world), &err);
    tell_pid(argv[1], &world);
    check(layer = eddis_add_layer(e, "layer", EDDIS_LAYER_DENSE, &err), &err);
    check(parameter = eddis_add_parameter(e, layer, &p, &err), &err);
    check(eddis_commit(e, &err), &err);
    resume(e, value);
    while (eddis_step_begin(e, &s, &err) == 1) {
        usleep(STEP_US);
        check(eddis_announce(e, parameter, gradient, gradient, &err), &err);
        check(eddis_wait(e, EDDIS_FOREVER, &err), &err);
        check(eddis_step_end(e, NULL, &err), &err);
        if (done++ == 0 && world.rank == 0)
            tell_first(argv[1], &world, begun_ns, s.step);
        if (s.flags & EDDIS_STEP_CHECKPOINT)
            save(e, world.rank, value);
        if (world.generation > 1 && done >= most)
            break;
    }
    check(eddis_close(e, &err), &err);
    return 0;
}
