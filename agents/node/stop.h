/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - how a generation is brought to its end: one path for every ending
 *
 * The ladders of protocol.h are rows of {whom, signal, how long to wait}; this file walks down
 * them without blocking.  The last row is repeated until nothing is left.
 */
#ifndef EDDIS_AGENTS_NODE_STOP_H
#define EDDIS_AGENTS_NODE_STOP_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stop_whom { STOP_RANKS, STOP_MPIRUN, STOP_ALL };

#define STOP_GRACE INT64_C(-1) /* wait as long as the order says */

struct stop_row {
    enum stop_whom whom;
    int signal;
    int64_t wait_ns;
};

struct stop {
    bool active;
    size_t at; /* row to be carried out next */
    int64_t grace_ns, next_ns, began_ns;
};

/* Begin a stop, or change one under way to a harder ladder; a softer one changes nothing. */
void stop_begin(struct stop *s, enum stop_ladder ladder, int64_t grace_ns, int64_t now_ns);

/* Return the row to carry out now, or NULL when its time has not come. */
const struct stop_row *stop_due(struct stop *s, int64_t now_ns);

/* Go down the rows without waiting, for there is nobody to wait for. */
void stop_hasten(struct stop *s, int64_t now_ns);

/* Return the moment of the next row; CLOCK_NEVER when no stop is under way. */
int64_t stop_next_ns(const struct stop *s);

#endif
