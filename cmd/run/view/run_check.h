/* SPDX-License-Identifier: Apache-2.0 */
/* run_check.h - what eddis-run --check prints: a line for each node, and one for all; what is wrong
 * with a node is a sentence of its own, for standard error
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_CHECK_H
#define EDDIS_CMD_RUN_VIEW_RUN_CHECK_H

#include "agents/driver/driver.h"

#include <stdio.h>

enum { RUN_CHECK_SENTENCE = 640 };

/* Why the node is not ready, as the job's own failure would be told; false: nothing is known. */
bool run_check_sentence(const struct driver_check *c, char ret[RUN_CHECK_SENTENCE]);

/* Print a table of the nodes and whether all of them are ready. */
void run_check_print(const struct driver_check *node, int n, FILE *out);

/* Print {"schema_version": 1, "ready": true, "nodes": [{"node": ..., "ready": ...}, ...]}. */
void run_check_json(const struct driver_check *node, int n, FILE *out);

#endif
