/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h - divides a node's CPU among its workers
 *
 * A list of processors is in Linux's format, "0-3,8-11". Hardware threads of one core stay
 * together. If the node has c cores with two threads each, Linux gives the threads of core p (p <
 * c) the numbers p and p + c. A list in which every core has all its threads is counted in cores.
 * In any other list each processor counts as a core.
 */
#ifndef EDDIS_SCHEDULER_CPUS_H
#define EDDIS_SCHEDULER_CPUS_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stddef.h>

enum { CPUS_MAX = 4096 };

/* Parse a list of processors into ret [CPUS_MAX], in ascending order and without duplicates. Return
 * the number of processors; -EINVAL: the text is not such a list.
 */
int cpus_parse(const char *list, int *ret, struct eddis_error *err);

/* Format n ascending processor numbers as a list in ret [size]. -E2BIG: the list does not fit. */
int cpus_format(const int *cpu, int n, char *ret, size_t size, struct eddis_error *err);

/* Check whether every processor of list a is in list b. Return false if a or b is not a list. */
bool cpus_within(const char *a, const char *b);

/* Divide the cores of all CPU devices of the node into n shares, and describe share i (from 0) in
 * *ret as a device: its cores and their speed. If n exceeds the number of cores, each share has all
 * cores and 1/n of the speed. Return 0 or a negative errno.
 */
int cpus_share(const struct node_profile *node, int i, int n, struct device *ret,
               struct eddis_error *err);

#endif
