/* SPDX-License-Identifier: Apache-2.0 */
/* near_nic.h - the network cards near a PCI device, from sysfs */
#ifndef EDDIS_TOPO_NEAR_NIC_H
#define EDDIS_TOPO_NEAR_NIC_H

#include <stddef.h>

/* Write to ret the network cards of the machine, the nearest to a PCI device ("0000:17:00.0")
 * first, each with the way to it, "mlx5_0 PIX eth0 SYS", as many as have room; "": there is none,
 * or the device is unknown. The ways, the nearest first: PIX at most one PCIe switch, PXB several,
 * PHB the host bridge, NODE the NUMA node, SYS the connection between NUMA nodes. Of equally near
 * ones cards of InfiniBand or RoCE come first, then the first by name. A card has one name, that of
 * InfiniBand or RoCE if it has both. size: at least 48, room for one. root: a prefix for every
 * path, "" except in tests.
 */
void near_nic_find(const char *root, const char *pci, char *ret, size_t size);

#endif
