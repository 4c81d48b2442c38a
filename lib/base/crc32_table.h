/* SPDX-License-Identifier: Apache-2.0 */
/* crc32_table.h - the numbers behind crc32_update, written by scripts/crc32-table */
#ifndef EDDIS_BASE_CRC32_TABLE_H
#define EDDIS_BASE_CRC32_TABLE_H

#include <stdint.h>

/* crc32_table[k][b]: what byte b does to the checksum when k more bytes follow it. */
extern const uint32_t crc32_table[8][256];

#endif
