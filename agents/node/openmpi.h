/* SPDX-License-Identifier: Apache-2.0 */
/* openmpi.h - names of Open MPI's programs and parameters in each of its versions
 *
 * Open MPI 4 itself (ORTE) starts its daemons, orted. In Open MPI 5, PRRTE starts daemons named
 * prted, and the flag and the names of parameters differ. One table has all names that eddis uses
 * for both.
 */
#ifndef EDDIS_AGENTS_NODE_OPENMPI_H
#define EDDIS_AGENTS_NODE_OPENMPI_H

#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPENMPI_VERSION = 64 };

struct openmpi {
    int major;        /* first major version for which this row holds */
    const char *flag; /* flag before a parameter of the runtime (ORTE or PRRTE) */
    /* Parameters for starting daemons on nodes other than the first */
    const char *plm, *no_plm; /* values of the parameter "plm" for several nodes and for one */
    const char *agent;        /* parameter: program that mpirun calls for each node */
    const char *no_tree;      /* parameter: mpirun itself calls this program for all nodes */
    /* The daemon, and the names of its parameters */
    const char *daemon, *space, *number, *count, *uri;
    const char *nodes;         /* parameter: list of nodes; NULL: the daemon gets the list later */
    const char *const *always; /* further arguments of each daemon, NULL-ended */
    /* Parameters of mpirun and of its daemons */
    const char *tmpdir, *network;
    const char *no_v4;    /* parameter: connect by IPv6 only */
    const char *loopback; /* value of `network` for one node; NULL: loopback is rejected */
    const char *alive, *interval, *strikes; /* parameters of TCP keep-alive, times in seconds */
    const char *no_lookup[4];               /* arguments: do not look up nodes' names */
    const char *oversubscribe[3];           /* arguments: allow more ranks than cores */
    const char *order[6]; /* arguments: as oversubscribe, and fill one node after another */
    /* Parameters of the ranks */
    const char *shared; /* byte transfer layer (BTL) between ranks of one node */
    /* The program that mpirun becomes, which listens for daemons */
    const char *server;
};

/* Return the row for a major version: the newest row whose version is not newer, or the first row
 * if there is none. It belongs to a constant table; never NULL.
 */
const struct openmpi *openmpi_row(int major);

/* Write the version of the mpirun in PATH, "4.1.4", to ret [size], and store in *ret_guarded
 * whether the library `guard` (guard.h; "": none) can be loaded into it. Blocks, at worst for
 * seconds. Return the major version; -ENOENT: there is no mpirun; -EINVAL: it is not that of Open
 * MPI.
 */
int openmpi_version(const char *guard, char *ret, size_t size, bool *ret_guarded,
                    struct eddis_error *err);

/* Check whether ompi_info reports that the Open MPI in PATH was built without IPv6. Blocks, at
 * worst for seconds.
 */
bool openmpi_is_v4_only(void);

/* Set variables in env, a list of NAME=VALUE, that preload the guard `library`, and set
 * GUARD_VARIABLE to `value`. The library comes after the user's own preloads, because a sanitizer
 * must be first. Return 0 or a negative errno.
 */
int openmpi_preload_guard(struct strlist *env, const char *library, const char *value,
                          struct eddis_error *err);

/* Extract the version from text, the output of `mpirun --version`, into ret [size]. Returns as
 * openmpi_version.
 */
int openmpi_parse_version(const char *text, char *ret, size_t size, struct eddis_error *err);

/* Write to ret [size] one sentence for the user that replaces mpirun's long error message in words,
 * its output (may be NULL). Return false if the output contains no known message.
 */
bool openmpi_explain(const char *words, char *ret, size_t size);

#endif
