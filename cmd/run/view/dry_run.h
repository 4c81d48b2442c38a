/* SPDX-License-Identifier: Apache-2.0 */
/* dry_run.h - output of --dry-run in addition to the plan: all values of the job and their sources
 *
 * Programs get one JSON document, with the same bytes for the same file and the same profiles:
 *
 *     { "schema_version": 1,
 *       "job":     { "batch.global": { "origin": "train.yaml:4", "value": "256" }, ... },
 *       "profile": [ ... ],    as profile.json, without when and whether it was cached
 *       "plan":    { ... } }   as plan-1-1.json
 */
#ifndef EDDIS_CMD_RUN_VIEW_DRY_RUN_H
#define EDDIS_CMD_RUN_VIEW_DRY_RUN_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

#include <stdbool.h>

enum { DRY_RUN_SCHEMA_VERSION = 1 };

/* Print a line for each key: name, origin, value. Without `all`, leave out keys with their default
 * and count them.
 */
void dry_run_print(const struct job *job, bool all, struct strbuf *b);

/* Print the names of variables that the workers get in addition to those of the job. env:
 * "NAME=VALUE", NULL-ended; NULL: none.
 */
void dry_run_env(char *const *env, struct strbuf *b);

/* Store the JSON document, with a newline at its end, in *ret, which the caller frees. Return 0 or
 * a negative errno.
 */
int dry_run_json(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct plan *plan, char **ret, struct eddis_error *err);

#endif
