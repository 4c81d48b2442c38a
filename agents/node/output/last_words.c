/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.c - tracebacks, and the sentences of collective operations that others made fail */
#include "last_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Each stands in the library's own messages, and in few others. */
static const char *const sentences[] = {
    /* gloo: the other end of a connection has gone */
    "gloo/transport/tcp/",
    "Gloo connectFullMesh failed",
    /* PyTorch's store, which rank 0 serves, and its watch over NCCL */
    "failed to recv, got 0 bytes",
    "Connection was likely closed. Did the remote server shutdown or crash?",
    "Watchdog caught collective operation timeout",
    /* NCCL */
    "ncclRemoteError",
    "NCCL communicator was aborted",
    "likely connection closed by remote peer",
    "Connection closed by remote peer",
    /* MPI */
    "MPI_ERR_PROC_FAILED",
    "MPI_ERR_REVOKED",
    "mca_btl_tcp_frag_recv: readv failed",
    "mca_btl_tcp_endpoint_recv_blocking",
    /* Horovod */
    "HorovodInternalError",
};

static const char begins[] = "Traceback (most recent call last):";

/* ---- lines ---- */

static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const char *text, size_t n, size_t at)
{
    const char *end = memchr(text + at, '\n', n - at);

    return end ? (size_t)(end - text) : n;
}

static bool holds(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Whether it is printed by the same rank's excepthook: PyTorch puts "[rank1]: " before each line.
 */
static size_t prefix_of(const char *line, size_t n)
{
    size_t i = 5;

    if (n < 9 || memcmp(line, "[rank", 5) != 0)
        return 0;
    while (i < n && isdigit((unsigned char)line[i]))
        i++;
    return i + 3 <= n && memcmp(line + i, "]: ", 3) == 0 ? i + 3 : 0;
}

static size_t indent(const char *line, size_t n)
{
    size_t skip = prefix_of(line, n), i = skip;

    while (i < n && line[i] == ' ')
        i++;
    return i - skip;
}

/* ---- tracebacks ---- */

/* Where the line of the last traceback begins; n: there is none. */
static size_t last_traceback(const char *text, size_t n)
{
    size_t found = n;

    for (size_t at = 0; at < n; at = line_end(text, n, at) + 1) {
        size_t end = line_end(text, n, at), skip = prefix_of(text + at, end - at);

        if (end - at - skip >= sizeof begins - 1 &&
            memcmp(text + at + skip, begins, sizeof begins - 1) == 0)
            found = at;
    }
    return found;
}

static bool is_frame(const char *line, size_t n)
{
    return indent(line, n) == 2 && holds(line, n, "File \"");
}

static bool is_of_library(const char *line, size_t n)
{
    return holds(line, n, "/site-packages/") || holds(line, n, "/dist-packages/") ||
           holds(line, n, "/lib/python") || holds(line, n, "\"<frozen ");
}

struct choice {
    struct last_line *line;
    int n;
};

/* All lines from at on, or those but the frames of libraries. */
static struct choice lines_of(const char *text, size_t n, size_t at, bool users)
{
    struct choice c = { .line = calloc(n - at + 1, sizeof *c.line) };
    bool skipping = false;

    while (c.line && at < n) {
        size_t end = line_end(text, n, at);

        if (is_frame(text + at, end - at))
            skipping = users && is_of_library(text + at, end - at);
        else if (indent(text + at, end - at) < 4)
            skipping = false;
        if (!skipping && end > at)
            c.line[c.n++] = (struct last_line){ at, end };
        at = end + 1;
    }
    return c;
}

/* The first few, and the last. */
static int cut(const struct choice *c, int most, struct last_line *ret)
{
    int head = c->n > most ? most / 2 : c->n;

    for (int i = 0; i < most && i < c->n; i++)
        ret[i] = c->line[i < head ? i : c->n - most + i];
    return c->n < most ? c->n : most;
}

static int choose_traceback(const char *text, size_t n, size_t at, int most, struct last_line *ret)
{
    struct choice c = lines_of(text, n, at, false);
    int chosen;

    if (c.n > most) {
        free(c.line);
        c = lines_of(text, n, at, true);
    }
    chosen = cut(&c, most, ret);
    free(c.line);
    return chosen;
}

int last_words_choose(const char *text, size_t n, int most, struct last_line *ret)
{
    size_t at = last_traceback(text, n);
    int k = 0;

    if (at < n)
        return choose_traceback(text, n, at, most, ret);
    for (at = n; at > 0 && k < most;) {
        size_t from = line_start(text, at);

        if (from < at)
            ret[most - ++k] = (struct last_line){ from, at };
        at = from > 0 ? from - 1 : 0;
    }
    memmove(ret, ret + most - k, (size_t)k * sizeof *ret);
    return k;
}

bool last_words_blame_another(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (holds(text, n, sentences[i]))
            return true;
    return false;
}
