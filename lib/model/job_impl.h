/* SPDX-License-Identifier: Apache-2.0 */
/* job_impl.h - internals of the job file's reader: the tree, the fields, the types
 *
 *       bytes --job_yaml.c--> tree of job_node, each with line and column
 *             --job_read.c--> the row of job_keys.c for each key of the tree
 *             --job_scalar.c, job_list.c, ...--> the row's type reads the node into struct job
 *             --job_text.c--> the row's type writes it back
 *
 * A map of `nodes` has its own table; its rows fill a struct job_host by the same types.
 */
#ifndef EDDIS_MODEL_JOB_IMPL_H
#define EDDIS_MODEL_JOB_IMPL_H

#include "job.h"
#include "lib/base/strbuf.h"

enum {
    JOB_MAX_BYTES = 1 << 20,
    JOB_MAX_NESTING = 16,
    JOB_MAX_ITEMS = JOB_MAX_HOSTS, /* items of one list, or words of one command */
    JOB_MAX_ENTRIES = 4096,        /* keys of one map */
    JOB_MAX_NAME = 64,
    JOB_MAX_WORDS = 64, /* choices of one key, including those of later versions */
};

enum job_node_kind { JOB_SCALAR, JOB_LIST, JOB_MAP };

/* Node of the YAML tree */
struct job_node {
    enum job_node_kind kind;
    int line, column; /* from 1, columns in characters */
    bool quoted;      /* a scalar in quotes or a block: always text */
    char *text;       /* value of a scalar; UTF-8 without NUL bytes */
    char *key;        /* in a map */
    int key_line, key_column;
    struct job_node *first, *next;
    size_t n; /* number of children */
};

/* Source and destination of values */
struct job_reader {
    struct job *job;  /* its folder is the base of relative paths */
    void *base;       /* struct that the rows fill: the job, or one of its hosts */
    const char *file; /* for error messages */
    const char *flag; /* flag that gave the text, named instead of file and line; NULL: none */
    struct job_mistakes *all; /* collects errors; NULL: reading stops at the first one */
};

/* ---- job_yaml.c ---- */

/* Parse one YAML document without anchors, aliases and tags.  Return its root in *ret, for
 * job_node_free.
 */
int job_yaml_parse(const struct job_reader *r, const char *text, size_t n, struct job_node **ret,
                   struct eddis_error *err);
/* Free a node with its siblings and everything below.  Accepts NULL. */
void job_node_free(struct job_node *n);

/* Check whether a node is YAML's null: empty, "~" or "null". */
bool job_node_is_null(const struct job_node *n);

/* Describe a node for an error message: "'abc'", "a list"; size is at least 80. */
void job_node_words(const struct job_node *n, char *ret, size_t size);

/* Return the index of the first invalid UTF-8 character of s [n]; n if there is none. */
size_t job_utf8_bad(const char *s, size_t n);

/* Return -EINVAL, with "<file>:<line>:<column>: " or "<flag>: " before the formatted message. */
int job_wrong(const struct job_reader *r, int line, int column, struct eddis_error *err,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Return -ENOMEM with a message. */
int job_no_memory(struct eddis_error *err);

/* ---- job_keys.c ---- */

/* Type of values: how one is read, written and freed.  The member is at base + field->offset; base
 * is the struct that the row's table describes.
 */
struct job_type {
    /* A flag's text is YAML (lists, maps), not the value itself. */
    bool structured;

    /* Replace the member by the node's value; on failure it is unchanged. */
    int (*read)(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                struct eddis_error *err);

    /* Append the member as YAML on one line. */
    void (*write)(const void *base, const struct job_key *key, struct strbuf *b);

    /* Free the member.  NULL: it owns no memory. */
    void (*free)(void *base, const struct job_key *key);

    /* Append the form of a valid value for an error message: "a whole number from 1 to 9 or auto".
     */
    void (*expect)(const struct job_key *key, struct strbuf *b);
};

/* How one key is read and written; unused members are 0 */
struct job_field {
    const struct job_type *type;
    size_t offset;       /* of the member in the table's struct */
    size_t count;        /* offset of the number of items, if the type needs one */
    const char *value;   /* default as written in a file; NULL: set by job_read.c */
    const char *word;    /* a word allowed besides the type's values ("auto"), or NULL */
    bool keep_word;      /* the word of a path or text is stored as text, not as NULL */
    bool tilde;          /* a path may begin with "~", which ssh expands */
    const char *instead; /* key that a flag of this key replaces */
    int (*check)(const char *text, struct eddis_error *err); /* validates texts, list words */
    int64_t min, max;     /* range: whole numbers, durations in ns, steps of periods ... */
    int64_t least, most;  /* ... and ns of periods */
    double low, high;     /* numbers */
    const char *words[4]; /* choices, NULL-ended; for a whole number, the word for -1 ... */
    /* ... or from another table: choice i, and choice i of a later version; NULL after the last */
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

/* A table of keys */
struct job_table {
    const struct job_key *row;
    size_t n;
};

extern const struct job_table job_table;           /* fills struct job */
extern const struct job_table job_host_table;      /* maps of `nodes`: fills struct job_host */
extern const struct job_table job_component_table; /* maps of slurm.components */

/* Borrow the row of a dotted name; NULL: unknown key. */
const struct job_key *job_key_find(const struct job_table *t, const char *name);

/* Copy the names directly below a dotted prefix ("": the top level) to ret, each once, at most
 * JOB_MAX_KEYS.  Return their number; 0: no such group.
 */
size_t job_keys_below(const struct job_table *t, const char *prefix, char (*ret)[32]);

/* Return the address of the member that a key fills in the struct at base. */
void *job_member(void *base, const struct job_key *key);
const void *job_member_const(const void *base, const struct job_key *key);

/* Free all members that the table's rows own. */
void job_members_free(const struct job_table *t, void *base);

/* Read all keys of a map into r->base; `group` is the map's dotted name, "" for the job. */
int job_group_read(const struct job_reader *r, const struct job_table *t, const char *group,
                   const struct job_node *map, struct eddis_error *err);

/* Return -EINVAL: "'batch.min' is 'x'; write a whole number from ...". */
int job_mistyped(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                 struct eddis_error *err);

/* ---- job_scalar.c ---- */

/* Read a path, make it absolute and return it in *ret, for the caller to free. */
int job_path_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                  char **ret, struct eddis_error *err);

/* ---- job_list.c: NULL-ended lists of words ---- */

/* NULL-ended list of words under construction */
struct job_words {
    char **at; /* NULL until a word is added */
    size_t n;
};

/* Free a NULL-ended list.  Accepts NULL. */
void job_words_free(char **at);

/* Append text, which the list then owns; it is freed on failure. text NULL is -ENOMEM. */
int job_words_add_take(struct job_words *w, char *text, struct eddis_error *err);

/* If rc is 0, make these words the key's member, an empty list if there are none.  Otherwise free
 * them and return rc.
 */
int job_words_keep(const struct job_reader *r, const struct job_key *key, struct job_words *w,
                   int rc, struct eddis_error *err);

/* Free the key's list of words (job_type.free). */
void job_words_member_free(void *base, const struct job_key *key);

/* ---- numbers in text ---- */

/* Parse a decimal whole number.  Leading zeros are rejected: YAML 1.1 reads them as octal. */
bool job_whole_parse(const char *s, int64_t *ret);

/* Parse a decimal number; NaN, infinity and hexadecimal are rejected. */
bool job_number_parse(const char *s, double *ret);

/* Append the shortest decimal that gives exactly x if read and divided by scale. */
void job_number_add(struct strbuf *b, double x, double scale);

/* ---- job_host.c: checks of texts that are passed to programs; 0 or -EINVAL ---- */

/* Check communication.interface: an interface, an address or a network. */
int job_check_interface(const char *text, struct eddis_error *err);
/* Check nodes.eddis: an absolute path on another machine. */
int job_check_eddis(const char *path, struct eddis_error *err);
int job_check_pattern(const char *pattern, struct eddis_error *err); /* of env_pass */
int job_check_prefix(const char *text, struct eddis_error *err);     /* of logs.prefix */

/* ---- job_slurm.c ---- */

/* Check a text that becomes an option's value in a batch script. */
int job_check_slurm_text(const char *text, struct eddis_error *err);
int job_check_slurm_word(const char *word, struct eddis_error *err); /* of slurm.extra */

/* ---- job_progress.c ---- */

/* Check that progress.pattern is a POSIX extended regular expression with a group. */
int job_check_progress(const char *pattern, struct eddis_error *err);

/* ---- job_check.c ---- */

/* Derive defaults from values that were set: a shorter lease gives faster heartbeats. */
void job_follow(struct job *job);

/* ---- job_text.c ---- */

/* Beginning of the text of job_text.  A reader that finds it takes origins from the comments. */
#define JOB_TEXT_HEAD "# the job as eddis "

/* Append a string as a one-line YAML scalar that reads as the same text. */
void job_scalar_add(struct strbuf *b, const char *s);

#endif
