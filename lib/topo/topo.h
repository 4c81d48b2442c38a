/* SPDX-License-Identifier: Apache-2.0 */
/* topo.h - the machine as hwloc sees it, as plain data
 *
 * Only what this process may use counts: cores outside its cgroup's cpuset or its affinity are not
 * there.  A NUMA node without cores of its own (HBM, CXL) adds memory and is no node of the model.
 */
#ifndef EDDIS_TOPO_TOPO_H
#define EDDIS_TOPO_TOPO_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdbool.h>

struct topo;

/* Look at this machine; `devices`: at its PCI devices too, which takes longer.  Blocks.
 * Returns a topology that topo_close frees.
 */
int topo_open(bool devices, struct topo **ret, struct eddis_error *err);

/* As topo_open of a machine that hwloc describes: "pack:2 numa:1 core:4 pu:2". */
int topo_open_synthetic(const char *description, struct topo **ret, struct eddis_error *err);

/* As topo_open of a machine that `lstopo machine.xml` saved. */
int topo_open_xml(const char *path, struct topo **ret, struct eddis_error *err);

void topo_close(struct topo *t); /* accepts NULL */

/* Fill sockets, cores, threads, n_numa, memory_bytes, cpu_model (when hwloc knows it), and append
 * one DEVICE_CPU per NUMA node, figures NAN.  A list of cores too long for its place is left out
 * and noted, so that nothing is bound to half of them.
 */
void topo_describe(const struct topo *t, struct node_profile *p);

/* Return the cores of the NUMA node of this index, threads of one core counted once; 1 at least. */
int topo_cores(const struct topo *t, int index);

/* Return the bytes of the largest cache near a NUMA node's cores, all of its kind together; 0
 * unknown. */
int64_t topo_cache_bytes(const struct topo *t, int index);

/* Write to ret which cores and NUMA node a PCI device is near, by its id "0000:17:00.0".  -ENOENT:
 * it is not seen.
 */
int topo_locate(const struct topo *t, const char *pci, struct device *ret, struct eddis_error *err);

/* Bind this process, all its threads, to a list of cores, "0-3,8".  -EINVAL: not a list, or none
 * of them may be used.
 */
int topo_bind(const char *cpus, struct eddis_error *err);

/* Write the list of cores this process may use to ret [size]; no hwloc, a few microseconds. */
int topo_allowed(char *ret, size_t size, struct eddis_error *err);

#endif
