/* SPDX-License-Identifier: Apache-2.0 */
/* step_lines.c - finds step numbers in a program's output */
#include "step_lines.h"

#include "lib/base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

/* Limit of searched bytes per second; groups of a match: the whole, the step and the total. */
enum { BYTES_PER_S = 2 << 20, GROUPS = 3 };

struct step_lines {
    regex_t pattern;
    bool compiled;
    step_lines_fn fn;
    void *ctx;
    char line[STEP_LINES_MAX + 1]; /* the unfinished line: n bytes */
    size_t n;
    bool any;           /* a step number was found before */
    int64_t last, base; /* previous step number; steps of the earlier epochs */
    int64_t look_bytes; /* bytes that may still be searched in this second */
    int64_t second_ns;  /* start of this second */
};

int step_lines_open(const char *pattern, step_lines_fn fn, void *ctx, struct step_lines **ret,
                    struct eddis_error *err)
{
    struct step_lines *l = calloc(1, sizeof *l);

    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory for the lines of steps");
    l->fn = fn;
    l->ctx = ctx;
    l->look_bytes = BYTES_PER_S;
    l->compiled = regcomp(&l->pattern, pattern, REG_EXTENDED) == 0;
    if (!l->compiled || l->pattern.re_nsub < 1) {
        step_lines_close(l);
        return eddis_fail(err, -EINVAL, "'%s' is not a regular expression with a group", pattern);
    }
    *ret = l;
    return 0;
}

/* Return the number in a group of a match; -1: the group is empty, has other characters, or the
 * number is too large.
 */
static int64_t number(const char *line, const regmatch_t *m)
{
    int64_t value = 0;

    if (m->rm_so < 0 || m->rm_so == m->rm_eo)
        return -1;
    for (regoff_t i = m->rm_so; i < m->rm_eo; i++)
        if (!isdigit((unsigned char)line[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, line[i] - '0', &value))
            return -1;
    return value < INT64_MAX / 4 ? value : -1;
}

/* Pass step number `at` to fn, unless it equals the previous number.  A number smaller than the
 * previous one begins a new epoch: the steps of the earlier epochs are added to it. total: number
 * of steps; it is passed on only in the first epoch.
 */
static void found(struct step_lines *l, int64_t at, int64_t total)
{
    int64_t before = l->base + l->last;

    if (l->any && at == l->last)
        return;
    if (l->any && at < l->last)
        l->base = before < INT64_MAX / 4 ? before : 0;
    l->fn(l->ctx, l->base + at, l->any ? l->base + at - before : 0,
          l->base || total < at ? 0 : total);
    l->any = true;
    l->last = at;
}

/* Search the collected line for a step number, pass it to found(), and empty the line. */
static void end_line(struct step_lines *l)
{
    regmatch_t m[GROUPS];
    int64_t at;

    l->line[l->n] = '\0';
    if (l->n && regexec(&l->pattern, l->line, GROUPS, m, 0) == 0 &&
        (at = number(l->line, &m[1])) >= 0)
        found(l, at, l->pattern.re_nsub > 1 ? number(l->line, &m[2]) : 0);
    l->n = 0;
}

/* Check whether the limit allows to search further bytes in this second; if so, count n bytes. */
static bool may_look(struct step_lines *l, size_t n, int64_t now_ns)
{
    if (now_ns - l->second_ns >= CLOCK_S) {
        l->second_ns = now_ns;
        l->look_bytes = BYTES_PER_S;
    }
    if (l->look_bytes <= 0)
        return false;
    l->look_bytes -= (int64_t)n;
    return true;
}

void step_lines_feed(struct step_lines *l, const char *data, size_t n, int64_t now_ns)
{
    bool look = may_look(l, n, now_ns);

    for (size_t i = 0; i < n; i++) {
        bool ends = data[i] == '\n' || data[i] == '\r';

        if (ends && look)
            end_line(l);
        else if (ends)
            l->n = 0;
        else if (l->n < STEP_LINES_MAX)
            l->line[l->n++] = data[i] ? data[i] : '?';
    }
}

void step_lines_close(struct step_lines *l)
{
    if (!l)
        return;
    if (l->compiled)
        regfree(&l->pattern);
    free(l);
}
