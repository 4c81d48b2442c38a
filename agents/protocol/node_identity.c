/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.c - marks of an agent's starts: digits of the node and a start number */
#include "node_identity.h"

#include "lib/base/random.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "eddis-";

enum { NAME_DIGITS = 12 }; /* digits of a mark that depend on the node's name */

bool node_identity_is_mark(const char *text)
{
    return text_is_hex(text, NODE_IDENTITY_DIGITS);
}

bool node_identity_is_cgroup(const char *name)
{
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           node_identity_is_mark(name + sizeof prefix - 1);
}

bool node_identity_read(const char *mark, struct node_identity *ret)
{
    if (!node_identity_is_mark(mark))
        return false;
    memcpy(ret->mark, mark, sizeof ret->mark);
    snprintf(ret->cgroup, sizeof ret->cgroup, "%s%s", prefix, ret->mark);
    return true;
}

/* Set *ret to the identity of start `number` of the node whose digits `node` begins with. node may
 * point into *ret.
 */
static void write_start(struct node_identity *ret, const char *node, uint32_t number)
{
    char mark[NODE_IDENTITY_DIGITS + 1];

    snprintf(mark, sizeof mark, "%.*s%08" PRIx32, NODE_IDENTITY_NODE, node, number);
    (void)node_identity_read(mark, ret);
}

/* Return the number of the start, counted from 1: the last 8 digits of the mark. */
static uint32_t number_of(const struct node_identity *id)
{
    return (uint32_t)strtoul(id->mark + NODE_IDENTITY_NODE, NULL, 16);
}

int node_identity_make(struct node_identity *ret, struct eddis_error *err)
{
    char node[NODE_IDENTITY_NODE + 1];
    int rc = random_hex(node, NODE_IDENTITY_NODE, err);

    if (rc == 0)
        write_start(ret, node, 1);
    return rc;
}

/* Replace the last NAME_DIGITS digits of the node's part by value; keep the start number. */
static void write_digits(struct node_identity *id, uint64_t value)
{
    char node[NODE_IDENTITY_NODE + 1];

    snprintf(node, sizeof node, "%.*s%0*" PRIx64, NODE_IDENTITY_NODE - NAME_DIGITS, id->mark,
             NAME_DIGITS, value);
    write_start(id, node, number_of(id));
}

/* The hash is FNV-1a, folded to 4 * NAME_DIGITS bits. */
void node_identity_name(struct node_identity *id, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    write_digits(id, (hash ^ hash >> 4 * NAME_DIGITS) & (((uint64_t)1 << 4 * NAME_DIGITS) - 1));
}

void node_identity_unname(struct node_identity *id)
{
    write_digits(id, 0);
}

int node_identity_next(struct node_identity *id, struct eddis_error *err)
{
    uint32_t number = number_of(id);

    if (number == UINT32_MAX)
        return eddis_fail(err, -ERANGE, "a node was started too often");
    write_start(id, id->mark, number + 1);
    return 0;
}

bool node_identity_before(const struct node_identity *id, struct node_identity *ret)
{
    uint32_t number = number_of(id);

    if (number <= 1)
        return false;
    write_start(ret, id->mark, number - 1);
    return true;
}

/* Comparing marks as text suffices, since hexadecimal numbers of equal length have the same order
 * as their texts.
 */
bool node_identity_covers(const struct node_identity *id, int n, const char *text)
{
    for (int i = 0; node_identity_is_mark(text) && i < n; i++)
        if (strncmp(text, id[i].mark, NODE_IDENTITY_NODE) == 0 && strcmp(text, id[i].mark) <= 0)
            return true;
    return false;
}
