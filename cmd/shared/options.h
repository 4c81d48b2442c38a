/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - a program's command line from one table
 *
 *     static const struct option_row rows[] = {
 *         { "np", 'n', "N", "workers on each node" },
 *         { "dry-run", 0, NULL, "print the plan and stop" },
 *     };
 *
 * The same table prints --help and says what was meant by a word it does not know.  Accepted are
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE, -vq, `_` for `-` in a name, and -np for a name
 * of two letters, as mpirun has it.  Names are not abbreviated: what a script writes today must
 * not mean something else tomorrow.  "--" ends the options.
 */
#ifndef EDDIS_CMD_SHARED_OPTIONS_H
#define EDDIS_CMD_SHARED_OPTIONS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct option_row {
    const char *name;     /* "dry-run" */
    char letter;          /* 0: none */
    const char *argument; /* "FILE" in --help; NULL: takes none */
    const char *help;     /* one line, lower case, no full stop */
};

/* What other programs of the kind call an option. */
struct option_foreign {
    const char *name; /* "nproc-per-node" */
    const char *said; /* "did you mean \"-n\"?" */
};

struct option_table {
    const char *program;    /* "eddis-run" */
    const char *summary;    /* one line */
    const char *const *use; /* NULL-ended: what may follow the program's name, one line each */
    const struct option_row *row;
    size_t n;
    const struct option_foreign *foreign; /* [n_foreign] */
    size_t n_foreign;
    const char *footer; /* printed behind the options as it is; NULL: none */
};

/* Reads argv from its second word on; zero-initialise and set table, argc and argv. */
struct options {
    const struct option_table *table;
    int argc;
    char **argv;
    int at;      /* words of argv read, the program's name not counted */
    int cluster; /* letters read of "-vq" */
    bool behind; /* "--" has passed: only words follow */
};

struct options_item {
    const struct option_row *row; /* NULL: a word that is no option */
    const char *value;            /* the argument, or the word; NULL for a switch */
};

/* Read the next one.  Returns 1, or 0 at the end.  -EINVAL: the sentence names the option and
 * what was probably meant.
 */
int options_next(struct options *o, struct options_item *ret, struct eddis_error *err);

/* Whether the item is the option of this name. */
bool options_is(const struct options_item *i, const char *name);

/* Print --help. */
void options_help(const struct option_table *t, FILE *out);

/* Print "<program>: <sentence>", whose names may be of a file that somebody else has written,
 * without control characters.
 */
void options_complain(const char *program, const struct eddis_error *err, FILE *out);

/* At a program's end: whether all that was printed on standard output got there.  0, also when its
 * reader has gone away, who has seen what he wanted; else a failure for the program to say.
 */
int options_flush(struct eddis_error *err);

#endif
