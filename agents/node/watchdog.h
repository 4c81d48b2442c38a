/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - what an agent lives by: the driver's word and its keeper, each within a lease
 *
 * The driver's silence is counted as the keeper's is, by the agent's own looks: see tick.h.
 */
#ifndef EDDIS_AGENTS_NODE_WATCHDOG_H
#define EDDIS_AGENTS_NODE_WATCHDOG_H

#include "agents/node/keep/tick.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who was lost, as flags. */
enum { LIFELINE_DRIVER = 1, LIFELINE_KEEPER = 2 };

struct lifeline {
    int64_t lease_ns;
    struct tick_page *page; /* shared with the keeper */
    struct tick_watch watch;
    pid_t keeper;
    int keeper_fd; /* readable at its end; -1: none */
    bool keeper_lost;
    int64_t silence_ns; /* since the driver was heard */
    int64_t heard_ns;   /* when that was; 0: never */
    int64_t beat_ns;    /* when to beat next; 0: at once, for the first time */
    bool paused;        /* the driver has said that it will be silent */
    int session;        /* what shows meanwhile that its process is there ... */
    int driver;         /* ... and a connection that its machine is; owned; 0: none */
    bool met;           /* that connection stood: a refused one shows nothing */
};

/* Find the keeper, which is this process's parent, and a descriptor that shows its end. */
void lifeline_find_keeper(struct lifeline *l);

/* Whether the keeper is still this process's parent. */
bool lifeline_has_keeper(const struct lifeline *l);

/* Note that the driver has answered.  ctx is a struct lifeline. */
void lifeline_heard(void *ctx);

/* Whether the driver has been silent for longer than the lease. */
bool lifeline_is_cut(const struct lifeline *l);

/* The driver has said that it will be silent until it says that it goes on: as long as somebody has
 * the other end of `session`, a pipe or socket that is borrowed, its silence does not count.  A
 * session over a network does not show that the driver's machine is gone; `driver` does, a
 * connection as of http_client_hold, which is taken; negative: there is none.
 */
void lifeline_pause(struct lifeline *l, int session, int driver);
void lifeline_go_on(struct lifeline *l);

/* At beat_ns: show that this process lives, and look who else does.  Returns flags of those who
 * were lost.
 */
int lifeline_beat(struct lifeline *l, int64_t now_ns);

/* When this process is about to end: let the keeper see it, or end a keeper that was lost. */
void lifeline_end(struct lifeline *l);

#endif
