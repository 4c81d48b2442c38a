/* SPDX-License-Identifier: Apache-2.0 */
/* link_watch.h - reads from the kernel how busy the connections of this node's ranks are
 *
 * Only TCP connections are read: the kernel counts the time in which a connection had data to send,
 * or unacknowledged data, and the receiver had room. A slow link keeps a connection busy, while a
 * rank that waits for other ranks sends nothing. With another transport nothing is known.
 * A reading holds 65536 connections of the machine at most; the load of others is unknown.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_LINK_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_LINK_WATCH_H

#include "lib/model/link_load.h"

#include <stdint.h>
#include <sys/types.h>

struct link_watch;

/* Return a new watch of n_ranks ranks, which the caller frees with link_watch_close; NULL: no
 * memory.
 */
struct link_watch *link_watch_open(int n_ranks);
/* Free a watch; accept NULL. */
void link_watch_close(struct link_watch *w);

/* Set the process of rank i; 0: unknown. */
void link_watch_set(struct link_watch *w, int i, pid_t pid);

/* Measure the load since the previous reading, unless it was less than a second ago, or readings
 * would take more than a hundredth of a core.
 */
void link_watch_take(struct link_watch *w, int64_t now_ns);

/* Return the load of rank i's busiest connection in the latest reading; NAN: unknown. */
struct link_load link_watch_load(const struct link_watch *w, int i);

#endif
