/* SPDX-License-Identifier: Apache-2.0 */
/* program_versions.c - converts a node's versions to and from JSON, and compares two nodes' */
#include "program_versions.h"

#include "lib/base/fields.h"

#include <string.h>

static const struct field versions_fields[] = {
    FIELD(struct program_versions, python, LINE, 0, 0),
    FIELD(struct program_versions, torch, LINE, 0, 0),
    FIELD(struct program_versions, cuda, LINE, 0, 0),
    FIELD(struct program_versions, nccl, LINE, 0, 0),
    FIELD(struct program_versions, trouble, LINE, 0, 0),
};
static const struct fields versions_table = FIELDS(struct program_versions, versions_fields);

int program_versions_parse(const char *text, size_t n, struct program_versions *ret,
                           struct eddis_error *err)
{
    return fields_parse(&versions_table, text, n, "versions of Python", ret, err);
}

char *program_versions_text(const struct program_versions *v)
{
    return fields_text(&versions_table, v);
}

/* Return the length of the first two numbers of a version, 3 of "2.7.1+cu128". */
static size_t two_numbers(const char *version)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(version, digits);

    return version[n] == '.' ? n + 1 + strspn(version + n + 1, digits) : n;
}

/* Check whether the first two numbers of two versions differ. */
static bool two_differ(const char *a, const char *b)
{
    size_t n = two_numbers(a);

    return n != two_numbers(b) || memcmp(a, b, n) != 0;
}

bool program_versions_differ(const struct program_versions *a, const struct program_versions *b,
                             const char **name, const char **ret_a, const char **ret_b)
{
    bool nccl = a->nccl[0] && b->nccl[0] && strcmp(a->nccl, b->nccl) != 0;

    *name = nccl ? "NCCL" : "torch";
    *ret_a = nccl ? a->nccl : a->torch;
    *ret_b = nccl ? b->nccl : b->torch;
    return nccl || (a->torch[0] && b->torch[0] && two_differ(a->torch, b->torch));
}
