/* SPDX-License-Identifier: Apache-2.0 */
/* crc32.h - checksum of a file or buffer: CRC-32 as in zlib and Ethernet
 *
 * libeddis writes checkpoints and links no zlib, hence these few lines.
 */
#ifndef EDDIS_BASE_CRC32_H
#define EDDIS_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continue crc, 0 at first, over n bytes. */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n);

#endif
