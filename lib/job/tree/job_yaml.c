/* SPDX-License-Identifier: Apache-2.0 */
/* job_yaml.c - parse bytes into a tree with positions, over libyaml
 *
 * Uses libyaml's events instead of its documents: aliases are rejected before anything is expanded,
 * and depth and sizes are limited while the tree grows.
 */
#include "job_yaml.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* State of one parse */
struct tree {
    const struct job_reader *r;
    const char *text; /* [n] */
    size_t n;
    yaml_parser_t parser;
    int depth;
};

/* Return -EINVAL at the line and column of byte `at` of the text, if libyaml gives no position. */
static int wrong_byte(const struct job_reader *r, const char *text, size_t at,
                      struct eddis_error *err, const char *what)
{
    int line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return job_wrong(r, line, column, err, "%s", what);
}

/* Return -EINVAL with formatted text at the position of an event. */
static int __attribute__((format(printf, 4, 5)))
refuse(struct tree *t, const yaml_event_t *e, struct eddis_error *err, const char *fmt, ...)
{
    char what[256];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return job_wrong(t->r, (int)e->start_mark.line + 1, (int)e->start_mark.column + 1, err, "%s",
                     what);
}

/* Return the column, from 1, of the tab that indents a line (from 0); 0: none does. */
static int indented_by_tab(const struct tree *t, size_t line)
{
    const char *at = t->text, *end = t->text + t->n, *tab;

    for (; line && (at = memchr(at, '\n', (size_t)(end - at))); line--)
        at++;
    if (!at)
        return 0;
    tab = at;
    while (tab < end && *tab == ' ')
        tab++;
    return tab < end && *tab == '\t' ? (int)(tab - at) + 1 : 0;
}

/* Convert an error of libyaml to a message, and return its code. */
static int parser_failed(struct tree *t, struct eddis_error *err)
{
    yaml_parser_t *p = &t->parser;
    char where[120] = "";
    int tab;

    if (p->error == YAML_MEMORY_ERROR)
        return job_no_memory(err);
    if (p->error == YAML_READER_ERROR) /* has an offset, no position */
        return wrong_byte(t->r, t->text, p->problem_offset < t->n ? p->problem_offset : t->n, err,
                          "a character that YAML does not allow; this must be plain text");
    if ((tab = indented_by_tab(t, p->problem_mark.line)) > 0)
        return job_wrong(t->r, (int)p->problem_mark.line + 1, tab, err,
                         "a tab indents this line; YAML indents by spaces, write them instead");
    if (p->context) /* "while parsing a flow sequence" */
        snprintf(where, sizeof where, " %s from line %d", p->context,
                 (int)p->context_mark.line + 1);
    return job_wrong(t->r, (int)p->problem_mark.line + 1, (int)p->problem_mark.column + 1, err,
                     "not valid YAML, %s%s; correct the line or put the value in quotes",
                     p->problem ? p->problem : "for an unknown reason", where);
}

/* Return why an event is not allowed in a job file (alias, anchor, tag, directive); NULL: it is
 * allowed.
 */
static const char *forbidden(const yaml_event_t *e)
{
    const unsigned char *anchor = NULL, *tag = NULL;

    switch (e->type) {
    case YAML_ALIAS_EVENT:
        return "an alias, which is not allowed; write the value itself";
    case YAML_SCALAR_EVENT:
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
        break;
    case YAML_DOCUMENT_START_EVENT:
        if (e->data.document_start.tag_directives.start !=
                e->data.document_start.tag_directives.end ||
            e->data.document_start.version_directive)
            return "a directive, which is not allowed; remove the line that starts with %";
        break;
    default:
        break;
    }
    if (anchor)
        return "an anchor, which is not allowed; remove the word that starts with &";
    return tag ? "a tag, which is not allowed; remove the word that starts with !" : NULL;
}

/* Read the next event and reject forbidden ones.  Return 0, and the caller deletes *e; -EINVAL: not
 * YAML, or forbidden; or -ENOMEM.
 */
static int next_event(struct tree *t, yaml_event_t *e, struct eddis_error *err)
{
    const char *what;
    int rc = 0;

    if (!yaml_parser_parse(&t->parser, e))
        return parser_failed(t, err);
    what = forbidden(e);
    if (what)
        rc = refuse(t, e, err, "%s", what);
    else if (e->type == YAML_SCALAR_EVENT && memchr(e->data.scalar.value, 0, e->data.scalar.length))
        rc = refuse(t, e, err, "a NUL byte in a value; remove the \\0");
    if (rc < 0)
        yaml_event_delete(e);
    return rc;
}

/* Return a new node for an event, without children; NULL without memory. */
static struct job_node *node_new(const yaml_event_t *e)
{
    struct job_node *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->line = (int)e->start_mark.line + 1;
    n->column = (int)e->start_mark.column + 1;
    n->kind = e->type == YAML_SEQUENCE_START_EVENT  ? JOB_LIST
              : e->type == YAML_MAPPING_START_EVENT ? JOB_MAP
                                                    : JOB_SCALAR;
    if (n->kind != JOB_SCALAR)
        return n;
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    n->text = strdup((const char *)e->data.scalar.value);
    if (!n->text) {
        free(n);
        return NULL;
    }
    return n;
}

static int build(struct tree *t, const yaml_event_t *e, struct job_node **ret,
                 struct eddis_error *err);

/* Read the map key that is this event into ret: key, line and column.  Return 0 or a negative
 * errno; the caller owns ret->key in either case.  -EINVAL: not a scalar, or the map has it
 * already.
 */
static int read_key(struct tree *t, const yaml_event_t *e, const struct job_node *map,
                    struct job_node *ret, struct eddis_error *err)
{
    if (e->type != YAML_SCALAR_EVENT)
        return refuse(t, e, err, "a key is a list or a map; write a word before the colon");
    ret->key = strdup((const char *)e->data.scalar.value);
    if (!ret->key)
        return job_no_memory(err);
    ret->key_line = (int)e->start_mark.line + 1;
    ret->key_column = (int)e->start_mark.column + 1;
    for (const struct job_node *c = map->first; c; c = c->next)
        if (strcmp(c->key, ret->key) == 0)
            return job_wrong(
                t->r, ret->key_line, ret->key_column, err,
                "the key \"%.40s\" is given a second time, first on line %d; remove one", ret->key,
                c->key_line);
    return 0;
}

/* Read one child of n into *ret, which n owns; its first event is e, a list item, or a key and its
 * value.  Return 0 or a negative errno.
 */
static int read_child(struct tree *t, yaml_event_t *e, struct job_node *n, struct job_node **ret,
                      struct eddis_error *err)
{
    struct job_node head = { 0 };
    yaml_event_t value;
    int rc;

    if (n->n == (n->kind == JOB_LIST ? JOB_MAX_ITEMS : JOB_MAX_ENTRIES))
        return refuse(t, e, err,
                      n->kind == JOB_LIST ? "more than %zu entries here; shorten the list"
                                          : "more than %zu keys here; shorten the map",
                      n->n);
    if (n->kind == JOB_LIST)
        return build(t, e, ret, err);
    rc = read_key(t, e, n, &head, err);
    if (rc == 0)
        rc = next_event(t, &value, err);
    if (rc == 0) {
        rc = build(t, &value, ret, err);
        yaml_event_delete(&value);
    }
    if (rc < 0) {
        free(head.key);
        return rc;
    }
    (*ret)->key = head.key;
    (*ret)->key_line = head.key_line;
    (*ret)->key_column = head.key_column;
    return 0;
}

/* Read all children of a list or map up to its end.  Return 0 or a negative errno; n owns the
 * children read before a failure.
 */
static int read_children(struct tree *t, struct job_node *n, struct eddis_error *err)
{
    struct job_node **tail = &n->first;

    for (;;) {
        yaml_event_t e;
        int rc = next_event(t, &e, err);
        bool end;

        if (rc < 0)
            return rc;
        end = e.type == YAML_SEQUENCE_END_EVENT || e.type == YAML_MAPPING_END_EVENT;
        if (!end)
            rc = read_child(t, &e, n, tail, err);
        yaml_event_delete(&e);
        if (end || rc < 0)
            return rc;
        tail = &(*tail)->next;
        n->n++;
    }
}

/* Store in *ret the node that begins with this event, with everything below it.  Return 0, and
 * the caller frees *ret by job_node_free, or -EINVAL or -ENOMEM, with *ret unchanged.
 */
static int build(struct tree *t, const yaml_event_t *e, struct job_node **ret,
                 struct eddis_error *err)
{
    struct job_node *n;
    int rc = 0;

    if (t->depth == JOB_MAX_NESTING)
        return refuse(t, e, err, "nested more than %d levels deep; a job needs four levels",
                      JOB_MAX_NESTING);
    n = node_new(e);
    if (!n)
        return job_no_memory(err);
    if (n->kind != JOB_SCALAR) {
        t->depth++;
        rc = read_children(t, n, err);
        t->depth--;
    }
    if (rc < 0)
        job_node_free(n);
    else
        *ret = n;
    return rc;
}

/* Read the only document of the stream into *ret, up to the end of the stream.  The caller frees
 * *ret by job_node_free.  Return 0 or a negative errno, and then *ret is unchanged.
 */
static int parse(struct tree *t, struct job_node **ret, struct eddis_error *err)
{
    struct job_node *root = NULL;
    yaml_event_type_t type;
    int rc;

    do {
        yaml_event_t e;

        rc = next_event(t, &e, err);
        if (rc < 0)
            break;
        type = e.type;
        if (type == YAML_STREAM_END_EVENT && !root)
            rc = job_wrong(t->r, 1, 1, err, "the job is empty; write at least the key \"command\"");
        else if (type == YAML_DOCUMENT_START_EVENT && root)
            rc = refuse(t, &e, err,
                        "a second document, but a job is one document; remove the line \"---\"");
        else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT && !root)
            rc = build(t, &e, &root, err);
        yaml_event_delete(&e);
    } while (rc == 0 && type != YAML_STREAM_END_EVENT);
    if (rc < 0)
        job_node_free(root);
    else
        *ret = root;
    return rc;
}

int job_yaml_parse(const struct job_reader *r, const char *text, size_t n, struct job_node **ret,
                   struct eddis_error *err)
{
    struct tree t = { .r = r };
    size_t bad;
    int rc;

    if (n > JOB_MAX_BYTES)
        return job_wrong(r, 1, 1, err, "longer than %d MiB; this is not a job file",
                         JOB_MAX_BYTES >> 20);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* skip a UTF-8 byte order mark */
        text += 3;
        n -= 3;
    }
    bad = text_utf8_bad(text, n);
    if (bad < n)
        return wrong_byte(r, text, bad, err, "not UTF-8; save the file as UTF-8");
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < 0x20 && !strchr("\t\n\r", text[i])) || text[i] == 0x7f ||
            text[i] == 0)
            return wrong_byte(r, text, i, err, "a control character; this must be plain text");
    if (!yaml_parser_initialize(&t.parser))
        return job_no_memory(err);
    yaml_parser_set_encoding(&t.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&t.parser, (const unsigned char *)text, n);
    t.text = text;
    t.n = n;
    rc = parse(&t, ret, err);
    yaml_parser_delete(&t.parser);
    return rc;
}
