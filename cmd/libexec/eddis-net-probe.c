/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-net-probe.c - measures the network with one rank on each node; started by mpirun
 *
 * Rank 0 prints the measurement as one line of JSON. A rank that gets no answer prints which rank
 * did not answer, and exits at once: MPI itself would wait forever.
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

/* Print a network measurement as one line of JSON on standard output; nothing without memory. */
static void print(const struct network *n)
{
    cleanup_free char *text = network_text(n);

    if (text)
        puts(text);
    fflush(stdout);
}

/* Return a number that is equal for all ranks on one machine, the checksum of its boot id:
 * containers of one machine, which share its cores, have the same. If the boot id cannot be read,
 * return another negative number for each rank, so that each counts as a machine of its own.
 */
static int64_t machine_number(int rank)
{
    char text[BOOT_ID_CHARS];

    boot_id_read(text);
    if (!text[0])
        return -1 - rank;
    return crc32_update(0, text, strlen(text));
}

/* Measure the network together with the other ranks. Return 0; on failure print why and exit with
 * EXIT_FAILURE.
 */
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
    _exit(EXIT_FAILURE); /* without MPI_Finalize, which might wait for other ranks */
}
