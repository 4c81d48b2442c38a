/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c - one buffer in shared memory: users, notices, writes, and the queue of sums */
#include "memory_impl.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Time after which another process of the queue continues a sum that has made no progress. */
#define SUM_HELP_NS (20 * CLOCK_MS)

/* Return the offset of the scratch piece in a buffer's shared memory, in bytes. */
static size_t piece_at(int n_ranks)
{
    size_t at = sizeof(struct shared_buffer) + (size_t)n_ranks * sizeof(struct shared_slot);

    return (at + 63) / 64 * 64;
}

/* Return the offset of the elements in a buffer's shared memory, in bytes: the middle of a page.
 * Reason: large malloc blocks begin just after the start of a page, and some processors copy three
 * times as slowly if the target's offset in its page is slightly above the source's.
 */
static size_t data_at(int n_ranks)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (piece_at(n_ranks) + MEMORY_PIECE + page - 1) / page * page + page / 2;
}

size_t buffer_bytes(const struct memory_shape *shape, int n_ranks)
{
    return data_at(n_ranks) + shape->count * comm_type_bytes(shape->type);
}

int buffer_init(struct shared_buffer *s, const struct memory_shape *shape, int n_ranks, int users)
{
    s->shape = *shape;
    s->n_ranks = n_ranks;
    s->users = (uint64_t)users;
    s->data_at = data_at(n_ranks);
    return memory_lock_init(&s->lock);
}

/* Return the address in shared memory, never NULL, of an element, whose number counts from the
 * first element stored here.
 */
static char *buffer_data(const struct memory_buffer *b, size_t element)
{
    const struct shared_buffer *s = b->shared;

    return (char *)b->shared + s->data_at + element * comm_type_bytes(s->shape.type);
}

const struct memory_shape *memory_shape(const struct memory_buffer *b)
{
    return &b->shared->shape;
}

/* ---- the lock, and recovery after a killed owner ---- */

/* Store value at p, in shared memory, so that other processes see it before all later stores of
 * this process.
 */
static void buffer_set(uint64_t *p, uint64_t value)
{
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Return the slot of the first sum in the queue, which has the smallest ticket; NULL: the queue is
 * empty.
 */
static struct shared_slot *queue_first(struct shared_buffer *s)
{
    struct shared_slot *first = NULL;
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < s->n_ranks; i++) {
        uint64_t ticket = __atomic_load_n(&s->slot[i].ticket, __ATOMIC_ACQUIRE);

        if (ticket && ticket < least) {
            least = ticket;
            first = &s->slot[i];
        }
    }
    return first;
}

/* Return the number of elements in the piece that begins at element `at`; the last piece may be
 * shorter than MEMORY_PIECE.
 */
static size_t piece_length(const struct shared_buffer *s, size_t at)
{
    size_t n = MEMORY_PIECE / comm_type_bytes(s->shape.type);

    return s->shape.count - at < n ? s->shape.count - at : n;
}

/* Copy the scratch piece, which holds the sum of the next piece, to its place among the elements,
 * and record in the buffer's state that its elements are added.  Call with the lock held.  If a
 * process is killed in this function, another one may call it again.
 */
static void sum_copy(struct memory_buffer *b)
{
    struct shared_buffer *s = b->shared;
    size_t at = s->state / 4, n = piece_length(s, at);

    memcpy(buffer_data(b, at), (char *)s + piece_at(s->n_ranks),
           n * comm_type_bytes(s->shape.type));
    buffer_set(&s->state, (at + n) * 4 | SUM_ADD);
}

/* Publish the number of notices after the finished sum, and remove the sum from the queue.  Call
 * with the lock held.  If a process is killed in this function, another one may call it again.
 */
static void sum_leave(struct shared_buffer *s)
{
    buffer_set(&s->version, s->over_version);
    for (int i = 0; i < s->n_ranks; i++)
        if (s->slot[i].ticket == s->over_ticket)
            buffer_set(&s->slot[i].ticket, 0);
    buffer_set(&s->state, SUM_ADD);
}

/* Take the buffer's lock without waiting.  If its owner was killed, first finish what the owner
 * left half done.  Return 0, or -EAGAIN if another process holds the lock.
 */
static int buffer_lock(struct memory_buffer *b)
{
    struct shared_buffer *s = b->shared;
    int rc = pthread_mutex_trylock(&s->lock);

    if (rc == EOWNERDEAD) {
        if (s->state % 4 == SUM_COPY)
            sum_copy(b);
        else if (s->state % 4 == SUM_OVER)
            sum_leave(s);
        rc = pthread_mutex_consistent(&s->lock);
    }
    return rc ? -EAGAIN : 0;
}

/* Release the buffer's lock. */
static void buffer_unlock(struct memory_buffer *b)
{
    pthread_mutex_unlock(&b->shared->lock);
}

/* ---- users ---- */

int buffer_attach(struct memory_buffer *b)
{
    struct shared_buffer *s = b->shared;
    int rc = buffer_lock(b);

    if (rc < 0)
        return rc;
    rc = s->freed ? -ENOENT : 0;
    s->users += rc == 0;
    buffer_unlock(b);
    return rc;
}

int memory_detach(struct memory_buffer *b, bool *ret_last)
{
    struct shared_buffer *s = b->shared;
    int rc = buffer_lock(b);

    if (rc < 0)
        return rc;
    s->freed = s->users <= 1;
    s->users -= s->users > 0;
    *ret_last = s->freed;
    buffer_unlock(b);
    return 0;
}

/* ---- elements ---- */

void memory_read(const struct memory_buffer *b, size_t at, size_t n, void *ret)
{
    const struct memory_shape *s = &b->shared->shape;

    memcpy(ret, buffer_data(b, at - s->first), n * comm_type_bytes(s->type));
}

int memory_write(struct memory_buffer *b, size_t at, size_t n, const void *from)
{
    const struct memory_shape *s = &b->shared->shape;

    if (buffer_lock(b) < 0)
        return -EAGAIN;
    memcpy(buffer_data(b, at - s->first), from, n * comm_type_bytes(s->type));
    buffer_unlock(b);
    return 0;
}

int memory_fetch_add(struct memory_buffer *b, size_t at, int64_t add, int64_t *ret_before)
{
    int64_t *p = (int64_t *)buffer_data(b, at - b->shared->shape.first);

    if (buffer_lock(b) < 0)
        return -EAGAIN;
    *ret_before = *p;
    *p = (int64_t)((uint64_t)*p + (uint64_t)add);
    buffer_unlock(b);
    return 0;
}

uint64_t memory_version(const struct memory_buffer *b)
{
    return __atomic_load_n(&b->shared->version, __ATOMIC_ACQUIRE);
}

int memory_notify(struct memory_buffer *b, uint64_t *ret_version)
{
    if (buffer_lock(b) < 0)
        return -EAGAIN;
    *ret_version = b->shared->version + 1;
    buffer_set(&b->shared->version, *ret_version);
    buffer_unlock(b);
    return 0;
}

/* ---- sums ---- */

/* Add the next piece of `source` to b, for the first sum in the queue.  Return the bytes of the
 * piece.  Call with the lock held.
 */
static size_t sum_piece(struct memory_buffer *b, const struct memory_buffer *source)
{
    struct shared_buffer *s = b->shared;
    char *piece = (char *)s + piece_at(s->n_ranks);
    size_t at = s->state / 4, n = piece_length(s, at), bytes = n * comm_type_bytes(s->shape.type);

    memcpy(piece, buffer_data(b, at), bytes);
    combine(s->shape.type, COMM_SUM, piece, buffer_data(source, at), n);
    buffer_set(&s->state, at * 4 | SUM_COPY);
    sum_copy(b);
    return bytes;
}

/* Continue the first sum in the queue and subtract the bytes added from *budget, until that is 0 or
 * the sum is complete.  Remove a complete sum from the queue; if the source buffer is gone, also an
 * incomplete one.  Return 0, or -ENOMEM if the source cannot be mapped.  Call with the lock held.
 */
static int sum_turn(struct memory *m, struct memory_buffer *b, struct shared_slot *first,
                    size_t *budget)
{
    struct shared_buffer *s = b->shared;
    int rc = -ENOENT;
    const struct memory_buffer *source = memory_find(m, first->source, &rc);

    if (!source && rc != -ENOENT)
        return rc;
    while (source && *budget && s->state / 4 < s->shape.count) {
        size_t bytes = sum_piece(b, source);

        *budget -= bytes < *budget ? bytes : *budget;
    }
    if (source && s->state / 4 < s->shape.count)
        return 0;
    s->over_ticket = first->ticket;
    s->over_version = s->version + (source && first->notify);
    buffer_set(&s->state, s->state | SUM_OVER);
    sum_leave(s);
    return 0;
}

/* Append a sum of buffer `source` to the queue, in the slot of this rank.  Call with the lock held.
 */
static void sum_queue(struct shared_buffer *s, uint64_t source, int rank, bool notify)
{
    struct shared_slot *slot = &s->slot[rank];

    slot->source = source;
    slot->notify = notify;
    buffer_set(&slot->ticket, ++s->last_ticket);
}

/* Check whether this process should continue `first`, the first sum in the queue: the sum is this
 * rank's own, or made no progress for SUM_HELP_NS.  Record in *sum the progress seen now.
 */
static bool sum_wanted(struct shared_buffer *s, const struct shared_slot *first, int rank,
                       int64_t now_ns, struct memory_sum *sum)
{
    uint64_t state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);
    uint64_t ticket = __atomic_load_n(&first->ticket, __ATOMIC_ACQUIRE);

    if (first == &s->slot[rank])
        return true;
    if (ticket != sum->seen_ticket || state != sum->seen_state) {
        sum->seen_ticket = ticket;
        sum->seen_state = state;
        sum->seen_ns = now_ns;
    }
    return now_ns - sum->seen_ns >= SUM_HELP_NS;
}

int memory_accumulate(struct memory *m, struct memory_buffer *b, uint64_t source, int rank,
                      bool notify, int64_t now_ns, struct memory_sum *sum, size_t *budget)
{
    struct shared_buffer *s = b->shared;
    struct shared_slot *first;
    int rc = -ENOENT;

    if (!sum->queued) {
        if (!memory_find(m, source, &rc))
            return rc;
        if (buffer_lock(b) < 0)
            return -EAGAIN;
        sum_queue(s, source, rank, notify);
        buffer_unlock(b);
        sum->queued = true;
    }
    first = queue_first(s);
    if (first && *budget && sum_wanted(s, first, rank, now_ns, sum) && buffer_lock(b) == 0) {
        first = queue_first(s); /* the queue may have changed before the lock was taken */
        rc = first ? sum_turn(m, b, first, budget) : 0;
        buffer_unlock(b);
        if (rc < 0)
            return rc;
    }
    return __atomic_load_n(&s->slot[rank].ticket, __ATOMIC_ACQUIRE) ? -EAGAIN : 0;
}
