/* SPDX-License-Identifier: Apache-2.0 */
/* choice_json.c - convert the measured communication settings to and from JSON */
#include "choice_json.h"

#include <errno.h>
#include <stdbool.h>

#define MAX_BYTES (INT64_C(1) << 40)

static const struct field fields[] = {
    FIELD(struct comm_choice, version, INT, 0, INT32_MAX),
    FIELD(struct comm_choice, shared, FLAG, 0, 0),
    FIELD(struct comm_choice, direct_bytes, INT64, 0, MAX_BYTES),
    FIELD(struct comm_choice, tree_bytes, INT64, 0, MAX_BYTES),
    FIELD(struct comm_choice, halving_bytes, INT64, 0, MAX_BYTES),
    FIELD(struct comm_choice, piece_bytes, INT64, 0, MAX_BYTES),
    FIELD_REAL(struct comm_choice, latency_s, DOUBLE, 0, 1e6),
    FIELD_REAL(struct comm_choice, bytes_per_s, DOUBLE, 0, 1e15),
    FIELD(struct comm_choice, reason, TEXT, 0, 0),
    FIELD_NUMBERS(struct comm_choice, order, ARRAY, "order", n_order, CHOICE_MAX_ORDER,
                  "item # of \"order\" is not the number of a parameter"),
    FIELD_NUMBERS(struct comm_choice, bucket, ARRAY, "buckets", n_buckets, CHOICE_MAX_BUCKETS,
                  "item # of \"buckets\" is not the number of a parameter"),
};

#define WHAT "the choice of communication"

/* Check that the order of parameters contains each of 0 .. n_order - 1 exactly once.  Return 0 or
 * -EINVAL.  Callback `check` of choice_table.
 */
static int check(const void *choice, struct eddis_error *err)
{
    const struct comm_choice *c = choice;
    bool seen[CHOICE_MAX_ORDER] = { false };

    for (int i = 0; i < c->n_order; i++) {
        if (c->order[i] >= c->n_order || seen[c->order[i]])
            return eddis_fail(err, -EINVAL,
                              "\"order\" does not contain each of the %d parameters exactly once",
                              c->n_order);
        seen[c->order[i]] = true;
    }
    return 0;
}

const struct fields choice_table =
    FIELDS(struct comm_choice, fields, .name = WHAT, .more = "unknown member", .check = check);

char *choice_text(const struct comm_choice *c)
{
    return fields_text(&choice_table, c);
}

int choice_parse(const char *text, size_t n, struct comm_choice *ret, struct eddis_error *err)
{
    return fields_parse(&choice_table, text, n, WHAT, ret, err);
}
