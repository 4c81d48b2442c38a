/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - selects the last output of a failed program to show to the user
 *
 * For a Python program this is the last traceback, with the tracebacks of the exceptions that
 * caused it, unless the program continued after the exception. If the traceback is too long, frames
 * of Python's own files and of installed packages are left out first, so that the user's frames
 * stay; then lines in the middle are left out.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LAST_WORDS_H
#define EDDIS_AGENTS_NODE_OUTPUT_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct last_line {
    size_t from, to; /* offsets in the text, newline excluded */
};

/* Choose at most `most` lines of text [n] to show, and write them to ret [most] in their order.
 * Return the number of lines.
 */
int last_words_choose(const char *text, size_t n, int most, struct last_line *ret);

/* Write the last lines of text [n] to ret [most], for a program that did not end by an exception.
 * Return the number of lines.
 */
int last_words_tail(const char *text, size_t n, int most, struct last_line *ret);

/* Check whether the end of text [n], the output of a rank, has a message of gloo, NCCL, MPI,
 * Horovod, PyTorch or libeddis that a collective operation failed because of another rank. Then
 * this rank has not failed by itself.
 */
bool last_words_blame_another(const char *text, size_t n);

/* Check whether all lines of text were printed by Open MPI or UCX itself, as after the loss of a
 * peer: "[node1:4711] OPAL ERROR: Unreachable in file ...". host: the name of this machine.
 */
bool last_words_are_of_mpi(const char *text, const char *host);

#endif
