/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_told.c - one rank of trainings about the samples that workers are told, under mpirun or
 * eddis-run, through libeddis.so
 *
 *     test_mpi_told         all but that of a new plan, which must not come without eddis-run
 *     test_mpi_told plan    that of a new plan, which eddis-run has to make
 *
 * Each training has a handle of its own, one after the other.  The global batch of the job is 40.
 */
#include "told_scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 40, AHEAD = 16, MANY_EPOCHS = 4096 };

struct training {
    const char *name;
    int (*run)(struct eddis *e, struct scenario *s);
    struct scenario s;
};

static int late(struct eddis *e, struct scenario *s)
{
    return reported_late(e, s, false);
}

static const struct training trainings[] = {
    { "drop_last", reported_trailers, { .epochs = 3, .drop_last = 1 } },
    { "min_count 5", reported_trailers, { .epochs = 3, .min_count = 5 } },
    { "min_count 21", reported_trailers, { .epochs = 3, .min_count = 21 } },
    { "drop_last and min_count",
      reported_trailers,
      { .epochs = 3, .drop_last = 1, .min_count = 7 } },
    { "a min_count above the batch", reported_none_left, { .epochs = 3, .min_count = BATCH + 1 } },
    { "counts", reported_counts, { .epochs = 2 } },
    { "own counts", reported_own, { .epochs = 2 } },
    { "numbers and counts", reported_mixed, { .epochs = 2 } },
    { "late data", late, { .epochs = 2, .late = 1 } },
    { "read_ahead", reported_ahead, { .epochs = 4, .read_ahead = AHEAD } },
    { "read_ahead of one", reported_ahead, { .epochs = 2, .read_ahead = 1 } },
    { "breaks", reported_breaks, { .epochs = 2 } },
};

static int failed(const char *name, const struct eddis_error *err)
{
    fprintf(stderr, "%s: %s\n", name, err->text);
    return 1;
}

static int run(const struct training *t, char *mode, size_t size)
{
    struct scenario s = t->s;
    struct eddis_world world = { .size = sizeof world };
    struct eddis_options o;
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int failures;

    s.batch = BATCH;
    o = scenario_options(&s);
    if (eddis_open(&o, &e, &err) < 0 || eddis_world(e, &world) < 0)
        return failed(t->name, &err);
    (void)snprintf(mode, size, "%s", world.rank == 0 ? world.mode : "");
    failures = t->run(e, &s);
    if (failures)
        fprintf(stderr, "rank %d: %s: %d failures\n", world.rank, t->name, failures);
    return eddis_close(e, &err) < 0 ? failed(t->name, &err) : failures;
}

int main(int argc, char **argv)
{
    bool by_eddis_run = getenv("EDDIS_BOARD");
    struct training plan = { "plan",
                             told_plan_fd,
                             { .epochs = by_eddis_run ? MANY_EPOCHS : 2, .plans = by_eddis_run } };
    char mode[16] = "";
    int failures = 0;

    if (argc > 1 && strcmp(argv[1], "plan") != 0)
        return 2;
    for (size_t i = 0; argc == 1 && i < sizeof trainings / sizeof *trainings; i++)
        failures += run(&trainings[i], mode, sizeof mode);
    if (argc > 1 || !by_eddis_run)
        failures += run(&plan, mode, sizeof mode);
    if (failures == 0 && *mode)
        printf("%s: all is told as it should be\n", mode);
    return failures > 0;
}
