/* SPDX-License-Identifier: Apache-2.0 */
/* job_list.c - types of several words: lists, shell lines, the command */
#include "job_types.h"

#include "job_secret.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- NULL-ended lists of words ---- */

int job_words_keep(const struct job_reader *r, const struct job_key *key, struct strlist *w, int rc,
                   struct eddis_error *err)
{
    if (!w->item)
        w->item = calloc(1, sizeof *w->item);
    if (rc == 0 && (w->failed || !w->item))
        rc = job_no_memory(err);
    if (rc < 0) {
        strlist_fini(w);
        return rc;
    }
    job_words_member_free(r->base, key);
    *(char ***)job_member(r->base, key) = w->item;
    return 0;
}

void job_words_member_free(void *base, const struct job_key *key)
{
    char ***member = job_member(base, key);

    for (char **w = *member; w && *w; w++)
        free(*w);
    free(*member);
    *member = NULL;
}

/* Append a list of words as YAML, with secrets masked (job_type.write). */
static void words_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    char *const *const *member = job_member_const(base, key);

    strbuf_add(b, "[");
    for (char *const *w = *member; w && *w; w++) {
        cleanup_free char *shown = job_masked(*w);

        strbuf_add(b, w == *member ? "" : ", ");
        job_scalar_add(b, shown ? shown : "");
        b->failed = b->failed || !shown;
    }
    strbuf_add(b, "]");
}

/* Append the scalars of a YAML list to the words; each must pass the key's check.  Return 0 or
 * -EINVAL; without memory set w->failed and return 0.
 */
static int list_add(const struct job_reader *r, const struct job_key *key,
                    const struct job_node *list, struct strlist *w, struct eddis_error *err)
{
    for (const struct job_node *n = list->first; n; n = n->next) {
        struct eddis_error why = { 0 };
        char what[80];

        if (n->kind != JOB_SCALAR || job_node_is_null(n)) {
            job_node_words(n, what, sizeof what);
            return job_wrong(r, n->line, n->column, err,
                             "an entry of \"%s\" is %s; write a word, in quotes if YAML reads it "
                             "as something else",
                             key->name, what);
        }
        if (key->field->check && key->field->check(n->text, &why) < 0)
            return job_wrong(r, n->line, n->column, err, "\"%s\": %s", key->name, why.text);
        strlist_addf(w, "%s", n->text);
    }
    return 0;
}

/* Read a list of words (job_type.read).  Return 0, -EINVAL or -ENOMEM; after a failure the member
 * is unchanged.
 */
static int list_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    struct strlist w = { 0 };

    if (n->kind != JOB_LIST)
        return job_mistyped(r, key, n, err);
    return job_words_keep(r, key, &w, list_add(r, key, n, &w, err), err);
}

const struct job_type job_type_list = {
    .structured = true,
    .read = list_read,
    .write = words_write,
    .free = job_words_member_free,
    .form = "a list of words, like [a, b]",
};

/* ---- lines: a list, or a text of several lines ---- */

/* Read a list of lines, or a text that is split into lines; blank ones are dropped (job_type.read).
 * Return 0, -EINVAL or -ENOMEM; after a failure the member is unchanged.
 */
static int lines_read(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *n, struct eddis_error *err)
{
    struct strlist w = { 0 };

    if (n->kind == JOB_MAP)
        return job_mistyped(r, key, n, err);
    if (n->kind == JOB_LIST)
        return job_words_keep(r, key, &w, list_add(r, key, n, &w, err), err);
    for (const char *at = n->text; *at;) {
        size_t len = strcspn(at, "\n");

        if (strspn(at, " \t\r") < len)
            strlist_addf(&w, "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
    }
    return job_words_keep(r, key, &w, 0, err);
}

const struct job_type job_type_lines = {
    .structured = true,
    .read = lines_read,
    .write = words_write,
    .free = job_words_member_free,
    .form = "a list of lines, like [source venv/bin/activate], or a text of them",
};

/* ---- the command: a list, or a line split as a shell would, without a shell ---- */

/* Append the next word of *p to b without its quotes, and advance *p.  Return 1 if a part of it was
 * quoted, 0 if not, -EINVAL if a quote does not end.
 */
static int next_word(const char **p, struct strbuf *b)
{
    const char *s = *p;
    char quote = '\0';
    int quoted = 0;

    strbuf_add(b, "");
    for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
        if (quote && *s == quote) {
            quote = '\0';
        } else if (!quote && (*s == '\'' || *s == '"')) {
            quote = *s;
            quoted = 1;
        } else if (*s == '\\' && s[1] && quote != '\'' && (!quote || s[1] == '"' || s[1] == '\\')) {
            strbuf_add_bytes(b, ++s, 1);
            quoted = 1;
        } else {
            strbuf_add_bytes(b, s, 1);
        }
    }
    *p = s;
    return quote ? -EINVAL : quoted;
}

/* Check whether a word is a shell operator such as "|" or "&&". */
static bool is_shell(const char *word)
{
    static const char *const operators[] = { "|",  "||", "&",  "&&", ";",    ">",
                                             ">>", "<",  "<<", "2>", "2>&1", "&>" };

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(word, operators[i]) == 0)
            return true;
    return false;
}

/* Split a command line into words as a shell does.  -EINVAL: an open quote, too many words, or an
 * unquoted shell operator, since no shell will interpret it.
 */
static int line_add(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                    struct strlist *w, struct eddis_error *err)
{
    const char *p = n->text;

    for (;;) {
        cleanup_strbuf struct strbuf b = { 0 };
        int quoted, rc = 0;

        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            return 0;
        quoted = next_word(&p, &b);
        if (quoted < 0)
            rc = job_wrong(r, n->line, n->column, err,
                           "a quote in \"%s\" is not closed; close it, or write a list", key->name);
        else if (w->n == JOB_MAX_ITEMS)
            rc = job_wrong(r, n->line, n->column, err, "\"%s\" has more than %d words; shorten it",
                           key->name, JOB_MAX_ITEMS);
        else if (!quoted && is_shell(strbuf_text(&b)))
            rc = job_wrong(
                r, n->line, n->column, err,
                "\"%s\" needs a shell, and \"%s\" runs without one; write %s: [sh, -c, \"...\"]",
                strbuf_text(&b), key->name, key->name);
        else
            strlist_addf(w, "%s", strbuf_text(&b));
        w->failed = w->failed || b.failed;
        if (rc < 0)
            return rc;
    }
}

/* Read a command, a list or one line (job_type.read).  Return 0; -ENOMEM; -EINVAL: no program, or a
 * wrong value; after a failure the member is unchanged.
 */
static int command_read(const struct job_reader *r, const struct job_key *key,
                        const struct job_node *n, struct eddis_error *err)
{
    struct strlist w = { 0 };
    int rc;

    if (n->kind == JOB_MAP)
        return job_mistyped(r, key, n, err);
    rc = n->kind == JOB_LIST ? list_add(r, key, n, &w, err) : line_add(r, key, n, &w, err);
    if (rc == 0 && !w.failed && (w.n == 0 || !*w.item[0]))
        rc = job_wrong(r, n->line, n->column, err,
                       "\"%s\" names no program; write a list like [python3, train.py]", key->name);
    return job_words_keep(r, key, &w, rc, err);
}

const struct job_type job_type_command = {
    .structured = true,
    .read = command_read,
    .write = words_write,
    .free = job_words_member_free,
    .form = "a list like [python3, train.py], or one line of words",
};
