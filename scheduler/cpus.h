/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h - a node's CPU divided among its workers
 *
 * Processors are those of Linux, "0-3,8-11".  Hardware threads of one core stay together: where
 * the node has two threads a core and c cores, processor p < c and p + c are taken for one core,
 * as Linux numbers them, if the list holds both; otherwise each processor stands alone.
 */
#ifndef EDDIS_SCHEDULER_CPUS_H
#define EDDIS_SCHEDULER_CPUS_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stddef.h>

enum { CPUS_MAX = 4096 };

/* Read a list into ret [CPUS_MAX], ascending.  Returns how many; -EINVAL: not a list. */
int cpus_parse(const char *list, int *ret, struct eddis_error *err);

/* Write n ascending processors as a list; -E2BIG: it does not fit into size. */
int cpus_format(const int *cpu, int n, char *ret, size_t size, struct eddis_error *err);

/* Whether every processor of list a is in list b. */
bool cpus_within(const char *a, const char *b);

/* Share number i of n of the node's CPU devices as a device of its own: its cores, and the speed
 * that goes with them.  With more shares than cores, each has all the cores and 1/n of the speed.
 */
int cpus_share(const struct node_profile *node, int i, int n, struct device *ret,
               struct eddis_error *err);

#endif
