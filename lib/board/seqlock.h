/* SPDX-License-Identifier: Apache-2.0 */
/* seqlock.h - a sequence lock: readers never delay the one writer
 *
 * The writer makes the sequence number odd, stores, and makes it even.  A reader copies, and keeps
 * its copy if the number was even before and is unchanged afterwards.
 *
 * Every word is stored with release and loaded with acquire order, instead of fences around plain
 * copies.  So a reader that saw one new word then sees the odd number too, on ARM as on x86 (where
 * it costs nothing).  No access is a data race, and thread sanitizers, which do not know fences,
 * can follow.  Regions are multiples of 8 bytes, aligned to 8.
 */
#ifndef EDDIS_BOARD_SEQLOCK_H
#define EDDIS_BOARD_SEQLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Hint to the processor that this is a spin loop. */
static inline void seqlock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Load a word with acquire order. */
static inline uint64_t seqlock_load_u64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Store a word with release order. */
static inline void seqlock_store_u64(uint64_t *p, uint64_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Begin a write: make the number odd.  A writer that lost its page to another process may have left
 * it odd.
 */
static inline void seqlock_write_begin(uint32_t *sequence)
{
    uint32_t s = __atomic_load_n(sequence, __ATOMIC_RELAXED);

    __atomic_store_n(sequence, (s + 1) | 1, __ATOMIC_RELAXED);
}

/* End a write: make the number even. */
static inline void seqlock_write_end(uint32_t *sequence)
{
    uint32_t s = __atomic_load_n(sequence, __ATOMIC_RELAXED);

    __atomic_store_n(sequence, (s | 1) + 1, __ATOMIC_RELEASE);
}

/* Begin a read: load the number.  Return false if a write is under way. */
static inline bool seqlock_read_begin(const uint32_t *sequence, uint32_t *ret_seen)
{
    *ret_seen = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    return !(*ret_seen & 1);
}

/* End a read.  Return true if what was copied since seqlock_read_begin is consistent. */
static inline bool seqlock_read_end(const uint32_t *sequence, uint32_t seen)
{
    return __atomic_load_n(sequence, __ATOMIC_RELAXED) == seen;
}

/* Copy n private bytes to shared memory.  Called inside a write. */
static inline void seqlock_store(void *shared, const void *from, size_t n)
{
    uint64_t *d = (uint64_t *)shared;
    const unsigned char *s = (const unsigned char *)from;

    for (size_t i = 0; i < n / 8; i++) {
        uint64_t v;

        memcpy(&v, s + 8 * i, 8);
        seqlock_store_u64(d + i, v);
    }
}

/* Copy n bytes from shared memory.  Called inside a read. */
static inline void seqlock_load(void *to, const void *shared, size_t n)
{
    const uint64_t *s = (const uint64_t *)shared;
    unsigned char *d = (unsigned char *)to;

    for (size_t i = 0; i < n / 8; i++) {
        uint64_t v = seqlock_load_u64(s + i);

        memcpy(d + 8 * i, &v, 8);
    }
}

#endif
