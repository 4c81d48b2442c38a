/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - stops a generation: one path for every ending
 *
 * A stop ladder (protocol.h) is rows of {receivers, signal, time to wait}.  This file returns the
 * rows when they are due, without blocking.  The last row is repeated until nothing is left.
 */
#ifndef EDDIS_AGENTS_NODE_STOP_H
#define EDDIS_AGENTS_NODE_STOP_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stop_whom { STOP_RANKS, STOP_MPIRUN, STOP_ALL };

#define STOP_GRACE INT64_C(-1) /* wait as long as the order allows */

struct stop_row {
    enum stop_whom whom;
    int signal;
    int64_t wait_ns;
};

struct stop {
    bool active;
    size_t at; /* next row */
    int64_t grace_ns, next_ns, began_ns;
};

/* Begin a stop, or change one under way to a harder ladder; a softer ladder changes nothing. */
void stop_begin(struct stop *s, enum stop_ladder ladder, int64_t grace_ns, int64_t now_ns);

/* Return the row to carry out now and advance; NULL: none is due. */
const struct stop_row *stop_due(struct stop *s, int64_t now_ns);

/* Make the next row due at once, because there is nothing to wait for. */
void stop_hasten(struct stop *s, int64_t now_ns);

/* Return when the next row is due; CLOCK_NEVER: no stop is under way. */
int64_t stop_next_ns(const struct stop *s);

#endif
