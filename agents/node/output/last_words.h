/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - what is worth showing of the last output of a program that failed
 *
 * Of a program in Python it is the last traceback, from "Traceback" on, with those of the
 * exceptions that its own came of, unless the program went on after it.  Where it is longer than
 * what may be shown, frames of Python's own files and of installed packages are left out first, so
 * that the user's stay, then lines between the beginning and the end.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_LAST_WORDS_H
#define EDDIS_AGENTS_NODE_OUTPUT_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct last_line {
    size_t from, to; /* of the text, newline excluded */
};

/* Choose at most `most` lines of text [n] for ret [most], in their order.  Returns their number. */
int last_words_choose(const char *text, size_t n, int most, struct last_line *ret);

/* The same of one that has not ended by an exception: the last lines. */
int last_words_tail(const char *text, size_t n, int most, struct last_line *ret);

/* Whether the end of text [n] says that a collective operation failed because of another rank: what
 * gloo, NCCL, MPI and PyTorch's store print then.  Such a rank has not failed by itself.
 */
bool last_words_blame_another(const char *text, size_t n);

/* Return whether Open MPI or UCX has printed all lines of text by itself, as when a peer is gone:
 * "[node1:4711] OPAL ERROR: Unreachable in file ...".  host: the name of this machine; programs
 * begin lines with other words and a number.
 */
bool last_words_are_of_mpi(const char *text, const char *host);

#endif
