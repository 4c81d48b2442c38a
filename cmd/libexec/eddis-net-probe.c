/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-net-probe.c - one rank a node measures the network; started by mpirun
 *
 * Rank 0 prints what was measured as one line of JSON.  A rank that gets no answer prints who did
 * not give it, and ends at once: MPI itself would wait for ever.
 */
#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/program.h"
#include "profiler/probe_network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct network *n)
{
    cleanup_free char *text = network_text(n);

    if (text)
        puts(text);
    fflush(stdout);
}

/* Containers of one machine, which share its cores, have booted once. */
static int64_t machine_number(int rank)
{
    char text[BOOT_ID_CHARS];

    boot_id_read(text);
    if (!text[0])
        return -1 - rank; /* as far as is known it has one for itself */
    return crc32_update(0, text, strlen(text));
}

int main(void)
{
    struct probe_network_options o = network_defaults;
    struct eddis_error err = { 0 };
    struct transport *t = NULL;
    struct network *n = NULL;
    void *room = malloc(PROBE_NETWORK_ROOM);
    int rc = transport_mpi_open_world(&t, &err);

    program_outlive_file_limit();
    if (rc == 0) {
        o.machine = machine_number(t->rank);
        rc = room ? probe_network_measure(t, &o, room, &n, &err)
                  : eddis_fail(&err, -ENOMEM, "no memory for messages");
    }
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
