/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - places each parameter's gradient in the arena */
#include "arena.h"

#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    PAGE = 4096, /* alignment of the arena, so that a GPU can map it */
    /* bytes of trailer space after each slot */
    TAIL = (sizeof(struct sync_trailer) + ALIGN - 1) / ALIGN * ALIGN,
};

/* Return bytes rounded up to a multiple of ALIGN. */
static size_t align(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Return the bytes of a gradient of n elements and its mark. */
static size_t marked_bytes(size_t n, enum comm_type type)
{
    return (n + 1) * comm_type_bytes(type);
}

size_t arena_slot_bytes(size_t n, enum comm_type type)
{
    return align(marked_bytes(n, type)) + TAIL;
}

size_t arena_bytes(size_t slots_bytes)
{
    return slots_bytes + TAIL;
}

int arena_init(struct arena *a, int n_slots, struct eddis_error *err)
{
    size_t n = (size_t)n_slots + 1;

    a->n_slots = n_slots;
    a->slot = calloc(n, sizeof *a->slot);
    a->item = calloc(n, sizeof *a->item);
    if (!a->slot || !a->item)
        return eddis_fail(err, -ENOMEM, "no memory for %d parameters", n_slots);
    return 0;
}

/* Lay out the slots in reverse order of parameters: set the offset and the bucket item of each.
 * Return the arena's size in bytes.
 */
static size_t place_slots(struct arena *a)
{
    size_t at = 0;

    for (int i = 0; i < a->n_slots; i++) {
        struct arena_slot *s = &a->slot[a->n_slots - 1 - i];
        size_t bytes = arena_slot_bytes(s->n, s->type);

        s->offset = at;
        a->item[i] = (struct bucket_item){ .bytes = bytes, .type = (int)s->type | s->set << 8 };
        at += bytes;
    }
    return arena_bytes(at);
}

int arena_place(struct arena *a, const struct comm_place *place, struct eddis_error *err)
{
    const struct node_groups *nodes = place->nodes;
    size_t bytes = place_slots(a);

    a->bytes = bytes;
    a->data = nodes && nodes->shm ? comm_shm_arena(nodes->shm) : NULL;
    if (a->data) {
        memset(a->data, 0, bytes);
        return 0;
    }
    /* Whole pages, which a device's driver locks; calloc touches no page of a large block. */
    a->own = calloc(1, (bytes + PAGE - 1) / PAGE * PAGE + PAGE - 1);
    if (!a->own)
        return eddis_fail(err, -ENOMEM, "no memory for gradients of %zu bytes", bytes);
    a->data = (char *)(((uintptr_t)a->own + PAGE - 1) / PAGE * PAGE);
    return 0;
}

void arena_fini(struct arena *a)
{
    free(a->own);
    free(a->slot);
    free(a->item);
}

void *arena_data(const struct arena *a, int slot)
{
    return a->data + a->slot[slot].offset;
}

void arena_mark(const struct arena *a, int slot, bool announced)
{
    const struct arena_slot *s = &a->slot[slot];
    void *data = arena_data(a, slot);
    float mark = announced;

    if (s->type == COMM_FLOAT32)
        ((float *)data)[s->n] = mark;
    else if (s->type == COMM_FLOAT64)
        ((double *)data)[s->n] = (double)mark;
    else
        comm_to_half(s->type, (uint16_t *)data + s->n, &mark, 1);
}

bool arena_marked(const struct arena *a, int slot, const void *data)
{
    const struct arena_slot *s = &a->slot[slot];

    if (s->type == COMM_FLOAT32)
        return ((const float *)data)[s->n] != 0;
    if (s->type == COMM_FLOAT64)
        return ((const double *)data)[s->n] != 0;
    return ((const uint16_t *)data)[s->n] != 0;
}

size_t arena_span(const struct arena *a, int last, int first)
{
    const struct arena_slot *s = &a->slot[first];

    return s->offset + align(marked_bytes(s->n, s->type)) - a->slot[last].offset;
}

void arena_clear_gaps(const struct arena *a)
{
    for (int i = 0; i < a->n_slots; i++) {
        const struct arena_slot *s = &a->slot[i];
        size_t bytes = marked_bytes(s->n, s->type);

        memset(a->data + s->offset + bytes, 0, align(bytes) - bytes + TAIL);
    }
}
