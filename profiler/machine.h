/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - which machine this is: what can be read in a few milliseconds and tells whether an
 * earlier profile still holds
 */
#ifndef EDDIS_PROFILER_MACHINE_H
#define EDDIS_PROFILER_MACHINE_H

#include "lib/model/profile.h"

#include <stdbool.h>

struct machine {
    char host[256];
    char machine_id[64]; /* outlives a boot; "" unknown */
    char kernel[96];
    char cpu_model[96];
    char cpus[1024];    /* cores this process may use */
    char gpus[4096];    /* ids and places of the GPUs the kernel's driver shows, sorted */
    char driver[160];   /* the kernel driver's own version line; "" without one */
    char visible[1024]; /* CUDA_VISIBLE_DEVICES; "" unset, "-1" for one that is empty */
};

/* Describe this machine; what cannot be read stays "".  root is put before every path: "" but in
 * tests. */
void machine_read(const char *root, const char *visible, struct machine *ret);

/* Write the version of the Open MPI whose mpirun is in PATH, "Open MPI 4.1.4"; "" without one.
 * Blocks for 2 s at most.
 */
void machine_mpi_version(char *ret, size_t size);

#endif
