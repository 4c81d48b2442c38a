/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h - divides a node's CPU among its workers
 *
 * A list of processors is in Linux's format, "0-3,8-11". Hardware threads of one core stay
 * together. If the node has c cores with two threads each, Linux numbers the threads of a core p <
 * c as p and p + c. If a list holds both, they count as one core. Otherwise each processor counts
 * as a core.
 */
#ifndef EDDIS_SCHEDULER_CPUS_H
#define EDDIS_SCHEDULER_CPUS_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stddef.h>

enum { CPUS_MAX = 4096 };

/* Parse a list of processors into ret [CPUS_MAX], ascending and without repeats. Return how many
 * there are; -EINVAL: it is not a list.
 */
int cpus_parse(const char *list, int *ret, struct eddis_error *err);

/* Format n ascending processors as a list in ret [size]. -E2BIG: it does not fit. */
int cpus_format(const int *cpu, int n, char *ret, size_t size, struct eddis_error *err);

/* Check whether every processor of list a is in list b. Return false if one is not a list. */
bool cpus_within(const char *a, const char *b);

/* Fill *ret with share i of n (from 0) of the node's CPU devices: its cores and their speed. If n
 * exceeds the number of cores, each share has all cores and 1/n of the speed.
 */
int cpus_share(const struct node_profile *node, int i, int n, struct device *ret,
               struct eddis_error *err);

#endif
