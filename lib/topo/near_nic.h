/* SPDX-License-Identifier: Apache-2.0 */
/* near_nic.h - the network card that is nearest to a PCI device, from sysfs */
#ifndef EDDIS_TOPO_NEAR_NIC_H
#define EDDIS_TOPO_NEAR_NIC_H

#include <stddef.h>

/* Write to ret the nearest network card of a PCI device ("0000:17:00.0") and the way to it, "mlx5_0
 * PIX"; "": there is none, or the device is unknown. The ways, the nearest first: PIX at most one
 * PCIe switch, PXB several, PHB the host bridge, NODE the NUMA node, SYS the connection between
 * NUMA nodes. Of equally near ones cards of InfiniBand or RoCE come first, then the first by name.
 * root: a prefix for every path, "" except in tests.
 */
void near_nic_find(const char *root, const char *pci, char *ret, size_t size);

#endif
