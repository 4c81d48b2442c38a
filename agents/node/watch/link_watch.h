/* SPDX-License-Identifier: Apache-2.0 */
/* link_watch.h - reads from the kernel how busy the connections of this node's ranks are
 *
 * TCP alone, by its own count of the time in which it had something to send or unacknowledged, and
 * the other end had room for it: a link that is slow keeps it busy, and who waits for others sends
 * nothing.  The other end of such a
 * link shows at the rank there.  Where ranks use another transport nothing is known.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_LINK_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_LINK_WATCH_H

#include "lib/base/error.h"
#include "lib/model/link_load.h"

#include <stdint.h>
#include <sys/types.h>

struct link_watch;

int link_watch_open(int n_ranks, struct link_watch **ret, struct eddis_error *err);
void link_watch_close(struct link_watch *w); /* accepts NULL */

/* Say which process is rank i's; 0: not known. */
void link_watch_set(struct link_watch *w, int i, pid_t pid);

/* Read what was sent since the reading before, at most once a second and at a hundredth of a
 * core.
 */
void link_watch_take(struct link_watch *w, int64_t now_ns);

/* Of rank i, by the latest reading. */
struct link_load link_watch_load(const struct link_watch *w, int i);

#endif
