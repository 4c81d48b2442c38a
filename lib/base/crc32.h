/* SPDX-License-Identifier: Apache-2.0 */
/* crc32.h - checksum of a file or buffer: CRC-32 as in zlib and Ethernet
 *
 * libeddis writes checkpoints and does not link zlib, hence this implementation.
 */
#ifndef EDDIS_BASE_CRC32_H
#define EDDIS_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Return the checksum `crc` continued over n bytes.  Start with crc 0. */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n);

#endif
