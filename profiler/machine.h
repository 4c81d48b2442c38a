/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - reads, in a few milliseconds, the identity of this machine, to decide whether an
 * earlier profile is still valid
 */
#ifndef EDDIS_PROFILER_MACHINE_H
#define EDDIS_PROFILER_MACHINE_H

#include "lib/model/profile.h"

#include <stdbool.h>

/* Identity of a machine; values that could not be read are "" */
struct machine {
    char host[256];
    char machine_id[64]; /* id of the machine, which does not change at a reboot; "": unknown */
    char kernel[96];
    char cpu_model[96];
    char cpus[1024];  /* cores that this process may use */
    char gpus[4096];  /* PCI addresses and ids of the GPUs that the kernel driver reports, sorted */
    char driver[160]; /* version line of the kernel's GPU driver; "": none */
    char visible[1024];     /* CUDA_VISIBLE_DEVICES; "": unset, "-1": set but empty */
    char amd_gpus[4096];    /* node numbers and ids of AMD's GPUs in the kernel's topology */
    char amd_visible[1024]; /* as of gpu_amd_visible */
};

/* Fill *ret with the identity of this machine. visible: value of CUDA_VISIBLE_DEVICES (NULL:
 * unset). root is prepended to every path: "" except in tests.
 */
void machine_read(const char *root, const char *visible, struct machine *ret);

/* Write the version of the mpirun in PATH, "Open MPI 4.1.4", to ret [size]; "": there is no mpirun,
 * or it is not that of Open MPI. Blocks for up to 2 s.
 */
void machine_mpi_version(char *ret, size_t size);

#endif
