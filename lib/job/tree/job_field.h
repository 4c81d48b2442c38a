/* SPDX-License-Identifier: Apache-2.0 */
/* job_field.h - tables of keys: how each is read and written, and which member it fills */
#ifndef EDDIS_JOB_TREE_JOB_FIELD_H
#define EDDIS_JOB_TREE_JOB_FIELD_H

#include "job_node.h"

/* One key of train.yaml */
struct job_key {
    const char *name;              /* dotted: "batch.global" */
    const char *type;              /* for the manual: "whole number", "duration" */
    const char *initial;           /* default, for the manual */
    const char *help;              /* one line */
    const char *later;             /* feature that is not implemented: the key is rejected with its
                                    * name; NULL: the key is accepted */
    const struct job_field *field; /* how the key is read, and into which member */
};

/* Type of values: how a value is read, written and freed.  The member is at base + field->offset;
 * base is the struct that the row's table describes.
 */
struct job_type {
    /* A flag's text is YAML (lists, maps), not the value itself. */
    bool structured;

    /* Replace the member by the node's value; on failure it is unchanged. */
    int (*read)(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                struct eddis_error *err);

    /* Append the member as YAML on one line. */
    void (*write)(const void *base, const struct job_key *key, struct strbuf *b);

    /* Free the member.  NULL: the member owns no memory. */
    void (*free)(void *base, const struct job_key *key);

    /* The form of a valid value for an error message: "a whole number from 1 to 9 or auto".  form
     * is the text; NULL: expect appends it, as it depends on the key.  or_word: the key's special
     * word follows, " or auto", if it has one.
     */
    const char *form;
    bool or_word;
    void (*expect)(const struct job_key *key, struct strbuf *b);
};

/* How one key is read and written; unused members are 0 */
struct job_field {
    const struct job_type *type;
    size_t offset;       /* offset of the member in the table's struct */
    size_t count;        /* offset of the size_t that is the number of items, if the type needs
                          * one */
    const char *value;   /* default as written in a file; NULL: set by job_read.c */
    const char *word;    /* a word allowed besides the type's values ("auto"), or NULL */
    bool keep_word;      /* the word of a path or text is stored as text, not as NULL */
    bool tilde;          /* a path may begin with "~", which ssh expands */
    const char *inner;   /* name of the value inside a map, beside the keys of the group of this
                          * key's name: nodes: {hosts: [a], drop: auto}; NULL: none */
    const char *instead; /* other key of the same setting, which an option for this key resets to
                          * its default */
    int (*check)(const char *text, struct eddis_error *err); /* check of a text, or of each word of
                                                              * a list; NULL: none */
    int64_t min, max;     /* range of whole numbers, of durations in ns, and of the steps of
                           * intervals */
    int64_t least, most;  /* range of the ns of intervals */
    double low, high;     /* range of numbers */
    const char *words[4]; /* choices, NULL-ended; for a whole number: the word for -1 */
    /* choices from another table: choice i, and choice i of a later version; both return NULL after
     * the last
     */
    const char *(*nth_word)(size_t i), *(*nth_soon)(size_t i);
};

/* A table of keys */
struct job_table {
    const struct job_key *row;
    size_t n;
};

/* Borrow the row of a dotted name; NULL: unknown key. */
const struct job_key *job_key_find(const struct job_table *t, const char *name);

/* Copy the names directly below a dotted prefix ("": the top level) to ret, each once, at most
 * JOB_MAX_KEYS.  Return their number; 0: no such group.
 */
size_t job_keys_below(const struct job_table *t, const char *prefix, char (*ret)[32]);

/* Return the address (never NULL) of the member that a key fills in the struct at base. */
void *job_member(void *base, const struct job_key *key);

/* Return the address (never NULL), for reading, of the member that a key fills in the struct at
 * base.
 */
const void *job_member_const(const void *base, const struct job_key *key);

/* Replace the pointer that a key fills by p, which base then owns, and its number of items, if the
 * key has one, by n.
 */
void job_pointer_set(void *base, const struct job_key *key, void *p, size_t n);

/* Free the pointer that a key fills (job_type.free). */
void job_pointer_free(void *base, const struct job_key *key);

/* Free all members that the table's rows own. */
void job_members_free(const struct job_table *t, void *base);

/* Return -EINVAL with a message such as "'batch.min' is 'x'; write a whole number from ...". */
int job_mistyped(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                 struct eddis_error *err);

#endif
