/* SPDX-License-Identifier: Apache-2.0 */
/* log_fetch.c - keep the list of logs to fetch, and assemble their chunks into files */
#include "log_fetch.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What has arrived of a log.  LOG_WHOLE: everything.  LOG_CUT: all but the middle, which the agent
 * left out.  LOG_PART: not the end.  LOG_NONE: the agent has no such log.
 */
enum log_state { LOG_WANTED, LOG_UNDER_WAY, LOG_WHOLE, LOG_CUT, LOG_PART, LOG_NONE };

/* One log of the list. */
struct log {
    struct log_fetch_log id;
    enum log_state state;
    int64_t order; /* number of the order for it; 0: none yet */
    int64_t bytes; /* bytes accepted so far */
    char *path;    /* temporary file; NULL before the first chunk */
};

/* The list of logs to fetch. */
struct log_fetch {
    char *dir;
    struct log *log; /* [n] */
    int n;
    struct eddis_error trouble; /* the first write error */
};

struct log_fetch *log_fetch_new(const char *dir)
{
    struct log_fetch *f = calloc(1, sizeof *f);

    if (f)
        f->dir = strdup(dir);
    if (f && f->dir)
        return f;
    free(f);
    return NULL;
}

void log_fetch_free(struct log_fetch *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->n; i++)
        free(f->log[i].path);
    free(f->log);
    free(f->dir);
    free(f);
}

void log_fetch_remove(struct log_fetch *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->log[i].path)
            (void)unlink(f->log[i].path);
}

int log_fetch_add(struct log_fetch *f, const struct log_fetch_log *l, struct eddis_error *err)
{
    struct log *more;

    for (int i = 0; i < f->n; i++)
        if (f->log[i].id.agent == l->agent && f->log[i].id.rank == l->rank &&
            f->log[i].id.generation == l->generation)
            return 0;
    more = realloc(f->log, (size_t)(f->n + 1) * sizeof *more);
    if (!more)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    f->log = more;
    f->log[f->n++] = (struct log){ .id = *l };
    return 0;
}

/* Return the agent's log that is being transferred, borrowed; NULL: none. */
static struct log *under_way(struct log_fetch *f, int agent)
{
    for (int i = 0; i < f->n; i++)
        if (f->log[i].id.agent == agent && f->log[i].state == LOG_UNDER_WAY)
            return &f->log[i];
    return NULL;
}

bool log_fetch_next(struct log_fetch *f, int agent, struct log_fetch_log *ret)
{
    if (under_way(f, agent))
        return false;
    for (int i = 0; i < f->n; i++)
        if (f->log[i].id.agent == agent && f->log[i].state == LOG_WANTED) {
            f->log[i].state = LOG_UNDER_WAY;
            *ret = f->log[i].id;
            return true;
        }
    return false;
}

void log_fetch_ordered(struct log_fetch *f, int agent, int64_t order)
{
    struct log *l = under_way(f, agent);

    if (l)
        l->order = order;
}

int log_fetch_chunk(struct log_fetch *f, int agent, const struct log_chunk *p,
                    struct log_fetch_write *ret, struct eddis_error *err)
{
    struct log *l = under_way(f, agent);
    size_t n = strlen(p->text);
    bool first = l && !l->path;

    if (!l || l->order != p->order || l->id.rank != p->rank || p->offset != l->bytes ||
        l->bytes + (int64_t)n > LOG_FETCH_MOST)
        return eddis_fail(err, -EINVAL, "the agent sent a part of a log that was not requested");
    if (first)
        l->path = file_join(f->dir, ".fetched-%d", (int)(l - f->log));
    *ret = (struct log_fetch_write){ l->path ? strdup(l->path) : NULL, p->text, first };
    if (!ret->path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    l->bytes += (int64_t)n;
    return 0;
}

int log_fetch_write(const struct log_fetch_write *w, struct eddis_error *err)
{
    if (w->first)
        (void)unlink(w->path);
    return file_append(w->path, w->text, strlen(w->text), 0600, err);
}

void log_fetch_failed(struct log_fetch *f, int agent, const struct eddis_error *why)
{
    struct log *l = under_way(f, agent);

    if (l)
        l->state = LOG_PART;
    f->trouble = f->trouble.code ? f->trouble : *why;
}

bool log_fetch_done(struct log_fetch *f, int agent, int64_t order, int64_t end, bool whole)
{
    struct log *l = under_way(f, agent);

    if (!l || l->order != order)
        return false;
    if (end < 0)
        l->state = LOG_NONE;
    else if (end != l->bytes)
        l->state = LOG_PART;
    else
        l->state = whole ? LOG_WHOLE : LOG_CUT;
    return true;
}

void log_fetch_give_up(struct log_fetch *f, int agent)
{
    for (int i = 0; i < f->n; i++) {
        struct log *l = &f->log[i];

        if ((agent < 0 || l->id.agent == agent) &&
            (l->state == LOG_WANTED || l->state == LOG_UNDER_WAY))
            l->state = LOG_PART;
    }
}

bool log_fetch_is_done(const struct log_fetch *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->log[i].state == LOG_WANTED || f->log[i].state == LOG_UNDER_WAY)
            return false;
    return true;
}

/* ---- the end ---- */

/* Return the final path of a log's file, for the caller to free: rank-NNNN.log, agent-HOST.log or
 * mpirun-HOST.log; NULL: no memory.  Several logs of a rank share one file.
 */
static char *name_of(const struct log_fetch *f, const struct log *l, const char *host)
{
    char own[32];

    if (l->id.rank >= 0)
        return file_join(f->dir, "rank-%04d.log", l->id.rank);
    if (!text_is_name(host, 200)) {
        (void)snprintf(own, sizeof own, "%d", l->id.agent);
        host = own;
    }
    return file_join(f->dir, "%s-%s.log", l->id.rank == -1 ? "agent" : "mpirun", host);
}

/* Check whether the list has another log of the same rank. */
static bool is_one_of_several(const struct log_fetch *f, const struct log *l)
{
    for (int i = 0; i < f->n; i++)
        if (&f->log[i] != l && f->log[i].id.rank == l->id.rank && l->id.rank >= 0)
            return true;
    return false;
}

/* Append the contents of a file to the descriptor `to`.  Return 0 or a negative error. */
static int copy(const char *from, int to, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read(from, LOG_FETCH_MOST, &text, &n, err);

    return rc < 0 ? rc : file_write_all(to, text, n, err);
}

/* Append a log to the file at path, after a line that names the log's generation and node.  Return
 * 0, or a negative error with the file's old size restored.
 */
static int append_to(const char *path, const struct log *l, const char *host,
                     struct eddis_error *err)
{
    cleanup_fd int fd = file_open_append(path, 0600, err);
    char line[400];
    struct stat st;
    int rc;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", path);
    (void)snprintf(line, sizeof line, "[eddis: start %lld, on %.200s]\n",
                   (long long)l->id.generation, host);
    rc = file_write_all(fd, line, strlen(line), err);
    if (rc >= 0 && l->path)
        rc = copy(l->path, fd, err);
    if (rc < 0)
        (void)!ftruncate(fd, st.st_size);
    return rc < 0 ? eddis_fail_prefix(err, rc, "'%s'", path) : 0;
}

/* Free a string and set it to NULL. */
static void drop(char **text)
{
    free(*text);
    *text = NULL;
}

/* Move a fetched log to its final name, and delete its temporary file.  Append it instead if the
 * rank has several logs or the file exists (ranks may have written it); if there is no room for a
 * copy, rename it to a file of its own.  Mark a truncated log at its end.  Return 0 or a negative
 * error.
 */
static int place(const struct log_fetch *f, struct log *l, const char *host,
                 struct eddis_error *err)
{
    cleanup_free char *path = name_of(f, l, host), *own = NULL;
    char line[400];
    struct stat st;
    int rc = 0;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (is_one_of_several(f, l) || (lstat(path, &st) == 0 && st.st_size)) {
        rc = append_to(path, l, host, err);
        own = file_join(f->dir, "rank-%04d.g%lld.log", l->id.rank, (long long)l->id.generation);
        if (rc < 0 && l->path && l->id.rank >= 0 && own && rename(l->path, own) == 0)
            rc = 0;
        else
            drop(&own);
    } else if (l->path && rename(l->path, path) < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot write '%s'", path);
    }
    if (l->path)
        (void)unlink(l->path); /* frees disk space for the next one */
    drop(&l->path);
    if (rc < 0 || l->state != LOG_PART)
        return rc;
    (void)snprintf(line, sizeof line, "\n[eddis: the rest of this log is on %.200s]\n", host);
    return file_mark_end(own ? own : path, line, err);
}

/* Check whether the log of a rank is missing or incomplete; false for a log of an agent or mpirun.
 */
static bool is_missing(const struct log *l)
{
    return l->id.rank >= 0 && (l->state == LOG_PART || l->state == LOG_CUT);
}

int log_fetch_finish(struct log_fetch *f, char (*host)[256], struct eddis_error *err)
{
    int missing = 0;

    for (int i = 0; i < f->n; i++) {
        struct log *l = &f->log[i];

        if (l->state == LOG_NONE || (l->state == LOG_PART && !l->path && l->id.rank < 0))
            continue;
        if (place(f, l, host[l->id.agent], &f->trouble) < 0)
            l->state = LOG_PART;
        missing += is_missing(l);
    }
    if (f->trouble.code && err)
        *err = f->trouble;
    return missing;
}

bool log_fetch_missing(const struct log_fetch *f, int *at, struct log_fetch_log *ret)
{
    while (*at < f->n) {
        const struct log *l = &f->log[(*at)++];

        if (is_missing(l)) {
            *ret = l->id;
            return true;
        }
    }
    return false;
}
