/* SPDX-License-Identifier: Apache-2.0 */
/* job_map.c - types of maps from names to text: env, mpi.mca */
#include "job_types.h"

#include "job_secret.h"
#include "job_texts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Check one entry of a map: a valid name and a scalar value; an empty value must be "".  Return 0
 * or -EINVAL.
 */
static int check_entry(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    if (!job_is_variable(n->key))
        return job_wrong(r, n->key_line, n->key_column, err,
                         "\"%.40s\" in \"%s\" is not a name; write letters, digits and _", n->key,
                         key->name);
    if (n->kind != JOB_SCALAR)
        return job_wrong(r, n->line, n->column, err, "\"%.40s\" in \"%s\" is a %s; write one value",
                         n->key, key->name, n->kind == JOB_LIST ? "list" : "map");
    if (job_node_is_null(n))
        return job_wrong(r, n->key_line, n->key_column, err,
                         "\"%.40s\" in \"%s\" has no value; write \"\" for an empty one", n->key,
                         key->name);
    return 0;
}

/* Order assignments "NAME=value" by name, for qsort: return a number < 0, 0 or > 0. */
static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t nx = strcspn(x, "="), ny = strcspn(y, "=");
    int order = memcmp(x, y, nx < ny ? nx : ny);

    return order ? order : (nx > ny) - (nx < ny);
}

/* Read environment variables, sorted by name (job_type.read).  Return 0, -EINVAL or -ENOMEM; after
 * a failure the member is unchanged.
 */
static int env_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                    struct eddis_error *err)
{
    struct strlist w = { 0 };
    int rc = 0;

    if (n->kind != JOB_MAP)
        return job_mistyped(r, key, n, err);
    for (const struct job_node *c = n->first; c && rc == 0; c = c->next) {
        struct eddis_error why = { 0 };

        rc = check_entry(r, key, c, err);
        if (rc == 0 && job_check_variable(c->key, &why) < 0)
            rc = job_wrong(r, c->key_line, c->key_column, err, "%s", why.text);
        if (rc == 0)
            strlist_addf(&w, "%s=%s", c->key, c->text);
    }
    if (w.n)
        qsort(w.item, w.n, sizeof *w.item, by_name);
    return job_words_keep(r, key, &w, rc, err);
}

/* Append the variables as YAML, with secret values masked (job_type.write). */
static void env_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    char *const *const *member = job_member_const(base, key);

    strbuf_add(b, "{");
    for (char *const *w = *member; w && *w; w++) {
        size_t n = strcspn(*w, "=");

        strbuf_addf(b, "%s%.*s: ", w == *member ? "" : ", ", (int)n, *w);
        job_scalar_add(b, job_is_secret(*w, n) ? "***" : *w + n + 1);
    }
    strbuf_add(b, "}");
}

const struct job_type job_type_env = {
    .structured = true,
    .read = env_read,
    .write = env_write,
    .free = job_words_member_free,
    .form = "a map like {NAME: value}",
};

/* Read MCA parameters as a list name, value, name, value, ... (job_type.read).  Return 0, -EINVAL
 * or -ENOMEM; after a failure the member is unchanged.
 */
static int mca_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                    struct eddis_error *err)
{
    struct strlist w = { 0 };
    int rc = 0;

    if (n->kind != JOB_MAP)
        return job_mistyped(r, key, n, err);
    for (const struct job_node *c = n->first; c && rc == 0; c = c->next) {
        rc = check_entry(r, key, c, err);
        if (rc == 0) {
            strlist_addf(&w, "%s", c->key);
            strlist_addf(&w, "%s", c->text);
        }
    }
    return job_words_keep(r, key, &w, rc, err);
}

/* Append the MCA parameters as YAML (job_type.write). */
static void mca_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    char *const *const *member = job_member_const(base, key);

    strbuf_add(b, "{");
    for (char *const *w = *member; w && w[0] && w[1]; w += 2) {
        strbuf_addf(b, "%s%s: ", w == *member ? "" : ", ", w[0]);
        job_scalar_add(b, w[1]);
    }
    strbuf_add(b, "}");
}

const struct job_type job_type_mca = {
    .structured = true,
    .read = mca_read,
    .write = mca_write,
    .free = job_words_member_free,
    .form = "a map like {NAME: value}",
};
