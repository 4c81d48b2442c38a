/* SPDX-License-Identifier: Apache-2.0 */
/* status_fetch.c - gets a job's status from its driver, or from the files in its folder */
#include "status_fetch.h"

#include "driver_socket.h"
#include "job_event.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/job/job_read.h"
#include "lib/model/job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SUMMARY = 64 << 20, TAIL = 64 << 10 }; /* bytes that are read */

static const int64_t ask_ns = 5 * CLOCK_S;   /* time limit for the driver's answer */
static const int64_t birth_ns = 2 * CLOCK_S; /* time limit for a driver that is still starting */

/* Read the last TAIL bytes of a file, and bytes that are appended meanwhile, into *ret,
 * NUL-terminated, which the caller frees.  Store their number in *ret_n.  Return 0 or a negative
 * errno.
 */
static int read_tail(const char *path, char **ret, size_t *ret_n, struct eddis_error *err)
{
    off_t size;
    cleanup_fd int fd = file_open_regular(path, SIZE_MAX, &size, err);

    if (fd < 0)
        return fd;
    if (size > TAIL && lseek(fd, size - TAIL, SEEK_SET) < 0)
        return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
    /* The file may grow meanwhile, by complete lines. */
    return file_read_fd(fd, path, 2 * TAIL, ret, ret_n, err);
}

/* Copy the rows of the workers of an older line to ret, for workers that have no row in ret yet.
 * Grow ret's table as needed; rank -1 marks a missing row.  Return 0 or -ENOMEM.
 */
static int take_rows(struct job_status *line, struct job_status *ret)
{
    for (int i = 0; i < line->n_workers; i++) {
        struct worker_status *row = &line->worker[i], *grown;

        if (row->rank < 0 || row->rank >= STATUS_MAX_WORKERS)
            continue;
        if (row->rank >= ret->n_workers) {
            grown = realloc(ret->worker, ((size_t)row->rank + 1) * sizeof *grown);
            if (!grown)
                return -ENOMEM;
            ret->worker = grown;
            while (ret->n_workers <= row->rank)
                grown[ret->n_workers++].rank = -1;
        }
        if (ret->worker[row->rank].rank < 0)
            ret->worker[row->rank] = *row;
    }
    return 0;
}

/* Remove the missing rows (rank -1) from the table of workers. */
static void drop_gaps(struct job_status *s)
{
    int n = 0;

    for (int i = 0; i < s->n_workers; i++)
        if (s->worker[i].rank >= 0)
            s->worker[n++] = s->worker[i];
    s->n_workers = n;
}

/* Replace ret's table of workers by the newest row of each worker in the n bytes of text, whose
 * newest line ret was parsed from.  A line contains only some of the workers, so older lines of the
 * same generation are searched, too.  Return 0 or a negative errno.
 */
static int take_table(const char *text, size_t n, const char *path, struct job_status *ret,
                      struct eddis_error *err)
{
    int rc = job_status_resize(ret, 0, err);

    for (const char *end = memrchr(text, '\n', n); end && rc == 0;) {
        const char *line = memrchr(text, '\n', (size_t)(end - text));
        struct job_status s;

        line = line ? line + 1 : text;
        if (job_status_parse(line, (size_t)(end - line), path, &s, NULL) == 0) {
            if (s.generation != ret->generation)
                line = text; /* the workers of an earlier generation have ended */
            else if (take_rows(&s, ret) < 0)
                rc = eddis_fail(err, -ENOMEM, "no memory for the workers");
            job_status_fini(&s);
        }
        end = line > text ? line - 1 : NULL;
    }
    drop_gaps(ret);
    return rc;
}

/* Parse the newest complete line of metrics.jsonl into *ret; a crash may have left an incomplete
 * line after it. table: fill the table of workers; otherwise leave it empty.  Return 0 or a
 * negative errno; -ENOENT: no file; -ENODATA: no complete line.
 */
static int last_metrics(const struct job_folder *f, bool table, struct job_status *ret,
                        struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, "metrics.jsonl");
    cleanup_free char *text = NULL;
    size_t n;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for metrics");
    rc = read_tail(path, &text, &n, err);
    if (rc < 0)
        return rc;
    for (char *end = memrchr(text, '\n', n); end;) {
        char *line = memrchr(text, '\n', (size_t)(end - text));

        line = line ? line + 1 : text;
        if (job_status_parse(line, (size_t)(end - line), path, ret, err) == 0)
            return table ? take_table(text, (size_t)(end - text) + 1, path, ret, err)
                         : job_status_resize(ret, 0, err);
        end = line > text ? line - 1 : NULL;
    }
    return eddis_fail(err, -ENODATA, "'%s' has no complete line", path);
}

/* Read summary.json in the job's folder into *ret.  Return 0 or a negative errno; -ENOENT: there is
 * none.
 */
static int read_summary(const struct job_folder *f, struct job_status *ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, "summary.json");
    cleanup_free char *text = NULL;
    size_t n;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a summary");
    rc = file_read(path, MAX_SUMMARY, &text, &n, err);
    return rc < 0 ? rc : job_status_parse(text, n, path, ret, err);
}

/* Set the job's id, name and start in *s from the name of its folder, because there are no other
 * files to read.
 */
static void name_it(const struct job_folder *f, struct job_status *s)
{
    int64_t start;

    snprintf(s->job, sizeof s->job, "%s", f->id);
    if (job_folder_parse_id(f->id, s->name, sizeof s->name, &start))
        s->start_s = (double)start;
}

/* Check that the folder belongs to a job: its name is a job id, or it has a job.yaml.  Return 0 or
 * a negative errno; -ENOENT: it does not.
 */
static int check_folder(const struct job_folder *f, struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, "job.yaml");

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (job_folder_parse_id(f->id, NULL, 0, NULL) || access(path, F_OK) == 0)
        return 0;
    return eddis_fail(err, -ENOENT, "'%s' is not a job's folder: there is no job.yaml in it",
                      f->path);
}

/* Set ret->message for a job whose driver is gone without a summary, with how long its workers may
 * still run if job.yaml says so.
 */
static void say_lost(const struct job_folder *f, struct job_status *ret)
{
    cleanup_free char *path = file_join(f->path, "job.yaml");
    struct job *job = NULL;

    (void)snprintf(ret->message, sizeof ret->message,
                   "the driver has ended without writing a summary");
    if (path && job_read(path, &job, NULL) == 0)
        (void)snprintf(ret->message, sizeof ret->message,
                       "the driver has ended without writing a summary; its workers end within the "
                       "rest of its lease (timeouts.lease, %g s)",
                       (double)job->timeouts.lease_ns / CLOCK_S);
    job_free(job);
}

/* Read the job's status from its summary, or else from its metrics, or else from the folder's name.
 * If the summary is missing, a job that has not ended gets the state JOB_LOST if `otherwise` is
 * JOB_LOST, and keeps its state if not. table: fill the table of workers from the metrics.  Return
 * 0 or a negative errno.
 */
static int from_files(const struct job_folder *f, enum job_state otherwise, bool table,
                      struct job_status *ret, struct eddis_error *err)
{
    int rc = read_summary(f, ret, err);

    if (rc != -ENOENT)
        return rc;
    rc = last_metrics(f, table, ret, err);
    if (rc == -ENOENT || rc == -ENODATA) {
        rc = check_folder(f, err);
        if (rc < 0)
            return rc;
        job_status_init(ret);
        name_it(f, ret);
    }
    if (rc < 0)
        return rc;
    /* If the disk was full, the summary of a job that has ended may be missing. */
    if (otherwise == JOB_LOST && ret->state != JOB_ENDED) {
        ret->state = JOB_LOST;
        ret->reason[0] = '\0'; /* the driver's intention; it may not have happened */
        ret->exit_code = -1;
        if (!ret->message[0])
            say_lost(f, ret);
    }
    return 0;
}

int status_from_files(const struct job_folder *f, struct job_status *ret, struct eddis_error *err)
{
    return from_files(f, JOB_LOST, false, ret, err);
}

int status_glance(const struct job_folder *f, struct job_status *ret, struct eddis_error *err)
{
    int rc = job_driver_check(f, NULL);

    return from_files(f, rc == 1 || rc == -EREMOTE ? JOB_STARTING : JOB_LOST, false, ret, err);
}

int status_last(const struct job_folder *f, struct job_status *ret, struct eddis_error *err)
{
    return from_files(f, JOB_STARTING, true, ret, err);
}

int status_driver_stopped(const struct job_driver *d, struct eddis_error *err)
{
    return proctree_state(d->pid) != 'T' ? 0
                                         : eddis_fail(err, -EAGAIN,
                                                      "the job's eddis-run (pid %d) is suspended; "
                                                      "run kill -CONT %d, or fg, to continue it",
                                                      (int)d->pid, (int)d->pid);
}

double status_age_s(const struct job_status *s)
{
    double age_s = (double)clock_wall_ns() / CLOCK_S - s->start_s - s->wall_s;

    return age_s > 0 && isfinite(age_s) ? age_s : 0;
}

/* Ask the driver for the job's status over HTTP and store it in *ret; block for up to ask_ns.
 * Return 0 or a negative errno; -EAGAIN: the driver's process is stopped.
 */
static int ask(const struct job_driver *d, struct job_status *ret, struct eddis_error *err)
{
    struct http_client *c = NULL;
    cleanup_free char *body = NULL;
    size_t n = 0;
    int rc = status_driver_stopped(d, err);

    if (rc == 0)
        rc = driver_socket_dial(d, d->token, &c, err);
    if (rc == 0)
        rc = http_client_call(c, "/v1/job", NULL, ask_ns, &body, &n, err);
    if (rc == 200)
        rc = job_status_parse(body, n, "answer of the driver", ret, err);
    else if (rc >= 0)
        rc = eddis_fail(err, -EPROTO, "the driver answered with HTTP status %d", rc);
    http_client_close(c);
    return rc;
}

/* Read the status from the files of a job whose driver lives but does not answer.  Return 2 with
 * the reason `why` and the status's age in err, or a negative errno if the files cannot be read.
 */
static int in_spite_of(const struct eddis_error *why, const struct job_folder *f,
                       struct job_status *ret, struct eddis_error *err)
{
    int rc = from_files(f, JOB_STARTING, true, ret, err);
    char old[48] = "";

    if (rc == 0 && status_age_s(ret) >= 2)
        (void)snprintf(old, sizeof old, ", %.0f s old", status_age_s(ret));
    if (err && rc == 0)
        eddis_fail(err, why->code, "%.300s; this status is from the job's folder%s", why->text,
                   old);
    return rc < 0 ? rc : 2;
}

int status_fetch(const struct job_folder *f, struct job_status *ret, struct eddis_error *err)
{
    int64_t deadline_ns = clock_now_ns() + birth_ns;
    struct job_driver d;
    struct stat st;
    int rc;

    for (;;) {
        struct eddis_error asked;
        bool answered, young;

        rc = job_driver_read(f, &d, err);
        answered = rc == 1 && ask(&d, ret, &asked) == 0;
        explicit_bzero(&d, sizeof d);
        if (answered)
            return 1;
        if (rc == 1) {
            /* If the driver is gone by now, it has just ended: read the files below. */
            if (job_driver_check(f, NULL) == 1)
                return in_spite_of(&asked, f, ret, err);
        } else if (rc == -EREMOTE) {
            return from_files(f, JOB_STARTING, false, ret, err); /* what that driver wrote */
        } else if (rc < 0 && rc != -ENOENT) {
            return rc;
        }
        rc = status_from_files(f, ret, err);
        young = stat(f->path, &st) == 0 &&
                clock_of_timespec(&st.st_mtim) > clock_wall_ns() - 10 * CLOCK_S;
        /* Retry in the moments between making the folder and driver.json, or between removing that
         * and writing the summary. */
        if (rc < 0 || ret->state != JOB_LOST || !young || clock_now_ns() >= deadline_ns)
            return rc;
        job_status_fini(ret);
        clock_sleep_until_ns(clock_now_ns() + 50 * CLOCK_MS);
    }
}

/* Check whether events.jsonl records the start of a worker. */
static bool had_ranks(const struct job_folder *f)
{
    cleanup_free char *path = file_join(f->path, "events.jsonl");
    cleanup_free char *line = NULL, *word = NULL;
    cleanup_fd int fd = path ? file_open_regular(path, SIZE_MAX, NULL, NULL) : -1;
    cleanup_file FILE *events = fd >= 0 ? fdopen(fd, "r") : NULL;
    size_t room = 0;
    bool found = false;

    if (events)
        (void)cleanup_keep_fd(fd); /* closing events closes it */
    if (asprintf(&word, "\"%s\"", job_event_name(JOB_EVENT_RANK_STARTED)) < 0)
        word = NULL;
    while (events && word && !found && getline(&line, &room, events) > 0)
        found = strstr(line, word) != NULL;
    return found;
}

int status_newest(struct job_folder *ret, struct eddis_error *err)
{
    cleanup_free struct job_folder *list = NULL;
    int n = job_folder_list(&list, err);

    for (int i = n - 1; i >= 0; i--) {
        int alive = job_driver_check(&list[i], NULL);

        if (alive != 1 && alive != -EREMOTE && !had_ranks(&list[i]))
            continue;
        *ret = list[i];
        return 0;
    }
    return n < 0 ? n : job_folder_find(NULL, ret, err);
}
