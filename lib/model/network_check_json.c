/* SPDX-License-Identifier: Apache-2.0 */
/* network_check_json.c - convert the network's revalidation request and result to and from JSON */
#include "network_check_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N(table)   (sizeof table / sizeof *table)
#define MOST_BYTES 1e15

static const struct field asked_fields[] = {
    FIELD(struct network_checks, turns, INT64, 1, NETWORK_CHECK_TURNS),
};

static const struct field row_fields[] = {
    FIELD(struct network_check_row, peer, INT, -1, INT32_MAX),
    FIELD(struct network_check_row, turn, INT, 0, NETWORK_CHECK_TURNS - 1),
    FIELD_REAL(struct network_check_row, bytes_per_s, DOUBLE, 0, MOST_BYTES),
};

static const struct field_rows rows =
    FIELD_ROWS(row_fields, struct network_check_row, NETWORK_CHECK_ROWS);

static const struct field said_fields[] = {
    FIELD(struct network_check, known, FLAG, 0, 0),
    FIELD(struct network_check, holds, FLAG, 0, 0),
    FIELD(struct network_check, from, INT, 0, INT32_MAX),
    FIELD(struct network_check, to, INT, 0, INT32_MAX),
    FIELD_REAL(struct network_check, was_bytes_per_s, DOUBLE, 0, MOST_BYTES),
    FIELD_REAL(struct network_check, bytes_per_s, DOUBLE, 0, MOST_BYTES),
    FIELD_REAL(struct network_check, wire_bytes_per_s, DOUBLE, 0, MOST_BYTES),
};

json_t *network_checks_json(const struct network_checks *c)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(asked_fields, N(asked_fields), c, o) < 0 ||
        fields_write_rows(o, "row", &rows, c->row, NETWORK_CHECK_ROWS) < 0)
        return NULL;
    return cleanup_keep(o);
}

/* Read the request from object o, which must have exactly NETWORK_CHECK_ROWS rows. */
static int read_asked(const json_t *o, struct network_checks *c, struct eddis_error *err)
{
    struct network_check_row *row = NULL;
    int n = 0, rc;

    if ((rc = fields_read(asked_fields, N(asked_fields), o, c, err)) < 0 ||
        (rc = fields_read_rows(o, "row", &rows, (void **)&row, &n, err)) < 0 ||
        (rc = fields_end(o, N(asked_fields) + 1, err)) < 0)
        goto out;
    if (n != NETWORK_CHECK_ROWS)
        rc =
            eddis_fail(err, -EINVAL, "there are %d rows instead of %d", n, (int)NETWORK_CHECK_ROWS);
    else
        memcpy(c->row, row, sizeof c->row);
out:
    free(row);
    return rc < 0 ? rc : 0;
}

int network_checks_read(const json_t *o, struct network_checks *ret, struct eddis_error *err)
{
    struct network_checks c = { 0 };
    int rc = json_is_object(o) ? read_asked(o, &c, err) : eddis_fail(err, -EINVAL, "no object");

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "\"checks\"");
    *ret = c;
    return 0;
}

char *network_check_text(const struct network_check *c)
{
    cleanup_json json_t *o = json_object();

    return o && fields_write(said_fields, N(said_fields), c, o) == 0 ? json_text(o, false) : NULL;
}

int network_check_parse(const char *text, size_t n, struct network_check *ret,
                        struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct network_check c = { 0 };
    int rc = json_parse(text, n, "the check of the network", &o, err);

    if (rc < 0 || (rc = fields_read(said_fields, N(said_fields), o, &c, err)) < 0 ||
        (rc = fields_end(o, N(said_fields), err)) < 0)
        return rc;
    *ret = c;
    return 0;
}
