/* SPDX-License-Identifier: Apache-2.0 */
/* topo.h - the machine as hwloc sees it, as plain data
 *
 * Only resources that this process may use are counted: cores outside its cgroup's cpuset or its
 * affinity are left out.  A NUMA node without its own cores (HBM, CXL) adds memory but does not
 * count as a node.
 */
#ifndef EDDIS_TOPO_TOPO_H
#define EDDIS_TOPO_TOPO_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>

struct topo;

/* Read the topology of this machine; with `devices` also its PCI devices, which takes longer.
 * Blocks. topo_close frees *ret.  Return 0 or a negative errno.
 */
int topo_open(bool devices, struct topo **ret, struct eddis_error *err);

/* Free the topology.  Accept NULL. */
void topo_close(struct topo *t);

/* Set sockets, cores, threads, n_numa, memory_bytes and cpu_model (if known) of *p, and append one
 * DEVICE_CPU for each NUMA node, with measurements NAN.  If the list of a node's cores is too long
 * for the device, leave the list empty and set the note, so that nothing is bound to a part of the
 * list.
 */
void topo_describe(const struct topo *t, struct node_profile *p);

/* Return the number of cores of the NUMA node of this index, at least 1.  Threads of one core count
 * once.
 */
int topo_cores(const struct topo *t, int index);

/* Return the total size of the last-level caches of a NUMA node's cores in bytes; 0: unknown. */
int64_t topo_cache_bytes(const struct topo *t, int index);

/* Write the nearest cores and NUMA node of a PCI device ("0000:17:00.0") to ret, and append its PCI
 * device id to the name GPU_NAMELESS.  Return 0 or -ENOENT: hwloc does not see the device.
 */
int topo_locate(const struct topo *t, const char *pci, struct device *ret, struct eddis_error *err);

/* Bind this process with all its threads to a list of cores, "0-3,8".  Return 0 or a negative
 * errno; -EINVAL: not a list, or the process may use none of them.
 */
int topo_bind(const char *cpus, struct eddis_error *err);

/* Write the list of cores that this process may use to ret [size].  The call takes microseconds, as
 * it does not use hwloc.  -ENOSPC: the list does not fit.
 */
int topo_allowed(char *ret, size_t size, struct eddis_error *err);

#endif
