/* SPDX-License-Identifier: Apache-2.0 */
/* tick.h - heartbeats between supervisor and agent, in shared memory
 *
 * One anonymous page of memory, made by the supervisor and inherited by the agent alone.  Each side
 * increments its own counter several times a lease; a side is silent while its counter stands
 * still.  Silence is counted in the watcher's own checks, at most two periods for each.  So a
 * watcher that was itself stopped, or a machine that slept, finds no one silent on waking.
 *
 * The page also holds the paths of the folders that the supervisor has made for the agent.  Whoever
 * is left when the other dies removes them.  The supervisor reads them when the agent has ended.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_TICK_H
#define EDDIS_AGENTS_NODE_KEEP_TICK_H

#include "lib/base/error.h"

#include <stdint.h>

enum tick_side { TICK_KEEPER, TICK_AGENT };

enum { TICK_FOLDERS = 2, TICK_PATH = 1024 };

struct tick_page; /* the page of shared memory */

struct tick_watch {
    uint64_t beat;      /* counter at the last check */
    int64_t looked_ns;  /* time of the last check; 0: never */
    int64_t silence_ns; /* silence counted so far */
};

/* Make the page. *ret_fd is for the agent alone, see `also` in spawn.h. */
int tick_create(struct tick_page **ret, int *ret_fd, struct eddis_error *err);

/* Map the page of an inherited descriptor and close that. -EINVAL: it is no such page; -EPROTO: it
 * is of another version.
 */
int tick_map(int fd, struct tick_page **ret, struct eddis_error *err);

/* Increment the counter of this side. */
void tick_beat(struct tick_page *p, enum tick_side side);

/* Return how long that side has been silent.  Call it once a period, timing_tick_ns of the lease.
 */
int64_t tick_silence_ns(const struct tick_page *p, enum tick_side side, struct tick_watch *w,
                        int64_t now_ns, int64_t period_ns);

/* Append the absolute path of a folder. -ENOSPC: too many, or too long. */
int tick_add_folder(struct tick_page *p, const char *path, struct eddis_error *err);

/* Replace the path of folder i, which no longer exists. -ENOSPC: there is no folder i, or the path
 * is too long.
 */
int tick_move_folder(struct tick_page *p, int i, const char *path, struct eddis_error *err);

/* Borrow the path of folder i, in the order of tick_add_folder; NULL: there is none. */
const char *tick_folder(const struct tick_page *p, int i);

/* Remove all these folders and their content. */
int tick_remove_folders(const struct tick_page *p, struct eddis_error *err);

#endif
