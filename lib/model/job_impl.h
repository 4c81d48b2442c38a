/* SPDX-License-Identifier: Apache-2.0 */
/* job_impl.h - inside of the job file's reader: the tree, the fields, the types
 *
 *     bytes --job_yaml.c--> tree of job_node, each with line and column
 *           --job_read.c--> for each key of the tree its row of job_keys.c
 *           --job_scalar.c, job_list.c, ...--> the row's type reads the node into struct job
 *           --job_text.c--> the row's type writes it back
 *
 * A map of `nodes` has a table of its own, whose rows fill a struct job_host by the same types.
 */
#ifndef EDDIS_MODEL_JOB_IMPL_H
#define EDDIS_MODEL_JOB_IMPL_H

#include "job.h"
#include "lib/base/strbuf.h"

enum {
    JOB_MAX_BYTES = 1 << 20,
    JOB_MAX_NESTING = 16,
    JOB_MAX_ITEMS = JOB_MAX_HOSTS, /* of one list, or words of one command */
    JOB_MAX_ENTRIES = 4096,        /* of one map */
    JOB_MAX_NAME = 64,
    JOB_MAX_WORDS = 64, /* that one key may be, those of later versions too */
};

enum job_node_kind { JOB_SCALAR, JOB_LIST, JOB_MAP };

struct job_node {
    enum job_node_kind kind;
    int line, column; /* from 1, columns in characters */
    bool quoted;      /* a scalar in quotes or as a block: text, whatever it looks like */
    char *text;       /* of a scalar; UTF-8 without NUL bytes */
    char *key;        /* in a map */
    int key_line, key_column;
    struct job_node *first, *next;
    size_t n; /* items below */
};

/* Where values come from and go to. */
struct job_reader {
    struct job *job;  /* whose folder relative paths are relative to */
    void *base;       /* what the rows fill: the job, or one of its hosts */
    const char *file; /* for sentences */
    const char *flag; /* NULL, or the flag that gave the text: it stands for file and line */
    struct job_mistakes *all; /* where mistakes are gathered; NULL: the first ends the reading */
};

/* ---- job_yaml.c ---- */

/* Parse one YAML document without anchors, aliases and tags.  Returns its root. */
int job_yaml_parse(const struct job_reader *r, const char *text, size_t n, struct job_node **ret,
                   struct eddis_error *err);
void job_node_free(struct job_node *n);

/* Whether it is YAML's null: nothing, "~" or "null". */
bool job_node_is_null(const struct job_node *n);

/* Write what a node is for a sentence: "'abc'", "a list"; size at least 80. */
void job_node_words(const struct job_node *n, char *ret, size_t size);

/* The first character of s [n] that is not UTF-8, or n. */
size_t job_utf8_bad(const char *s, size_t n);

/* -EINVAL with "<file>:<line>:<column>: " or "<flag>: " before the sentence. */
int job_wrong(const struct job_reader *r, int line, int column, struct eddis_error *err,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int job_no_memory(struct eddis_error *err);

/* ---- job_keys.c ---- */

/* A type of value: how it is read, written and freed.  The member is base + field->offset, where
 * base is what the row's table describes.
 */
struct job_type {
    /* Whether a flag's text is YAML (lists, maps) rather than the value itself. */
    bool structured;

    /* Replace the member by the node's value; on failure the member stays as it was. */
    int (*read)(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                struct eddis_error *err);

    /* Append the member as YAML on one line. */
    void (*write)(const void *base, const struct job_key *key, struct strbuf *b);

    /* Optional: NULL when the member owns no memory. */
    void (*free)(void *base, const struct job_key *key);

    /* Append what may be written, for a sentence: "a whole number from 1 to 9 or auto". */
    void (*expect)(const struct job_key *key, struct strbuf *b);
};

struct job_field {
    const struct job_type *type;
    size_t offset;       /* of the member in what the table describes */
    size_t count;        /* offset of the number of items, of types that need one */
    const char *value;   /* default as in the file, NULL: set by job_read.c */
    const char *word;    /* a word beside the type's own values ("auto"), or NULL */
    bool keep_word;      /* a path's or text's word is kept as text; otherwise it is NULL */
    bool tilde;          /* a path may begin with "~", which its user expands */
    const char *instead; /* the key that a flag of this one takes the place of */
    int (*check)(const char *text, struct eddis_error *err); /* of texts and words of lists */
    int64_t min, max;     /* whole numbers, durations in ns, of periods the steps ... */
    int64_t least, most;  /* ... and the time in ns */
    double low, high;     /* numbers */
    const char *words[4]; /* choices, NULL-ended; of a whole number the word for -1 ... */
    /* ... or of another table: choice i, and choice i of a later version; NULL behind the last */
    const char *(*nth_word)(size_t i), *(*nth_soon)(size_t i);
};

extern const struct job_type job_type_name, job_type_path, job_type_text, job_type_whole,
    job_type_number, job_type_duration, job_type_period, job_type_word;       /* job_scalar.c */
extern const struct job_type job_type_command, job_type_list, job_type_lines; /* job_list.c */
extern const struct job_type job_type_env, job_type_mca;                      /* job_map.c */
extern const struct job_type job_type_emulate;                                /* job_emulate.c */
extern const struct job_type job_type_groups;                                 /* job_groups.c */
extern const struct job_type job_type_components;                             /* job_slurm.c */
extern const struct job_type job_type_nodes, job_type_hostfile, job_type_host,
    job_type_devices; /* job_nodes.c */

struct job_table {
    const struct job_key *row;
    size_t n;
};

extern const struct job_table job_table;           /* fills struct job */
extern const struct job_table job_host_table;      /* the maps of `nodes`: fills struct job_host */
extern const struct job_table job_component_table; /* those of slurm.components */

/* Borrows the row of a dotted name, or NULL. */
const struct job_key *job_key_find(const struct job_table *t, const char *name);

/* Names directly below a dotted prefix ("" for the job itself), each once; at most JOB_MAX_KEYS
 * are copied to ret.  Returns their number; 0: there is no such group.
 */
size_t job_keys_below(const struct job_table *t, const char *prefix, char (*ret)[32]);

/* The member that a key fills. */
void *job_member(void *base, const struct job_key *key);
const void *job_member_const(const void *base, const struct job_key *key);

/* Free all members that the table's rows own. */
void job_members_free(const struct job_table *t, void *base);

/* Read all keys of a map whose own dotted name is group, "" for the job, into r->base. */
int job_group_read(const struct job_reader *r, const struct job_table *t, const char *group,
                   const struct job_node *map, struct eddis_error *err);

/* -EINVAL: "'batch.min' is 'x'; write a whole number from ...". */
int job_mistyped(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                 struct eddis_error *err);

/* ---- job_scalar.c ---- */

/* Read a path and make it absolute.  Returns it. */
int job_path_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                  char **ret, struct eddis_error *err);

/* ---- job_list.c: NULL-ended lists of words ---- */

struct job_words {
    char **at; /* NULL-ended once something was added */
    size_t n;
};

void job_words_free(char **at);

/* Takes text, which may be NULL for "no memory". */
int job_words_add_take(struct job_words *w, char *text, struct eddis_error *err);

/* Make the member these words, or free them when the reading of them failed with rc. */
int job_words_keep(const struct job_reader *r, const struct job_key *key, struct job_words *w,
                   int rc, struct eddis_error *err);

void job_words_member_free(void *base, const struct job_key *key);

/* ---- numbers in text ---- */

/* Decimal without leading zeros, which YAML 1.1 takes for octal. */
bool job_whole_parse(const char *s, int64_t *ret);

/* A decimal number and nothing else; no NAN, no infinity, no hexadecimal. */
bool job_number_parse(const char *s, double *ret);

/* Append the shortest decimal that gives x again when it is read and divided by scale. */
void job_number_add(struct strbuf *b, double x, double scale);

/* ---- job_host.c: what a host may be called, and other texts that reach programs ---- */

int job_check_interface(const char *text, struct eddis_error *err);
int job_check_eddis(const char *path, struct eddis_error *err);
int job_check_pattern(const char *pattern, struct eddis_error *err); /* of env_pass */
int job_check_prefix(const char *text, struct eddis_error *err);     /* of logs.prefix */

/* ---- job_slurm.c ---- */

int job_check_slurm_text(const char *text, struct eddis_error *err);
int job_check_slurm_word(const char *word, struct eddis_error *err); /* of slurm.extra */

/* ---- job_progress.c ---- */

int job_check_progress(const char *pattern, struct eddis_error *err);

/* ---- job_check.c ---- */

/* Values that nobody wrote follow those that somebody did: a shorter lease has faster heartbeats.
 */
void job_follow(struct job *job);

/* ---- job_text.c ---- */

/* How the text of job_text begins: whoever reads it again knows that its comments tell origins. */
#define JOB_TEXT_HEAD "# the job as eddis "

/* Append a string as a YAML scalar that reads as the same text, on one line. */
void job_scalar_add(struct strbuf *b, const char *s);

#endif
