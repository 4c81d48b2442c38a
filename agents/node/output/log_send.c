/* SPDX-License-Identifier: Apache-2.0 */
/* log_send.c - reads logs in chunks, as the driver asks for them */
#include "log_send.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A range of the text to send: bytes of a file, or a line that eddis inserts. */
struct part {
    const char *path; /* borrowed from the request; NULL: the line in text */
    char text[1024];
    int64_t from, n; /* range of the file: first byte and number of bytes; n: also length of text */
};

enum { PARTS = 8 };

/* A request for a log, and its progress. */
struct request {
    struct log_request w;
    struct part part[PARTS];
    int n_parts, at;      /* number of parts; index of the part being sent */
    int64_t done;         /* bytes of that part taken so far */
    int64_t offset, end;  /* offset of the next chunk in the whole text; end of that text */
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

/* Free a request and its paths. */
static void free_request(struct request *w)
{
    for (int i = 0; i < 3; i++)
        free(w->w.paths[i]);
    free(w);
}

void log_send_close(struct log_send *s)
{
    for (int i = 0; s && i < s->n; i++) {
        struct request *w = s->request[i];
        bool remove = w->w.remove && w->arrived && !w->partly && !w->error;

        for (int k = 0; k < 3 && remove && w->w.paths[k]; k++)
            (void)unlink(w->w.paths[k]);
        free_request(w);
    }
    free(s);
}

int log_send_add_take(struct log_send *s, const struct log_request *request,
                      struct eddis_error *err)
{
    struct request *w = calloc(1, sizeof *w), copy = { .w = *request };
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
        for (int i = 0; i < 3; i++)
            free(copy.w.paths[i]);
        free(w);
        return rc;
    }
    *w = copy;
    s->request[s->n++] = w;
    return 0;
}

/* ---- the parts of a text ---- */

/* Append n bytes of a file from offset `from` to the parts to send; do nothing if n <= 0 or PARTS
 * are used.
 */
static void add_part(struct request *w, const char *path, int64_t from, int64_t n)
{
    if (n > 0 && w->n_parts < PARTS)
        w->part[w->n_parts++] = (struct part){ .path = path, .from = from, .n = n };
}

/* Append the bytes from..to of the whole text to the parts to send.  The whole text is the three
 * files of these sizes, one after the other.
 */
static void add_range(struct request *w, const int64_t *size, int64_t from, int64_t to)
{
    int64_t begin = 0;

    for (int i = 0; i < 3; i++) {
        int64_t first = from > begin ? from : begin;
        int64_t last = to < begin + size[i] ? to : begin + size[i];

        add_part(w, w->w.paths[i], first - begin, last - first);
        begin += size[i];
    }
}

/* Measure the files of a request and choose the parts to send: all bytes from the requested offset
 * on (negative: counted from the end).  If they exceed LOG_SEND_MOST, choose the first and last of
 * them, with a line of eddis between.  If no file exists, set w->error.
 */
static void begin(struct request *w)
{
    int64_t size[3] = { 0 }, from = w->w.offset, all = 0;
    int found = 0;

    w->begun = true;
    for (int i = 0; i < 3 && w->w.paths[i]; i++) {
        struct stat st;

        if (stat(w->w.paths[i], &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        size[i] = st.st_size;
        all += st.st_size;
        found++;
    }
    w->error = found ? 0 : -ENOENT;
    w->end = all;
    from = from < 0 ? (all + from > 0 ? all + from : 0) : from < all ? from : all;
    w->offset = from;
    if (all - from <= LOG_SEND_MOST) {
        add_range(w, size, from, all);
        return;
    }
    w->partly = true;
    add_range(w, size, from, from + LOG_SEND_MOST / 2);
    if (w->n_parts < PARTS) {
        struct part *p = &w->part[w->n_parts++];

        p->n = snprintf(p->text, sizeof p->text,
                        "\n[eddis: %lld bytes are left out here; they are in %.900s]\n",
                        (long long)(all - from - LOG_SEND_MOST), w->w.paths[0]);
        p->n = p->n < (int64_t)sizeof p->text ? p->n : (int64_t)sizeof p->text - 1;
    }
    add_range(w, size, all - LOG_SEND_MOST / 2, all);
}

/* Read up to n bytes of a part, from its byte `at`, into `to`.  Return the number of bytes read; 0:
 * the file has shrunk or cannot be read.
 */
static size_t read_part(const struct part *p, int64_t at, char *to, size_t n)
{
    cleanup_fd int fd = -1;
    size_t got = 0;
    ssize_t some;

    if (!p->path) {
        memcpy(to, p->text + at, n);
        return n;
    }
    fd = open(p->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && got < n &&
           (some = pread(fd, to + got, n - got, p->from + at + (int64_t)got)) > 0)
        got += (size_t)some;
    return got;
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
            s->at++;
            continue;
        }
        p = &w->part[w->at];
        left = p->n - w->done;
        n = left < LOG_SEND_PIECE ? (size_t)left : LOG_SEND_PIECE;
        text = malloc(n + 1);
        if (!text)
            return 0;
        got = read_part(p, w->done, text, n);
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
        *ret = (struct log_chunk){ .rank = w->w.rank, .offset = w->offset, .text = text };
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
