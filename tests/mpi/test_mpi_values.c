/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_values.c - one rank of a test about parameters under mpirun, through libeddis.so
 *
 *     test_mpi_values               each training with a handle of its own, one after the other
 *     test_mpi_values drift FILE    models that no gradient moves, by ranks of one host that keep
 *                                   pace through FILE
 */
#include "scenario.h"
#include "values_scenario.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DRIFT_RANKS = 4, DRIFT_EPOCHS = 20 };

static atomic_llong *pace_step; /* [DRIFT_RANKS], in memory that all ranks share */

/* epochs 0: as many as usual. */
static int run(int (*training)(struct eddis *e), int64_t epochs)
{
    struct eddis_options o = scenario_options(&(struct scenario){ .batch = 43, .epochs = epochs });
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int failures = 0, rc = eddis_open(&o, &e, &err);

    if (rc == 0) {
        failures = training(e);
        rc = eddis_close(e, &err);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    return failures + (rc < 0);
}

static int elsewhere(struct eddis *e)
{
    return values_elsewhere(e, NULL);
}

/* The job's end by a failure ends who waits here. */
static void pace_turn(void *arg, int rank, int64_t step)
{
    (void)arg;
    atomic_store(&pace_step[rank], step);
    for (int i = 0; i < DRIFT_RANKS && step != INT64_MAX; i++)
        while (atomic_load(&pace_step[i]) < step - 2)
            sched_yield();
}

static int drift(struct eddis *e)
{
    return values_drift(e, &(struct values_pace){ .turn = pace_turn });
}

static int run_drift(const char *path)
{
    size_t bytes = DRIFT_RANKS * sizeof *pace_step;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return 1;
    pace_step = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return pace_step == MAP_FAILED || run(drift, DRIFT_EPOCHS) > 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "drift") == 0)
        return run_drift(argv[2]);
    return run(values_many, 0) + run(values_shapes, 0) + run(elsewhere, 0) + run(values_half, 0) +
               run(values_weighed, 0) >
           0;
}
