/* SPDX-License-Identifier: Apache-2.0 */
/* plan_left.c - workers that a plan leaves out, as text and as JSON */
#include "plan_left.h"

#include "lib/base/fields.h"
#include "lib/base/text.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 65536 }; /* most workers, or nodes, of a plan */

static const struct field left_fields[] = {
    FIELD(struct plan_left, node, TEXT, 0, 0),
    FIELD(struct plan_left, worker, INT, 0, MOST),
    FIELD_AS("nodes", struct plan_left, n_nodes, INT, .min = 1, .max = MOST),
    FIELD_AS("workers", struct plan_left, n_workers, INT, .min = 1, .max = MOST),
    FIELD(struct plan_left, device, TEXT, 0, 0),
    FIELD_AS("progress_without", struct plan_left, without, DOUBLE, .low = 0, .high = 1e18),
    FIELD_AS("progress_with", struct plan_left, with, DOUBLE, .low = 0, .high = 1e18),
};
const struct fields plan_left_table = FIELDS(struct plan_left, left_fields, .name = "left_out");

void plan_left_text(const struct plan_left *l, char *ret, size_t size)
{
    const char *them = l->n_workers == 1 ? "it" : "them";
    char without[32], with[32], who[360];
    int others = l->n_nodes - 1;

    if (l->n_workers == 1)
        (void)snprintf(who, sizeof who, "%s worker %d", l->node, l->worker);
    else if (others == 0)
        (void)snprintf(who, sizeof who, "%d workers of %s", l->n_workers, l->node);
    else
        (void)snprintf(who, sizeof who, "%d workers of %s and %d other node%s", l->n_workers,
                       l->node, others, others == 1 ? "" : "s");
    (void)snprintf(ret, size, "%s (%s): %s samples/s without %s, %s with %s", who, l->device,
                   text_grouped(round(l->without), without, sizeof without), them,
                   text_grouped(round(l->with), with, sizeof with), them);
}

void plan_left_print(const struct plan_left *l, int n, const char *before, struct strbuf *b)
{
    char text[512];

    for (int i = 0; i < n; i++) {
        plan_left_text(&l[i], text, sizeof text);
        text_add_clean(b, "%s%s", before, text);
        strbuf_add(b, "\n");
    }
}
