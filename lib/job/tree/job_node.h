/* SPDX-License-Identifier: Apache-2.0 */
/* job_node.h - the tree of a job file: nodes with line and column, and sentences about them */
#ifndef EDDIS_JOB_TREE_JOB_NODE_H
#define EDDIS_JOB_TREE_JOB_NODE_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/model/job.h"

#include <stdbool.h>
#include <stddef.h>

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
    char *key;        /* key of this node, if its parent is a map; otherwise NULL */
    int key_line, key_column;
    struct job_node *first, *next;
    size_t n; /* number of children */
};

/* Errors in the keys of a file.  If the file is not valid YAML, or if values contradict each other,
 * only the first error.
 */
enum { JOB_MAX_MISTAKES = 10 };
struct job_mistakes {
    int n;
    bool more; /* there are more errors than fit in `text` */
    char text[JOB_MAX_MISTAKES][sizeof((struct eddis_error *)0)->text];
};

/* Source and destination of values */
struct job_reader {
    struct job *job;  /* the job that is read; its folder is the base of relative paths */
    void *base;       /* struct that the rows fill: the job, or one of its hosts */
    const char *file; /* for error messages */
    const char *flag; /* flag that gave the text, named instead of file and line; NULL: none */
    struct job_origin *origin; /* array in which the origin of row i is recorded; NULL: nowhere */
    struct job_mistakes *all;  /* collects errors; NULL: reading stops at the first one */
};

/* Free a node with its siblings and everything below.  Accepts NULL. */
void job_node_free(struct job_node *n);

/* Check whether a node is YAML's null: empty, "~" or "null". */
bool job_node_is_null(const struct job_node *n);

/* Describe a node for an error message: "'abc'", "a list"; size is at least 80. */
void job_node_words(const struct job_node *n, char *ret, size_t size);

/* Return -EINVAL, with "<file>:<line>:<column>: " or "<flag>: " before the formatted message. */
int job_wrong(const struct job_reader *r, int line, int column, struct eddis_error *err,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Return -ENOMEM with a message. */
int job_no_memory(struct eddis_error *err);

/* Append a string as a one-line YAML scalar that reads as the same text. */
void job_scalar_add(struct strbuf *b, const char *s);

#endif
