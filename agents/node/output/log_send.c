/* SPDX-License-Identifier: Apache-2.0 */
/* log_send.c - reads logs in chunks, as the driver asks for them */
#include "log_send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A part of the text to send: a range of the log, or a line that eddis inserts. */
struct part {
    bool line; /* a line of eddis, in text */
    char text[1024];
    int64_t from, n; /* range of the log: first byte and number of bytes; n: also length of text */
};

enum { PARTS = 3 };

/* A request for a log, and its progress. */
struct request {
    struct log_request w;
    struct log_files files; /* open from begin() until all chunks were taken */
    struct part part[PARTS];
    int n_parts, at;      /* number of parts; index of the part being sent */
    int64_t done;         /* bytes of that part taken so far */
    int64_t offset;       /* offset of the next chunk in the whole text */
    bool begun, ended;    /* the parts were chosen; all chunks were taken */
    bool reported;        /* log_send_done has returned it */
    bool arrived, partly; /* all chunks have arrived; some bytes were left out or rejected */
    int error;            /* negative errno: no file could be read; 0: none */
};

struct log_send {
    struct request *request[LOG_SEND_REQUESTS];
    int n, at;     /* number of requests; index of the request being sent */
    int n_arrived; /* requests before this index have arrived or failed */
};

struct log_send *log_send_new(void)
{
    return calloc(1, sizeof(struct log_send));
}

/* Close the files of a request, and free it and its paths. */
static void free_request(struct request *w)
{
    log_files_close(&w->files);
    log_files_free_paths(w->w.paths);
    free(w);
}

void log_send_close(struct log_send *s)
{
    for (int i = 0; s && i < s->n; i++) {
        struct request *w = s->request[i];
        bool remove = w->w.remove && w->arrived && !w->partly && !w->error;

        for (int k = 0; k < LOG_FILES && remove && w->w.paths[k]; k++)
            (void)unlink(w->w.paths[k]);
        free_request(w);
    }
    free(s);
}

int log_send_add_take(struct log_send *s, const struct log_request *request,
                      struct eddis_error *err)
{
    struct request *w = calloc(1, sizeof *w), copy = { .w = *request, .files = LOG_FILES_NONE };
    int rc = 0;

    /* To make room, drop finished requests that remove no files, such as those of users who read a
     * log.
     */
    for (int i = 0; w && s->n == LOG_SEND_REQUESTS && i < s->n_arrived; i++)
        if (!s->request[i]->w.remove && s->request[i]->reported) {
            free_request(s->request[i]);
            memmove(&s->request[i], &s->request[i + 1],
                    (size_t)(s->n - i - 1) * sizeof *s->request);
            s->n--;
            s->at--;
            s->n_arrived--;
        }
    if (!w)
        rc = eddis_fail(err, -ENOMEM, "no memory for a log");
    else if (s->n == LOG_SEND_REQUESTS)
        rc = eddis_fail(err, -EBUSY, "%d logs are already being sent", s->n);
    if (rc < 0) {
        log_files_free_paths(copy.w.paths);
        free(w);
        return rc;
    }
    *w = copy;
    s->request[s->n++] = w;
    return 0;
}

/* ---- the parts of a text ---- */

/* Append the bytes from..to of the log to the parts to send, if there are any. */
static void add_range(struct request *w, int64_t from, int64_t to)
{
    if (to > from)
        w->part[w->n_parts++] = (struct part){ .from = from, .n = to - from };
}

/* Open the files of a request and choose the parts to send: all bytes from the requested offset on,
 * as in log_files_from.  If they exceed LOG_SEND_MOST, choose the first and last of them, with a
 * line of eddis between.  If no file can be opened, set w->error.
 */
static void begin(struct request *w)
{
    int64_t from, all;
    struct part *p;

    w->begun = true;
    w->error = log_files_open(w->w.paths, w->w.offset == 0, &w->files, NULL);
    if (w->error)
        return;
    all = w->files.end;
    from = log_files_from(&w->files, w->w.offset);
    w->offset = from;
    if (all - from <= LOG_SEND_MOST) {
        add_range(w, from, all);
        return;
    }
    w->partly = true;
    add_range(w, from, from + LOG_SEND_MOST / 2);
    p = &w->part[w->n_parts++];
    p->line = true;
    p->n = snprintf(p->text, sizeof p->text,
                    "\n[eddis: %lld bytes are left out here; they are in %.900s]\n",
                    (long long)(all - from - LOG_SEND_MOST), w->w.paths[0]);
    p->n = p->n < (int64_t)sizeof p->text ? p->n : (int64_t)sizeof p->text - 1;
    add_range(w, all - LOG_SEND_MOST / 2, all);
}

/* Read up to n bytes of a part, from its byte `at`, into `to`.  Return the number of bytes read; 0:
 * a file has shrunk or cannot be read.
 */
static size_t read_part(const struct request *w, const struct part *p, int64_t at, char *to,
                        size_t n)
{
    ssize_t got;

    if (p->line) {
        memcpy(to, p->text + at, n);
        return n;
    }
    got = log_files_read(&w->files, p->from + at, to, n);
    return got > 0 ? (size_t)got : 0;
}

/* Return the largest length up to n at which text can be cut without dividing a UTF-8 character,
 * whose parts would be sent as hexadecimal digits.
 */
static size_t whole_characters(const char *text, size_t n)
{
    size_t back = 0;

    while (back < 4 && back < n && (text[n - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back < n && (unsigned char)text[n - 1 - back] >= 0xc0)
        back++;
    return back < n ? n - back : n;
}

bool log_send_busy(const struct log_send *s)
{
    return s->at < s->n;
}

int log_send_next(struct log_send *s, struct log_chunk *ret)
{
    while (s->at < s->n) {
        struct request *w = s->request[s->at];
        struct part *p;
        int64_t left;
        size_t n, got;
        char *text;

        if (!w->begun)
            begin(w);
        if (w->at == w->n_parts) {
            w->ended = true;
            log_files_close(&w->files);
            s->at++;
            continue;
        }
        p = &w->part[w->at];
        left = p->n - w->done;
        n = left < LOG_SEND_PIECE ? (size_t)left : LOG_SEND_PIECE;
        text = malloc(n + 1);
        if (!text)
            return 0;
        got = read_part(w, p, w->done, text, n);
        if (got == n && (int64_t)n < left)
            got = whole_characters(text, n);
        if (got == 0) {
            w->partly = true;
            w->at++;
            w->done = 0;
            free(text);
            continue;
        }
        for (size_t i = 0; i < got; i++)
            text[i] = text[i] ? text[i] : '?';
        text[got] = '\0';
        *ret = (struct log_chunk){
            .rank = w->w.rank, .order = w->w.order, .offset = w->offset, .text = text
        };
        w->offset += (int64_t)got;
        w->done += (int64_t)got;
        if (w->done >= p->n) {
            w->at++;
            w->done = 0;
        }
        return 1;
    }
    return 0;
}

void log_send_arrived(struct log_send *s, bool refused)
{
    for (int i = s->n_arrived; i < s->n && i <= s->at; i++) {
        struct request *w = s->request[i];

        if (refused && w->begun) { /* the driver wants no more of this log */
            w->partly = true;
            w->at = w->n_parts;
        }
        if (w->ended) {
            w->arrived = true;
            s->n_arrived = i + 1;
        }
    }
}

int log_send_done(struct log_send *s, struct log_sent *ret)
{
    for (int i = 0; i < s->at; i++) {
        struct request *w = s->request[i];

        if (w->reported || !w->ended)
            continue;
        w->reported = true;
        *ret = (struct log_sent){ .rank = w->w.rank,
                                  .order = w->w.order,
                                  .generation = w->w.generation,
                                  .end = w->error ? -1 : w->offset };
        if (w->error)
            (void)snprintf(ret->text, sizeof ret->text, "there is no file '%.400s'",
                           w->w.paths[0] ? w->w.paths[0] : "");
        else if (w->partly)
            (void)snprintf(ret->text, sizeof ret->text, "all of it is in '%.400s'", w->w.paths[0]);
        return 1;
    }
    return 0;
}
