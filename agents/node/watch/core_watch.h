/* SPDX-License-Identifier: Apache-2.0 */
/* core_watch.h - measures the processor time that this node's ranks lose
 *
 * The watch reads, for the cores on which a rank may run: stolen time and other programs' time,
 * from /proc/stat; how often the control groups of the rank were throttled; the cores' clock
 * frequency; and the time throttled because of heat. Values that cannot be read are NAN.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CORE_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_CORE_WATCH_H

#include "lib/model/core_loss.h"

#include <stdint.h>
#include <sys/types.h>

struct core_watch;

/* Return a new watch of n_ranks ranks, which the caller frees with core_watch_close. root,
 * borrowed, is put before every path except those of processes' times and parents: "" except in
 * tests. NULL: no memory.
 */
struct core_watch *core_watch_open(const char *root, int n_ranks);
/* Free a watch; accept NULL. */
void core_watch_close(struct core_watch *w);

/* Set the processes of rank i. wrapper: ancestor of all processes of the rank, 0: none yet; pid:
 * the process whose cores and control groups count, 0: unknown.
 */
void core_watch_set(struct core_watch *w, int i, pid_t wrapper, pid_t pid);

/* Measure the losses since the previous reading, unless it was less than a second ago, or readings
 * would take more than a hundredth of the time.
 */
void core_watch_take(struct core_watch *w, int64_t now_ns);

/* Return the losses of rank i in the latest reading. */
struct core_loss core_watch_loss(const struct core_watch *w, int i);

#endif
