/* SPDX-License-Identifier: Apache-2.0 */
/* sync_trailer.c - combines and compares trailers */
#include "sync_trailer.h"

#include <errno.h>

void sync_trailer_combine(void *acc, const void *in)
{
    struct sync_trailer *a = acc;
    const struct sync_trailer *b = in;

    a->weight += b->weight;
    a->version = b->version < a->version ? b->version : a->version;
    a->asked = b->asked > a->asked ? b->asked : a->asked;
    a->blocked = b->blocked < a->blocked ? b->blocked : a->blocked;
    a->flags |= b->flags;
    a->leads = b->leads > a->leads ? b->leads : a->leads;
    a->follows = b->follows > a->follows ? b->follows : a->follows;
    /* range_first and range_count are 0 on all ranks except the root. */
    a->range_first += b->range_first;
    a->range_count += b->range_count;
    model_sums_combine(&a->models, &b->models);
}

bool sync_trailer_alike(const struct sync_trailer *t)
{
    return (t->flags & (SYNC_LEADS | SYNC_FOLLOWS)) != (SYNC_LEADS | SYNC_FOLLOWS);
}

int sync_trailer_fail(const struct sync_trailer *t, struct eddis_error *err)
{
    return eddis_fail(err, -EPROTO,
                      "rank %d makes another round of a step that has ended on rank %d: all "
                      "workers must make the same number of rounds in a step",
                      t->follows, t->leads);
}
