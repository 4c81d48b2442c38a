/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_threads.c - calls of any thread beside the steps, one rank under mpirun or eddis-run,
 * through libeddis.so
 */
#include "scenario.h"
#include "threads_scenario.h"

#include <stdio.h>

int main(void)
{
    struct eddis_options o = scenario_options(&(struct scenario){ .batch = 24 });
    struct eddis_world world = { .size = sizeof world };
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int failures = 0, rc = eddis_open(&o, &e, &err);

    if (rc == 0) {
        (void)eddis_world(e, &world);
        failures = threads_run(e, world.n_local_ranks);
        rc = eddis_close(e, &err);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    else if (failures == 0 && world.rank == 0)
        puts("all threads are done");
    return failures > 0 || rc < 0;
}
