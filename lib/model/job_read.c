/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.c - read a YAML tree or a flag into struct job, each key by the type of its row */
#include "job_impl.h"
#include "job_trusted.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 128 }; /* size of a dotted key; longer than any in the table */

void job_free(struct job *job)
{
    if (!job)
        return;
    job_members_free(&job_table, job);
    free(job->file);
    free(job->folder);
    free(job);
}

/* Return the origin of a key's value, to be set. */
static struct job_origin *origin_of(struct job *job, const struct job_key *key)
{
    return &job->origin[key - job_table.row];
}

struct job_origin job_origin(const struct job *job, const char *key)
{
    const struct job_key *k = job_key_find(&job_table, key);

    return k ? job->origin[k - job_table.row] : (struct job_origin){ .kind = JOB_DEFAULT };
}

/* ---- defaults ---- */

/* Read a value given as text: as the value itself, or as YAML for lists and maps. */
static int read_text(const struct job_reader *r, const struct job_key *key, const char *text,
                     struct eddis_error *err)
{
    struct job_node plain = {
        .kind = JOB_SCALAR, .line = 1, .column = 1, .text = (char *)(uintptr_t)text
    };
    struct job_node *root;
    int rc;

    if (!key->field->type->structured)
        return key->field->type->read(r, key, &plain, err);
    rc = job_yaml_parse(r, text, strlen(text), &root, err);
    if (rc < 0)
        return rc;
    if (job_node_is_null(root))
        rc = job_mistyped(r, key, root, err);
    else
        rc = key->field->type->read(r, key, root, err);
    job_node_free(root);
    return rc;
}

/* Return the last part of the folder's path, made a valid job name, for the caller to free.  NULL
 * without memory.
 */
static char *name_of_folder(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    const char *last = slash ? slash + 1 : folder;
    char *name;

    while (*last && !isalnum((unsigned char)*last))
        last++;
    name = strndup(*last ? last : "job", JOB_MAX_NAME);
    for (char *c = name; c && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '-';
    return name;
}

/* Make a job with all defaults and no command, in *ret.  `file` may be NULL; folder must be
 * absolute.
 */
static int job_new(const char *file, const char *folder, struct job **ret, struct eddis_error *err)
{
    struct job *job = calloc(1, sizeof *job);
    const struct job_reader r = { .job = job, .base = job, .file = "default" };
    int rc = 0;

    if (!job)
        return job_no_memory(err);
    job->file = file ? strdup(file) : NULL;
    job->folder = strdup(folder);
    if ((file && !job->file) || !job->folder)
        rc = job_no_memory(err);
    else if (*folder != '/' || job_utf8_bad(folder, strlen(folder)) < strlen(folder))
        rc = eddis_fail(err, -EINVAL, "the folder \"%s\" is not an absolute path in UTF-8", folder);
    for (size_t i = 0; i < job_table.n && rc == 0; i++) {
        const struct job_key *key = &job_table.row[i];

        if (key->field && key->field->value)
            rc = read_text(&r, key, key->field->value, err);
    }
    if (rc == 0) {
        job->name = name_of_folder(folder);
        if (!job->name)
            rc = job_no_memory(err);
    }
    if (rc < 0) {
        job_free(job);
        return rc;
    }
    *ret = job;
    return 0;
}

/* ---- the file's keys ---- */

/* Return the key of the table whose last part is most similar to the word; NULL: none is similar.
 */
static const char *nearest_elsewhere(const struct job_table *t, const char *word)
{
    const char *last[JOB_MAX_KEYS], *nearest;

    for (size_t i = 0; i < t->n; i++) {
        const char *dot = strrchr(t->row[i].name, '.');

        last[i] = dot ? dot + 1 : t->row[i].name;
    }
    nearest = text_nearest(word, last, t->n);
    for (size_t i = 0; i < t->n; i++)
        if (nearest == last[i])
            return t->row[i].name;
    return NULL;
}

/* Return the key of the group most similar to a dotted word, without the group's name; NULL: none
 * is similar.
 */
static const char *nearest_dotted(const struct job_table *t, const char *group, const char *word)
{
    const char *names[JOB_MAX_KEYS];
    size_t skip = *group ? strlen(group) + 1 : 0, count = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!skip ||
            (strncmp(t->row[i].name, group, skip - 1) == 0 && t->row[i].name[skip - 1] == '.'))
            names[count++] = t->row[i].name + skip;
    return text_nearest(word, names, count);
}

/* Append a dotted key as the file writes it: "batch: {global: 3}" for "batch.global".  Long or
 * structured values become "...".
 */
static void add_nested(const char *name, const struct job_node *value, struct strbuf *b)
{
    bool is_short = value->kind == JOB_SCALAR && !value->quoted && strlen(value->text) <= 32;
    int depth = 0;

    for (const char *c = name; *c; c++) {
        if (*c == '.')
            strbuf_add(b, ": {");
        else
            strbuf_addf(b, "%c", *c);
        depth += *c == '.';
    }
    strbuf_addf(b, ": %s", is_short ? value->text : "...");
    while (depth-- > 0)
        strbuf_add(b, "}");
}

/* Return the key to which a dotted name is internal, as env to env.HOME; NULL: none. */
static const struct job_key *key_around(const struct job_table *t, const char *dotted)
{
    const struct job_key *key = NULL;
    char name[PATH_SIZE];

    for (const char *dot = strchr(dotted, '.'); dot && !key; dot = strchr(dot + 1, '.')) {
        snprintf(name, sizeof name, "%.*s", (int)(dot - dotted), dotted);
        key = job_key_find(t, name);
    }
    return key;
}

/* Return -EINVAL for an unknown key of a group, with the nearest key or how to write it. */
static int unknown_key(const struct job_reader *r, const struct job_table *t, const char *group,
                       const struct job_node *n, struct eddis_error *err)
{
    char below[JOB_MAX_KEYS][32], where[PATH_SIZE + 2];
    const char *names[JOB_MAX_KEYS], *nearest, *dotted = NULL;
    const struct job_key *around = r->flag && !*group ? key_around(t, n->key) : NULL;
    size_t count = job_keys_below(t, group, below);
    struct strbuf b = { 0 };
    int rc;

    for (size_t i = 0; i < count; i++)
        names[i] = below[i];
    nearest = text_nearest(n->key, names, count);
    if (!r->flag && strchr(n->key, '.'))
        dotted = nearest_dotted(t, group, n->key);
    if (!nearest && r->flag && strchr(n->key, '.')) /* the group itself may be misspelt */
        nearest = nearest_dotted(t, "", n->key);
    if (!nearest)
        nearest = nearest_elsewhere(t, n->key);
    snprintf(where, sizeof where, *group ? "\"%s\"" : "%s", *group ? group : "the job");
    if (around) {
        strbuf_addf(&b, "set all of \"%s\", which is one key", around->name);
    } else if (dotted && strchr(dotted, '.')) {
        strbuf_add(&b, "write ");
        add_nested(dotted, n, &b);
    } else if (nearest) {
        strbuf_addf(&b, "did you mean \"%s\"?", nearest);
    } else if (*group) {
        strbuf_add(&b, "known are ");
        for (size_t i = 0; i < count; i++)
            strbuf_addf(&b, "%s%s", i ? ", " : "", names[i]);
    } else {
        strbuf_add(&b, "eddis-train.yaml(5) lists the keys");
    }
    rc = job_wrong(r, n->key_line, n->key_column, err, "unknown key \"%.40s\" in %s; %s", n->key,
                   where, strbuf_text(&b));
    strbuf_fini(&b);
    return rc;
}

/* Return -EINVAL for a key that waits for a later version. */
static int refuse_later(const struct job_reader *r, const struct job_key *key, int line, int column,
                        struct eddis_error *err)
{
    return job_wrong(r, line, column, err,
                     "the key \"%s\" is not in this version yet, it waits for %s; remove it",
                     key->name, key->later);
}

/* Read the value of a known key and record its origin in the job. */
static int read_value(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *n, struct eddis_error *err)
{
    int rc;

    if (key->later)
        return refuse_later(r, key, n->key_line, n->key_column, err);
    if (job_node_is_null(n))
        return job_mistyped(r, key, n, err);
    rc = key->field->type->read(r, key, n, err);
    if (rc == 0 && r->base == r->job)
        *origin_of(r->job, key) =
            (struct job_origin){ .kind = JOB_FILE, .line = n->key_line, .column = n->key_column };
    return rc;
}

/* Add an -EINVAL error to the list of the reader, unless a nested group has added it.  Return false
 * if reading must stop: no list, another error, or the list is full.
 */
static bool gather(const struct job_reader *r, int rc, const struct eddis_error *err)
{
    struct job_mistakes *all = r->all;

    if (!all || rc != -EINVAL)
        return false;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->text[i], err->text) == 0)
            return true;
    if (all->n == JOB_MAX_MISTAKES) {
        all->more = true;
        return false;
    }
    memcpy(all->text[all->n++], err->text, sizeof err->text);
    return true;
}

/* Read one key of a group: a value, or a nested group. */
static int read_key(const struct job_reader *r, const struct job_table *t, const char *group,
                    const struct job_node *n, struct eddis_error *err)
{
    char path[PATH_SIZE], below[JOB_MAX_KEYS][32], words[80];
    const struct job_key *key;

    if (!*n->key || strlen(n->key) >= 32 || strchr(n->key, '.'))
        return unknown_key(r, t, group, n, err);
    snprintf(path, sizeof path, "%s%s%s", group, *group ? "." : "", n->key);
    key = job_key_find(t, path);
    if (key)
        return read_value(r, key, n, err);
    if (job_keys_below(t, path, below) == 0)
        return unknown_key(r, t, group, n, err);
    if (n->kind == JOB_MAP)
        return job_group_read(r, t, path, n, err);
    job_node_words(n, words, sizeof words);
    return job_wrong(r, n->line, n->column, err,
                     "\"%s\" is %s; write its keys, as in %s: {%s: ...}", path, words, n->key,
                     below[0]);
}

int job_group_read(const struct job_reader *r, const struct job_table *t, const char *group,
                   const struct job_node *map, struct eddis_error *err)
{
    int wrong = 0;

    for (const struct job_node *n = map->first; n; n = n->next) {
        int rc = read_key(r, t, group, n, err);

        if (rc < 0 && !gather(r, rc, err))
            return rc;
        wrong = rc < 0 ? rc : wrong;
    }
    return wrong;
}

/* Check whether the map has this key.  `misspelt`: or one so similar that its error has suggested
 * this one.
 */
static bool has_key(const struct job_node *map, const char *name, bool misspelt)
{
    for (const struct job_node *n = map->first; n; n = n->next)
        if (strcmp(n->key, name) == 0 || (misspelt && text_nearest(n->key, &name, 1)))
            return true;
    return false;
}

/* Read all keys of the job, check that it has a command, then check the values against each other.
 */
static int read_root(const struct job_reader *r, const struct job_node *root,
                     struct eddis_error *err)
{
    char words[80];
    int rc;

    if (root->kind != JOB_MAP) {
        job_node_words(root, words, sizeof words);
        return job_wrong(r, root->line, root->column, err,
                         "the job is %s; write keys with values, at least the key \"command\"",
                         words);
    }
    rc = job_group_read(r, &job_table, "", root, err);
    if ((rc == 0 || (rc == -EINVAL && r->all && !r->all->more)) &&
        !has_key(root, "command", rc < 0)) {
        rc = job_wrong(r, root->line, root->column, err,
                       "the key \"command\" is missing; add the program to run, as in command: "
                       "[python3, train.py]");
        (void)gather(r, rc, err);
    }
    if (rc < 0)
        return rc;
    job_follow(r->job);
    return job_check(r->job, err);
}

/* Check whether this line, from 1, of text [n] ends with job_text's mark of a default. */
static bool is_default_line(const char *text, size_t n, int line)
{
    static const char mark[] = "  # default";
    const char *end = text + n, *stop;

    for (; line > 1 && text; line--) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    if (!text)
        return false;
    stop = memchr(text, '\n', (size_t)(end - text));
    stop = stop ? stop : end;
    n = (size_t)(stop - text);
    return n >= sizeof mark - 1 && memcmp(stop - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
}

/* Restore default origins in a job read from job_text's output.  Such a text contains all values,
 * though nobody asked for most of them.
 */
static void keep_defaults(struct job *job, const char *text, size_t n)
{
    size_t head = strlen(JOB_TEXT_HEAD);

    if (n < head || memcmp(text, JOB_TEXT_HEAD, head) != 0)
        return;
    for (size_t i = 0; i < JOB_MAX_KEYS; i++)
        if (job->origin[i].kind == JOB_FILE && is_default_line(text, n, job->origin[i].line))
            job->origin[i] = (struct job_origin){ .kind = JOB_DEFAULT };
}

/* Parse n bytes of text into a new job, collecting errors in `all` (NULL: stop at the first). */
static int parse(const char *text, size_t n, const char *name, const char *folder,
                 struct job_mistakes *all, struct job **ret, struct eddis_error *err)
{
    struct job_reader r = { .file = name, .all = all };
    struct job_node *root;
    int rc = job_new(name, folder, &r.job, err);

    if (rc < 0)
        return rc;
    r.base = r.job;
    rc = job_yaml_parse(&r, text, n, &root, err);
    if (rc == 0) {
        rc = read_root(&r, root, err);
        job_node_free(root);
    }
    if (rc < 0) {
        job_free(r.job);
        return rc;
    }
    keep_defaults(r.job, text, n);
    *ret = r.job;
    return 0;
}

int job_parse(const char *text, size_t n, const char *name, const char *folder, struct job **ret,
              struct eddis_error *err)
{
    return parse(text, n, name, folder, NULL, ret, err);
}

/* Parse the text of the file at `path`; relative paths are relative to its folder. */
static int parse_file(const char *path, const char *text, size_t n, struct job_mistakes *all,
                      struct job **ret, struct eddis_error *err)
{
    cleanup_free char *parent = NULL, *folder = NULL;
    const char *slash = strrchr(path, '/');

    parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!parent)
        return job_no_memory(err);
    folder = realpath(parent, NULL);
    if (!folder)
        return eddis_fail_errno(err, -errno, "cannot find the folder of '%s'", path);
    return parse(text, n, path, folder, all, ret, err);
}

/* Read and parse the file at `path`. */
static int read_file(const char *path, struct job_mistakes *all, struct job **ret,
                     struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read(path, JOB_MAX_BYTES, &text, &n, err);

    return rc < 0 ? rc : parse_file(path, text, n, all, ret, err);
}

int job_read_trusted(const char *path, struct eddis_error *warning, struct job **ret,
                     struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read_trusted(path, JOB_MAX_BYTES, warning, &text, &n, err);

    return rc < 0 ? rc : parse_file(path, text, n, NULL, ret, err);
}

int job_read(const char *path, struct job **ret, struct eddis_error *err)
{
    return read_file(path, NULL, ret, err);
}

int job_read_all(const char *path, struct job_mistakes *ret_wrong, struct job **ret,
                 struct eddis_error *err)
{
    struct eddis_error last = { 0 };
    int rc;

    *ret_wrong = (struct job_mistakes){ 0 };
    rc = read_file(path, ret_wrong, ret, &last);
    if (rc < 0 && ret_wrong->n == 0)
        memcpy(ret_wrong->text[ret_wrong->n++], last.text, sizeof last.text);
    return rc < 0 ? eddis_fail(err, rc, "%s", ret_wrong->text[0]) : rc;
}

int job_from_command(const char *const *command, const char *folder, struct job **ret,
                     struct eddis_error *err)
{
    struct job *job;
    size_t n = 0;
    int rc;

    while (command[n]) {
        if (job_utf8_bad(command[n], strlen(command[n])) < strlen(command[n]))
            return eddis_fail(err, -EINVAL, "word %zu of the command is not UTF-8; rename it",
                              n + 1);
        n++;
    }
    if (n == 0 || !*command[0])
        return eddis_fail(err, -EINVAL, "the command names no program; write it after --");
    rc = job_new(NULL, folder, &job, err);
    if (rc < 0)
        return rc;
    job->command = calloc(n + 1, sizeof *job->command);
    for (size_t i = 0; i < n && job->command; i++) {
        job->command[i] = strdup(command[i]);
        if (!job->command[i])
            n = 0;
    }
    if (n == 0 || !job->command) {
        job_free(job);
        return job_no_memory(err);
    }
    *origin_of(job, job_key_find(&job_table, "command")) =
        (struct job_origin){ .kind = JOB_FLAG, .flag = "command line" };
    *ret = job;
    return 0;
}

/* Return -EINVAL for an unknown key or a group's name in a flag. */
static int no_such_key(const struct job_reader *r, const char *key, struct eddis_error *err)
{
    char group[PATH_SIZE], below[JOB_MAX_KEYS][32];
    const char *dot = strrchr(key, '.');
    struct job_node n = { .key = (char *)(uintptr_t)key };

    if (job_keys_below(&job_table, key, below))
        return job_wrong(r, 0, 0, err,
                         "\"%.40s\" is a group of keys; set one of them, as in %.40s.%s", key, key,
                         below[0]);
    snprintf(group, sizeof group, "%.*s", dot ? (int)(dot - key) : 0, key);
    if (*group && job_keys_below(&job_table, group, below))
        n.key = (char *)(uintptr_t)(dot + 1);
    else
        *group = '\0';
    return unknown_key(r, &job_table, group, &n, err);
}

/* ---- flags ---- */

/* Set one key from a flag; a quoted node is taken as one scalar.  Resets the origin of the key that
 * it replaces (nodes and hostfile).
 */
static int set(struct job *job, const char *key, const struct job_node *value, const char *flag,
               struct eddis_error *err)
{
    const struct job_reader r = { .job = job, .base = job, .file = flag, .flag = flag };
    const struct job_key *k = job_key_find(&job_table, key), *other;
    int rc;

    if (!k)
        return no_such_key(&r, key, err);
    if (k->later)
        return refuse_later(&r, k, 0, 0, err);
    if (job_utf8_bad(value->text, strlen(value->text)) < strlen(value->text))
        return eddis_fail(err, -EINVAL, "%s: the value is not UTF-8; write it in UTF-8", flag);
    rc = value->quoted ? k->field->type->read(&r, k, value, err)
                       : read_text(&r, k, value->text, err);
    if (rc < 0)
        return rc;
    *origin_of(job, k) = (struct job_origin){ .kind = JOB_FLAG, .flag = flag };
    other = k->field->instead ? job_key_find(&job_table, k->field->instead) : NULL;
    if (other)
        *origin_of(job, other) = (struct job_origin){ .kind = JOB_DEFAULT };
    job_follow(job);
    return 0;
}

int job_set(struct job *job, const char *key, const char *value, const char *flag,
            struct eddis_error *err)
{
    const struct job_node n = { .kind = JOB_SCALAR, .text = (char *)(uintptr_t)value };

    return set(job, key, &n, flag, err);
}

int job_set_text(struct job *job, const char *key, const char *value, const char *flag,
                 struct eddis_error *err)
{
    const struct job_node n = { .kind = JOB_SCALAR,
                                .quoted = true,
                                .text = (char *)(uintptr_t)value };

    return set(job, key, &n, flag, err);
}
