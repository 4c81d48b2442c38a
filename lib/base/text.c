/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - nearest words, durations, sanitised foreign text, grouped digits */
#include "text.h"

#include "clock.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX_LEN = 64 }; /* longest word that distance compares */

/* Return the smallest of a, b and c. */
static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

/* Return the optimal string alignment distance of two words, without regard to case except in the
 * swap of two letters.  If a word is longer than WORD_MAX_LEN, return WORD_MAX_LEN.
 */
static int distance(const char *a, const char *b)
{
    int d[3][WORD_MAX_LEN + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > WORD_MAX_LEN || m > WORD_MAX_LEN)
        return WORD_MAX_LEN;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = d[i % 3], *above = d[(i + 2) % 3], *above2 = d[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int differ = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);

            now[j] = min3(above[j] + 1, now[j - 1] + 1, above[j - 1] + differ);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < now[j])
                now[j] = above2[j - 2] + 1;
        }
    }
    return d[n % 3][m];
}

const char *text_nearest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    int best_d = WORD_MAX_LEN;

    for (size_t i = 0; i < n; i++) {
        int d = distance(word, names[i]);

        /* a name that is a prefix of the word is near: "batch" for "batchsize" */
        if (strlen(names[i]) >= 4 && strncmp(word, names[i], strlen(names[i])) == 0 && d > 2)
            d = 2;
        if (d < best_d) {
            best_d = d;
            best = names[i];
        }
    }
    if (!best || best_d > 2 + (int)strlen(word) / 6 || best_d >= (int)strlen(word))
        return NULL;
    return best;
}

/* Parse the unit of time (ms, s, m, h, d) at *s, store its length in ns in *ret and advance *s
 * beyond it.  Return 0 or -EINVAL: there is no unit at *s.
 */
static int unit_ns(const char **s, int64_t *ret)
{
    static const struct {
        const char *word;
        int64_t ns;
    } units[] = {
        { "ms", CLOCK_MS },      { "s", CLOCK_S },         { "m", 60 * CLOCK_S },
        { "h", 3600 * CLOCK_S }, { "d", 86400 * CLOCK_S },
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].word);

        if (strncmp(*s, units[i].word, n) == 0 && !isalpha((unsigned char)(*s)[n])) {
            *s += n;
            *ret = units[i].ns;
            return 0;
        }
    }
    return -EINVAL;
}

/* Add value * unit, in ns, to *total.  Return 0 or -ERANGE: the sum does not fit; *total is
 * unchanged.
 */
static int add_part(double value, int64_t unit, int64_t *total)
{
    double ns = value * (double)unit;

    if (!(ns < 9e18 - (double)*total))
        return -ERANGE;
    *total += (int64_t)llround(ns);
    return 0;
}

/* Parse a duration "[D-]HH:MM:SS" or "MM:SS", as Slurm writes it, and store its ns in *ret.  Return
 * 0; -EINVAL: s has another form; -ERANGE: the duration does not fit.
 */
static int parse_clock(const char *s, int64_t *ret)
{
    unsigned day = 0, a, b, c;
    int used = 0;

    /* sscanf alone would accept spaces and signs. */
    if (s[strspn(s, "0123456789:-")] || *s == '-' || strstr(s, ":-") || strstr(s, "--"))
        return -EINVAL;
    if (sscanf(s, "%5u-%n", &day, &used) == 1 && used)
        s += used;
    else
        day = 0;
    used = 0;
    if (sscanf(s, "%6u:%2u:%2u%n", &a, &b, &c, &used) != 3 || s[used]) {
        used = 0;
        if (sscanf(s, "%6u:%2u%n", &b, &c, &used) != 2 || s[used])
            return -EINVAL;
        a = 0;
    }
    if (__builtin_mul_overflow((int64_t)day * 86400 + (int64_t)a * 3600 + (int64_t)b * 60 + c,
                               CLOCK_S, ret))
        return -ERANGE;
    return 0;
}

int text_duration_ns(const char *s, int64_t *ret, struct eddis_error *err)
{
    const char *p = s;
    int64_t total = 0, unit;

    if (strcmp(s, "none") == 0) {
        *ret = CLOCK_NEVER;
        return 0;
    }
    if (strchr(s, ':')) {
        int rc = parse_clock(s, &total);

        if (rc == -ERANGE)
            goto too_long;
        if (rc < 0)
            goto bad;
        *ret = total;
        return 0;
    }
    do {
        char *end;
        double v;

        if (!isdigit((unsigned char)*p))
            goto bad;
        v = strtod(p, &end);
        if (end != p + strspn(p, "0123456789.")) /* rejects hexadecimal and exponents */
            goto bad;
        p = end;
        if (unit_ns(&p, &unit) < 0)
            goto bad;
        if (add_part(v, unit, &total) < 0)
            goto too_long;
    } while (*p);
    *ret = total;
    return 0;
too_long:
    return eddis_fail(err, -ERANGE, "the duration '%s' is too long", s);
bad:
    return eddis_fail(err, -EINVAL, "'%s' is not a duration; write 250ms, 10s, 5m, 2h or 7d", s);
}

/* Parse a number from 0 to most at *s and move *s behind it.  Return the number; -1: there is none,
 * or it is larger.
 */
static int read_index(const char **s, int most)
{
    int n = 0;

    if (**s < '0' || **s > '9')
        return -1;
    for (; **s >= '0' && **s <= '9'; (*s)++) {
        int digit = **s - '0';

        if (digit > most || n > (most - digit) / 10)
            return -1;
        n = n * 10 + digit;
    }
    return n;
}

bool text_range(const char **s, int most, int *ret_first, int *ret_last)
{
    *ret_first = *ret_last = read_index(s, most);
    if (**s == '-') {
        (*s)++;
        *ret_last = read_index(s, most);
    }
    return *ret_first >= 0 && *ret_last >= *ret_first;
}

/* Decode the UTF-8 character at text [n] into *ret.  Return its length in bytes; 0: invalid (RFC
 * 3629).
 */
static size_t utf8_char(const char *text, size_t n, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80                  ? 1
                    : s[0] < 0xc2 || s[0] > 0xf4 ? 0
                    : s[0] < 0xe0                ? 2
                    : s[0] < 0xf0                ? 3
                                                 : 4;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7fu >> length);

    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *ret = c;
    return length;
}

/* Check whether code point c is a control character: C0 except tab, DEL, or C1.  U+009B, of C1,
 * acts like ESC and '['.
 */
static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0);
}

void text_strip_control(char *s)
{
    while (*s) {
        uint32_t c = 0;
        size_t n = utf8_char(s, SIZE_MAX, &c);

        if (n == 0) { /* a terminal with an 8-bit character set may act on the byte */
            c = (unsigned char)*s;
            n = 1;
        }
        if (is_control(c))
            memset(s, '?', n);
        s += n;
    }
}

void text_add_clean(struct strbuf *b, const char *fmt, ...)
{
    size_t at = b->len;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(b, fmt, ap);
    va_end(ap);
    if (b->failed)
        return;
    text_strip_control(b->text + at);
    b->len = at + strlen(b->text + at);
}

/* Return the position after the string of an OSC, DCS, SOS, PM or APC sequence, which ends with BEL
 * or ST.  An incomplete sequence ends at the end of s.
 */
static const char *skip_string(const char *s)
{
    for (; *s; s++) {
        if (*s == '\a')
            return s + 1;
        if (s[0] == '\033' && s[1] == '\\')
            return s + 2;
        if ((unsigned char)s[0] == 0xc2 && (unsigned char)s[1] == 0x9c)
            return s + 2;
    }
    return s;
}

/* Return the position after a CSI sequence whose parameters begin at s.  An incomplete sequence
 * ends at its first invalid character or the end of s.
 */
static const char *skip_csi(const char *s)
{
    while (*s >= 0x20 && *s < 0x40)
        s++;
    return *s >= 0x40 && *s < 0x7f ? s + 1 : s;
}

/* Return the position after the escape sequence whose ESC is directly before s.  An incomplete
 * sequence ends at its first invalid character or the end of s.
 */
static const char *skip_escape(const char *s)
{
    if (*s == '[')
        return skip_csi(s + 1);
    if (*s && strchr("]PX^_", *s))
        return skip_string(s + 1);
    while (*s >= 0x20 && *s < 0x30)
        s++;
    return *s >= 0x30 && *s < 0x7f ? s + 1 : s;
}

void text_make_plain(char *s)
{
    const char *from = s;
    char *to = s;

    while (*from) {
        uint32_t c = 0;
        size_t n = utf8_char(from, SIZE_MAX, &c);

        if (n == 0) {
            *to++ = '?';
            from++;
        } else if (c == 0x1b) {
            from = skip_escape(from + 1);
        } else if (c == 0x9b) {
            from = skip_csi(from + n);
        } else if (c == 0x90 || c == 0x98 || (c >= 0x9d && c <= 0x9f)) {
            from = skip_string(from + n);
        } else if (is_control(c)) {
            from += n;
        } else {
            memmove(to, from, n);
            to += n;
            from += n;
        }
    }
    *to = '\0';
}

/* Check whether s has 1 to max bytes, all of them ASCII letters, digits or characters of `more`,
 * and does not begin with '-' or '.'.
 */
static bool is_made_of(const char *s, size_t max, const char *more)
{
    size_t n = 0;

    if (*s == '-' || *s == '.')
        return false;
    for (; s[n]; n++)
        if (n >= max || !(isalnum((unsigned char)s[n]) || strchr(more, s[n])))
            return false;
    return n > 0;
}

bool text_is_name(const char *s, size_t max)
{
    return is_made_of(s, max, "._-");
}

bool text_is_host(const char *s, size_t max)
{
    return is_made_of(s, max, "._-:");
}

bool text_is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

char *text_grouped(double n, char *ret, size_t size)
{
    char digits[40];
    int len = snprintf(digits, sizeof digits, "%.0f", n);
    size_t out = 0;

    for (int i = 0; i < len && out + 2 < size; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
            ret[out++] = ' ';
        ret[out++] = digits[i];
    }
    ret[out] = '\0';
    return ret;
}

const char *text_signal(int sig)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGABRT] = "ABRT",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGCONT] = "CONT",
        [SIGTSTP] = "TSTP", [SIGXCPU] = "XCPU",
    };

    return sig > 0 && (size_t)sig < sizeof names / sizeof *names && names[sig] ? names[sig] : "?";
}

int text_width(const char *s)
{
    int width = 0;

    for (; *s; s++)
        width += ((unsigned char)*s & 0xc0) != 0x80;
    return width;
}

size_t text_utf8_bad(const char *s, size_t n)
{
    size_t i = 0;
    uint32_t c;

    while (i < n) {
        size_t length = utf8_char(s + i, n - i, &c);

        if (!length)
            return i;
        i += length;
    }
    return n;
}

bool text_has_any(const char *s, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(s, parts[i]))
            return true;
    return false;
}

void text_append(char *ret, size_t size, const char *fmt, ...)
{
    size_t n = strlen(ret);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(ret + n, size - n, fmt, ap);
    va_end(ap);
}
