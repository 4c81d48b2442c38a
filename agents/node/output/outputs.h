/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h - queues output of the node's ranks, from their wrappers to reports
 *
 * Each rank has a queue of bounded size: if reports do not take it fast enough, the oldest lines
 * are dropped and counted.  A report takes from all ranks in rotation, so that a rank with much
 * output does not delay the others.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUTS_RANK = 256 << 10 }; /* most queued bytes of one rank */

struct outputs;

/* Return an empty queue of output; NULL: no memory. */
struct outputs *outputs_new(void);
/* Free all queued output; accept NULL. */
void outputs_free(struct outputs *o);

/* Append a copy of x, whole lines.  Without memory they count as dropped. */
void outputs_add(struct outputs *o, const struct output *x);

bool outputs_empty(const struct outputs *o);

/* Take about `bytes` of text, at least one row if there is any, as rows for a report; free them
 * with outputs_free_rows.  Return their number; 0 also without memory.
 */
int outputs_take(struct outputs *o, size_t bytes, struct output **ret);
/* Free n rows and their texts; accept NULL. */
void outputs_free_rows(struct output *row, int n);

#endif
