/* SPDX-License-Identifier: Apache-2.0 */
/* log_files.h - the files of one log, read as one text
 *
 * A rank's log is kept in up to three files (agents/node/output/rank_log.h): the head, the older
 * tail and the tail.  The agent, the driver and eddis-status read them here, so that a position in
 * the text means the same to all of them.  When the rank's output pushes the older tail out, all
 * later text moves to an earlier position; log_files_from corrects a position for that.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_LOG_FILES_H
#define EDDIS_AGENTS_PROTOCOL_LOG_FILES_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOG_FILES = 3 }; /* most files of one log */

/* Beginning of the line at the end of a full head. */
#define LOG_FILES_FULL "\n[eddis: this file is full; "

/* The open files of a log: head, older tail, tail. */
struct log_files {
    int fd[LOG_FILES];       /* -1: there is no such file */
    int64_t size[LOG_FILES]; /* bytes of each file that belong to the text */
    int64_t end;             /* sum of the sizes: position of the end of the text */
};

/* Initial value of a struct log_files without files. */
#define LOG_FILES_NONE                                                                             \
    {                                                                                              \
        .fd = { -1, -1, -1 }                                                                       \
    }

/* Store the paths of the files of a rank's log in the folder dir in path, for log_files_free_paths.
 * Return 0 or -ENOMEM.
 */
int log_files_paths(const char *dir, int rank, char *path[LOG_FILES]);

/* Free the paths and set them to NULL. */
void log_files_free_paths(char *path[LOG_FILES]);

/* Open the files of these paths (NULL: no file) and measure them, in *ret, for log_files_close.
 * Links are not followed.  whole: if false, leave out the lines that eddis appends to the head when
 * tails exist, because they would move the positions of all later text.  Return 0, or a negative
 * errno if no file can be opened; -ENOENT: there is no log.
 */
int log_files_open(char *const path[LOG_FILES], bool whole, struct log_files *ret,
                   struct eddis_error *err);

/* Return the position in the text that an offset means: negative offsets count from the end, and an
 * offset beyond the end is from before the older tail was pushed out, or means the end.  So a
 * reader who continues at the end of what it has read misses nothing, unless a tail was filled
 * meanwhile.
 */
int64_t log_files_from(const struct log_files *f, int64_t offset);

/* Read n bytes of the text from position `from` on into `to`.  Return the number of bytes read,
 * less than n at the end of the text or of a file that has shrunk, or a negative errno.
 */
ssize_t log_files_read(const struct log_files *f, int64_t from, char *to, size_t n);

/* Close the files.  Accepts LOG_FILES_NONE. */
void log_files_close(struct log_files *f);

#endif
