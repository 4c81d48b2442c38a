/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - parses a program's command line by a table
 *
 *     static const struct option_row rows[] = {
 *         { "np", 'n', "N", "workers on each node" },
 *         { "dry-run", 0, NULL, "print the plan and stop" },
 *     };
 *
 * From the same table --help is printed, and the nearest name is suggested for an unknown option.
 * Accepted forms are --name VALUE, --name=VALUE, -n VALUE, -nVALUE, -vq, '_' for '-' in a name,
 * and, as in mpirun, -np for a name of two letters. Names cannot be abbreviated: a script must keep
 * its meaning when options are added. "--" ends the options.
 */
#ifndef EDDIS_CMD_SHARED_OPTIONS_H
#define EDDIS_CMD_SHARED_OPTIONS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An option of a program. */
struct option_row {
    const char *name;     /* "dry-run" */
    char letter;          /* short form; 0: none */
    const char *argument; /* name of the argument in --help, "FILE"; "[=TIME]": it may be left out,
                           * or follows '='; NULL: the option takes none */
    const char *help;     /* one line, lower case, no full stop */
};

/* An option of another launcher, with the advice that the error gives */
struct option_foreign {
    const char *name; /* long name, "nproc-per-node", or letter of the option */
    const char *said; /* advice, "did you mean \"-n\"?" */
};

/* All options of a program. */
struct option_table {
    const char *program; /* name of the program, "eddis-run" */
    const char *summary; /* what the program does, one line */
    /* usage: texts that may follow the program's name, one line each, NULL-ended */
    const char *const *use;
    const struct option_row *row;
    size_t n;
    const struct option_foreign *foreign; /* [n_foreign] options of other launchers */
    size_t n_foreign;
    const char *footer; /* text after the options, printed unchanged; NULL: none */
};

/* An option without a value, and the flag that it sets. */
struct option_switch {
    const char *name;
    bool *flag;
};

/* State of parsing. Zero-initialize it, and set table, argc and argv; parsing starts at argv[1] */
struct options {
    const struct option_table *table;
    int argc;
    char **argv;
    int at;      /* number of words parsed, without the program's name */
    int cluster; /* number of letters parsed in a word such as "-vq" */
    bool behind; /* "--" was parsed: only words follow, no options */
};

/* One parsed option or word. */
struct options_item {
    const struct option_row *row; /* NULL: a word that is not an option */
    /* argument of the option, or the word; NULL: an option without an argument */
    const char *value;
};

/* Parse the next option or word into *ret, whose value points into argv. Return 1, or 0 at the end
 * of argv; -EINVAL: err names the wrong option, and the option that was probably meant.
 */
int options_next(struct options *o, struct options_item *ret, struct eddis_error *err);

/* Check whether the item is the option with this long name. */
bool options_is(const struct options_item *i, const char *name);

/* Set the flag of the one of n switches that has this name. Return false if none has it. */
bool options_switch(const char *name, const struct option_switch *s, size_t n);

/* Print the version, or usage, summary, options and footer, to standard output. */
void options_about(const struct option_table *t, bool version);

/* Print usage, summary, options and footer. */
void options_help(const struct option_table *t, FILE *out);

/* Print "<program>: <error>". Control characters are removed, since the error may contain text from
 * files.
 */
void options_complain(const char *program, const struct eddis_error *err, FILE *out);

/* Flush standard output at a program's end. Return 0 if all was written, or if the reader has
 * closed the pipe, which is no error; otherwise a negative errno, with err for the program to
 * print.
 */
int options_flush(struct eddis_error *err);

#endif
