/* SPDX-License-Identifier: Apache-2.0 */
/* tick.h - the page by which keeper and agent see each other alive
 *
 * One shared page without a name, made by the keeper and inherited by the agent alone.  Each side
 * adds one to its own counter several times a lease; the other side is silent for as long as that
 * counter has stood still.  Silence is counted by the watcher's own looks, each for at most two
 * periods: a watcher that was itself stopped, or a machine that slept, accuses nobody on waking.
 *
 * The page also names the folders that the keeper has made for the agent, which both remove: who
 * of them is left when the other dies.  The keeper reads the names when the agent has ended.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_TICK_H
#define EDDIS_AGENTS_NODE_KEEP_TICK_H

#include "lib/base/error.h"

#include <stdint.h>

enum tick_side { TICK_KEEPER, TICK_AGENT };

enum { TICK_FOLDERS = 2, TICK_PATH = 1024 };

struct tick_page; /* shared memory */

struct tick_watch {
    uint64_t beat;      /* when last looked */
    int64_t looked_ns;  /* 0: never yet */
    int64_t silence_ns; /* counted so far */
};

/* Make the page.  *ret_fd is for the agent alone, see spawn.h's `also`. */
int tick_create(struct tick_page **ret, int *ret_fd, struct eddis_error *err);

/* Map the page of an inherited descriptor, which is closed. */
int tick_map(int fd, struct tick_page **ret, struct eddis_error *err);

/* Show that this side lives. */
void tick_beat(struct tick_page *p, enum tick_side side);

/* Return how long that side has been silent; to be called once a period, timing_tick_ns of the
 * lease. */
int64_t tick_silence_ns(const struct tick_page *p, enum tick_side side, struct tick_watch *w,
                        int64_t now_ns, int64_t period_ns);

/* Enter a folder's absolute path.  -ENOSPC: too many, or too long. */
int tick_add_folder(struct tick_page *p, const char *path, struct eddis_error *err);

/* Put this absolute path in the place of folder i's, which is no longer there.  -ENOSPC: there is
 * no folder i, or the path is too long.
 */
int tick_move_folder(struct tick_page *p, int i, const char *path, struct eddis_error *err);

/* Borrow the path of folder i, in the order in which they were entered; NULL: there is none. */
const char *tick_folder(const struct tick_page *p, int i);

/* Remove all folders entered, with what is in them. */
int tick_remove_folders(const struct tick_page *p, struct eddis_error *err);

#endif
