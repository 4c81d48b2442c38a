/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.c - finds tracebacks, and errors of collective operations that another rank caused */
#include "last_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of libraries' messages of a failed communication, which hardly any other message contains.
 */
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
    BEHIND = 10, /* most lines after a traceback that still belong to the program's end */
    ENDING = 40, /* number of last lines that may show why a program ended */
};

/* First line of a Python traceback. */
static const char begins[] = "Traceback (most recent call last):";

/* ---- lines ---- */

/* Return the offset of the start of the line that contains offset `at`. */
static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* Return the offset of the end, newline excluded, of the line that contains offset `at` of text
 * [n].
 */
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

/* Return the length of the prefix "[rank1]: ", which PyTorch's excepthook puts before each line; 0:
 * none.
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

/* Return the length of what precedes a line's own text: the prefix of prefix_of and, in an
 * exception group, blanks and the bar "| ".  Blanks without a bar do not count.
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

/* Check whether a line of n bytes has a word at offset `at`. */
static bool starts(const char *line, size_t n, size_t at, const char *word)
{
    size_t len = strlen(word);

    return n >= at + len && memcmp(line + at, word, len) == 0;
}

/* Check whether a line is a C++ stack frame. Libraries append tens of them to a message. */
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

/* Check whether a line is Python's sentence between an exception's traceback and the traceback of
 * the exception that it caused.
 */
static bool is_chain(const char *line, size_t n)
{
    size_t skip = prefix_of(line, n);

    return starts(line, n, skip, "The above exception was the direct cause of the following") ||
           starts(line, n, skip, "During handling of the above exception, another exception");
}

/* Return the number of lines of text [n] from offset `at` on that are neither empty nor C++ stack
 * frames.
 */
static int count_lines(const char *text, size_t n, size_t at)
{
    int lines = 0;

    for (size_t end; at < n; at = end + 1) {
        end = line_end(text, n, at);
        lines += end > at && !is_of_cxx(text + at, end - at);
    }
    return lines;
}

/* Return the offset after the first line of the exception's message that ends the traceback at
 * offset `at`; n: the message is missing.
 */
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

/* Return the offset in text [n] of the last traceback, or of the first of the tracebacks chained to
 * it by Python's sentences about causes.  Return n if there is none, or the program has continued
 * after it and printed more than BEHIND lines.
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

/* Check whether a line names a stack frame of a traceback. */
static bool is_frame(const char *line, size_t n)
{
    return indent(line, n) == 2 && holds(line, n, "File \"");
}

/* Check whether a line names a file of the Python installation: ".../lib/python3.11/...", but not
 * lib/python_tools.
 */
static bool is_of_python(const char *line, size_t n)
{
    static const char folder[] = "/lib/python";
    const char *at = memmem(line, n, folder, sizeof folder - 1);
    size_t i = at ? (size_t)(at - line) + sizeof folder - 1 : n;

    return i < n && isdigit((unsigned char)line[i]);
}

/* Check whether a line names a file of the Python installation or of an installed package. */
static bool is_of_library(const char *line, size_t n)
{
    return holds(line, n, "/site-packages/") || holds(line, n, "/dist-packages/") ||
           is_of_python(line, n) || holds(line, n, "\"<frozen ");
}

/* Chosen lines, line [n], owned, and the number of stack frames among them. */
struct choice {
    struct last_line *line;
    int n, frames;
};

/* Return all lines of text [n] from offset `at` on, except empty ones.  If users, omit the stack
 * frames of libraries, too. line NULL: no memory; otherwise the caller frees it.
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

/* Write at most `most` of the chosen lines to ret; of more, the first and the last ones, half of
 * each.  Return their number.
 */
static int cut(const struct choice *c, int most, struct last_line *ret)
{
    int head = c->n > most ? most / 2 : c->n;

    for (int i = 0; i < most && i < c->n; i++)
        ret[i] = c->line[i < head ? i : c->n - most + i];
    return c->n < most ? c->n : most;
}

/* Write to ret [most] the lines to show of the traceback at offset `at`.  If there are too many,
 * omit stack frames of libraries, unless no frame would be left, and then lines in the middle.
 * Return their number.
 */
static int choose_traceback(const char *text, size_t n, size_t at, int most, struct last_line *ret)
{
    struct choice c = lines_of(text, n, at, false), users;
    int chosen;

    if (c.n > most) {
        users = lines_of(text, n, at, true);
        if (users.frames > 0) { /* otherwise no location would be left */
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

/* Return the offset of the last ENDING lines of text [n], which may show the cause of the end;
 * empty lines and C++ stack frames do not count.
 */
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
 * the line has neither. host: this machine's name up to its first dot.
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
