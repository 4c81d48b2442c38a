/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_values.c - one rank of a test about parameters under mpirun, through libeddis.so
 *
 * Each training has a handle of its own, one after the other.
 */
#include "scenario.h"
#include "values_scenario.h"

#include <stdio.h>

static int run(int (*training)(struct eddis *e))
{
    struct eddis_options o = scenario_options(&(struct scenario){ .batch = 43 });
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

int main(void)
{
    return run(values_many) + run(values_shapes) + run(elsewhere) + run(values_half) +
               run(values_weighed) >
           0;
}
