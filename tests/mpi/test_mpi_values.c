/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_values.c - one rank of a test about parameters under mpirun, through libeddis.so
 *
 *     test_mpi_values               each training with a handle of its own, one after the other
 *     test_mpi_values mean FILE     models that no gradient moves, by ranks of one host that keep
 *                                   pace through FILE
 */
#include "scenario.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEAN_RANKS = 4, MEAN_EPOCHS = 20 };

static scenario_fn *const trainings[] = { scenario_many, scenario_shapes, scenario_elsewhere,
                                          scenario_half, scenario_weighted };

/* The job's end by a failure ends who waits here.  arg: [MEAN_RANKS], in memory that all share. */
static void keep_pace(void *arg, int rank, int64_t step)
{
    atomic_llong *steps = arg;

    atomic_store(&steps[rank], step);
    for (int i = 0; i < MEAN_RANKS && step != INT64_MAX; i++)
        while (atomic_load(&steps[i]) < step - 2)
            sched_yield();
}

static void run_mean(const char *path, char mode[16])
{
    struct scenario s = { .batch = 43, .epochs = MEAN_EPOCHS, .keep_pace = keep_pace };
    size_t bytes = MEAN_RANKS * sizeof(atomic_llong);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    s.arg = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(s.arg != MAP_FAILED);
    if (s.arg != MAP_FAILED)
        scenario_run(scenario_mean, &s, mode);
}

int main(int argc, char **argv)
{
    char mode[16] = "";

    if (argc == 3 && strcmp(argv[1], "mean") == 0) {
        run_mean(argv[2], mode);
        return check_result();
    }
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++)
        scenario_run(trainings[i], &(struct scenario){ .batch = 43 }, mode);
    return check_result();
}
