/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - the block of memory that holds the gradients of all parameters
 *
 * Each parameter has one slot, 64-byte aligned, in the reverse order of registration.  Each slot is
 * followed by space for a trailer (sync.h), so that a bucket may end with any slot:
 *
 *     slot n-1 | trailer space | slot n-2 | trailer space | ... | slot 0 | trailer space
 *
 * A slot holds the gradient and one more element, its mark: 1 if the worker announced the gradient,
 * else 0.  Marks are summed with the gradients, so every rank learns whether any rank announced the
 * gradient.
 *
 * A bucket is a run of neighbouring slots with the trailer spaces between them.  These spaces are
 * summed too, so they are zero, except for the trailer at the bucket's end.  Slots never move.
 */
#ifndef EDDIS_SYNC_ARENA_H
#define EDDIS_SYNC_ARENA_H

#include "bucket.h"
#include "sync.h"

/* One parameter's slot. */
struct arena_slot {
    size_t n, offset; /* number of elements, without the mark; offset in bytes from the arena's
                       * start */
    enum comm_type type;
    int set; /* slots of different sets never share a bucket */
};

/* The gradients of all parameters. */
struct arena {
    char *data;
    void *own; /* allocation that contains `data`; NULL: `data` is memory shared by ranks */
    size_t bytes;
    struct arena_slot *slot; /* [n_slots] slot of each parameter */
    int n_slots;
    struct bucket_item *item; /* [n_slots] the slots as items of bucket.h, in arena order */
};

/* Allocate n_slots slots; the caller then fills in n, type and set of each.  Return 0 or -ENOMEM;
 * the caller calls arena_fini in either case.
 */
int arena_init(struct arena *a, int n_slots, struct eddis_error *err);

/* Compute every slot's offset and get the arena's memory, zeroed.  If the ranks of the node share
 * memory for arenas, use it, so that other ranks read results in place; otherwise allocate memory.
 * Return 0 or -ENOMEM.
 */
int arena_place(struct arena *a, const struct comm_place *place, struct eddis_error *err);

/* Free the arena's memory.  Accept a zeroed or half-built arena. */
void arena_fini(struct arena *a);

/* Borrow the slot's gradient. */
void *arena_data(const struct arena *a, int slot);

/* Set the slot's mark to 1 if announced, else to 0. */
void arena_mark(const struct arena *a, int slot, bool announced);

/* Check whether any rank announced the gradient, by the mark in `data`, the combined copy of the
 * slot.
 */
bool arena_marked(const struct arena *a, int slot, const void *data);

/* Return the bytes of a bucket of the slots last, last - 1, ..., first, without its trailer. */
size_t arena_span(const struct arena *a, int last, int first);

/* Zero the gaps between slots.  Needed after a new layout: a former trailer may now lie inside a
 * bucket.
 */
void arena_clear_gaps(const struct arena *a);

/* Return the bytes that a parameter of n elements takes in an arena, with trailer space. */
size_t arena_slot_bytes(size_t n, enum comm_type type);

/* Return the size of an arena in bytes, given the sum of its parameters' arena_slot_bytes. */
size_t arena_bytes(size_t slots_bytes);

#endif
