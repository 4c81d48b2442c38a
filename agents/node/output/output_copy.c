/* SPDX-License-Identifier: Apache-2.0 */
/* output_copy.c - copies a rank's lines for the screen, at a limited rate */
#include "output_copy.h"

#include "lines.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Size of the token bucket: at least LEAST_BURST bytes, and the bytes of BURST_S seconds. */
enum { LEAST_BURST = 16 << 10, BURST_S = 4 };

/* Least interval between two messages, so that a program that prints word by word does not wake the
 * agent for each word.
 */
static const int64_t apart_ns = 50 * CLOCK_MS;

/* Limits of the time from the change of an unfinished line until it is sent; a smaller rate, as
 * with many ranks, makes it longer.
 */
static const int64_t least_partial_ns = 200 * CLOCK_MS, most_partial_ns = 2 * CLOCK_S;
enum { PARTIAL_BYTES = 12 << 10 }; /* bytes of the rank's share between two unfinished lines */

struct output_copy {
    output_copy_fn send;
    void *ctx;
    struct lines lines;
    int64_t rate, burst, tokens; /* token bucket, in bytes */
    int64_t filled_ns;           /* time when tokens were last added */
    int64_t sent_ns;             /* time of the latest message, sent or not accepted; 0: none */
    int64_t partial_ns;          /* time from the change of an unfinished line until it is sent */
    int64_t changed_ns; /* time at which the unfinished line changed; CLOCK_NEVER: it was sent */
    bool began;         /* filled_ns is valid */
    int64_t dropped;    /* lines dropped since the last message */
    char *text;         /* [2 * burst]: whole lines with their newlines, n bytes from `first` */
    size_t first, n;
    char message[OUTPUT_COPY_MESSAGE];
};

struct output_copy *output_copy_new(int64_t bytes_per_s, output_copy_fn send, void *ctx)
{
    struct output_copy *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->send = send;
    c->ctx = ctx;
    c->rate = bytes_per_s > 0 ? bytes_per_s : 1;
    c->burst = c->rate * BURST_S > LEAST_BURST ? c->rate * BURST_S : LEAST_BURST;
    c->tokens = c->burst;
    c->changed_ns = CLOCK_NEVER;
    c->partial_ns = PARTIAL_BYTES * CLOCK_S / c->rate;
    if (c->partial_ns < least_partial_ns)
        c->partial_ns = least_partial_ns;
    if (c->partial_ns > most_partial_ns)
        c->partial_ns = most_partial_ns;
    c->text = malloc(2 * (size_t)c->burst);
    if (c->text)
        return c;
    free(c);
    return NULL;
}

void output_copy_free(struct output_copy *c)
{
    if (!c)
        return;
    free(c->text);
    free(c);
}

/* ---- pending lines ---- */

/* Remove the oldest pending line and count it as dropped. There must be a pending line. */
static void drop_oldest(struct output_copy *c)
{
    const char *from = c->text + c->first, *end = memchr(from, '\n', c->n);
    size_t gone = (size_t)(end - from) + 1;

    c->first += gone;
    c->n -= gone;
    c->dropped++;
}

/* Replace zero bytes by '?', because the text is sent as a string. */
static void hide_zeros(char *text, size_t n)
{
    for (char *zero = text; (zero = memchr(zero, '\0', n - (size_t)(zero - text)));)
        *zero = '?';
}

/* Append a line of n bytes to the pending lines, and drop the oldest ones to make room (lines_fn;
 * ctx is the struct output_copy).
 */
static void add_line(void *ctx, const char *line, size_t n)
{
    struct output_copy *c = ctx;
    char *to;

    c->changed_ns = CLOCK_NEVER; /* what follows is a new line */

    while (c->n + n + 1 > (size_t)c->burst)
        drop_oldest(c);
    if (c->first + c->n + n + 1 > 2 * (size_t)c->burst) {
        memmove(c->text, c->text + c->first, c->n);
        c->first = 0;
    }
    to = c->text + c->first + c->n;
    memcpy(to, line, n);
    hide_zeros(to, n);
    to[n] = '\n';
    c->n += n + 1;
}

/* ---- messages ---- */

/* Add the tokens of the time since the previous call, up to the bucket's size. */
static void fill(struct output_copy *c, int64_t now_ns)
{
    int64_t gone_ns = c->began ? now_ns - c->filled_ns : 0, more;

    if (gone_ns > BURST_S * CLOCK_S * 4)
        gone_ns = BURST_S * CLOCK_S * 4;
    more = gone_ns > 0 ? (int64_t)((double)gone_ns * (double)c->rate / CLOCK_S) : 0;
    if (more == 0 && c->began)
        return; /* short times add up */
    c->filled_ns = now_ns;
    c->began = true;
    c->tokens = c->tokens + more < c->burst ? c->tokens + more : c->burst;
}

/* Return the number of bytes of the oldest pending lines that fit in one message; a single line
 * always fits.  At least one line must be pending.
 */
static size_t choose(const struct output_copy *c)
{
    const char *from = c->text + c->first;
    size_t most = c->n < OUTPUT_COPY_MESSAGE - 1 ? c->n : OUTPUT_COPY_MESSAGE - 1;
    const char *end = memrchr(from, '\n', most);

    return (size_t)(end - from) + 1;
}

/* Send one message of the oldest pending lines, and remove them and their tokens.  Return false,
 * with the lines kept, if it is not accepted now.
 */
static bool send_one(struct output_copy *c, int64_t now_ns)
{
    size_t n = choose(c);

    memcpy(c->message, c->text + c->first, n);
    c->message[n] = '\0';
    c->sent_ns = now_ns;
    if (!c->send(c->ctx, c->message, c->dropped))
        return false;
    c->dropped = 0;
    c->tokens -= (int64_t)n;
    c->first += n;
    c->n -= n;
    return true;
}

/* Send all pending lines, whatever the bucket holds.  Return false, with the rest kept, if a
 * message is not accepted.
 */
static bool send_all(struct output_copy *c, int64_t now_ns)
{
    while (c->n > 0)
        if (!send_one(c, now_ns))
            return false;
    return true;
}

/* Check whether the last message was sent too recently to send another now. */
static bool is_soon(const struct output_copy *c, int64_t now_ns)
{
    return c->sent_ns && now_ns < c->sent_ns + apart_ns;
}

/* Send pending lines as long as the bucket has tokens.  The last message may take more tokens than
 * there are; the tokens of later time pay this debt.
 */
static void send_due(struct output_copy *c, int64_t now_ns)
{
    fill(c, now_ns);
    if (is_soon(c, now_ns))
        return;
    while (c->n > 0 && c->tokens > 0 && send_one(c, now_ns))
        ;
}

void output_copy_feed(struct output_copy *c, const char *data, size_t n, int64_t now_ns)
{
    lines_feed(&c->lines, data, n, add_line, c);
    if (c->lines.news && c->changed_ns == CLOCK_NEVER)
        c->changed_ns = now_ns;
    send_due(c, now_ns);
}

/* ---- the unfinished line ---- */

/* Return the time at which the unfinished line may be sent; CLOCK_NEVER: it has not changed. */
static int64_t partial_at(const struct output_copy *c)
{
    return c->changed_ns == CLOCK_NEVER ? CLOCK_NEVER : c->changed_ns + c->partial_ns;
}

/* Send the unfinished line with "\r\n" after it, if no whole line is pending and there are tokens.
 * If it is not sent now, a later call sends its state at that time.
 */
static void send_partial(struct output_copy *c, int64_t now_ns)
{
    static const char end[] = "\r\n";
    const char *line;
    size_t n;

    c->changed_ns = now_ns;
    if (c->n > 0 || c->tokens <= 0)
        return;
    c->changed_ns = CLOCK_NEVER;
    n = lines_news(&c->lines, &line);
    if (n == 0)
        return;
    memcpy(c->message, line, n);
    hide_zeros(c->message, n);
    memcpy(c->message + n, end, sizeof end);
    c->sent_ns = now_ns;
    if (c->send(c->ctx, c->message, c->dropped)) {
        c->dropped = 0;
        c->tokens -= (int64_t)n;
    } else {
        c->lines.news = true;
        c->changed_ns = now_ns;
    }
}

void output_copy_tick(struct output_copy *c, int64_t now_ns)
{
    send_due(c, now_ns);
    if (now_ns >= partial_at(c))
        send_partial(c, now_ns);
}

int64_t output_copy_next_ns(const struct output_copy *c)
{
    int64_t partial = partial_at(c), at = CLOCK_NEVER;

    if (c->n > 0) {
        at = c->sent_ns + apart_ns;
        if (c->tokens <= 0) {
            int64_t paid = c->filled_ns + (1 - c->tokens) * CLOCK_S / c->rate + 1;

            at = paid > at ? paid : at;
        }
    }
    return at < partial ? at : partial;
}

bool output_copy_end(struct output_copy *c, int64_t now_ns)
{
    lines_flush(&c->lines, add_line, c);
    return send_all(c, now_ns);
}
