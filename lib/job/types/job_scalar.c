/* SPDX-License-Identifier: Apache-2.0 */
/* job_scalar.c - types of one value: names, paths, numbers, durations, words */
#include "job_types.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/decimal.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Check whether the node is the key's special word ("auto"). */
static bool is_word(const struct job_key *key, const struct job_node *n)
{
    return n->kind == JOB_SCALAR && key->field->word && strcmp(n->text, key->field->word) == 0;
}

/* Replace the member by text, which base then owns, and return 0; for NULL return -ENOMEM and
 * change nothing.
 */
static int take_text(const struct job_reader *r, const struct job_key *key, char *text,
                     struct eddis_error *err)
{
    if (!text)
        return job_no_memory(err);
    job_pointer_set(r->base, key, text, 0);
    return 0;
}

void job_text_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    const char *const *member = job_member_const(base, key);

    job_scalar_add(b, *member ? *member : key->field->word);
}

/* ---- name ---- */

/* Read a name (job_type.read).  Return 0, -EINVAL or -ENOMEM; after a failure the member is
 * unchanged.
 */
static int name_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    if (n->kind != JOB_SCALAR || !text_is_name(n->text, JOB_MAX_NAME))
        return job_mistyped(r, key, n, err);
    return take_text(r, key, strdup(n->text), err);
}

/* Append the form of a valid value (job_type.expect). */
static void name_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_addf(b, "at most %d letters, digits, '.', '_' or '-', beginning with a letter or digit",
                JOB_MAX_NAME);
}

const struct job_type job_type_name = {
    .read = name_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .expect = name_expect,
};

/* ---- path ---- */

/* Return the absolute path for the caller to free, without leading "./" and trailing "/".  NULL
 * without memory.
 */
static char *absolute(const char *folder, const char *path)
{
    char *text;
    size_t len;

    while (strncmp(path, "./", 2) == 0)
        path += strspn(path + 1, "/") + 1;
    if (*path == '/')
        text = strdup(path);
    else if (*path == '\0' || strcmp(path, ".") == 0)
        text = strdup(folder);
    else
        text = file_join(strcmp(folder, "/") == 0 ? "" : folder, "%s", path);
    for (len = text ? strlen(text) : 0; len > 1 && text[len - 1] == '/'; len--)
        text[len - 1] = '\0';
    return text;
}

int job_path_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                  char **ret, struct eddis_error *err)
{
    char *text;

    if (n->kind != JOB_SCALAR || !*n->text)
        return job_mistyped(r, key, n, err);
    if (n->text[0] == '~' && !key->field->tilde)
        return job_wrong(
            r, n->line, n->column, err,
            "\"%s\" begins with \"~\", which eddis does not expand; write the full path",
            key->name);
    text =
        is_word(key, n) || n->text[0] == '~' ? strdup(n->text) : absolute(r->job->folder, n->text);
    if (!text)
        return job_no_memory(err);
    *ret = text;
    return 0;
}

/* Read a path and make it absolute (job_type.read).  Return 0 or a negative errno; after a failure
 * the member is unchanged.
 */
static int path_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    char *text = NULL;
    int rc = 0;

    if (!is_word(key, n) || key->field->keep_word)
        rc = job_path_read(r, key, n, &text, err);
    if (rc == 0)
        job_pointer_set(r->base, key, text, 0);
    return rc;
}

const struct job_type job_type_path = {
    .read = path_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .form = "a path",
    .or_word = true,
};

/* ---- text, validated by its row ---- */

/* Read a text that passes the row's check (job_type.read).  Return 0, -EINVAL or -ENOMEM; after a
 * failure the member is unchanged.
 */
static int text_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    struct eddis_error why = { 0 };

    if (is_word(key, n) && !f->keep_word) {
        job_pointer_free(r->base, key);
        return 0;
    }
    if (n->kind != JOB_SCALAR || job_node_is_null(n))
        return job_mistyped(r, key, n, err);
    if (!is_word(key, n) && f->check(n->text, &why) < 0)
        return job_wrong(r, n->line, n->column, err, "\"%s\": %s", key->name, why.text);
    return take_text(r, key, strdup(n->text), err);
}

const struct job_type job_type_text = {
    .read = text_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .form = "a text",
    .or_word = true,
};

/* ---- whole number; the special word is 0, words[0] is -1 ---- */

/* Read a whole number in range, or a word (job_type.read).  Return 0 or -EINVAL; after a failure
 * the member is unchanged.
 */
static int whole_read(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    int64_t v = 0;

    if (f->words[0] && n->kind == JOB_SCALAR && strcmp(n->text, f->words[0]) == 0)
        v = -1;
    else if (!is_word(key, n) && (n->kind != JOB_SCALAR || n->quoted ||
                                  !decimal_whole(n->text, &v) || v < f->min || v > f->max))
        return job_mistyped(r, key, n, err);
    *(int64_t *)job_member(r->base, key) = v;
    return 0;
}

/* Append the number, or the word for 0 or -1 (job_type.write). */
static void whole_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    int64_t v = *(const int64_t *)job_member_const(base, key);

    if (v == 0 && key->field->word)
        strbuf_add(b, key->field->word);
    else if (v == -1 && key->field->words[0])
        strbuf_add(b, key->field->words[0]);
    else
        strbuf_addf(b, "%lld", (long long)v);
}

/* Append the form of a valid value (job_type.expect). */
static void whole_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_addf(b, "a whole number from %lld to %lld", (long long)key->field->min,
                (long long)key->field->max);
    if (key->field->word)
        strbuf_addf(b, " or %s", key->field->word);
    if (key->field->words[0])
        strbuf_addf(b, " or %s", key->field->words[0]);
}

const struct job_type job_type_whole = {
    .read = whole_read,
    .write = whole_write,
    .expect = whole_expect,
};

/* ---- number; the special word is 0 ---- */

/* Read a number in range, or the word (job_type.read).  Return 0 or -EINVAL; after a failure the
 * member is unchanged.
 */
static int number_read(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    double v = 0;

    if (!is_word(key, n) && (n->kind != JOB_SCALAR || n->quoted || !decimal_number(n->text, &v) ||
                             v < f->low || v > f->high))
        return job_mistyped(r, key, n, err);
    *(double *)job_member(r->base, key) = v;
    return 0;
}

/* Append the number, or the word for 0 (job_type.write). */
static void number_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    double v = *(const double *)job_member_const(base, key);

    if (v == 0 && key->field->word)
        strbuf_add(b, key->field->word);
    else
        decimal_add(b, v, 1);
}

/* Append the form of a valid value (job_type.expect). */
static void number_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_addf(b, "a number from %g to %g", key->field->low, key->field->high);
}

const struct job_type job_type_number = {
    .read = number_read,
    .write = number_write,
    .expect = number_expect,
    .or_word = true,
};

/* ---- duration ---- */

/* Append ns as text in the largest unit that divides it, "5m"; CLOCK_NEVER is "none". */
static void add_duration(struct strbuf *b, int64_t ns)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {
        { "d", 86400 * CLOCK_S }, { "h", 3600 * CLOCK_S }, { "m", 60 * CLOCK_S },
        { "s", CLOCK_S },         { "ms", CLOCK_MS },
    };

    if (ns == CLOCK_NEVER) {
        strbuf_add(b, "none");
        return;
    }
    for (size_t i = 0; ns && i < sizeof units / sizeof *units; i++)
        if (ns % units[i].ns == 0) {
            strbuf_addf(b, "%lld%s", (long long)(ns / units[i].ns), units[i].unit);
            return;
        }
    if (ns >= CLOCK_S)
        strbuf_addf(b, "%llds", (long long)(ns / CLOCK_S));
    if (ns % CLOCK_S)
        strbuf_addf(b, "%.6fms", (double)(ns % CLOCK_S) / CLOCK_MS);
    else
        strbuf_add(b, "0s");
}

/* Read a duration in range; "none" if the key has a word (job_type.read).  Return 0 or -EINVAL;
 * after a failure the member is unchanged.
 */
static int duration_read(const struct job_reader *r, const struct job_key *key,
                         const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    int64_t v;

    if (n->kind != JOB_SCALAR || text_duration_ns(n->text, &v, NULL) < 0 ||
        (v == CLOCK_NEVER ? !f->word : v < f->min || v > f->max))
        return job_mistyped(r, key, n, err);
    *(int64_t *)job_member(r->base, key) = v;
    return 0;
}

/* Append the duration (job_type.write). */
static void duration_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    add_duration(b, *(const int64_t *)job_member_const(base, key));
}

/* Check whether v is from `least` to `most`. */
static bool is_within(int64_t v, int64_t least, int64_t most)
{
    return v >= least && v <= most;
}

/* Append examples in the field's range: ", like 10s, 5m or 2h". */
static void add_examples(const struct job_field *f, struct strbuf *b)
{
    static const struct {
        int64_t ns;
        const char *text;
    } row[] = { { 250 * CLOCK_MS, "250ms" },
                { 10 * CLOCK_S, "10s" },
                { 300 * CLOCK_S, "5m" },
                { 7200 * CLOCK_S, "2h" },
                { 604800 * CLOCK_S, "7d" } };
    const char *fits[sizeof row / sizeof *row];
    int n = 0;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (is_within(row[i].ns, f->min, f->max))
            fits[n++] = row[i].text;
    for (int i = 0; i < n; i++)
        strbuf_addf(b, "%s%s", i == 0 ? ", like " : i == n - 1 ? " or " : ", ", fits[i]);
}

/* Append the form of a valid value (job_type.expect). */
static void duration_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "a duration from ");
    add_duration(b, key->field->min);
    strbuf_add(b, " to ");
    add_duration(b, key->field->max);
    add_examples(key->field, b);
}

const struct job_type job_type_duration = {
    .read = duration_read,
    .write = duration_write,
    .expect = duration_expect,
    .or_word = true,
};

/* ---- period: a whole number of steps, or a duration ---- */

/* Read a number of steps or a duration (job_type.read).  Return 0 or -EINVAL; after a failure the
 * member is unchanged.
 */
static int period_read(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    struct job_period p = { 0 };
    int64_t v;

    if (n->kind == JOB_SCALAR && !n->quoted && decimal_whole(n->text, &v) &&
        is_within(v, f->min, f->max))
        p.steps = v;
    else if (n->kind == JOB_SCALAR && text_duration_ns(n->text, &v, NULL) == 0 &&
             is_within(v, f->least, f->most))
        p.ns = v;
    else
        return job_mistyped(r, key, n, err);
    *(struct job_period *)job_member(r->base, key) = p;
    return 0;
}

/* Append the period (job_type.write). */
static void period_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    const struct job_period *p = job_member_const(base, key);

    if (p->ns)
        add_duration(b, p->ns);
    else
        strbuf_addf(b, "%lld", (long long)p->steps);
}

/* Append the form of a valid value (job_type.expect). */
static void period_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_addf(b, "a whole number of steps from %lld to %lld or a duration from ",
                (long long)key->field->min, (long long)key->field->max);
    add_duration(b, key->field->least);
    strbuf_add(b, " to ");
    add_duration(b, key->field->most);
    strbuf_add(b, ", like 30s, 5m or 2h");
}

const struct job_type job_type_period = {
    .read = period_read,
    .write = period_write,
    .expect = period_expect,
};

/* ---- word ---- */

/* Return choice i of the field; NULL after the last. */
static const char *nth_word(const struct job_field *f, size_t i)
{
    return f->nth_word ? f->nth_word(i) : f->words[i];
}

/* Return choice i that a later version will have; NULL after the last. */
static const char *nth_soon(const struct job_field *f, size_t i)
{
    return f->nth_soon ? f->nth_soon(i) : NULL;
}

/* Check whether s is among the field's words, given by `word`. */
static bool among(const char *s, const struct job_field *f,
                  const char *(*word)(const struct job_field *f, size_t i))
{
    for (size_t i = 0; word(f, i); i++)
        if (strcmp(s, word(f, i)) == 0)
            return true;
    return false;
}

/* Append the field's words, given by `word`, to all [JOB_MAX_WORDS] after the first n.  Return
 * their new number.
 */
static size_t gather(const struct job_field *f,
                     const char *(*word)(const struct job_field *f, size_t i), const char **all,
                     size_t n)
{
    for (size_t i = 0; word(f, i) && n < JOB_MAX_WORDS; i++)
        all[n++] = word(f, i);
    return n;
}

/* Append the choices of the field (job_type.expect). */
static void word_expect(const struct job_key *key, struct strbuf *b)
{
    const char *word;

    for (size_t i = 0; (word = nth_word(key->field, i)); i++)
        strbuf_addf(b, "%s%s", i == 0 ? "" : nth_word(key->field, i + 1) ? ", " : " or ", word);
}

/* Return -EINVAL for a value that is no choice.  The message has the nearest choice, perhaps one of
 * a later version, or all choices if none is near.
 */
static int word_refuse(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    const char *all[JOB_MAX_WORDS], *nearest;
    size_t n_all = gather(key->field, nth_word, all, 0);
    char words[80];

    if (n->kind != JOB_SCALAR)
        return job_mistyped(r, key, n, err);
    n_all = gather(key->field, nth_soon, all, n_all);
    nearest = text_nearest(n->text, all, n_all);
    if (!nearest)
        return job_mistyped(r, key, n, err);
    job_node_words(n, words, sizeof words);
    return job_wrong(r, n->line, n->column, err, "\"%s\" is %s; did you mean \"%s\"?", key->name,
                     words, nearest);
}

/* Read one of the field's choices (job_type.read).  Return 0, -EINVAL or -ENOMEM; after a failure
 * the member is unchanged.
 */
static int word_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    const struct job_field *f = key->field;
    cleanup_strbuf struct strbuf b = { 0 };

    if (n->kind == JOB_SCALAR && among(n->text, f, nth_word))
        return take_text(r, key, strdup(n->text), err);
    if (n->kind != JOB_SCALAR || !among(n->text, f, nth_soon))
        return word_refuse(r, key, n, err);
    word_expect(key, &b);
    return job_wrong(r, n->line, n->column, err,
                     "\"%s\" is \"%s\", which is not supported in this version yet; write %s",
                     key->name, n->text, strbuf_text(&b));
}

const struct job_type job_type_word = {
    .read = word_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .expect = word_expect,
};
