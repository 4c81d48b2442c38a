/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-rank.c - runs the user's program as one rank; started by mpirun: [FILE] */
#include "agents/node/wrapper.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"

#include <stdio.h>
#include <stdlib.h>

/* Run the program of this rank until it ends. Return its exit code, 1 if it could not be started,
 * or EXIT_USAGE.
 */
int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *file = argc > 1 ? argv[1] : getenv("EDDIS_RANK_FILE"); /* this node's rank file */
    struct eddis_error err = { 0 };
    int code;

    program_outlive_file_limit();
    if (argc > 2 || !file || file[0] != '/') {
        fputs("usage: eddis-rank FILE\nstarted by mpirun\n", stderr);
        return EXIT_USAGE;
    }
    code = wrapper_run(file, rank ? atoi(rank) : -1, &err);
    if (code < 0)
        fprintf(stderr, "eddis-rank: rank %s: %s\n", rank ? rank : "?", err.text);
    return code < 0 ? 1 : code;
}
