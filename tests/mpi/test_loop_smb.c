/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_smb.c - the Soft Memory Box behind eddis_smb.h with a thread a rank over the in-process
 * loop
 *
 * What runs under mpirun in test_mpi_smb runs here without MPI, so that the thread sanitizer and
 * valgrind see the library's own locks and memory.
 */
#include "lib/eddis_smb.h"
#include "loop_job.h"
#include "smb_scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    (void)rank;
    (void)j;
    __atomic_add_fetch(&loop_job_failures, smb_scenario(e, 20), __ATOMIC_RELAXED);
}

/* A request to another node's server names its rank while it waits. */
static void far_body(struct eddis *e, int rank, struct loop_job *j)
{
    enum { N = 1 << 22, TURN_NS = 200000 };
    struct eddis_error err = { 0 };
    struct eddis_smb_request *q;
    uint64_t key = 0;
    bool named = false;
    int rc;

    (void)j;
    CHECK(eddis_smb_open(e, 1, &err) == 0);
    if (rank == 1) {
        float *x = calloc(N, sizeof *x);

        CHECK(eddis_smb_create(e, EDDIS_FLOAT32, N, &key, EDDIS_FOREVER, &err) == 0);
        CHECK(eddis_smb_read_start(e, key, 0, N, x, &q, &err) == 0);
        while ((rc = eddis_smb_request_wait(e, q, TURN_NS, &err)) == -ETIMEDOUT)
            named |= strstr(err.text, "still waits for rank 0") != NULL;
        CHECK(rc == 0 && named);
        CHECK(eddis_smb_detach(e, key, EDDIS_FOREVER, &err) == 0);
        free(x);
    }
    CHECK(eddis_barrier(e, EDDIS_FOREVER, &err) == 0);
}

static void test_far(void)
{
    struct loop_job j = { .n = 2, .body = far_body, .node_of = (const int[]){ 0, 1 } };

    for (int i = 0; i < 2; i++)
        j.scenario[i].batch = 20;
    loop_job_board_of(&j, (const int64_t[]){ 10, 10 });
    loop_job_run(&j);
}

int main(void)
{
    test_far();
    for (int n = 1; n <= 4; n++) {
        struct loop_job j = { .n = n, .body = body };

        loop_job_run(&j);
    }
    return loop_job_failures != 0;
}
