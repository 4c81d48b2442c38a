/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_join.c - converts invitations and join requests to and from JSON */
#include "protocol_join.h"

#include "timing.h"

#include "lib/base/fields.h"
#include "lib/base/text.h"

#include <errno.h>
#include <string.h>

/* Check that url, secret and pin of an invitation are present and well formed (fields.check).
 * Return 0 or -EINVAL.
 */
static int check_invitation(const void *invitation, struct eddis_error *err)
{
    const struct invitation *i = invitation;

    if (!i->url[0] || !i->secret[0])
        return eddis_fail(err, -EINVAL, "\"url\" or \"secret\" is empty");
    for (char **u = i->url; *u; u++)
        if (strncmp(*u, "https://", 8) != 0)
            return eddis_fail(err, -EINVAL,
                              "\"url\" has an item that does not begin with https://");
    if (strncmp(i->pin, "sha256//", 8) != 0)
        return eddis_fail(err, -EINVAL, "\"pin\" is not a hash of a key");
    return 0;
}

static const struct field invitation_fields[] = {
    FIELD(struct invitation, url, LIST, 0, 0),
    FIELD(struct invitation, pin, TEXT, 0, 0),
    FIELD(struct invitation, secret, NAME, 0, 0),
    FIELD(struct invitation, lease_ns, INT64, TIMING_LEAST_LEASE_NS, TIMING_MOST_LEASE_NS),
};
static const struct fields invitation_table =
    FIELDS(struct invitation, invitation_fields, .check = check_invitation, .secret = "secret");

/* Check that a join request has a node's name and a valid nonce (fields.check).  Return 0 or
 * -EINVAL.
 */
static int check_join(const void *join, struct eddis_error *err)
{
    const struct join *j = join;

    if (!j->node[0] || !text_is_hex(j->nonce, PROTOCOL_NONCE))
        return eddis_fail(err, -EINVAL, "\"node\" is empty, or \"nonce\" is not %d digits",
                          PROTOCOL_NONCE);
    return 0;
}

static const struct field join_fields[] = {
    FIELD(struct join, node, TEXT, 0, 0),
    FIELD(struct join, nonce, NAME, 0, 0),
};
static const struct fields join_table = FIELDS(struct join, join_fields, .check = check_join);

char *invitation_text(const struct invitation *i)
{
    return fields_text(&invitation_table, i);
}

int invitation_parse(const char *text, size_t n, struct invitation **ret, struct eddis_error *err)
{
    return fields_parse_new(&invitation_table, text, n, "invitation", ret, err);
}

void invitation_free(struct invitation *i)
{
    fields_delete(&invitation_table, i);
}

char *join_text(const struct join *j)
{
    return fields_text(&join_table, j);
}

int join_parse(const char *text, size_t n, struct join *ret, struct eddis_error *err)
{
    return fields_parse(&join_table, text, n, "join", ret, err);
}
