/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_relay.c - converts a relay to a JSON object and back */
#include "protocol_relay.h"

#include <errno.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static const struct field relay_fields[] = {
    FIELD(struct relay, host, HOST, 0, 0),
    FIELD(struct relay, space, TEXT, 0, 0),
    FIELD(struct relay, daemon, INT, 1, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct relay, daemons, INT, 2, PROTOCOL_MAX_AGENTS),
    FIELD(struct relay, uri, SENTENCE, 0, 0),
    FIELD(struct relay, nodes, SENTENCE, 0, 0),
};

/* Check that text contains only characters of `may` and does not begin like an option. name: the
 * text's JSON key, for the message.  Return 0 or -EINVAL.
 */
static int check_text(const char *name, const char *text, const char *may, struct eddis_error *err)
{
    if (text[0] == '-' || text[strspn(text, may)])
        return eddis_fail(err, -EINVAL, "\"%s\" of a relay has characters that are not allowed",
                          name);
    return 0;
}

int relay_check(const void *relay, struct eddis_error *err)
{
    const struct relay *r = relay;
    int rc;

    if (!r->host[0] || !r->space[0] || !r->uri[0])
        return eddis_fail(err, -EINVAL, "a relay lacks host, space or uri");
    if (r->daemon >= r->daemons)
        return eddis_fail(err, -EINVAL,
                          "the number of daemon %d is not below the number of daemons, %d",
                          r->daemon, r->daemons);
    if ((rc = check_text("host", r->host, LETTERS DIGITS ".-_:", err)) < 0 ||
        (rc = check_text("space", r->space, LETTERS DIGITS ".-_@", err)) < 0 ||
        (rc = check_text("uri", r->uri, LETTERS DIGITS ".-_@;:/,[]", err)) < 0)
        return rc;
    if (!strstr(r->uri, ";tcp")) /* mpirun would read a file for a URI that begins with file: */
        return eddis_fail(err, -EINVAL, "\"uri\" of a relay is not an address");
    return check_text("nodes", r->nodes, LETTERS DIGITS ".-_@:;,[]()*", err);
}

const struct fields relay_table = FIELDS(struct relay, relay_fields, .check = relay_check);

void relay_free(struct relay *r)
{
    fields_free(&relay_table, r);
}
