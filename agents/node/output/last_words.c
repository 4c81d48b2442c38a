/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.c - finds tracebacks, and errors of collective operations that another rank caused */
#include "last_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of libraries' own messages that hardly any other message has. */
static const char *const sentences[] = {
    /* gloo: the other end of a connection is gone */
    "gloo/transport/tcp/",
    "Gloo connectFullMesh failed",
    /* PyTorch's store, which rank 0 serves, and its watchdog over NCCL */
    "ailed to recv, got 0 bytes",
    "sendBytes failed on ",
    "recvValue failed on ",
    "recvValueWithTimeout failed on ",
    "DistNetworkError: Broken pipe",
    "DistNetworkError: Connection reset by peer",
    "The client socket has timed out after ",
    "Connection was likely closed. Did the remote server shutdown or crash?",
    "Watchdog caught collective operation timeout",
    /* NCCL */
    "ncclRemoteError",
    "remote process exited or there was a network error",
    "NCCL communicator was aborted",
    "likely connection closed by remote peer",
    "Connection closed by remote peer",
    /* MPI */
    "MPI_ERR_PROC_FAILED",
    "MPI_ERR_REVOKED",
    "mca_btl_tcp_frag_recv: readv failed",
    "mca_btl_tcp_frag_send: writev failed",
    "An MPI communication peer process has unexpectedly disconnected",
    "Connection reset by remote peer",
    "mca_btl_tcp_endpoint_recv_blocking",
    /* Horovod */
    "HorovodInternalError",
    /* libeddis: the rank that left says why itself, or says nothing */
    " has left in the middle of a",
    /* libeddis: the rank with the differing model fails with another sentence */
    " is not that of the other workers",
};

enum {
    BEHIND = 10, /* lines after a traceback that may belong to the same end */
    ENDING = 40, /* last lines that may show why a program ended */
};

/* First line of a Python traceback. */
static const char begins[] = "Traceback (most recent call last):";

/* ---- lines ---- */

/* Return the start of the line that contains offset at. */
static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* Return the end of the line that contains offset at, newline excluded. */
static size_t line_end(const char *text, size_t n, size_t at)
{
    const char *end = memchr(text + at, '\n', n - at);

    return end ? (size_t)(end - text) : n;
}

/* Check whether text [n] contains a word. */
static bool holds(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Return the length of the "[rank1]: " that PyTorch's excepthook puts before each line; 0: none. */
static size_t prefix_of(const char *line, size_t n)
{
    size_t i = 5;

    if (n < 9 || memcmp(line, "[rank", 5) != 0)
        return 0;
    while (i < n && isdigit((unsigned char)line[i]))
        i++;
    return i + 3 <= n && memcmp(line + i, "]: ", 3) == 0 ? i + 3 : 0;
}

/* Return the length of what a line has before its text: the prefix of prefix_of and, in an
 * exception group, blanks and the bar "| ".  Without a bar the blanks do not count.
 */
static size_t bar_of(const char *line, size_t n)
{
    size_t at = prefix_of(line, n), i = at;

    while (i < n && line[i] == ' ')
        i++;
    return i + 2 <= n && memcmp(line + i, "| ", 2) == 0 ? i + 2 : at;
}

/* Return the number of blanks after the prefix and bar of a line. */
static size_t indent(const char *line, size_t n)
{
    size_t skip = bar_of(line, n), i = skip;

    while (i < n && line[i] == ' ')
        i++;
    return i - skip;
}

/* Check whether a line has a word at offset at. */
static bool starts(const char *line, size_t n, size_t at, const char *word)
{
    size_t len = strlen(word);

    return n >= at + len && memcmp(line + at, word, len) == 0;
}

/* Check whether a line is one of the C++ stack frames that libraries append, in tens of lines. */
static bool is_of_cxx(const char *line, size_t n)
{
    return starts(line, n, prefix_of(line, n), "frame #");
}

/* ---- tracebacks ---- */

/* Check whether a line begins a traceback, of an exception or of an exception group. */
static bool begins_traceback(const char *line, size_t n)
{
    size_t skip = prefix_of(line, n), i = skip;

    if (starts(line, n, skip, begins))
        return true;
    while (i < n && (line[i] == ' ' || line[i] == '+'))
        i++;
    return i > skip && starts(line, n, i, "Exception Group ") &&
           starts(line, n, i + strlen("Exception Group "), begins);
}

/* Check whether a line is Python's sentence between an exception and the one that it caused. */
static bool is_chain(const char *line, size_t n)
{
    size_t skip = prefix_of(line, n);

    return starts(line, n, skip, "The above exception was the direct cause of the following") ||
           starts(line, n, skip, "During handling of the above exception, another exception");
}

/* Return the number of lines from offset at that are neither empty nor C++ stack frames. */
static int count_lines(const char *text, size_t n, size_t at)
{
    int lines = 0;

    for (size_t end; at < n; at = end + 1) {
        end = line_end(text, n, at);
        lines += end > at && !is_of_cxx(text + at, end - at);
    }
    return lines;
}

/* Return the offset after the first line of the exception that ends the traceback at offset at. */
static size_t traceback_end(const char *text, size_t n, size_t at)
{
    size_t end = line_end(text, n, at);

    for (at = end + 1; at < n; at = end + 1) {
        end = line_end(text, n, at);
        if (end > at && indent(text + at, end - at) == 0 &&
            bar_of(text + at, end - at) == prefix_of(text + at, end - at))
            return end + 1;
    }
    return n;
}

/* Return the offset of the last traceback, including those of its causes. n: there is none, or the
 * program continued after it and printed more than belongs to its end.
 */
static size_t last_traceback(const char *text, size_t n)
{
    size_t found = n, last = n;
    bool chained = false;

    for (size_t at = 0, end; at < n; at = end + 1) {
        end = line_end(text, n, at);
        if (begins_traceback(text + at, end - at)) {
            found = chained ? found : at;
            last = at;
            chained = false;
        } else if (is_chain(text + at, end - at)) {
            chained = true;
        }
    }
    if (last < n && count_lines(text, n, traceback_end(text, n, last)) > BEHIND)
        return n;
    return found;
}

/* Check whether a line names a frame of a traceback. */
static bool is_frame(const char *line, size_t n)
{
    return indent(line, n) == 2 && holds(line, n, "File \"");
}

/* Check whether a line names a file of Python's own: ".../lib/python3.11/...", but not
 * lib/python_tools.
 */
static bool is_of_python(const char *line, size_t n)
{
    static const char folder[] = "/lib/python";
    const char *at = memmem(line, n, folder, sizeof folder - 1);
    size_t i = at ? (size_t)(at - line) + sizeof folder - 1 : n;

    return i < n && isdigit((unsigned char)line[i]);
}

/* Check whether a line names a file of Python's own or of an installed package. */
static bool is_of_library(const char *line, size_t n)
{
    return holds(line, n, "/site-packages/") || holds(line, n, "/dist-packages/") ||
           is_of_python(line, n) || holds(line, n, "\"<frozen ");
}

/* Chosen lines [n], owned, and the number of frames among them. */
struct choice {
    struct last_line *line;
    int n, frames;
};

/* Return all lines from offset at, or if users, without frames of libraries. line NULL: no memory.
 */
static struct choice lines_of(const char *text, size_t n, size_t at, bool users)
{
    struct choice c = { .line = calloc(n - at + 1, sizeof *c.line) };
    bool skipping = false;

    while (c.line && at < n) {
        size_t end = line_end(text, n, at);

        if (is_frame(text + at, end - at)) {
            skipping = users && is_of_library(text + at, end - at);
            c.frames += !skipping;
        } else if (indent(text + at, end - at) < 4) {
            skipping = users && is_of_cxx(text + at, end - at);
        }
        if (!skipping && end > at)
            c.line[c.n++] = (struct last_line){ at, end };
        at = end + 1;
    }
    return c;
}

/* Write at most `most` of the chosen lines to ret: the first half and the last.  Return their
 * number.
 */
static int cut(const struct choice *c, int most, struct last_line *ret)
{
    int head = c->n > most ? most / 2 : c->n;

    for (int i = 0; i < most && i < c->n; i++)
        ret[i] = c->line[i < head ? i : c->n - most + i];
    return c->n < most ? c->n : most;
}

/* Write the lines to show of a traceback to ret [most].  If there are too many, leave out frames of
 * libraries, unless no frame would be left.  Return their number.
 */
static int choose_traceback(const char *text, size_t n, size_t at, int most, struct last_line *ret)
{
    struct choice c = lines_of(text, n, at, false), users;
    int chosen;

    if (c.n > most) {
        users = lines_of(text, n, at, true);
        if (users.frames > 0) { /* else no location would be left */
            free(c.line);
            c = users;
        } else {
            free(users.line);
        }
    }
    chosen = cut(&c, most, ret);
    free(c.line);
    return chosen;
}

int last_words_choose(const char *text, size_t n, int most, struct last_line *ret)
{
    size_t at = last_traceback(text, n);

    return at < n ? choose_traceback(text, n, at, most, ret) : last_words_tail(text, n, most, ret);
}

int last_words_tail(const char *text, size_t n, int most, struct last_line *ret)
{
    int k = 0;

    for (size_t at = n; at > 0 && k < most;) {
        size_t from = line_start(text, at);

        if (from < at)
            ret[most - ++k] = (struct last_line){ from, at };
        at = from > 0 ? from - 1 : 0;
    }
    memmove(ret, ret + most - k, (size_t)k * sizeof *ret);
    return k;
}

/* Return the offset of the last ENDING lines, which may show the cause of the end. */
static size_t last_lines(const char *text, size_t n)
{
    size_t at = n;

    for (int lines = 0; at > 0 && lines < ENDING;) {
        size_t end = at - (text[at - 1] == '\n'), from = line_start(text, end);

        lines += end > from && !is_of_cxx(text + from, end - from);
        at = from;
    }
    return at;
}

bool last_words_blame_another(const char *text, size_t n)
{
    size_t at = last_traceback(text, n);

    at = at < n ? at : last_lines(text, n);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (holds(text + at, n - at, sentences[i]))
            return true;
    return false;
}

/* Return the length of "[host:pid] ", or UCX's "[host:pid:0:thread] ", at the start of a line; 0:
 * it has none. host: this machine's name up to its first dot.
 */
static size_t mpi_prefix(const char *line, const char *host)
{
    size_t n = strlen(host), skip, digits;

    if (n == 0 || line[0] != '[' || strncmp(line + 1, host, n) != 0)
        return 0;
    skip = 1 + n + (line[1 + n] == '.' ? strcspn(line + 1 + n, ":]\n ") : 0);
    if (line[skip] != ':')
        return 0;
    digits = strspn(line + skip + 1, "0123456789:");
    return digits && strncmp(line + skip + 1 + digits, "] ", 2) == 0 ? skip + digits + 3 : 0;
}

bool last_words_are_of_mpi(const char *text, const char *host)
{
    const char *line = text;
    char own[256];

    (void)snprintf(own, sizeof own, "%.*s", (int)strcspn(host, "."), host);
    for (; *line; line += *line == '\n') {
        if (*line != '\n' && !mpi_prefix(line, own))
            return false;
        line += strcspn(line, "\n");
    }
    return line != text;
}
