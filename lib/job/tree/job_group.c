/* SPDX-License-Identifier: Apache-2.0 */
/* job_group.c - read the keys of a map, each by the type of its row */
#include "job_group.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 128 }; /* size of a dotted key; longer than any in the table */

/* Return the key of the table whose last part is most similar to the word; NULL: none is similar.
 */
static const char *nearest_elsewhere(const struct job_table *t, const char *word)
{
    const char *last[JOB_MAX_KEYS], *nearest;

    for (size_t i = 0; i < t->n; i++) {
        const char *dot = strrchr(t->row[i].name, '.');

        last[i] = dot ? dot + 1 : t->row[i].name;
    }
    nearest = text_nearest(word, last, t->n);
    for (size_t i = 0; i < t->n; i++)
        if (nearest == last[i])
            return t->row[i].name;
    return NULL;
}

/* Return the key of the group most similar to a dotted word, without the group's name; NULL: none
 * is similar.
 */
static const char *nearest_dotted(const struct job_table *t, const char *group, const char *word)
{
    const char *names[JOB_MAX_KEYS];
    size_t skip = *group ? strlen(group) + 1 : 0, count = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!skip ||
            (strncmp(t->row[i].name, group, skip - 1) == 0 && t->row[i].name[skip - 1] == '.'))
            names[count++] = t->row[i].name + skip;
    return text_nearest(word, names, count);
}

/* Append a dotted key as the file writes it: "batch: {global: 3}" for "batch.global".  Long or
 * structured values become "...".
 */
static void add_nested(const char *name, const struct job_node *value, struct strbuf *b)
{
    bool is_short = value->kind == JOB_SCALAR && !value->quoted && strlen(value->text) <= 32;
    int depth = 0;

    for (const char *c = name; *c; c++) {
        if (*c == '.')
            strbuf_add(b, ": {");
        else
            strbuf_addf(b, "%c", *c);
        depth += *c == '.';
    }
    strbuf_addf(b, ": %s", is_short ? value->text : "...");
    while (depth-- > 0)
        strbuf_add(b, "}");
}

/* Return the key to which a dotted name is internal, as env to env.HOME; NULL: none. */
static const struct job_key *key_around(const struct job_table *t, const char *dotted)
{
    const struct job_key *key = NULL;
    char name[PATH_SIZE];

    for (const char *dot = strchr(dotted, '.'); dot && !key; dot = strchr(dot + 1, '.')) {
        snprintf(name, sizeof name, "%.*s", (int)(dot - dotted), dotted);
        key = job_key_find(t, name);
    }
    return key;
}

int job_unknown_key(const struct job_reader *r, const struct job_table *t, const char *group,
                    const struct job_node *n, struct eddis_error *err)
{
    char below[JOB_MAX_KEYS][32], where[PATH_SIZE + 2];
    const char *names[JOB_MAX_KEYS + 1], *nearest, *dotted = NULL;
    const struct job_key *around = r->flag && !*group ? key_around(t, n->key) : NULL;
    const struct job_key *outer = job_key_find(t, group);
    size_t count = job_keys_below(t, group, below);
    cleanup_strbuf struct strbuf b = { 0 };

    for (size_t i = 0; i < count; i++)
        names[i] = below[i];
    if (outer && outer->field && outer->field->inner)
        names[count++] = outer->field->inner;
    nearest = text_nearest(n->key, names, count);
    if (!r->flag && strchr(n->key, '.'))
        dotted = nearest_dotted(t, group, n->key);
    if (!nearest && r->flag && strchr(n->key, '.')) /* the group itself may be misspelt */
        nearest = nearest_dotted(t, "", n->key);
    if (!nearest)
        nearest = nearest_elsewhere(t, n->key);
    snprintf(where, sizeof where, *group ? "\"%s\"" : "%s", *group ? group : "the job");
    if (around) {
        strbuf_addf(&b, "set \"%s\" as a whole, since it is one key", around->name);
    } else if (dotted && strchr(dotted, '.')) {
        strbuf_add(&b, "write ");
        add_nested(dotted, n, &b);
    } else if (nearest) {
        strbuf_addf(&b, "did you mean \"%s\"?", nearest);
    } else if (*group) {
        strbuf_add(&b, "the known keys are ");
        for (size_t i = 0; i < count; i++)
            strbuf_addf(&b, "%s%s", i ? ", " : "", names[i]);
    } else {
        strbuf_add(&b, "eddis-train.yaml(5) lists the keys");
    }
    return job_wrong(r, n->key_line, n->key_column, err, "unknown key \"%.40s\" in %s; %s", n->key,
                     where, strbuf_text(&b));
}

int job_refuse_later(const struct job_reader *r, const struct job_key *key, int line, int column,
                     struct eddis_error *err)
{
    return job_wrong(
        r, line, column, err,
        "the key \"%s\" is not supported in this version yet, it waits for %s; remove it",
        key->name, key->later);
}

/* Read the value of a known key into r->base, and record its place in the file in r->origin, if
 * that is not NULL.  Return 0 or a negative errno; -EINVAL also for null, and for a key of a later
 * version.
 */
static int read_value(const struct job_reader *r, const struct job_table *t,
                      const struct job_key *key, const struct job_node *n, struct eddis_error *err)
{
    int rc;

    if (key->later)
        return job_refuse_later(r, key, n->key_line, n->key_column, err);
    if (job_node_is_null(n))
        return job_mistyped(r, key, n, err);
    rc = key->field->type->read(r, key, n, err);
    if (rc == 0 && r->origin)
        r->origin[key - t->row] =
            (struct job_origin){ .kind = JOB_FILE, .line = n->key_line, .column = n->key_column };
    return rc;
}

bool job_gather(const struct job_reader *r, int rc, const struct eddis_error *err)
{
    struct job_mistakes *all = r->all;

    if (!all || rc != -EINVAL)
        return false;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->text[i], err->text) == 0)
            return true;
    if (all->n == JOB_MAX_MISTAKES) {
        all->more = true;
        return false;
    }
    memcpy(all->text[all->n++], err->text, sizeof err->text);
    return true;
}

const struct job_key *job_key_inside(const struct job_table *t, const char *group, const char *name)
{
    const struct job_key *key = job_key_find(t, group);

    return key && key->field && key->field->inner && strcmp(key->field->inner, name) == 0 ? key
                                                                                          : NULL;
}

/* Read one key of a group: a value, or a nested group.  Return 0 or a negative errno; -EINVAL also
 * for an unknown key.
 */
static int read_key(const struct job_reader *r, const struct job_table *t, const char *group,
                    const struct job_node *n, struct eddis_error *err)
{
    char path[PATH_SIZE], below[JOB_MAX_KEYS][32], words[80];
    const struct job_key *key;

    if (!*n->key || strlen(n->key) >= 32 || strchr(n->key, '.'))
        return job_unknown_key(r, t, group, n, err);
    snprintf(path, sizeof path, "%s%s%s", group, *group ? "." : "", n->key);
    key = job_key_find(t, path);
    if (!key)
        key = job_key_inside(t, group, n->key);
    else if (key->field && key->field->inner && n->kind == JOB_MAP)
        return job_group_read(r, t, path, n, err);
    if (key)
        return read_value(r, t, key, n, err);
    if (job_keys_below(t, path, below) == 0)
        return job_unknown_key(r, t, group, n, err);
    if (n->kind == JOB_MAP)
        return job_group_read(r, t, path, n, err);
    job_node_words(n, words, sizeof words);
    return job_wrong(r, n->line, n->column, err,
                     "\"%s\" is %s; write its keys, as in %s: {%s: ...}", path, words, n->key,
                     below[0]);
}

int job_group_read(const struct job_reader *r, const struct job_table *t, const char *group,
                   const struct job_node *map, struct eddis_error *err)
{
    int wrong = 0;

    for (const struct job_node *n = map->first; n; n = n->next) {
        int rc = read_key(r, t, group, n, err);

        if (rc < 0 && !job_gather(r, rc, err))
            return rc;
        wrong = rc < 0 ? rc : wrong;
    }
    return wrong;
}
