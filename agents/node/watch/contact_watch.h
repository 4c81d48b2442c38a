/* SPDX-License-Identifier: Apache-2.0 */
/* contact_watch.h - detects ranks that train alone, without contact to the other ranks
 *
 * A rank trains alone if, as seen from outside, all of this holds: it has loaded a training
 * framework, but neither libeddis nor MPI; it listens on no port (ranks that connect without
 * MASTER_PORT do); and no process has listened on the job's MASTER_PORT. Then each rank trains a
 * model of its own, contrary to the plan.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CONTACT_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_CONTACT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct contact_watch {
    /* time of the next poll of the port, and of the next poll of the ranks */
    int64_t next_ns, ranks_ns;
    int port;      /* MASTER_PORT on rank 0's node; 0 on other nodes */
    int polls;     /* number of polls of the port */
    bool listened; /* a process listened on the port, or this is unknown */
};

/* What was seen of a rank. trains: it has loaded a training framework; joined: it has loaded
 * libeddis or MPI, or listens on a port
 */
struct contact_watch_rank {
    bool trains, joined;
};

enum { MEETING_LISTENERS = 1024 }; /* if there are more listeners, nothing is known */

/* Listening TCP sockets of this network namespace */
struct contact_watch_listeners {
    struct contact_watch_listener {
        unsigned inode;
        int port;
    } one[MEETING_LISTENERS];
    int n;
};

/* List the listening TCP sockets in *ret. Return 0, or a negative errno if the kernel does not
 * report them.
 */
int contact_watch_find_listeners(struct contact_watch_listeners *ret);
/* Check whether any listener has this port. */
bool contact_watch_is_listened_on(const struct contact_watch_listeners *l, int port);

/* Update the record of a rank from the libraries and sockets of its process; l NULL: listeners are
 * unknown.
 */
void contact_watch_inspect_rank(struct contact_watch_rank *r, pid_t pid,
                                const struct contact_watch_listeners *l);
/* Record one poll of MASTER_PORT; l NULL: listeners are unknown. */
void contact_watch_inspect_port(struct contact_watch *m, const struct contact_watch_listeners *l);

/* Check whether a rank of this node has trained alone. is_first: it is rank 0, to which other ranks
 * connect by MASTER_PORT.
 */
bool contact_watch_was_alone(const struct contact_watch *m, const struct contact_watch_rank *r,
                             bool is_first);

#endif
