/* SPDX-License-Identifier: Apache-2.0 */
/* boot_id.h - by what processes know that they are on one machine */
#ifndef EDDIS_BASE_BOOT_ID_H
#define EDDIS_BASE_BOOT_ID_H

enum { BOOT_ID_CHARS = 40 };

/* Write the id that the kernel has drawn at its start, which containers and network namespaces of
 * one machine share as they share its cores; "" where it cannot be read.
 */
void boot_id_read(char ret[BOOT_ID_CHARS]);

#endif
