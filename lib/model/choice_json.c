/* SPDX-License-Identifier: Apache-2.0 */
/* choice_json.c - convert the measured communication settings to and from JSON */
#include "choice_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
};

enum { N_FIELDS = sizeof fields / sizeof *fields, LISTS = 2 };

/* Return an array of n numbers as JSON; NULL without memory. */
static json_t *numbers_json(const uint16_t *v, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        (void)json_array_append_new(list, json_integer(v[i]));
    return list;
}

json_t *choice_json(const struct comm_choice *c)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(fields, N_FIELDS, c, o) < 0 ||
        json_object_set_new(o, "order", numbers_json(c->order, c->n_order)) < 0 ||
        json_object_set_new(o, "buckets", numbers_json(c->bucket, c->n_buckets)) < 0)
        return NULL;
    return cleanup_keep(o);
}

/* Read a list of at most `max` numbers 0 to 65535 into ret, and its length into *ret_n. */
static int read_numbers(const json_t *o, const char *key, uint16_t *ret, int max, int32_t *ret_n,
                        struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, key, (size_t)max, &list, err);

    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        json_int_t v = json_integer_value(one);

        if (!json_is_integer(one) || v < 0 || v > UINT16_MAX)
            return eddis_fail(err, -EINVAL, "item %zu of \"%s\" is not the number of a parameter",
                              i, key);
        ret[i] = (uint16_t)v;
    }
    if (rc == 0)
        *ret_n = (int32_t)json_array_size(list);
    return rc;
}

/* Check that the order contains every parameter exactly once. */
static int check_order(const struct comm_choice *c, struct eddis_error *err)
{
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

/* Read all members of object o into *c and check them. */
static int read_members(const json_t *o, struct comm_choice *c, struct eddis_error *err)
{
    int rc;

    if ((rc = fields_read(fields, N_FIELDS, o, c, err)) < 0 ||
        (rc = read_numbers(o, "order", c->order, CHOICE_MAX_ORDER, &c->n_order, err)) < 0 ||
        (rc = read_numbers(o, "buckets", c->bucket, CHOICE_MAX_BUCKETS, &c->n_buckets, err)) < 0)
        return rc;
    return check_order(c, err);
}

int choice_read(const json_t *o, struct comm_choice *ret, struct eddis_error *err)
{
    struct comm_choice c;
    int rc;

    if (!json_is_object(o))
        return eddis_fail(err, -EINVAL, "the choice of communication is not a JSON object");
    memset(&c, 0, sizeof c);
    rc = read_members(o, &c, err);
    if (rc == 0 && json_object_size(o) != N_FIELDS + LISTS)
        rc = eddis_fail(err, -EINVAL, "unknown member");
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "the choice of communication");
    *ret = c;
    return 0;
}

char *choice_text(const struct comm_choice *c)
{
    cleanup_json json_t *o = choice_json(c);

    return o ? json_text(o, false) : NULL;
}

int choice_parse(const char *text, size_t n, struct comm_choice *ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    int rc = json_parse(text, n, "the choice of communication", &o, err);

    return rc < 0 ? rc : choice_read(o, ret, err);
}
