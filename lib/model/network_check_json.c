/* SPDX-License-Identifier: Apache-2.0 */
/* network_check_json.c - convert the network's revalidation request and result to and from JSON */
#include "network_check_json.h"

#define MOST_BYTES 1e15

/* Rows for a link in a request. */
static const struct field row_fields[] = {
    FIELD(struct network_check_row, peer, INT, -1, INT32_MAX),
    FIELD(struct network_check_row, turn, INT, 0, NETWORK_CHECK_TURNS - 1),
    FIELD_REAL(struct network_check_row, bytes_per_s, DOUBLE, 0, MOST_BYTES),
};
static const struct fields row_table = FIELDS(struct network_check_row, row_fields);

/* Rows for a request to one node. */
static const struct field asked_fields[] = {
    FIELD(struct network_checks, turns, INT64, 1, NETWORK_CHECK_TURNS),
    FIELD_ALL("row", struct network_checks, row, row_table),
};
const struct fields network_checks_table =
    FIELDS(struct network_checks, asked_fields, .name = "\"checks\"");

/* Rows for the result. */
static const struct field said_fields[] = {
    FIELD(struct network_check, known, FLAG, 0, 0),
    FIELD(struct network_check, holds, FLAG, 0, 0),
    FIELD(struct network_check, from, INT, 0, INT32_MAX),
    FIELD(struct network_check, to, INT, 0, INT32_MAX),
    FIELD_REAL(struct network_check, was_bytes_per_s, DOUBLE, 0, MOST_BYTES),
    FIELD_REAL(struct network_check, bytes_per_s, DOUBLE, 0, MOST_BYTES),
    FIELD_REAL(struct network_check, wire_bytes_per_s, DOUBLE, 0, MOST_BYTES),
};
static const struct fields said_table = FIELDS(struct network_check, said_fields);

char *network_check_text(const struct network_check *c)
{
    return fields_text(&said_table, c);
}

int network_check_parse(const char *text, size_t n, struct network_check *ret,
                        struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct network_check c = { 0 };
    int rc = json_parse(text, n, "the check of the network", &o, err);

    if (rc < 0 || (rc = fields_fill(&said_table, o, &c, err)) < 0)
        return rc;
    *ret = c;
    return 0;
}
