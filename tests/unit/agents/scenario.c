/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - reads and expands scenarios */
#include "scenario.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 12, DEPTH = 4 };

/* Parameters and their values, which are in room. */
struct values {
    char *key[CELLS], *value[CELLS];
    bool used[CELLS];
    int n;
    char room[8 * SCENARIO_LINE];
    size_t length; /* of what is in room */
};

/* ---- lines ---- */

/* Cut the spaces at both ends of a text. */
static char *trim(char *text)
{
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* Cut "a | b | c" into its cells; return their number. */
static int split(char *text, char *cell[CELLS])
{
    int n = 0;

    for (char *next = text; next && n < CELLS; n++)
        cell[n] = trim(strsep(&next, "|"));
    return n;
}

const char *behind(const char *text, const char *word)
{
    size_t n = strlen(word);

    return strncmp(text, word, n) == 0 && text[n] == ' ' ? text + n + 1 : NULL;
}

/* Return the name that a line has behind its first word and before a "|", and its length. */
static const char *name_of(const char *line, size_t *ret_length)
{
    const char *name = strchr(line, ' ') + 1;
    size_t n = strcspn(name, "|");

    while (n > 0 && name[n - 1] == ' ')
        n--;
    *ret_length = n;
    return name;
}

/* Check whether a line begins with this word and has the same name as another line. */
static bool is_named(const char *line, const char *word, const char *other)
{
    size_t n, n_other;
    const char *name, *name_other = name_of(other, &n_other);

    if (!behind(line, word))
        return false;
    name = name_of(line, &n);
    return n == n_other && strncmp(name, name_other, n) == 0;
}

static bool is_head(const struct script *s, int line)
{
    return behind(s->line[line].text, "scenario") || behind(s->line[line].text, "shared") ||
           behind(s->line[line].text, "job");
}

bool script_read(const char *folder, const char *name, struct script *ret)
{
    char text[SCENARIO_LINE];
    FILE *in;

    *ret = (struct script){ .n = 0 };
    (void)snprintf(ret->path, sizeof ret->path, "%s/%s", folder, name);
    in = fopen(ret->path, "re");
    for (int number = 1; in && fgets(text, sizeof text, in); number++) {
        char *line = trim(text);

        if (!*line || *line == '#')
            continue;
        ret->line[ret->n].number = number;
        ret->line[ret->n++].text = strdup(line);
        if (ret->n == SCENARIO_LINES)
            break;
    }
    if (in)
        (void)fclose(in);
    return in && ret->n < SCENARIO_LINES;
}

void script_free(struct script *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->line[i].text);
}

/* ---- runs ---- */

static void refuse(const struct script *s, int line, const char *what)
{
    ck_abort_msg("%s:%d: %s: %s", s->path, s->line[line].number, what, s->line[line].text);
}

/* Return the number of rows below the head of a table. */
static int rows(const struct script *s, int head)
{
    int n = 0;

    while (head + n + 1 < s->n && *s->line[head + n + 1].text == '|')
        n++;
    return n;
}

int script_runs(const struct script *s, int line)
{
    int runs = behind(s->line[line].text, "scenario") ? 1 : 0;

    for (line++; line < s->n && behind(s->line[line].text, "each"); line += rows(s, line) + 1)
        runs *= rows(s, line);
    return runs;
}

int script_row(const struct script *s, int line, int run)
{
    int n = line + 1 < s->n && behind(s->line[line + 1].text, "each") ? rows(s, line + 1) : 0;

    return s->line[n ? line + 2 + run % n : line].number;
}

static char *keep(struct values *v, const char *text)
{
    char *kept = v->room + v->length;

    v->length += strlen(text) + 1;
    ck_assert_uint_le(v->length, sizeof v->room);
    return strcpy(kept, text);
}

/* Bind the parameters "HEAD | a | b" to the values "HEAD | c | d" of a line. */
static void bind(const struct script *s, int line, const char *keys, const char *values,
                 struct values *v)
{
    char *key[CELLS], *value[CELLS];
    int n = split(keep(v, keys), key);

    if (split(keep(v, values), value) != n || v->n + n > CELLS)
        refuse(s, line, "another number of values");
    memcpy(v->key + v->n, key + 1, (size_t)(n - 1) * sizeof *key);
    memcpy(v->value + v->n, value + 1, (size_t)(n - 1) * sizeof *value);
    v->n += n - 1;
}

/* Return the length of the name of a parameter behind "$"; 0: this is none. */
static size_t parameter(const char *at)
{
    return *at == '$' ? strspn(at + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
}

/* Write a line with the values of its parameters. */
static void insert(const struct script *s, int line, struct values *v, char ret[SCENARIO_LINE])
{
    size_t n = 0;

    for (const char *at = s->line[line].text; *at; at++) {
        size_t length = parameter(at);
        int k = 0;

        while (length && k < v->n &&
               (strlen(v->key[k]) != length || strncmp(v->key[k], at + 1, length) != 0))
            k++;
        if (length && k == v->n)
            refuse(s, line, "no such parameter");
        v->used[k] = v->used[k] || length;
        n += (size_t)snprintf(ret + n, SCENARIO_LINE - n, length ? "%s" : "%.1s",
                              length ? v->value[k] : at);
        if (n >= SCENARIO_LINE)
            refuse(s, line, "the line is too long");
        at += length;
    }
}

/* Play the steps behind a head, and the shared ones that they name.  Return how many expectations
 * they have.
 */
static int play_steps(const struct script *s, int head, struct values *v, int depth,
                      scenario_take_fn *take, void *ctx)
{
    int expectations = 0, i = head + 1;

    while (i < s->n && behind(s->line[i].text, "each"))
        i += rows(s, i) + 1;
    for (; i < s->n && !is_head(s, i); i++) {
        char text[SCENARIO_LINE] = "";
        struct values inner = { .n = 0 };
        int shared = 0;

        insert(s, i, v, text);
        expectations += *text == '>';
        if (!behind(text, "do")) {
            take(ctx, s->line[i].number, text);
            continue;
        }
        while (shared < s->n && !is_named(s->line[shared].text, "shared", text))
            shared++;
        if (shared == s->n || depth == DEPTH)
            refuse(s, i, "there are no such steps");
        bind(s, i, s->line[shared].text, text, &inner);
        expectations += play_steps(s, shared, &inner, depth + 1, take, ctx);
    }
    for (int k = 0; k < v->n; k++)
        if (!v->used[k])
            refuse(s, head, "a parameter is not used");
    return expectations;
}

void scenario_play(const struct script *s, int line, int run, scenario_take_fn *take, void *ctx)
{
    struct values v = { .n = 0 };
    int job = line;

    for (int i = line + 1; i < s->n && behind(s->line[i].text, "each"); i += rows(s, i) + 1) {
        int row = i + 1 + run % rows(s, i);

        bind(s, row, s->line[i].text, s->line[row].text, &v);
        run /= rows(s, i);
    }
    while (job >= 0 && !behind(s->line[job].text, "job"))
        job--;
    if (job >= 0) {
        char text[SCENARIO_LINE];

        take(ctx, s->line[job].number, strcpy(text, behind(s->line[job].text, "job")));
    }
    if (play_steps(s, line, &v, 0, take, ctx) == 0)
        refuse(s, line, "it expects nothing");
}

/* ---- the form of a file ---- */

void script_check(const struct script *s)
{
    for (int i = 0; i < s->n; i++) {
        const char *text = s->line[i].text;
        bool scenario = behind(text, "scenario"), shared = behind(text, "shared"), used = !shared;

        for (int k = 0; k < s->n && (scenario || shared); k++) {
            used = used || is_named(s->line[k].text, "do", text);
            if (k < i && is_named(s->line[k].text, scenario ? "scenario" : "shared", text))
                refuse(s, i, "there are two of this name");
        }
        if (!used || (scenario && script_runs(s, i) == 0) || (i == 0 && !is_head(s, i)))
            refuse(s, i, "nobody does this");
    }
}
