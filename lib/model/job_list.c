/* SPDX-License-Identifier: Apache-2.0 */
/* job_list.c - types of several values: the command, lists of words, maps, imitated devices */
#include "job_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- NULL-ended lists of words ---- */

struct words {
    char **at; /* NULL-ended once something was added */
    size_t n;
};

static void words_free(char **at)
{
    for (char **w = at; w && *w; w++)
        free(*w);
    free(at);
}

/* Takes text, which may be NULL for "no memory". */
static int words_add_take(struct words *w, char *text, struct eddis_error *err)
{
    char **grown = text ? realloc(w->at, (w->n + 2) * sizeof *grown) : NULL;

    if (!grown) {
        free(text);
        return job_no_memory(err);
    }
    w->at = grown;
    w->at[w->n++] = text;
    w->at[w->n] = NULL;
    return 0;
}

/* Make the member these words, or free them when the reading of them failed with rc. */
static int words_keep(const struct job_reader *r, const struct job_key *key, struct words *w,
                      int rc, struct eddis_error *err)
{
    char ***member = job_member(r->job, key);

    if (rc == 0 && !w->at) {
        w->at = calloc(1, sizeof *w->at);
        if (!w->at)
            rc = job_no_memory(err);
    }
    if (rc < 0) {
        words_free(w->at);
        return rc;
    }
    words_free(*member);
    *member = w->at;
    return 0;
}

static void words_member_free(struct job *job, const struct job_key *key)
{
    char ***member = job_member(job, key);

    words_free(*member);
    *member = NULL;
}

static void words_write(const struct job *job, const struct job_key *key, struct strbuf *b)
{
    char *const *const *member = job_member_const(job, key);

    strbuf_add(b, "[");
    for (char *const *w = *member; w && *w; w++) {
        strbuf_add(b, w == *member ? "" : ", ");
        job_scalar_add(b, *w);
    }
    strbuf_add(b, "]");
}

static int list_add(const struct job_reader *r, const struct job_key *key,
                    const struct job_node *list, struct words *w, struct eddis_error *err)
{
    for (const struct job_node *n = list->first; n; n = n->next) {
        char what[80];
        int rc;

        if (n->kind != JOB_SCALAR || job_node_is_null(n)) {
            job_node_words(n, what, sizeof what);
            return job_wrong(r, n->line, n->column, err,
                             "an entry of \"%s\" is %s; write a word, in quotes when it is unusual",
                             key->name, what);
        }
        rc = words_add_take(w, strdup(n->text), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int list_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    struct words w = { 0 };

    if (n->kind != JOB_LIST)
        return job_mistyped(r, key, n, err);
    return words_keep(r, key, &w, list_add(r, key, n, &w, err), err);
}

static void list_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "a list of words, like [a, b]");
}

const struct job_type job_type_list = {
    .structured = true,
    .read = list_read,
    .write = words_write,
    .free = words_member_free,
    .expect = list_expect,
};

/* ---- the command: a list, or a line split as a shell would, without a shell ---- */

/* Append the next word of *p to b, taking its quotes away.  Returns 1 when the word was quoted
 * somewhere, 0 when not, -EINVAL when a quote does not end.
 */
static int next_word(const char **p, struct strbuf *b)
{
    const char *s = *p;
    char quote = '\0';
    int quoted = 0;

    strbuf_add(b, "");
    for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
        if (quote && *s == quote) {
            quote = '\0';
        } else if (!quote && (*s == '\'' || *s == '"')) {
            quote = *s;
            quoted = 1;
        } else if (*s == '\\' && s[1] && quote != '\'' && (!quote || s[1] == '"' || s[1] == '\\')) {
            strbuf_add_bytes(b, ++s, 1);
            quoted = 1;
        } else {
            strbuf_add_bytes(b, s, 1);
        }
    }
    *p = s;
    return quote ? -EINVAL : quoted;
}

static bool is_shell(const char *word)
{
    static const char *const operators[] = { "|",  "||", "&",  "&&", ";",    ">",
                                             ">>", "<",  "<<", "2>", "2>&1", "&>" };

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(word, operators[i]) == 0)
            return true;
    return false;
}

static int line_add(const struct job_reader *r, const struct job_node *n, struct words *w,
                    struct eddis_error *err)
{
    const char *p = n->text;

    for (;;) {
        struct strbuf b = { 0 };
        int quoted, rc = 0;

        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            return 0;
        quoted = next_word(&p, &b);
        if (quoted < 0)
            rc = job_wrong(r, n->line, n->column, err,
                           "a quote in \"command\" does not end; add it, or write a list");
        else if (w->n == JOB_MAX_ITEMS)
            rc = job_wrong(r, n->line, n->column, err,
                           "\"command\" has more than 4096 words; shorten it");
        else if (!quoted && is_shell(strbuf_text(&b)))
            rc = job_wrong(r, n->line, n->column, err,
                           "no shell reads \"%s\" in \"command\"; write command: [sh, -c, \"...\"]",
                           strbuf_text(&b));
        if (rc < 0) {
            strbuf_fini(&b);
            return rc;
        }
        rc = words_add_take(w, strbuf_steal(&b), err);
        if (rc < 0)
            return rc;
    }
}

static int command_read(const struct job_reader *r, const struct job_key *key,
                        const struct job_node *n, struct eddis_error *err)
{
    struct words w = { 0 };
    int rc;

    if (n->kind == JOB_MAP)
        return job_mistyped(r, key, n, err);
    rc = n->kind == JOB_LIST ? list_add(r, key, n, &w, err) : line_add(r, n, &w, err);
    if (rc == 0 && (w.n == 0 || !*w.at[0]))
        rc = job_wrong(r, n->line, n->column, err,
                       "\"command\" names no program; write a list like [python3, train.py]");
    return words_keep(r, key, &w, rc, err);
}

static void command_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "a list like [python3, train.py], or one line of words");
}

const struct job_type job_type_command = {
    .structured = true,
    .read = command_read,
    .write = words_write,
    .free = words_member_free,
    .expect = command_expect,
};

/* ---- maps of names to text ---- */

enum { MAX_VARIABLE = 256 };

static bool is_variable(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && n <= MAX_VARIABLE && !s[n] && !isdigit((unsigned char)*s);
}

/* Those that every worker gets from us, and whose other values would split the job; an end of "_"
 * stands for all that begin so.  What a user may want to choose, as MASTER_PORT, is not among them.
 */
static bool is_ours(const char *s)
{
    static const char *const names[] = {
        "RANK",      "WORLD_SIZE",      "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
        "ROLE_RANK", "ROLE_WORLD_SIZE", "EDDIS_",     "OMPI_COMM_WORLD_", "PMIX_",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(s, names[i], n) == 0 && (!s[n] || names[i][n - 1] == '_'))
            return true;
    }
    return false;
}

int job_check_variable(const char *name, struct eddis_error *err)
{
    if (!is_variable(name))
        return eddis_fail(err, -EINVAL, "\"%.40s\" is no name; write letters, digits and _", name);
    if (is_ours(name))
        return eddis_fail(err, -EINVAL, "\"%.40s\" is set by eddis itself; choose another name",
                          name);
    return 0;
}

/* Check one entry of a map; its value is text, "" in quotes when it is meant to be empty. */
static int check_entry(const struct job_reader *r, const struct job_key *key,
                       const struct job_node *n, struct eddis_error *err)
{
    if (!is_variable(n->key))
        return job_wrong(r, n->key_line, n->key_column, err,
                         "\"%.40s\" in \"%s\" is no name; write letters, digits and _", n->key,
                         key->name);
    if (n->kind != JOB_SCALAR)
        return job_wrong(r, n->line, n->column, err,
                         "\"%.40s\" in \"%s\" is a %s; write one value, in quotes", n->key,
                         key->name, n->kind == JOB_LIST ? "list" : "map");
    if (job_node_is_null(n))
        return job_wrong(r, n->key_line, n->key_column, err,
                         "\"%.40s\" in \"%s\" has no value; write \"\" for an empty one", n->key,
                         key->name);
    return 0;
}

static void map_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "a map like {NAME: value}");
}

static char *assignment(const struct job_node *n)
{
    struct strbuf b = { 0 };

    strbuf_addf(&b, "%s=", n->key);
    strbuf_add(&b, n->text);
    return strbuf_steal(&b);
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t nx = strcspn(x, "="), ny = strcspn(y, "=");
    int order = memcmp(x, y, nx < ny ? nx : ny);

    return order ? order : (nx > ny) - (nx < ny);
}

static int env_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                    struct eddis_error *err)
{
    struct words w = { 0 };
    int rc = 0;

    if (n->kind != JOB_MAP)
        return job_mistyped(r, key, n, err);
    for (const struct job_node *c = n->first; c && rc == 0; c = c->next) {
        struct eddis_error why = { 0 };

        rc = check_entry(r, key, c, err);
        if (rc == 0 && job_check_variable(c->key, &why) < 0)
            rc = job_wrong(r, c->key_line, c->key_column, err, "%s", why.text);
        if (rc == 0)
            rc = words_add_take(&w, assignment(c), err);
    }
    if (rc == 0 && w.n)
        qsort(w.at, w.n, sizeof *w.at, by_name);
    return words_keep(r, key, &w, rc, err);
}

static bool is_secret(const char *name, size_t n)
{
    static const char *const parts[] = { "KEY", "TOKEN", "SECRET", "PASSWORD" };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t at = 0; at + strlen(parts[i]) <= n; at++)
            if (strncasecmp(name + at, parts[i], strlen(parts[i])) == 0)
                return true;
    return false;
}

static void env_write(const struct job *job, const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "{");
    for (char **w = job->env; w && *w; w++) {
        size_t n = strcspn(*w, "=");

        strbuf_addf(b, "%s%.*s: ", w == job->env ? "" : ", ", (int)n, *w);
        job_scalar_add(b, is_secret(*w, n) ? "***" : *w + n + 1);
    }
    strbuf_add(b, "}");
}

const struct job_type job_type_env = {
    .structured = true,
    .read = env_read,
    .write = env_write,
    .free = words_member_free,
    .expect = map_expect,
};

static int mca_read(const struct job_reader *r, const struct job_key *key, const struct job_node *n,
                    struct eddis_error *err)
{
    struct words w = { 0 };
    int rc = 0;

    if (n->kind != JOB_MAP)
        return job_mistyped(r, key, n, err);
    for (const struct job_node *c = n->first; c && rc == 0; c = c->next) {
        rc = check_entry(r, key, c, err);
        if (rc == 0)
            rc = words_add_take(&w, strdup(c->key), err);
        if (rc == 0)
            rc = words_add_take(&w, strdup(c->text), err);
    }
    return words_keep(r, key, &w, rc, err);
}

static void mca_write(const struct job *job, const struct job_key *key, struct strbuf *b)
{
    strbuf_add(b, "{");
    for (char **w = job->mpi.mca; w && w[0] && w[1]; w += 2) {
        strbuf_addf(b, "%s%s: ", w == job->mpi.mca ? "" : ", ", w[0]);
        job_scalar_add(b, w[1]);
    }
    strbuf_add(b, "}");
}

const struct job_type job_type_mca = {
    .structured = true,
    .read = mca_read,
    .write = mca_write,
    .free = words_member_free,
    .expect = map_expect,
};
