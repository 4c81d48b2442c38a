/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_smb.c - one rank of a test of eddis_smb.h under mpirun, through libeddis.so
 *
 *     test_mpi_smb all K   everything, with every result checked; each rank accumulates K times
 *     test_mpi_smb killed  the last rank is killed while it accumulates: the job must end
 *
 * Exit code 0: all is well.
 */
#include "smb_scenario.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 * 1000 };
#define TIMEOUT_NS (INT64_C(1000000000) * 60)

static int fail(const char *what, const struct eddis_error *err)
{
    fprintf(stderr, "%s: %d %s\n", what, err->code, err->text);
    return 1;
}

/* Never comes back: the others are ended with the one that dies. */
static int killed(struct eddis *e, const struct eddis_world *w)
{
    bool first = w->rank == 0, last = w->rank == w->n_ranks - 1;
    struct eddis_error err = { 0 };
    uint64_t key = 0, own;

    if (eddis_smb_open(e, 0, &err) < 0 ||
        (first && eddis_smb_create(e, EDDIS_FLOAT32, N, &key, TIMEOUT_NS, &err) < 0) ||
        eddis_allreduce(e, &key, 1, EDDIS_INT64, EDDIS_SUM, TIMEOUT_NS, &err) < 0 ||
        (!first && eddis_smb_attach(e, key, NULL, NULL, TIMEOUT_NS, &err) < 0) ||
        eddis_smb_create(e, EDDIS_FLOAT32, N, &own, TIMEOUT_NS, &err) < 0)
        return fail("beginning", &err);
    for (int i = 0;; i++) {
        struct eddis_smb_request *r;

        if (eddis_smb_accumulate_start(e, key, own, &r, &err) < 0)
            return fail("accumulate_start", &err);
        if (last && i == 10)
            raise(SIGKILL);
        if (eddis_smb_request_wait(e, r, TIMEOUT_NS, &err) < 0)
            return fail("accumulate", &err);
    }
}

int main(int argc, char **argv)
{
    struct eddis_options o = { .size = sizeof o, .samples = 1 };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };
    struct eddis *e;
    int failures;

    if (argc < 2 || strcmp(argv[1], argc == 3 ? "all" : "killed") != 0) {
        fprintf(stderr, "usage: test_mpi_smb all K | killed\n");
        return 2;
    }
    if (eddis_open(&o, &e, &err) < 0 || eddis_world(e, &w) < 0)
        return fail("eddis_open", &err);
    if (argc == 2)
        return killed(e, &w);
    failures = smb_scenario(e, atoi(argv[2]));
    if (eddis_close(e, &err) < 0)
        return fail("eddis_close", &err);
    return failures != 0;
}
