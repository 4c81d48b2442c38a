/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - an agent's watchdog: detects that the driver or the supervisor was silent for a
 * lease
 *
 * The silence of driver and supervisor is counted in the agent's own checks: see tick.h.
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
    int keeper_fd; /* descriptor that is readable when the supervisor has ended; -1: none */
    bool keeper_lost;
    int64_t silence_ns; /* silence of the driver counted so far */
    int64_t heard_ns;   /* time of the driver's last answer; 0: none */
    int64_t beat_ns;    /* time of the next heartbeat; 0: the first heartbeat is due now */
    bool paused;        /* the driver has announced that it will be silent */
    /* during a pause: borrowed descriptor that shows that the driver's process exists ... */
    int session;
    int driver; /* ... and owned connection that shows that the driver's machine is up; 0: none */
    bool met;   /* the connection `driver` was established: a rejected connection shows nothing */
};

/* Record the supervisor, which is the parent of this process, and open its pidfd. */
void watchdog_find_keeper(struct watchdog *l);

/* Check whether the supervisor is still this process's parent. */
bool watchdog_has_keeper(const struct watchdog *l);

/* Record that the driver has answered; ctx is a struct watchdog. */
void watchdog_heard(void *ctx);

/* Check whether the driver has been silent for longer than the lease. */
bool watchdog_is_cut(const struct watchdog *l);

/* Begin a pause: the driver's silence does not count while the other end of `session`, a borrowed
 * pipe or socket, is open. A session over a network does not show whether the driver's machine is
 * gone; `driver`, a connection from http_client_hold, does. The function takes over `driver`;
 * negative: none.
 */
void watchdog_pause(struct watchdog *l, int session, int driver);
/* End a pause: the driver's silence counts again, from now. */
void watchdog_go_on(struct watchdog *l);

/* Count up this process's heartbeat in the page shared with the supervisor, and set beat_ns to the
 * time of the next one. Return LIFELINE_DRIVER if the driver was silent for longer than the lease,
 * LIFELINE_KEEPER if the supervisor was, or is no longer the parent, both combined, or 0.
 */
int watchdog_heartbeat(struct watchdog *l, int64_t now_ns);

/* Continue (SIGCONT) the supervisor, so that it notices this process's end; if the supervisor was
 * lost, leave and remove the control group, and kill the supervisor. To be called last.
 */
void watchdog_end(struct watchdog *l);

#endif
