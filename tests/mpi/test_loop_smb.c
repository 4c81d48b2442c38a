/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_smb - the Soft Memory Box behind eddis_smb.h with a thread a rank over the in-process
 * loop
 *
 * What runs under mpirun in test_mpi_smb runs here without MPI, so that the thread sanitizer and
 * valgrind see the library's own locks and memory.
 */
#include "loop_job.h"
#include "smb_scenario.h"

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank;
    (void)j;
    __atomic_add_fetch(&loop_job_failures, smb_scenario(e, 20), __ATOMIC_RELAXED);
}

int main(void)
{
    for (int n = 1; n <= 4; n++) {
        struct loop_job j = { .n = n, .body = body };

        loop_job_run(&j);
    }
    return loop_job_failures != 0;
}
