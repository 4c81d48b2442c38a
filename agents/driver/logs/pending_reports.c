/* SPDX-License-Identifier: Apache-2.0 */
/* pending_reports.c - keep reports whose log chunks are being written, and those whose chunks are
 * written */
#include "pending_reports.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* A pending report and its chunks, a task of the file thread. */
struct pending_report {
    struct file_task task;
    struct pending_report *next;
    struct pending_reports *pending_reports; /* not used by the file thread */
    struct request_item *item;
    struct log_fetch_write *piece; /* [n] */
    int n;
    bool over; /* written: pending_reports_take frees it */
    struct eddis_error err;
};

/* Write the log chunks of a report up to the first error (file_task.run, on the file thread). */
static void write_pieces(struct file_task *k)
{
    struct pending_report *r = (struct pending_report *)k;

    for (int i = 0; i < r->n && !r->err.code; i++)
        (void)log_fetch_write(&r->piece[i], &r->err);
}

/* Free a pending report, unless pending_reports_take still needs it (file_task.free). */
static void free_report(struct file_task *k)
{
    struct pending_report *r = (struct pending_report *)k;

    if (r->over)
        return;
    request_item_free(r->item);
    for (int i = 0; i < r->n; i++)
        free(r->piece[i].path);
    free(r->piece);
    free(r);
}

/* Move a pending report to the list of those whose chunks are written; on error give up fetching
 * the log (file_task.done, on the driver's thread).
 */
static void pieces_written(struct file_task *k)
{
    struct pending_report *r = (struct pending_report *)k;
    struct pending_reports *h = r->pending_reports;
    struct pending_report **at = &h->writing;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (r->err.code && *h->log_fetch)
        log_fetch_failed(*h->log_fetch, r->item->agent, &r->err);
    r->over = true;
    r->next = h->written;
    h->written = r;
}

bool pending_reports_again(struct pending_reports *h, struct request_item *i)
{
    struct pending_report *r = h->writing;

    while (r && r->item->agent != i->agent)
        r = r->next;
    if (!r)
        return false;
    http_reply_error(r->item->x, 503, "the agent has sent this report again");
    r->item->x = i->x;
    request_item_free(i);
    return true;
}

/* Accept all log chunks of a report, and count them in r->n.  Return 0 or a negative error.  If a
 * chunk is rejected after others were accepted, give up fetching the log.
 */
static int take_pieces(struct pending_report *r, struct log_fetch *f, const struct request_item *i,
                       struct eddis_error *err)
{
    int rc = 0;

    for (int k = 0; k < i->report->n_pieces && rc == 0; k++)
        if ((rc = log_fetch_chunk(f, i->agent, &i->report->piece[k], &r->piece[k], err)) == 0)
            r->n++;
    if (rc < 0 && r->n)
        log_fetch_failed(f, i->agent, err);
    return rc;
}

int pending_reports_add(struct pending_reports *h, struct file_thread *files,
                        struct request_item *i, struct eddis_error *err)
{
    struct pending_report *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    r->piece = calloc((size_t)i->report->n_pieces, sizeof *r->piece);
    rc = r->piece ? take_pieces(r, *h->log_fetch, i, err)
                  : eddis_fail(err, -ENOMEM, "no memory for a log");
    if (rc < 0) {
        free_report(&r->task);
        return rc;
    }
    r->task =
        (struct file_task){ .run = write_pieces, .done = pieces_written, .free = free_report };
    r->pending_reports = h;
    r->item = i;
    r->next = h->writing;
    h->writing = r;
    file_thread_add(files, &r->task);
    return 0;
}

struct request_item *pending_reports_take(struct pending_reports *h, int *ret_rc,
                                          struct eddis_error *err)
{
    struct pending_report *r = h->written;
    struct request_item *i;

    if (!r)
        return NULL;
    h->written = r->next;
    *ret_rc = r->err.code;
    *err = r->err;
    i = cleanup_keep(r->item);
    r->over = false;
    free_report(&r->task);
    return i;
}

void pending_reports_refuse(struct pending_reports *h)
{
    for (struct pending_report *list[] = { h->writing, h->written }, **l = list; l < list + 2; l++)
        for (struct pending_report *r = *l; r; r = r->next) {
            http_reply_error(r->item->x, 503, "the job has ended");
            r->item->x = NULL;
        }
}

void pending_reports_fini(struct pending_reports *h)
{
    struct eddis_error err;
    struct request_item *i;
    int rc;

    while ((i = pending_reports_take(h, &rc, &err)))
        request_item_free(i);
}
