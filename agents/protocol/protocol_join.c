/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_join.c - converts invitations and join requests to and from JSON */
#include "protocol_join.h"

#include "timing.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

static const struct field invitation_fields[] = {
    FIELD(struct invitation, url, LIST, 0, 0),
    FIELD(struct invitation, pin, TEXT, 0, 0),
    FIELD(struct invitation, secret, NAME, 0, 0),
    FIELD(struct invitation, lease_ns, INT64, TIMING_LEAST_LEASE_NS, TIMING_MOST_LEASE_NS),
};

static const struct field join_fields[] = {
    FIELD(struct join, node, TEXT, 0, 0),
    FIELD(struct join, nonce, NAME, 0, 0),
};

char *invitation_text(const struct invitation *i)
{
    cleanup_json json_t *o = json_object();
    char *text = NULL;

    if (o && fields_write(invitation_fields, N(invitation_fields), i, o) == 0)
        text = json_text(o, false);
    json_wipe(o, "secret");
    return text;
}

/* Check that url, secret and pin of an invitation are present and well formed.  Return 0 or
 * -EINVAL.
 */
static int check(const struct invitation *i, struct eddis_error *err)
{
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

int invitation_parse(const char *text, size_t n, struct invitation **ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct invitation *i;
    int rc = json_parse(text, n, "invitation", &o, err);

    if (rc < 0)
        return rc;
    i = calloc(1, sizeof *i);
    if (!i)
        return eddis_fail(err, -ENOMEM, "no memory for the invitation");
    rc = fields_read(invitation_fields, N(invitation_fields), o, i, err);
    if (rc >= 0)
        rc = fields_end(o, N(invitation_fields), err);
    if (rc >= 0)
        rc = check(i, err);
    json_wipe(o, "secret");
    if (rc < 0) {
        invitation_free(i);
        return eddis_fail_prefix(err, rc, "invitation");
    }
    *ret = i;
    return 0;
}

void invitation_free(struct invitation *i)
{
    if (!i)
        return;
    explicit_bzero(i->secret, sizeof i->secret);
    for (char **u = i->url; u && *u; u++)
        free(*u);
    free(i->url);
    free(i);
}

char *join_text(const struct join *j)
{
    cleanup_json json_t *o = json_object();

    return o && fields_write(join_fields, N(join_fields), j, o) == 0 ? json_text(o, false) : NULL;
}

int join_parse(const char *text, size_t n, struct join *ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct join j = { 0 };
    int rc = json_parse(text, n, "join", &o, err);

    if (rc < 0)
        return rc;
    rc = fields_read(join_fields, N(join_fields), o, &j, err);
    if (rc >= 0)
        rc = fields_end(o, N(join_fields), err);
    if (rc >= 0 && (!j.node[0] || !text_is_hex(j.nonce, PROTOCOL_NONCE)))
        rc = eddis_fail(err, -EINVAL, "\"node\" is empty, or \"nonce\" is not %d digits",
                        PROTOCOL_NONCE);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "join");
    *ret = j;
    return 0;
}
