/* SPDX-License-Identifier: Apache-2.0 */
/* board_plans.c - read and write plans, and the mode that comes with the first one, under the
 * area's lock
 */
#include "board_impl.h"

#include "lib/base/cleanup.h"
#include "seqlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Borrow the slot of a plan version in the shared memory. */
static struct board_slot *slot_of(const struct board *b, int64_t version)
{
    return (struct board_slot *)(b->map + board_slot_at(b->setup.n_ranks, version % BOARD_PLANS));
}

/* Return the bytes of the ranks' groups in the shared memory. */
static size_t group_bytes(const struct board_area *a)
{
    return (size_t)(board_node_at(a->n_ranks) - BOARD_GROUP_AT);
}

/* Return the newest plan version that this worker is known to work under; 0: none. */
static int64_t version_in_force(const struct board *b, int local_rank)
{
    struct board_page page;

    if (board_read(b, local_rank, &page, NULL) < 0)
        return 0;
    if (page.plan_since >= 0)
        return page.plan_version;
    /* The worker has seen plan_version, perhaps after several that it did not see, but it does not
     * apply yet: the plan of the worker's last step is in force.
     */
    return page.steps_done ? page.ring[(page.steps_done - 1) % BOARD_RING].plan : 0;
}

/* Borrow a slot's micro-batch sizes, which follow the n batches. */
static int64_t *pieces_of(const struct board_slot *slot, size_t n)
{
    return (int64_t *)(slot + 1) + n;
}

/* Write a slot's micro-batch sizes [n]; piece NULL: all 0. */
static void store_pieces(struct board_slot *slot, const int64_t *piece, size_t n)
{
    static const int64_t any;

    for (size_t i = 0; i < n; i++)
        seqlock_store(pieces_of(slot, n) + i, piece ? &piece[i] : &any, sizeof any);
}

/* Check that the plan may be published now.  Return 0; -EINVAL: its version is not the next one;
 * -EBUSY: a local worker does not work under any of the last BOARD_PLANS - 1 versions yet.
 */
static int check_version(const struct board *b, const struct board_plan *plan,
                         struct eddis_error *err)
{
    int64_t newest = b->setup.plan_version;

    if (plan->version != newest + 1 && (plan->version || newest))
        return eddis_fail(err, -EINVAL, "plan %lld cannot follow plan %lld",
                          (long long)plan->version, (long long)newest);
    for (int i = 0; i < b->setup.n_local; i++)
        if (newest - version_in_force(b, i) >= BOARD_PLANS - 1)
            return eddis_fail(err, -EBUSY, "rank %d has not taken up the last %d plans yet",
                              b->setup.first_rank + i, BOARD_PLANS - 1);
    return 0;
}

/* Return the size of the area's members from mode to options. */
static size_t mode_bytes(void)
{
    return offsetof(struct board_area, choice) - offsetof(struct board_area, mode);
}

/* Write the members of b->setup from mode to options, and these groups [group_bytes], to the shared
 * memory.  Called between seqlock_write_begin and _end.
 */
static void write_mode(struct board *b, const int32_t *groups)
{
    seqlock_store(board_area_of(b)->mode, b->setup.mode, mode_bytes());
    seqlock_store(b->map + BOARD_GROUP_AT, groups, group_bytes(&b->setup));
}

/* Write a plan and publish its version; if groups is not NULL, also write the new mode, as
 * write_mode.
 */
static void write_plan(struct board *b, const struct board_plan *plan, const int32_t *groups)
{
    const struct board_slot head = { plan->version, plan->global_batch, plan->flags, plan->period };
    size_t n = (size_t)b->setup.n_ranks;
    struct board_slot *slot = slot_of(b, plan->version);
    struct board_area *a = board_area_of(b);

    seqlock_write_begin(&a->sequence);
    seqlock_store(slot, &head, sizeof head);
    seqlock_store(slot + 1, plan->batch, n * sizeof *plan->batch);
    store_pieces(slot, plan->piece, n);
    if (groups)
        write_mode(b, groups);
    seqlock_write_end(&a->sequence);
    b->setup.plan_version = plan->version;
    seqlock_store_u64((uint64_t *)&a->plan_version, (uint64_t)plan->version);
}

int board_publish(struct board *b, const struct board_plan *plan, struct eddis_error *err)
{
    int rc = check_version(b, plan, err);

    if (rc == 0)
        write_plan(b, plan, NULL);
    return rc;
}

int board_settle(struct board *b, const struct board_area *settled, const struct board_plan *plan,
                 struct eddis_error *err)
{
    size_t bytes = (size_t)b->setup.n_ranks * sizeof *b->places;
    cleanup_free int32_t *groups = calloc(1, group_bytes(&b->setup));
    struct board_area now = b->setup;
    int rc =
        groups ? check_version(b, plan, err) : eddis_fail(err, -ENOMEM, "no memory for groups");

    if (rc < 0)
        return rc;
    memcpy(now.mode, settled->mode, mode_bytes());
    now.group = settled->group;
    if (plan->version != 1 || !board_area_is_valid(&now) || !board_groups_are_valid(&now))
        return eddis_fail(err, -EINVAL, "plan %lld cannot set the mode in this way",
                          (long long)plan->version);
    memcpy(groups, settled->group, bytes);
    memcpy(b->places, settled->group, bytes);
    memcpy(b->setup.mode, settled->mode, mode_bytes());
    write_plan(b, plan, groups);
    return 0;
}

int64_t board_batch(const struct board *b, int64_t version, int local_rank)
{
    const struct board_slot *slot = slot_of(b, version > 0 ? version : 0);
    const int64_t *batch = (const int64_t *)(slot + 1);

    /* No lock: only this process, the agent, writes slots. */
    return slot->version == version ? batch[b->setup.first_rank + local_rank] : 0;
}

/* Copy mode and other members to *ret, and the ranks' groups to groups [n_ranks], in a consistent
 * state.  Return 0 or -EAGAIN: the agent was writing in all tries.
 */
static int copy_mode(const struct board *b, struct board_area *ret, int32_t *groups)
{
    struct board_area *a = board_area_of(b);

    for (int i = 0; i < BOARD_READ_TRIES; i++) {
        uint32_t seen;

        if (seqlock_read_begin(&a->sequence, &seen)) {
            seqlock_load(ret->mode, a->mode, mode_bytes());
            seqlock_load(groups, b->map + BOARD_GROUP_AT, group_bytes(&b->setup));
            if (seqlock_read_end(&a->sequence, seen))
                return 0;
        }
        seqlock_pause();
    }
    return -EAGAIN;
}

int board_take_mode(struct board *b, struct eddis_error *err)
{
    cleanup_free int32_t *groups = malloc(group_bytes(&b->setup));
    struct board_area now = b->setup;

    if (!groups)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    if (copy_mode(b, &now, groups) < 0)
        return eddis_fail(err, -EAGAIN, "a plan is being written to the progress board");
    now.group = groups;
    if (!board_area_is_valid(&now) || !board_groups_are_valid(&now))
        return eddis_fail(err, -EPROTO, "the progress board's mode is damaged");
    memcpy(b->setup.mode, now.mode, mode_bytes());
    memcpy(b->places, groups, (size_t)b->setup.n_ranks * sizeof *b->places);
    return 0;
}

int64_t board_newest(const struct board *b)
{
    return (int64_t)seqlock_load_u64((const uint64_t *)&board_area_of(b)->plan_version);
}

int board_plan_get(const struct board *b, int64_t version, struct board_plan *ret,
                   struct eddis_error *err)
{
    const struct board_slot *slot = slot_of(b, version > 0 ? version : 0);
    struct board_area *a = board_area_of(b);
    size_t n = (size_t)b->setup.n_ranks;
    struct board_slot head;
    uint32_t seen;

    if (version < 0 || version > board_newest(b))
        return eddis_fail(err, -ENOENT, "there is no plan %lld yet", (long long)version);
    for (int i = 0; i < BOARD_READ_TRIES; i++) {
        if (seqlock_read_begin(&a->sequence, &seen)) {
            seqlock_load(&head, slot, sizeof head);
            seqlock_load(ret->batch, slot + 1, n * sizeof *ret->batch);
            if (ret->piece)
                seqlock_load(ret->piece, pieces_of(slot, n), n * sizeof *ret->piece);
            if (seqlock_read_end(&a->sequence, seen)) {
                if (head.version != version)
                    return eddis_fail(err, -ESTALE, "plan %lld is no longer kept",
                                      (long long)version);
                ret->version = head.version;
                ret->global_batch = head.global_batch;
                ret->flags = head.flags;
                ret->period = head.period;
                return 0;
            }
        }
        seqlock_pause();
    }
    return eddis_fail(err, -EAGAIN, "a plan is being written to the progress board");
}
