/* SPDX-License-Identifier: Apache-2.0 */
/* node_identity.c - the mark of one start of an agent */
#include "node_identity.h"

#include "lib/base/random.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "eddis-";

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

int node_identity_make(struct node_identity *ret, struct eddis_error *err)
{
    char mark[NODE_IDENTITY_DIGITS + 1];
    int rc = random_hex(mark, NODE_IDENTITY_DIGITS, err);

    if (rc == 0)
        (void)node_identity_read(mark, ret);
    return rc;
}
