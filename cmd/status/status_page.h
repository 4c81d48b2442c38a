/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.h - a job's status as a page of text: the job, its workers, and which workers are
 * slow and why
 *
 * The page is first made and later printed, so that the live view can cut it to its window and
 * color a worker's line by the worker's status. Control characters are removed from all text that
 * does not come from eddis.
 */
#ifndef EDDIS_CMD_STATUS_STATUS_PAGE_H
#define EDDIS_CMD_STATUS_STATUS_PAGE_H

#include "agents/job/status_json.h"

#include <stdbool.h>
#include <stdio.h>

/* A finished page. */
struct status_page {
    char *text; /* lines that end in '\n' */
    int first;  /* index of the first worker's line in the text, from 0 */
    int n_workers;
};

/* What a page has */
struct status_page_form {
    bool ascii;  /* eddis's own text uses only ASCII characters */
    bool gpus;   /* the table of workers is that of their GPUs */
    int columns; /* width of the window, to which the bar is shortened and for which table columns
                  * are left out; 0: no limit
                  */
};

/* Make the page for a status in *ret, which the caller frees with status_page_fini. Return 0 or
 * -ENOMEM.
 */
int status_page_make(const struct job_status *s, const struct status_page_form *form,
                     struct status_page *ret, struct eddis_error *err);

/* Free the page's text. */
void status_page_fini(struct status_page *p);

/* Where and how to print a page. */
struct status_print {
    FILE *out;
    bool color;
    int rows, columns; /* size of the window in characters; 0: no limit */
    bool window;       /* clear the rest of each line */
};

/* Print the page that was made for s, cut to the window. Return the number of lines printed. */
int status_page_print(const struct status_page *p, const struct job_status *s,
                      const struct status_print *o);

/* Mark of a worker's line: SLOW: the worker is slower than it should be; GONE: it was killed or
 * lost
 */
enum status_mark { STATUS_PLAIN, STATUS_SLOW, STATUS_GONE };

/* Return the mark of a worker's line. */
enum status_mark status_mark(const struct worker_status *w);

#endif
