/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - an agent's watchdog: driver and supervisor must each be heard within a lease
 *
 * The silence of both is counted in the agent's own checks: see tick.h.
 */
#ifndef EDDIS_AGENTS_NODE_WATCHDOG_H
#define EDDIS_AGENTS_NODE_WATCHDOG_H

#include "agents/node/keep/tick.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Flags of a lost driver and a lost supervisor. */
enum { LIFELINE_DRIVER = 1, LIFELINE_KEEPER = 2 };

struct watchdog {
    int64_t lease_ns;
    struct tick_page *page; /* shared with the supervisor */
    struct tick_watch watch;
    pid_t keeper;
    int keeper_fd; /* readable when the supervisor ends; -1: none */
    bool keeper_lost;
    int64_t silence_ns; /* counted since the driver was last heard */
    int64_t heard_ns;   /* when the driver was last heard; 0: never */
    int64_t beat_ns;    /* time of the next heartbeat; 0: at once, for the first */
    bool paused;        /* the driver has announced that it will be silent */
    int session;        /* borrowed; shows meanwhile that the driver's process lives ... */
    int driver;         /* ... and this connection, owned, that its machine is up; 0: none */
    bool met;           /* that connection was established: a rejected one shows nothing */
};

/* Record the supervisor, which is this process's parent, and open a descriptor that shows its end.
 */
void watchdog_find_keeper(struct watchdog *l);

/* Check whether the supervisor is still this process's parent. */
bool watchdog_has_keeper(const struct watchdog *l);

/* Record that the driver has answered; ctx is a struct lifeline. */
void watchdog_heard(void *ctx);

/* Check whether the driver has been silent for longer than the lease. */
bool watchdog_is_cut(const struct watchdog *l);

/* Begin a pause: the driver's silence does not count while the other end of `session`, a borrowed
 * pipe or socket, is open.  A session over a network does not show that the driver's machine is
 * gone. `driver` does, a connection from http_client_hold, taken over; negative: none.
 */
void watchdog_pause(struct watchdog *l, int session, int driver);
/* End a pause: the driver's silence counts again, from now. */
void watchdog_go_on(struct watchdog *l);

/* Renew this process's heartbeat, check driver and supervisor, and set beat_ns.  Return flags of
 * those lost.
 */
int watchdog_heartbeat(struct watchdog *l, int64_t now_ns);

/* Let the supervisor notice this process's end, or kill a supervisor that was lost; call it last.
 */
void watchdog_end(struct watchdog *l);

#endif
