/* SPDX-License-Identifier: Apache-2.0 */
/* core_watch.h - reads what the machine takes from the cores of this node's ranks
 *
 * From /proc/stat, of the cores on which a rank may run: time that was stolen, and the time of
 * programs that are not the ranks'; from the control groups above it how often they were throttled;
 * the cores' clock, and for how long they were slowed down for heat.  What cannot be read is
 * unknown, and nothing is said of it.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CORE_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_CORE_WATCH_H

#include "lib/base/error.h"
#include "lib/model/core_loss.h"

#include <stdint.h>
#include <sys/types.h>

struct core_watch;

/* root is put before every path but those of processes' times and parents: "" but in tests; it is
 * borrowed.
 */
int core_watch_open(const char *root, int n_ranks, struct core_watch **ret,
                    struct eddis_error *err);
void core_watch_close(struct core_watch *w); /* accepts NULL */

/* Say which processes are rank i's: wrapper is above all of them, 0: none yet; pid is the one whose
 * cores and groups count, 0: not known.
 */
void core_watch_set(struct core_watch *w, int i, pid_t wrapper, pid_t pid);

/* Read what was lost since the reading before, at most once a second and in a hundredth of the
 * time.
 */
void core_watch_take(struct core_watch *w, int64_t now_ns);

/* What rank i loses, of the latest reading. */
struct core_loss core_watch_loss(const struct core_watch *w, int i);

#endif
