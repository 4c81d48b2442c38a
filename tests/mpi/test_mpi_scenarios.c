/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_scenarios.c - one rank of trainings that threads run over the loop, too, under mpirun or
 * eddis-run, through libeddis.so
 *
 *     test_mpi_scenarios samples    samples of workers; the global batch of the job is 40
 *     test_mpi_scenarios plan       a new plan, which eddis-run has to make
 *     test_mpi_scenarios threads    calls of any thread beside the steps
 *     test_mpi_scenarios smb K      the Soft Memory Box; each rank accumulates K times
 *     test_mpi_scenarios killed     the last rank is killed while it accumulates: the job must end
 *
 * Each training has a handle of its own, one after the other.  Exit code 0: all is well.
 */
#include "lib/eddis_smb.h"
#include "scenario.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 40, AHEAD = 16, MANY_EPOCHS = 4096, ELEMENTS = 1000 * 1000 };

static const struct training {
    scenario_fn *run;
    struct scenario s;
} trainings[] = {
    { scenario_remainder, { .epochs = 3, .drop_last = 1 } },
    { scenario_remainder, { .epochs = 3, .min_count = 5 } },
    { scenario_remainder, { .epochs = 3, .min_count = 21 } },
    { scenario_remainder, { .epochs = 3, .drop_last = 1, .min_count = 7 } },
    { scenario_none_left, { .epochs = 3, .min_count = BATCH + 1 } },
    { scenario_counts, { .epochs = 2 } },
    { scenario_own_count, { .epochs = 2 } },
    { scenario_mixed_count, { .epochs = 2 } },
    { scenario_late, { .epochs = 2, .late = 1 } },
    { scenario_ahead, { .epochs = 4, .read_ahead = AHEAD } },
    { scenario_ahead, { .epochs = 2, .read_ahead = 1 } },
    { scenario_breaks, { .epochs = 2 } },
};

static void run_plan(char mode[16])
{
    bool by_eddis_run = getenv("EDDIS_BOARD");
    const struct scenario s = { .batch = BATCH,
                                .epochs = by_eddis_run ? MANY_EPOCHS : 2,
                                .plans = by_eddis_run };

    scenario_run(scenario_plan_fd, &s, mode);
}

static void run_samples(char mode[16])
{
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        struct scenario s = trainings[i].s;
        int before = check_failures();

        s.batch = BATCH;
        scenario_run(trainings[i].run, &s, mode);
        if (check_failures() > before)
            fprintf(stderr, "in training %zu\n", i);
    }
    if (!getenv("EDDIS_BOARD")) /* no new plan comes */
        run_plan(mode);
}

/* Never comes back: the others are ended with the one that dies. */
static void accumulate(struct eddis *e, struct scenario *s)
{
    struct eddis_world w = world_of(e);
    struct eddis_smb_request *r;
    uint64_t key = 0, own = 0;

    OK(eddis_smb_open(e, 0, &err));
    if (w.rank == 0)
        OK(eddis_smb_create(e, EDDIS_FLOAT32, ELEMENTS, &key, TIMEOUT_NS, &err));
    OK(eddis_broadcast(e, &key, sizeof key, 0, TIMEOUT_NS, &err));
    if (w.rank != 0)
        OK(eddis_smb_attach(e, key, NULL, NULL, TIMEOUT_NS, &err));
    OK(eddis_smb_create(e, EDDIS_FLOAT32, ELEMENTS, &own, TIMEOUT_NS, &err));
    for (int i = 0;; i++) {
        OK(eddis_smb_accumulate_start(e, key, own, &r, &err));
        if (w.rank == w.n_ranks - 1 && i == 10)
            (void)raise(SIGKILL);
        OK(eddis_smb_request_wait(e, r, TIMEOUT_NS, &err));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char mode[16] = "";

    if (strcmp(what, "samples") == 0) {
        run_samples(mode);
    } else if (strcmp(what, "plan") == 0) {
        run_plan(mode);
    } else if (strcmp(what, "threads") == 0) {
        scenario_run(scenario_threads, &(struct scenario){ .batch = 24 }, mode);
    } else if (strcmp(what, "smb") == 0 && argc > 2) {
        scenario_run(scenario_smb, &(struct scenario){ .repeats = atoi(argv[2]) }, mode);
    } else if (strcmp(what, "killed") == 0) {
        check_set_exit(1);
        scenario_run(accumulate, &(struct scenario){ 0 }, mode);
    } else {
        fprintf(stderr, "usage: test_mpi_scenarios samples|plan|threads|smb K|killed\n");
        return 2;
    }
    if (*mode && check_failures() == 0)
        printf("%s in %s mode: passed\n", what, mode);
    return check_result();
}
