/* SPDX-License-Identifier: Apache-2.0 */
/* run_check.h - output of eddis-run --check: a line for each node and a line for all nodes; the
 * fault of a node is a separate sentence for standard error
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_CHECK_H
#define EDDIS_CMD_RUN_VIEW_RUN_CHECK_H

#include "agents/driver/driver.h"

#include <stdio.h>

enum { RUN_CHECK_SENTENCE = 640 };

/* Write to ret why the node is not ready, in the words of a job's failure. Return false if no
 * reason is known.
 */
bool run_check_sentence(const struct driver_check *c, char ret[RUN_CHECK_SENTENCE]);

/* Print a table of the nodes, and whether all of them are ready. */
void run_check_print(const struct driver_check *node, int n, FILE *out);

/* Print {"schema_version": 1, "ready": true, "nodes": [{"node": ..., "ready": ...}, ...]}. */
void run_check_json(const struct driver_check *node, int n, FILE *out);

#endif
