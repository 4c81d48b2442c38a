/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h - what the node's ranks have printed, on its way from their wrappers into reports
 *
 * Each rank has a queue of bounded size: when the driver does not take it fast enough, the oldest
 * lines go and are counted.  A report takes from all ranks in turn, so that a loud one does not
 * keep the others waiting.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H
#define EDDIS_AGENTS_NODE_OUTPUT_OUTPUTS_H

#include "agents/protocol/protocol.h"

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUTS_RANK = 256 << 10 }; /* bytes that wait of one rank, at most */

struct outputs;

struct outputs *outputs_new(void);    /* NULL without memory */
void outputs_free(struct outputs *o); /* accepts NULL */

/* Append a copy of x, whole lines.  Without memory they count as dropped. */
void outputs_add(struct outputs *o, const struct output *x);

bool outputs_empty(const struct outputs *o);

/* Take about `bytes` of text, at least one piece, as rows for a report, which outputs_free_rows
 * frees.  Returns the number of rows, 0 also without memory.
 */
int outputs_take(struct outputs *o, size_t bytes, struct output **ret);
void outputs_free_rows(struct output *row, int n); /* accepts NULL */

#endif
