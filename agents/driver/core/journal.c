/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - queue lines and files for the job's folder, and record which of them have gaps */
#include "journal.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

/* Operations on a file: append a line, append a line of metrics, replace the file, remove it, make
 * it to hold disk space.
 */
enum record_kind { RECORD_LINE, RECORD_METRICS, RECORD_FILE, RECORD_REMOVE, RECORD_RESERVE };

enum { RESERVE_BYTES = 64 << 10 }; /* disk space held for the summary */

/* A write operation, a task of the file thread. */
struct record {
    struct file_task task;
    struct journal *journal; /* not used by the file thread */
    enum record_kind kind;
    char *path, *text;
    struct eddis_error err; /* result of the operation; code 0: success */
};

/* Add a file name to r->missing, the list of incomplete files in the job's folder, unless it is in
 * the list or does not fit.
 */
static void note_missing(struct journal *r, const char *name)
{
    size_t n = strlen(r->missing);

    if (!strstr(r->missing, name) && n + strlen(name) + 3 < sizeof r->missing)
        (void)snprintf(r->missing + n, sizeof r->missing - n, "%s%s", n ? ", " : "", name);
}

/* Record a failed write: store the error in r->trouble if it is the first, and add the file's name
 * to r->missing, which lists each file once.
 */
static void note_trouble(struct journal *r, const char *name, const struct eddis_error *err)
{
    if (!r->trouble.code)
        r->trouble = *err;
    note_missing(r, name);
}

/* Return the file name of a write operation: a pointer into the record's path, never NULL. */
static const char *name_of(const struct file_task *k)
{
    return strrchr(((const struct record *)k)->path, '/') + 1;
}

/* Make a file of RESERVE_BYTES that holds disk space for the summary.  If the disk has less space,
 * make no file: the summary would not fit either.
 */
static void reserve(const char *path)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
        (void)unlink(path);
}

/* Append to, replace, remove or reserve a file in the job's folder (file_task.run, on the file
 * thread).
 */
static void run(struct file_task *k)
{
    struct record *w = (struct record *)k;

    if (w->kind == RECORD_REMOVE)
        (void)unlink(w->path);
    else if (w->kind == RECORD_RESERVE)
        reserve(w->path);
    else if (w->kind == RECORD_FILE)
        (void)file_write_atomic(w->path, w->text, strlen(w->text), 0600, &w->err);
    else
        (void)file_append(w->path, w->text, strlen(w->text), 0600, &w->err);
}

/* Record the result of a write operation (file_task.done, on the driver's thread). */
static void done(struct file_task *k)
{
    struct record *w = (struct record *)k;

    w->journal->metrics_waiting -= w->kind == RECORD_METRICS;
    if (w->err.code)
        note_trouble(w->journal, name_of(k), &w->err);
}

/* Free a write operation (file_task.free). */
static void free_record(struct file_task *k)
{
    struct record *w = (struct record *)k;

    free(w->path);
    free(w->text);
    free(w);
}

/* Queue an operation on a file in the job's folder.  Takes text; NULL counts as lost for lack of
 * memory, unless the operation needs no text.  A failure is recorded.
 */
static void add_take(struct journal *r, enum record_kind kind, const char *name, char *text)
{
    char *path = file_join(r->folder->path, "%s", name);
    bool whole = text || kind == RECORD_REMOVE || kind == RECORD_RESERVE;
    struct record *w = path && whole ? calloc(1, sizeof *w) : NULL;
    struct eddis_error err = { 0 };

    if (!w) {
        eddis_fail(&err, -ENOMEM, "no memory to write '%s'", name);
        note_trouble(r, name, &err);
        free(path);
        free(text);
        return;
    }
    *w = (struct record){ .task = { .run = run, .done = done, .free = free_record },
                          .journal = r,
                          .kind = kind,
                          .path = path,
                          .text = text };
    r->metrics_waiting += kind == RECORD_METRICS;
    file_thread_add(r->files, &w->task);
}

/* Queue a line to be appended to a file in the job's folder.  A NULL line counts as lost for lack
 * of memory.
 */
static void add_line(struct journal *r, enum record_kind kind, const char *name, const char *line)
{
    char *text = NULL;

    if (line && asprintf(&text, "%s\n", line) < 0)
        text = NULL;
    add_take(r, kind, name, text);
}

/* ---- events ---- */

void journal_event(struct journal *r, enum job_event type, const char *node, int rank,
                   const char *text)
{
    char time[32], *line;
    cleanup_json json_t *j = NULL;

    clock_wall_text(clock_wall_ns(), time, sizeof time);
    j = json_pack("{s:I, s:s, s:s}", "n", (json_int_t)(r->n_events + 1), "time", time, "type",
                  job_event_name(type));
    if (j && node && *node)
        json_object_set_new(j, "node", json_string(node));
    if (j && rank >= 0)
        json_object_set_new(j, "rank", json_integer(rank));
    if (j && text && *text)
        json_object_set_new(j, "text", json_string(text)); /* left out if it is not UTF-8 */
    line = j ? json_text(j, false) : NULL;
    if (!line)
        return;
    r->n_events++;
    free(r->line[r->n_events % JOURNAL_KEPT]);
    r->line[r->n_events % JOURNAL_KEPT] = line;
    if (r->folder)
        add_line(r, RECORD_LINE, "events.jsonl", line);
}

char *journal_events_text(const struct journal *r, int64_t after)
{
    int64_t first = r->n_events > JOURNAL_KEPT ? r->n_events - JOURNAL_KEPT + 1 : 1;
    struct strbuf b = { 0 };

    if (after + 1 > first)
        first = after + 1;
    strbuf_add(&b, "{\"events\":[");
    for (int64_t n = first; n <= r->n_events; n++)
        strbuf_addf(&b, "%s%s", n > first ? "," : "", r->line[n % JOURNAL_KEPT]);
    strbuf_addf(&b, "],\"schema_version\":%d}", STATUS_SCHEMA_VERSION);
    return strbuf_steal(&b);
}

/* ---- the others ---- */

void journal_line(struct journal *r, const char *name, const char *line)
{
    if (r->folder)
        add_line(r, RECORD_LINE, name, line);
}

void journal_file(struct journal *r, const char *name, const char *text)
{
    if (r->folder)
        add_take(r, RECORD_FILE, name, text ? strdup(text) : NULL);
}

void journal_remove(struct journal *r, const char *name)
{
    if (r->folder)
        add_take(r, RECORD_REMOVE, name, NULL);
}

void journal_reserve(struct journal *r)
{
    if (r->folder)
        add_take(r, RECORD_RESERVE, JOB_RESERVE_FILE, NULL);
}

void journal_plan(struct journal *r, const struct plan *p)
{
    cleanup_free char *text = plan_text(p);
    char name[64];

    (void)snprintf(name, sizeof name, "plan-%" PRId64 "-%" PRId64 ".json", p->generation,
                   p->version);
    journal_file(r, name, text);
}

void journal_metrics(struct journal *r, const struct job_status *s)
{
    cleanup_free char *text = NULL;
    int rank[METRICS_ROWS], n;

    if (!r->folder)
        return;
    if (r->metrics_waiting >= JOURNAL_METRICS) {
        r->metrics_left_out++;
        return;
    }
    n = metrics_rows_choose(&r->rows, s, clock_now_ns(), rank);
    text = job_status_line(s, rank, n);
    if (text)
        add_line(r, RECORD_METRICS, "metrics.jsonl", text);
}

void journal_summary(struct journal *r, const struct job_status *s)
{
    cleanup_free char *text = job_status_text(s), *lines = NULL;

    if (text && asprintf(&lines, "%s\n", text) < 0)
        lines = NULL;
    journal_remove(r, JOB_RESERVE_FILE);
    journal_file(r, "summary.json", lines);
}

/* Record the file of a pending write operation as incomplete; ctx: the journal (callback of
 * file_thread_each).
 */
static void look(const struct file_task *k, void *ctx)
{
    const struct record *w = k->run == run ? (const struct record *)k : NULL;

    if (w && w->kind != RECORD_REMOVE && w->kind != RECORD_RESERVE)
        note_missing(ctx, name_of(k));
}

int journal_give_up(struct journal *r)
{
    if (!r->folder || file_thread_idle(r->files))
        return 0;
    if (!r->trouble.code)
        eddis_fail(&r->trouble, -ETIMEDOUT, "its folder does not answer");
    file_thread_each(r->files, look, r);
    return r->trouble.code;
}

void journal_fini(struct journal *r)
{
    for (int i = 0; i < JOURNAL_KEPT; i++)
        free(r->line[i]);
    metrics_rows_fini(&r->rows);
    *r = (struct journal){ 0 };
}
