/* SPDX-License-Identifier: Apache-2.0 */
/* seqlock.h - one writer, readers that never stop it
 *
 * The writer makes the number odd, stores, makes it even.  A reader copies and keeps its copy when
 * the number was even before and is the same afterwards.
 *
 * Every word is stored with release and loaded with acquire order instead of fences around plain
 * copies: a reader that saw one new word then sees the odd number too, on ARM as on x86 (where it
 * costs nothing), no access is a data race, and thread sanitizers, which know no fences, can
 * follow.  Regions are multiples of 8 bytes, aligned to 8.
 */
#ifndef EDDIS_BOARD_SEQLOCK_H
#define EDDIS_BOARD_SEQLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void seqlock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline uint64_t seqlock_load_u64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void seqlock_store_u64(uint64_t *p, uint64_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* A writer that has had to give way may have left the number odd. */
static inline void seqlock_write_begin(uint32_t *sequence)
{
    uint32_t s = __atomic_load_n(sequence, __ATOMIC_RELAXED);

    __atomic_store_n(sequence, (s + 1) | 1, __ATOMIC_RELAXED);
}

static inline void seqlock_write_end(uint32_t *sequence)
{
    uint32_t s = __atomic_load_n(sequence, __ATOMIC_RELAXED);

    __atomic_store_n(sequence, (s | 1) + 1, __ATOMIC_RELEASE);
}

/* false: it is being written. */
static inline bool seqlock_read_begin(const uint32_t *sequence, uint32_t *ret_seen)
{
    *ret_seen = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    return !(*ret_seen & 1);
}

/* true: what was copied since seqlock_read_begin is whole. */
static inline bool seqlock_read_end(const uint32_t *sequence, uint32_t seen)
{
    return __atomic_load_n(sequence, __ATOMIC_RELAXED) == seen;
}

/* Copy n private bytes to shared memory.  Inside a write. */
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

/* Copy n bytes of shared memory.  Inside a read. */
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
