/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - read what mpirun, srun and the agent set in a worker's environment */
#include "environment.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Store in *ret the value of the first of these variables (a NULL-terminated list) that is set and
 * not empty; `fallback` if none is.  Return 0 or -EINVAL: the value is not a number from 0 to
 * INT_MAX.
 */
static int environment_number(const char *const *names, int fallback, int *ret,
                              struct eddis_error *err)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        long n;

        if (!text || !*text)
            continue;
        errno = 0;
        n = strtol(text, &end, 10);
        if (errno || *end || n < 0 || n > INT_MAX)
            return eddis_fail(err, -EINVAL, "%s='%.60s' is not a number", *names, text);
        *ret = (int)n;
        return 0;
    }
    *ret = fallback;
    return 0;
}

int environment_read(struct environment *ret, struct eddis_error *err)
{
    static const char *const local_rank[] = { "EDDIS_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                              "SLURM_LOCALID", NULL };
    static const char *const n_local[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", NULL };
    static const char *const slurm[] = { "EDDIS_SLURM_PID", NULL };
    static const char *const size[] = { "OMPI_COMM_WORLD_SIZE", NULL };
    struct environment e = { .board_path = getenv("EDDIS_BOARD"),
                             .watched = getenv("EDDIS_NODE_MARK") != NULL };
    int rc;

    if (e.board_path && !*e.board_path)
        e.board_path = NULL;
    rc = environment_number(size, 0, &e.n_ranks, err);
    if (rc == 0)
        rc = environment_number(local_rank, 0, &e.local_rank, err);
    if (rc == 0)
        rc = environment_number(n_local, 1, &e.n_local, err);
    if (rc == 0)
        rc = environment_number(slurm, -1, &e.slurm, err);
    if (rc < 0)
        return rc;
    /* srun --mpi=pmix sets none of Open MPI's variables. */
    e.mpi = e.n_ranks > 0 || getenv("PMIX_RANK");
    *ret = e;
    return 0;
}
