/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-net-probe - one rank a node measures the network; started by mpirun
 *
 * Rank 0 prints what was measured as one line of JSON.  A rank that gets no answer prints who did
 * not give it, and ends at once: MPI itself would wait for ever.
 */
#include "lib/base/cleanup.h"
#include "profiler/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const struct network *n)
{
    cleanup_free char *text = network_text(n);

    if (text)
        puts(text);
    fflush(stdout);
}

int main(void)
{
    struct eddis_error err = { 0 };
    struct transport *t = NULL;
    struct network *n = NULL;
    void *room = malloc(NETWORK_ROOM);
    int rc = transport_mpi_open_world(&t, &err);

    if (rc == 0)
        rc = room ? network_measure(t, &network_defaults, room, &n, &err)
                  : eddis_fail(&err, -ENOMEM, "no memory for messages");
    if (n && (rc < 0 || t->rank == 0))
        print(n);
    network_free(n);
    if (rc == 0)
        rc = transport_close(t, true, &err);
    if (rc == 0) {
        free(room);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "eddis-net-probe: %s\n", err.text);
    fflush(stderr);
    _exit(EXIT_FAILURE); /* not by way of MPI */
}
