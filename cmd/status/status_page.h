/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.h - a job's status as a page of text: the job, its workers, who is slow and why
 *
 * The page is made first and printed later, so that the live view can cut it to its window and
 * colour a worker's line by what is in the struct.  No text of others reaches it with control
 * characters.
 */
#ifndef EDDIS_CMD_STATUS_STATUS_PAGE_H
#define EDDIS_CMD_STATUS_STATUS_PAGE_H

#include "agents/job/status_json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct status_page {
    char *text; /* lines that end in '\n' */
    int first;  /* number of the first worker's line, from 0 */
    int n_workers;
};

/* ascii: no other characters of ours.  columns: of the window, in which the bar of progress is
 * shorter and the table leaves out what tells least; 0: no limit.  Freed by status_page_fini;
 * -ENOMEM.
 */
int status_page_make(const struct job_status *s, bool ascii, int columns, struct status_page *ret,
                     struct eddis_error *err);
void status_page_fini(struct status_page *p);

struct status_print {
    FILE *out;
    bool color;
    int rows, columns; /* of the window; 0: no limit */
    bool window;       /* clear the rest of each line */
};

/* Print the page of s.  Returns the number of lines. */
int status_page_print(const struct status_page *p, const struct job_status *s,
                      const struct status_print *o);

/* The line of a worker that is slower than it should be, or gone, is marked. */
enum status_mark { STATUS_PLAIN, STATUS_SLOW, STATUS_GONE };
enum status_mark status_mark(const struct worker_status *w);

#endif
