/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - the one block of memory that the gradients of all parameters lie in
 *
 * A slot a parameter, in the reverse order of registration, 64-byte aligned, and behind each room
 * for a tail (sync.h), so that a bucket may end with any slot:
 *
 *     slot n-1 | room for a tail | slot n-2 | room for a tail | ... | slot 0 | room for a tail
 *
 * A slot is the gradient and one element more, its mark: 1 where the worker has announced it, else
 * 0.  It is added up with the rest, so that all learn whether anybody has.
 *
 * A bucket is a run of neighbours, rooms included: these are zero but for the tail behind it, since
 * they are added up too.  No slot moves.
 */
#ifndef EDDIS_SYNC_ARENA_H
#define EDDIS_SYNC_ARENA_H

#include "bucket.h"
#include "sync.h"

struct arena_slot {
    size_t n, offset; /* elements, without the mark; bytes from the arena's start */
    enum comm_type type;
    int set; /* slots of unlike sets never share a bucket */
};

struct arena {
    char *data;
    void *own; /* what it lies in, unless that is memory that ranks share */
    size_t bytes;
    struct arena_slot *slot; /* [n_slots] by parameter */
    int n_slots;
    struct bucket_item *item; /* [n_slots] in the order of the arena */
};

/* Make room for the slots [n_slots], whose n, type and set are to be filled in. */
int arena_init(struct arena *a, int n_slots, struct eddis_error *err);

/* Give every slot its place, in the arena that the ranks of the place's node share, if they share
 * one (the others then read results where they lie), else in memory of its own.
 */
int arena_place(struct arena *a, const struct comm_place *place, struct eddis_error *err);

/* Accepts an arena of zeros and a half-built one. */
void arena_fini(struct arena *a);

/* Borrows the slot's data. */
void *arena_data(const struct arena *a, int slot);

/* Set the slot's mark; look at it where the slot was combined to, `data`. */
void arena_mark(const struct arena *a, int slot, bool announced);
bool arena_marked(const struct arena *a, int slot, const void *data);

/* Return the bytes of a bucket of the slots last, last - 1, ..., first without its tail. */
size_t arena_span(const struct arena *a, int last, int first);

/* Clear what lies between the slots: between two layouts, since what was a tail may now lie in the
 * middle of a bucket.
 */
void arena_clear_gaps(const struct arena *a);

/* Return the bytes that a parameter of n elements takes in an arena, tail included. */
size_t arena_slot_bytes(size_t n, enum comm_type type);

/* Return the size of an arena, bytes, from the sum of its parameters' arena_slot_bytes. */
size_t arena_bytes(size_t slots_bytes);

#endif
