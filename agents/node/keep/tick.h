/* SPDX-License-Identifier: Apache-2.0 */
/* tick.h - heartbeats between supervisor and agent, in shared memory
 *
 * The supervisor makes one anonymous page of memory, which only the agent inherits. Each side
 * increments its own counter several times a lease; a side is silent while its counter does not
 * change. The other side counts this silence in its own checks, at most two periods for each check.
 * So a side that was itself stopped, or slept with the machine, does not find the other side silent
 * when it continues.
 *
 * The page also contains the paths of the folders that the supervisor has made for the agent. If
 * one side dies, the other side removes these folders (folders.h). The supervisor reads the paths
 * after the agent has ended.
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

/* Make the page, with all counters 0, in *ret; it stays mapped until this process ends. *ret_fd is
 * a descriptor that only the agent inherits, see `also` in spawn.h; the caller closes it. Return 0
 * or a negative errno.
 */
int tick_create(struct tick_page **ret, int *ret_fd, struct eddis_error *err);

/* Map the page of an inherited descriptor in *ret, and close the descriptor. Return 0; -EINVAL: the
 * descriptor is not that of such a page; -EPROTO: the page is of another version; or another
 * negative errno.
 */
int tick_map(int fd, struct tick_page **ret, struct eddis_error *err);

/* Increment the counter of this side. */
void tick_beat(struct tick_page *p, enum tick_side side);

/* Return how long `side` has been silent. To be called once a period, which is timing_tick_ns of
 * the lease.
 */
int64_t tick_silence_ns(const struct tick_page *p, enum tick_side side, struct tick_watch *w,
                        int64_t now_ns, int64_t period_ns);

/* Append the absolute path of a folder to the page. Return 0, or -ENOSPC if the page has
 * TICK_FOLDERS folders or the path is too long.
 */
int tick_add_folder(struct tick_page *p, const char *path, struct eddis_error *err);

/* Replace the path of folder i, which no longer exists. Return 0; -ENOSPC: there is no folder i, or
 * the path is too long, and nothing is changed.
 */
int tick_move_folder(struct tick_page *p, int i, const char *path, struct eddis_error *err);

/* Borrow the path of folder i, in the order of tick_add_folder; NULL: there is none. */
const char *tick_folder(const struct tick_page *p, int i);

#endif
