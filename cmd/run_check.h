/* SPDX-License-Identifier: Apache-2.0 */
/* run_check.h - what eddis-run --check prints: a line for each node, and one for all */
#ifndef EDDIS_CMD_RUN_CHECK_H
#define EDDIS_CMD_RUN_CHECK_H

#include "agents/driver/driver.h"

#include <stdio.h>

/* Print a table of the nodes and whether all of them are ready. */
void run_check_print(const struct driver_check *node, int n, FILE *out);

/* Print {"schema_version": 1, "ready": true, "nodes": [{"node": ..., "ready": ...}, ...]}. */
void run_check_json(const struct driver_check *node, int n, FILE *out);

#endif
