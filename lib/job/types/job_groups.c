/* SPDX-License-Identifier: Apache-2.0 */
/* job_groups.c - the type of sync.groups: the number of groups, or the ranks of each */
#include "job_types.h"

#include "lib/base/decimal.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 65536 };

/* Replace the member by n groups with the ranks `of` [n_of], which base then owns. */
static void groups_set(void *base, const struct job_key *key, int64_t n, int *of, size_t n_of)
{
    struct job_groups *g = job_member(base, key);

    free(g->of);
    *g = (struct job_groups){ .n = n, .of = of, .n_of = n_of };
}

/* Return the number of ranks in all lists of n. */
static size_t count_ranks(const struct job_node *n)
{
    size_t ranks = 0;

    for (const struct job_node *c = n->first; c; c = c->next)
        ranks += c->n;
    return ranks;
}

/* Read the list of group `number` and store that number in of [n_of] for each rank in the list.
 * Return 0 or -EINVAL: no list of ranks, or a rank is not below n_of or already in a group.
 */
static int read_group(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *list, int number, int *of, size_t n_of,
                      struct eddis_error *err)
{
    if (list->kind != JOB_LIST || list->n == 0)
        return job_mistyped(r, key, list, err);
    for (const struct job_node *c = list->first; c; c = c->next) {
        int64_t rank;

        if (c->kind != JOB_SCALAR || c->quoted || !decimal_whole(c->text, &rank) || rank < 0)
            return job_mistyped(r, key, c, err);
        if (rank >= (int64_t)n_of)
            return job_wrong(r, c->line, c->column, err,
                             "\"%s\" names rank %s among %zu ranks; name each from 0 to %zu once",
                             key->name, c->text, n_of, n_of - 1);
        if (of[rank] >= 0)
            return job_wrong(r, c->line, c->column, err, "\"%s\" names rank %s twice", key->name,
                             c->text);
        of[rank] = number;
    }
    return 0;
}

/* Read a list of groups into the member, each a list of ranks; together they must contain each rank
 * from 0 once.  Return 0, -EINVAL or -ENOMEM; after a failure the member is unchanged.
 */
static int read_lists(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *n, struct eddis_error *err)
{
    size_t n_of = count_ranks(n);
    cleanup_free int *of = NULL;
    int number = 0;

    if (n_of == 0 || n_of > MAX_RANKS)
        return job_mistyped(r, key, n, err);
    of = malloc(n_of * sizeof *of);
    if (!of)
        return job_no_memory(err);
    for (size_t i = 0; i < n_of; i++)
        of[i] = -1;
    for (const struct job_node *c = n->first; c; c = c->next) {
        int rc = read_group(r, key, c, number++, of, n_of, err);

        if (rc < 0)
            return rc;
    }
    groups_set(r->base, key, number, cleanup_keep(of), n_of);
    return 0;
}

/* Read the number of groups, their lists, or "auto" (job_type.read).  Return 0, -EINVAL or -ENOMEM;
 * after a failure the member is unchanged.
 */
static int groups_read(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    int64_t v = 0;

    if (n->kind == JOB_LIST)
        return read_lists(r, key, n, err);
    if (n->kind != JOB_SCALAR || n->quoted)
        return job_mistyped(r, key, n, err);
    if (strcmp(n->text, "auto") != 0 && (!decimal_whole(n->text, &v) || v < 1 || v > MAX_RANKS))
        return job_mistyped(r, key, n, err);
    groups_set(r->base, key, v, NULL, 0);
    return 0;
}

/* Append the groups as YAML (job_type.write). */
static void groups_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    const struct job_groups *g = job_member_const(base, key);

    if (!g->of) {
        if (g->n)
            strbuf_addf(b, "%lld", (long long)g->n);
        else
            strbuf_add(b, "auto");
        return;
    }
    for (int64_t k = 0; k < g->n; k++) {
        const char *before = k ? ", [" : "[[";

        for (size_t i = 0; i < g->n_of; i++)
            if (g->of[i] == k) {
                strbuf_addf(b, "%s%zu", before, i);
                before = ", ";
            }
        strbuf_add(b, "]");
    }
    strbuf_add(b, "]");
}

/* Free the ranks and set the member to auto (job_type.free). */
static void groups_free(void *base, const struct job_key *key)
{
    groups_set(base, key, 0, NULL, 0);
}

const struct job_type job_type_groups = {
    .structured = true,
    .read = groups_read,
    .write = groups_write,
    .free = groups_free,
    .form =
        "the number of groups, from 1, a list of the ranks of each group, like [[0, 1], [2, 3]], "
        "or auto",
};
