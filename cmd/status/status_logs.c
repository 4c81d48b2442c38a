/* SPDX-License-Identifier: Apache-2.0 */
/* status_logs.c - prints the log of a rank, from the driver or from the job's folder */
#include "status_logs.h"

#include "agents/job/status_fetch.h"

#include "agents/job/driver_socket.h"
#include "agents/protocol/log_answer.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/job/job_read.h"
#include "lib/model/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t ask_ns = 10 * CLOCK_S; /* time limit of one answer of the driver */
/* Longest wait for a driver that is busy fetching logs. */
static const int64_t patience_ns = 60 * CLOCK_S;

/* Ask the driver for the part of the log of rank a->rank that begins at offset `after`, and store
 * it in *a. Block for its answer. Return 0; -ENOENT: there is no log yet; -EAGAIN: the driver is
 * busy or ending; or another negative error.
 */
static int ask(const struct job_driver *d, int64_t after, struct log_answer *a,
               struct eddis_error *err)
{
    struct http_client *c = NULL;
    cleanup_free char *body = NULL;
    char path[64];
    size_t n = 0;
    int rc = driver_socket_dial(d, d->token, &c, err);

    (void)snprintf(path, sizeof path, "/v1/logs/%d?after=%lld", a->rank, (long long)after);
    if (rc == 0)
        rc = http_client_call(c, path, NULL, ask_ns, &body, &n, err);
    http_client_close(c);
    if (rc == 200)
        return log_answer_parse(body, n, a, err);
    if (rc < 0)
        return rc;
    if (rc == 404)
        return eddis_fail(err, -ENOENT, "rank %d has no log yet", a->rank);
    if (rc == 503 || rc == 504)
        return eddis_fail(err, -EAGAIN, "the driver is busy with other logs, or ending");
    return eddis_fail(err, -EPROTO, "the driver answered with HTTP status %d", rc);
}

/* Return the folder of the rank's log: that in the job's folder, or if the log is not there
 * logs.dir of the job.yaml. The caller frees it. NULL: no memory.
 */
static char *log_dir(const struct job_folder *f, int rank)
{
    cleanup_free char *yaml = file_join(f->path, "job.yaml");
    cleanup_free char *path = file_join(f->path, "logs/rank-%04d.log", rank);
    char *dir = file_join(f->path, "logs");
    struct job *job = NULL;

    if (!yaml || !path || !dir || access(path, F_OK) == 0 || job_read(yaml, &job, NULL) < 0)
        return dir;
    if (job->logs.dir) {
        free(dir);
        dir = strdup(job->logs.dir);
    }
    job_free(job);
    return dir;
}

/* Read a part of the log of rank a->rank from its files into *a: from offset `after` on; or, if
 * that is 0, its end, at most LOG_ANSWER_MOST bytes. Return 0; -ENOENT: there is no log; or another
 * negative error.
 */
static int read_folder(const struct job_folder *f, int64_t after, struct log_answer *a,
                       struct eddis_error *err)
{
    cleanup_free char *dir = log_dir(f, a->rank);
    int rc;

    if (!dir)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    a->offset = after > 0 ? after : -LOG_ANSWER_MOST;
    rc = log_answer_read(dir, a, err);
    return rc == -ENOENT ? eddis_fail(err, rc, "there is no log of rank %d in '%s/rank-%04d.log'",
                                      a->rank, dir, a->rank)
                         : rc;
}

/* Store the part of the log of rank a->rank from offset `after` (0: its end) in *a. Block for at
 * most a minute while the driver is busy. Return 1 if it came from the driver; 0 if it was read
 * from the job's folder, since the driver is gone; or a negative error.
 */
static int fetch(const struct job_folder *f, int64_t after, struct log_answer *a,
                 struct eddis_error *err)
{
    int64_t end_ns = clock_now_ns() + patience_ns;
    struct job_driver d;

    while (job_driver_read(f, &d, NULL) == 1) {
        struct eddis_error asked = { 0 };
        int rc = ask(&d, after, a, &asked);

        explicit_bzero(&d, sizeof d);
        if (rc == 0)
            return 1;
        if (job_driver_check(f, NULL) == 1 && (rc != -EAGAIN || clock_now_ns() >= end_ns)) {
            if (err)
                *err = asked;
            return rc;
        }
        clock_sleep_until_ns(clock_now_ns() + CLOCK_S / 10);
    }
    explicit_bzero(&d, sizeof d);
    return read_folder(f, after, a, err);
}

/* Return a pointer to where the last n lines of text begin; to its beginning if it has fewer lines.
 * The result points into text.
 */
static const char *last_lines(const char *text, int64_t n)
{
    const char *at = text + strlen(text);

    if (at > text && at[-1] == '\n')
        at--;
    for (; at > text; at--)
        if (at[-1] == '\n' && --n == 0)
            return at;
    return text;
}

/* Print the text on standard output and flush it; if o->plain is set, without control characters,
 * which are replaced in `text`. Return 0 or a negative error.
 */
static int print(const struct status_logs *o, char *text, struct eddis_error *err)
{
    for (char *line = text; o->plain && *line;) {
        size_t n = strcspn(line, "\n");
        char end = line[n];

        line[n] = '\0';
        text_make_plain(line);
        fputs(line, stdout);
        if (end)
            putchar('\n');
        line += n + (end != '\0');
    }
    if (!o->plain)
        fputs(text, stdout);
    if (fflush(stdout) != 0)
        return eddis_fail_errno(err, -errno, "cannot write");
    return 0;
}

/* Return -ENOENT for a missing log. If the job does not have this rank, make err say so; otherwise
 * leave err as it is.
 */
static int no_log(const struct job_folder *f, int rank, struct eddis_error *err)
{
    struct job_status s;
    int n;

    if (status_fetch(f, &s, NULL) < 0)
        return -ENOENT;
    n = s.n_workers;
    job_status_fini(&s);
    if (n == 1 && rank > 0)
        return eddis_fail(err, -ENOENT, "there is no rank %d: the job has only rank 0", rank);
    if (n > 0 && rank >= n)
        return eddis_fail(err, -ENOENT, "there is no rank %d: the job has %d, from 0 to %d", rank,
                          n, n - 1);
    return -ENOENT;
}

int status_logs_print(const struct job_folder *f, const struct status_logs *o,
                      struct eddis_error *err)
{
    struct log_answer a = { .rank = o->rank };
    int live = fetch(f, 0, &a, err), rc = live;

    if (rc >= 0)
        rc = print(o, (char *)(uintptr_t)last_lines(a.text, o->lines), err);
    /* When the driver is gone, read what is left, which may be more than one answer. */
    while (rc >= 0 && o->follow && (live == 1 || *a.text)) {
        int64_t after = a.end;

        free(a.text);
        a.text = NULL;
        if (live == 1)
            clock_sleep_until_ns(clock_now_ns() + o->interval_ns);
        rc = live = fetch(f, after > 0 ? after : 0, &a, err);
        if (rc >= 0)
            rc = print(o, a.text, err);
    }
    free(a.text);
    if (rc == -ENOENT)
        return no_log(f, o->rank, err);
    return rc < 0 ? rc : 0;
}
