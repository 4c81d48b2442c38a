/* SPDX-License-Identifier: Apache-2.0 */
/* leave_out.h - removes workers from a plan, and nodes without workers */
#ifndef EDDIS_SCHEDULER_LEAVE_OUT_H
#define EDDIS_SCHEDULER_LEAVE_OUT_H

#include "lib/base/error.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

#include <stdbool.h>

/* Remove the workers that are not in the set keep [n_workers], and number the others anew. Nodes
 * stay.
 */
void leave_out_others(struct plan *p, const bool *keep);

/* Remove the workers that the nodes' profiles [n_nodes] leave out, from a plan that has all workers
 * of the nodes. Return 0; -EINVAL: no worker is left; -ENOMEM.
 */
int leave_out_marked(struct plan *p, const struct node_profile *nodes, struct eddis_error *err);

/* Remove the nodes without workers, and number the others anew. */
void leave_out_nodes(struct plan *p);

#endif
