/* SPDX-License-Identifier: Apache-2.0 */
/* contact_watch.h - whether ranks that train have met anybody, as far as can be seen from outside
 *
 * A rank that has a framework for training in its memory, but neither libeddis nor MPI, and listens
 * on no port, as those do that meet without MASTER_PORT; and a job whose MASTER_PORT nobody has
 * listened on: each rank trains a model of its own, whatever the plan says.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CONTACT_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_CONTACT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct meeting {
    int64_t next_ns, ranks_ns; /* when to look again, and at the ranks */
    int port;                  /* MASTER_PORT, where rank 0 is here; else 0 */
    int looks;                 /* at the port */
    bool listened;             /* on it, or nobody can tell */
};

struct meeting_rank {
    bool trains, joined;
};

enum { MEETING_LISTENERS = 1024 }; /* with more nobody can tell */

/* Listening TCP sockets of this network namespace. */
struct meeting_listeners {
    struct meeting_listener {
        unsigned inode;
        int port;
    } one[MEETING_LISTENERS];
    int n;
};

/* Return 0, or a negative errno value: the kernel does not tell. */
int meeting_find_listeners(struct meeting_listeners *ret);
bool meeting_is_listened_on(const struct meeting_listeners *l, int port);

/* Look at a rank's memory and sockets, and at the port; l NULL: listeners are not known. */
void meeting_look_at_rank(struct meeting_rank *r, pid_t pid, const struct meeting_listeners *l);
void meeting_look_at_port(struct meeting *m, const struct meeting_listeners *l);

/* Whether a rank of this node has trained alone. */
bool meeting_was_alone(const struct meeting *m, const struct meeting_rank *r, bool is_first);

#endif
