/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - stops a generation: one path for every ending
 *
 * A stop ladder (protocol.h) is a table with rows of {receivers, signal, time to wait}. These
 * functions return each row when it is due, without blocking. The last row is repeated until the
 * caller ends the stop.
 */
#ifndef EDDIS_AGENTS_NODE_STOP_H
#define EDDIS_AGENTS_NODE_STOP_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stop_whom { STOP_RANKS, STOP_MPIRUN, STOP_ALL };

#define STOP_GRACE INT64_C(-1) /* wait_ns: the grace time of the order */

struct stop_row {
    enum stop_whom whom;
    int signal;
    int64_t wait_ns;
};

struct stop {
    bool active;
    size_t at; /* index of the next row */
    int64_t grace_ns, next_ns, began_ns;
};

/* Begin a stop. If a stop is in progress, change it to this ladder if the ladder is harder;
 * otherwise do nothing.
 */
void stop_begin(struct stop *s, enum stop_ladder ladder, int64_t grace_ns, int64_t now_ns);

/* Return the row that is due now, of a constant table, and advance to the next row; NULL: no row is
 * due.
 */
const struct stop_row *stop_due(struct stop *s, int64_t now_ns);

/* Make the next row due now, because there is nothing to wait for. */
void stop_hasten(struct stop *s, int64_t now_ns);

/* Return the time at which the next row is due; CLOCK_NEVER: no stop is in progress. */
int64_t stop_next_ns(const struct stop *s);

#endif
