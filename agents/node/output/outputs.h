/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h - queues output of the node's ranks, from their wrappers to reports
 *
 * Each rank has a queue of bounded size: if reports do not take it fast enough, the oldest lines
 * are dropped and counted. A report takes output from all ranks in rotation, so that a rank with
 * much output does not delay the output of other ranks.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUTS_RANK = 256 << 10 }; /* maximum queued bytes of one rank */

struct outputs;

/* Return an empty queue of output, which the caller frees with outputs_free; NULL: no memory. */
struct outputs *outputs_new(void);
/* Free all queued output; accept NULL. */
void outputs_free(struct outputs *o);

/* Append a copy of x, which contains complete lines. Without memory the lines count as dropped. */
void outputs_add(struct outputs *o, const struct output *x);

bool outputs_empty(const struct outputs *o);

/* Take about `bytes` of text from the queue, but at least one row if the queue is not empty, as
 * rows for a report. Return the number of rows, which are in *ret and which the caller frees with
 * outputs_free_rows; 0: the queue is empty, or no memory.
 */
int outputs_take(struct outputs *o, size_t bytes, struct output **ret);
/* Free n rows and their texts. Accepts NULL. */
void outputs_free_rows(struct output *row, int n);

#endif
