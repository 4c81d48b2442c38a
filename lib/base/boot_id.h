/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id.h - read the kernel's boot id, which shows whether processes run on one machine */
#ifndef EDDIS_BASE_BOOT_ID_H
#define EDDIS_BASE_BOOT_ID_H

enum { BOOT_ID_CHARS = 40 };

/* Write the kernel's boot id to ret; "" if it cannot be read.  Containers and network namespaces of
 * one machine have the same id, as they share its cores.
 */
void boot_id_read(char ret[BOOT_ID_CHARS]);

#endif
