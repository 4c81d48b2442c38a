/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_smb.c - the Soft Memory Box behind eddis_smb.h with a thread a rank over the in-process
 * loop
 *
 * What runs under mpirun in test_mpi_scenarios runs here without MPI, so that the thread sanitizer
 * and valgrind see the library's own locks and memory.
 */
#include "lib/eddis_smb.h"
#include "loop_job.h"

#include <errno.h>
#include <stdlib.h>

/* A request to another node's server names its rank while it waits. */
static void far_body(struct eddis *e, int rank, struct loop_job *j)
{
    enum { N = 1 << 22, SLICE_NS = 200000 };
    struct eddis_error late = { 0 };
    struct eddis_smb_request *q;
    uint64_t key = 0;
    bool named = false;
    int rc;

    OK(eddis_smb_open(e, 1, &err));
    if (rank == 1) {
        float *x = calloc(N, sizeof *x);

        OK(eddis_smb_create(e, EDDIS_FLOAT32, N, &key, EDDIS_FOREVER, &err));
        OK(eddis_smb_read_start(e, key, 0, N, x, &q, &err));
        while ((rc = eddis_smb_request_wait(e, q, SLICE_NS, &late)) == -ETIMEDOUT)
            named |= strstr(late.text, "still waits for rank 0") != NULL;
        CHECK(rc == 0 && named);
        OK(eddis_smb_detach(e, key, EDDIS_FOREVER, &err));
        free(x);
    }
    OK(eddis_barrier(e, EDDIS_FOREVER, &err));
}

int main(void)
{
    struct loop_job far = { .n = 2, .body = far_body, .share = 10, NODES(0, 1) };

    loop_job_run(&far);
    for (int n = 1; n <= 4; n++) {
        struct loop_job j = { .n = n, .run = scenario_smb, .each.repeats = 20 };

        loop_job_run(&j);
    }
    return check_result();
}
