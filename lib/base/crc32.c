/* SPDX-License-Identifier: Apache-2.0 */
/* crc32.c - compute CRC-32, eight bytes at a time, by table look-up */
#include "crc32.h"

#include "crc32_table.h"

/* Return the four bytes at s, which need no alignment, as a little-endian number. */
static uint32_t four(const unsigned char *s)
{
    return s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

/* Process eight bytes at a time, because the eight table look-ups are independent.  Byte by byte,
 * each look-up would wait for the previous one, and checkpoints may be gigabytes.
 */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n)
{
    const uint32_t(*t)[256] = crc32_table;
    const unsigned char *s = p;

    crc = ~crc;
    for (; n >= 8; n -= 8, s += 8) {
        uint32_t a = crc ^ four(s), b = four(s + 4);

        crc = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^
              t[3][b & 255] ^ t[2][b >> 8 & 255] ^ t[1][b >> 16 & 255] ^ t[0][b >> 24];
    }
    for (; n > 0; n--, s++)
        crc = t[0][(crc ^ *s) & 255] ^ (crc >> 8);
    return ~crc;
}
