/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - parses a command line by its table, and prints the help from the same table */
#include "options.h"

#include "lib/base/text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Most names among which the nearest is found; bytes of a name; column of the help's texts. */
enum { OPTIONS_MAX = 64, OPTIONS_NAME = 64, OPTIONS_COLUMN = 27 };

/* Borrow the row of the option whose long name is the n bytes at `name`; '_' in them matches '-'.
 * NULL: there is none.
 */
static const struct option_row *find_name(const struct option_table *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->n; i++) {
        const char *have = t->row[i].name;
        size_t k = 0;

        while (k < n && have[k] && (have[k] == name[k] || (have[k] == '-' && name[k] == '_')))
            k++;
        if (k == n && !have[k])
            return &t->row[i];
    }
    return NULL;
}

/* Borrow the row of the option with this letter. NULL: there is none. */
static const struct option_row *find_letter(const struct option_table *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].letter && t->row[i].letter == letter)
            return &t->row[i];
    return NULL;
}

/* Borrow the advice for an option of another launcher, by its long name or letter. NULL: that
 * option is not known.
 */
static const char *said_of_foreign(const struct option_table *t, const char *word)
{
    for (size_t i = 0; i < t->n_foreign; i++)
        if (strcmp(word, t->foreign[i].name) == 0)
            return t->foreign[i].said;
    return NULL;
}

/* Set err because there is no long option whose name is the n bytes at `name`, and return -EINVAL.
 * err gives the advice for another launcher's option, or names the nearest option.
 */
static int unknown(const struct option_table *t, const char *name, size_t n,
                   struct eddis_error *err)
{
    const char *names[OPTIONS_MAX], *nearest, *said;
    char word[OPTIONS_NAME];

    (void)snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (size_t i = 0; word[i]; i++)
        if (word[i] == '_')
            word[i] = '-';
    text_strip_control(word);
    said = said_of_foreign(t, word);
    if (said)
        return eddis_fail(err, -EINVAL, "unknown option \"--%s\"; %s", word, said);
    for (size_t i = 0; i < t->n && i < OPTIONS_MAX; i++)
        names[i] = t->row[i].name;
    nearest = text_nearest(word, names, t->n < OPTIONS_MAX ? t->n : OPTIONS_MAX);
    if (nearest)
        return eddis_fail(err, -EINVAL, "unknown option \"--%s\"; did you mean \"--%s\"?", word,
                          nearest);
    return eddis_fail(err, -EINVAL, "unknown option \"--%s\"; see %s --help", word, t->program);
}

/* Parse the next word of the command line as the argument of the option in `row`, and store both in
 * *ret. written: the option as the user wrote it, for the error. Return 1; -EINVAL: there is no
 * further word.
 */
static int take_argument(struct options *o, const struct option_row *row, const char *written,
                         struct options_item *ret, struct eddis_error *err)
{
    if (o->at + 1 >= o->argc)
        return eddis_fail(err, -EINVAL, "option \"%s\" needs %s", written, row->argument);
    *ret = (struct options_item){ row, o->argv[++o->at] };
    return 1;
}

/* Parse the long option `word`, "name" or "name=VALUE" without its dashes, and the word after it if
 * that is its argument; store it in *ret. Return 1 or -EINVAL.
 */
static int long_option(struct options *o, const char *word, struct options_item *ret,
                       struct eddis_error *err)
{
    size_t n = strcspn(word, "=");
    const struct option_row *row = find_name(o->table, word, n);

    o->at++;
    if (!row)
        return unknown(o->table, word, n, err);
    if (word[n] == '=' && !row->argument)
        return eddis_fail(err, -EINVAL, "option \"--%s\" takes no value", row->name);
    if (row->argument && word[n] != '=' && row->argument[0] != '[')
        return take_argument(o, row, o->argv[o->at], ret, err);
    *ret = (struct options_item){ row, word[n] == '=' ? word + n + 1 : NULL };
    return 1;
}

/* Parse the next letter of a word such as "-vq" or "-n4", given without its dash, and the argument
 * after the letter or in the next word; store it in *ret. o->cluster: letters of this word that
 * were parsed before. Return 1 or -EINVAL.
 */
static int short_option(struct options *o, const char *letters, struct options_item *ret,
                        struct eddis_error *err)
{
    const char *at = letters + o->cluster;
    const struct option_row *row = find_letter(o->table, *at);
    bool last = !at[1];

    if (!row) {
        char word[OPTIONS_NAME], shown[2] = { *at, '\0' };
        const char *said;

        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(letters, "="), letters);
        text_strip_control(word);
        text_strip_control(shown);
        said = said_of_foreign(o->table, word); /* "-mca", "-m" */
        return said ? eddis_fail(err, -EINVAL, "unknown option \"-%s\"; %s", word, said)
                    : eddis_fail(err, -EINVAL, "unknown option \"-%s\"; see %s --help", shown,
                                 o->table->program);
    }
    if (row->argument) {
        const char written[] = { '-', *at, '\0' };

        o->cluster = 0;
        o->at++;
        if (last)
            return take_argument(o, row, written, ret, err);
        *ret = (struct options_item){ row, at + 1 };
        return 1;
    }
    o->cluster = last ? 0 : o->cluster + 1;
    o->at += last;
    *ret = (struct options_item){ row, NULL };
    return 1;
}

int options_next(struct options *o, struct options_item *ret, struct eddis_error *err)
{
    const char *word;

    if (o->at + 1 >= o->argc)
        return 0;
    word = o->argv[o->at + 1];
    if (!o->behind && strcmp(word, "--") == 0) {
        o->behind = true;
        o->at++;
        return options_next(o, ret, err);
    }
    if (o->behind || word[0] != '-' || !word[1]) {
        o->at++;
        *ret = (struct options_item){ NULL, word };
        return 1;
    }
    if (word[1] == '-')
        return long_option(o, word + 2, ret, err);
    if (!o->cluster && strlen(word) == 3 && find_name(o->table, word + 1, 2))
        return long_option(o, word + 1, ret, err);
    return short_option(o, word + 1, ret, err);
}

bool options_is(const struct options_item *i, const char *name)
{
    return i->row && strcmp(i->row->name, name) == 0;
}

bool options_switch(const char *name, const struct option_switch *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, s[i].name) == 0) {
            *s[i].flag = true;
            return true;
        }
    return false;
}

void options_about(const struct option_table *t, bool version)
{
    if (version)
        printf("%s %s\n", t->program, EDDIS_VERSION);
    else
        options_help(t, stdout);
}

void options_help(const struct option_table *t, FILE *out)
{
    for (size_t i = 0; t->use[i]; i++)
        fprintf(out, "%s %s %s\n", i ? "      " : "usage:", t->program, t->use[i]);
    fprintf(out, "\n%s\n\n", t->summary);
    for (size_t i = 0; i < t->n; i++) {
        const struct option_row *r = &t->row[i];
        char left[OPTIONS_NAME];
        int n;

        if (r->letter)
            n = snprintf(left, sizeof left, "  -%c, --%s", r->letter, r->name);
        else
            n = snprintf(left, sizeof left, "      --%s", r->name);
        if (r->argument && n < (int)sizeof left)
            n += snprintf(left + n, sizeof left - (size_t)n, "%s%s",
                          r->argument[0] == '[' ? "" : " ", r->argument);
        if (n >= OPTIONS_COLUMN - 1)
            fprintf(out, "%s\n%*s%s\n", left, OPTIONS_COLUMN, "", r->help);
        else
            fprintf(out, "%-*s%s\n", OPTIONS_COLUMN, left, r->help);
    }
    if (t->footer)
        fprintf(out, "\n%s", t->footer);
}

void options_complain(const char *program, const struct eddis_error *err, FILE *out)
{
    struct eddis_error clean = *err;

    text_strip_control(clean.text);
    fprintf(out, "%s: %s\n", program, clean.text);
}

int options_flush(struct eddis_error *err)
{
    struct pollfd reader = { .fd = STDOUT_FILENO, .events = POLLOUT };
    bool bad = ferror(stdout); /* an earlier write failed, and its errno is lost */
    int rc = fflush(stdout) < 0 ? errno : bad ? EIO : 0;

    if (rc == 0 || (poll(&reader, 1, 0) > 0 && reader.revents & (POLLERR | POLLHUP | POLLNVAL)))
        return 0;
    return eddis_fail_errno(err, -rc, "cannot write to standard output");
}
