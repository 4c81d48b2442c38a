/* SPDX-License-Identifier: Apache-2.0 */
/* crc32.h - checksum of a file or buffer: CRC-32 as in zlib and Ethernet
 *
 * libeddis writes checkpoints and does not link zlib, hence this implementation.
 */
#ifndef EDDIS_BASE_CRC32_H
#define EDDIS_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Return the checksum of a text followed by the n bytes at p; crc is the checksum of that text, 0
 * if it is empty.
 */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n);

#endif
