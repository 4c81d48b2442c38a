/* SPDX-License-Identifier: Apache-2.0 */
/* job_field.c - look up keys in a table and reach the members that they fill */
#include "job_field.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

const struct job_key *job_key_find(const struct job_table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->row[i].name, name) == 0)
            return &t->row[i];
    return NULL;
}

size_t job_keys_below(const struct job_table *t, const char *prefix, char (*ret)[32])
{
    size_t skip = strlen(prefix) + (*prefix != '\0'), n = 0;

    for (size_t i = 0; i < t->n; i++) {
        const char *rest = t->row[i].name + skip;
        size_t len;

        if (*prefix &&
            (strncmp(t->row[i].name, prefix, skip - 1) != 0 || t->row[i].name[skip - 1] != '.'))
            continue;
        len = strcspn(rest, ".");
        if (n && strncmp(ret[n - 1], rest, len) == 0 && ret[n - 1][len] == '\0')
            continue; /* rows of one group are adjacent */
        memcpy(ret[n], rest, len);
        ret[n++][len] = '\0';
    }
    return n;
}

void *job_member(void *base, const struct job_key *key)
{
    return (char *)base + key->field->offset;
}

const void *job_member_const(const void *base, const struct job_key *key)
{
    return (const char *)base + key->field->offset;
}

void job_pointer_set(void *base, const struct job_key *key, void *p, size_t n)
{
    void **member = job_member(base, key);

    free(*member);
    *member = p;
    if (key->field->count)
        *(size_t *)((char *)base + key->field->count) = n;
}

void job_pointer_free(void *base, const struct job_key *key)
{
    job_pointer_set(base, key, NULL, 0);
}

void job_members_free(const struct job_table *t, void *base)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].field && t->row[i].field->type->free)
            t->row[i].field->type->free(base, &t->row[i]);
}

/* Return the special word of the key ("auto") that a mistyped value resembles; NULL: none. */
static const char *word_meant(const struct job_key *key, const struct job_node *n)
{
    const char *all[1 + sizeof key->field->words / sizeof *key->field->words];
    size_t n_all = 0;

    if (n->kind != JOB_SCALAR || job_node_is_null(n))
        return NULL;
    if (key->field->word)
        all[n_all++] = key->field->word;
    for (size_t i = 0; n_all < sizeof all / sizeof *all && key->field->words[i]; i++)
        all[n_all++] = key->field->words[i];
    return text_nearest(n->text, all, n_all);
}

int job_mistyped(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                 struct eddis_error *err)
{
    const char *meant = word_meant(key, n);
    cleanup_strbuf struct strbuf b = { 0 };
    char words[80];

    job_node_words(n, words, sizeof words);
    if (meant)
        return job_wrong(r, n->line, n->column, err, "\"%s\" is %s; did you mean \"%s\"?",
                         key->name, words, meant);
    if (key->field->type->form)
        strbuf_add(&b, key->field->type->form);
    else
        key->field->type->expect(key, &b);
    if (key->field->type->or_word && key->field->word)
        strbuf_addf(&b, " or %s", key->field->word);
    return job_wrong(r, n->line, n->column, err, "\"%s\" is %s; write %s", key->name, words,
                     strbuf_text(&b));
}
