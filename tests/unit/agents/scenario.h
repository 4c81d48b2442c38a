/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - scenarios in text files
 *
 *     # A comment.
 *     job local to=run              the first step of all scenarios below
 *
 *     scenario a rank fails         its name; the lines below it are its steps
 *     each | how | code             parameters: the scenario runs with every row of values,
 *     | 7    | 7                    and if it has several such tables, with all combinations
 *     | KILL | 137
 *     exit 2 $how                   a parameter's value
 *     do all leave | 3              shared steps, with values of their parameters
 *     > end $code                   an expectation
 *
 *     shared all leave | checkpoint shared steps, anywhere in the same file
 *
 * What the other lines mean is left to the caller.  Whatever is wrong with a file fails the test.
 */
#ifndef EDDIS_TESTS_SCENARIO_H
#define EDDIS_TESTS_SCENARIO_H

#include <stdbool.h>

enum { SCENARIO_LINES = 1024, SCENARIO_LINE = 1024 };

/* A file's lines but comments and empty ones; owned. */
struct script {
    char path[512];
    struct {
        int number; /* in the file, from 1 */
        char *text;
    } line[SCENARIO_LINES];
    int n;
};

/* Return what follows a word and a space at the beginning of a text; NULL: it begins otherwise. */
const char *behind(const char *text, const char *word);

/* Read a file.  Return false if that is not possible; *ret is released with script_free anyway. */
bool script_read(const char *folder, const char *name, struct script *ret);
void script_free(struct script *s);

/* Fail unless names are unique, shared steps are used, and tables have rows. */
void script_check(const struct script *s);

/* Return the number of runs of the scenario that begins with this line; 0: none begins. */
int script_runs(const struct script *s, int line);

/* Return the number of the row of values in a scenario's first table for a run; without a table, of
 * the scenario's first line.
 */
int script_row(const struct script *s, int line, int run);

/* Take one step or expectation, whose text may be changed; number is that of its line. */
typedef void scenario_take_fn(void *ctx, int number, char *text);

/* Play a run of the scenario that begins with this line.  Fail if it expects nothing, or does not
 * use a parameter.
 */
void scenario_play(const struct script *s, int line, int run, scenario_take_fn *take, void *ctx);

#endif
