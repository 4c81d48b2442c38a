/* SPDX-License-Identifier: Apache-2.0 */
/* openmpi.h - what the programs and parameters of Open MPI are called in each of its versions
 *
 * Open MPI 4 starts its daemons, orted, itself (ORTE); Open MPI 5 leaves that to PRRTE, whose
 * daemon is prted and whose parameters have a flag and names of their own.  Everything that eddis
 * says to either of them is in one table.
 */
#ifndef EDDIS_AGENTS_NODE_OPENMPI_H
#define EDDIS_AGENTS_NODE_OPENMPI_H

#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPENMPI_VERSION = 64 };

struct openmpi {
    int major;        /* the first version that this row is for */
    const char *flag; /* before a parameter of whatever starts and watches the processes */
    /* How mpirun gets its daemons onto the other nodes. */
    const char *plm, *no_plm; /* values of the parameter "plm" for several nodes and for one */
    const char *agent;        /* parameter: program that mpirun calls for each node */
    const char *no_tree;      /* parameter: mpirun itself does, for all */
    /* A daemon, and what it is told by these parameters. */
    const char *daemon, *space, *number, *count, *uri;
    const char *nodes;         /* NULL: it is told later */
    const char *const *always; /* more words for each daemon, NULL-ended */
    /* Both. */
    const char *tmpdir, *network;
    const char *no_v4;    /* parameter: connect by IPv6 only */
    const char *loopback; /* value of `network` for one node; NULL: it would take no such one */
    const char *alive, *interval, *strikes; /* parameters of the keep-alive, in seconds */
    const char *no_lookup[4];               /* words: names of nodes are not looked up */
    const char *oversubscribe[3];           /* words: more ranks than cores will do */
    const char *order[6];                   /* words: and ranks fill one node after another */
    /* The ranks. */
    const char *shared; /* the byte transfer layer between ranks of one node */
    /* The program that mpirun becomes, which listens for its daemons. */
    const char *server;
};

/* Return the row for a major version; for one that is newer than the table its newest row. */
const struct openmpi *openmpi_row(int major);

/* Ask the mpirun in PATH for its version, as "4.1.4", and find out whether the guard (guard.h) can
 * be loaded into it; guard: path of that library, "": there is none.  Blocks, for seconds at worst.
 * Returns the major version.  -ENOENT: it is not there; -EINVAL: it is not Open MPI's.
 */
int openmpi_version(const char *guard, char *ret, size_t size, bool *ret_guarded,
                    struct eddis_error *err);

/* Whether ompi_info says that the Open MPI in PATH was built without IPv6.  Blocks as above. */
bool openmpi_is_v4_only(void);

/* Set in env, a list of NAME=VALUE, what loads the guard `library` behind the user's own, as a
 * sanitizer wants to be first, with this value of GUARD_VARIABLE.
 */
int openmpi_preload_guard(struct strlist *env, const char *library, const char *value,
                          struct eddis_error *err);

/* Take the version out of what `mpirun --version` prints.  Returns and fails as above. */
int openmpi_parse_version(const char *text, char *ret, size_t size, struct eddis_error *err);

/* Write one sentence for people to ret, in the place of the many lines in which mpirun says why it
 * ended; words may be NULL.  False: they hold nothing that is known.
 */
bool openmpi_explain(const char *words, char *ret, size_t size);

#endif
