/* SPDX-License-Identifier: Apache-2.0 */
/* equals.h - which workers of a plan have equal devices by the profiles */
#ifndef EDDIS_SCHEDULER_EQUALS_H
#define EDDIS_SCHEDULER_EQUALS_H

#include "lib/model/plan.h"
#include "lib/model/profile.h"

/* Write a number for each worker to ret [p->n_workers]: workers with the same number have devices
 * of one kind, as many processors and, within 10 %, the same figures. The number is the first such
 * worker's rank. node [p->n_nodes]: the profiles of the plan's nodes.
 */
void equals_find(const struct plan *p, const struct node_profile *node, int *ret);

#endif
