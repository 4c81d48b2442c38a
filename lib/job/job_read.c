/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.c - read a YAML tree or a flag into struct job, each key by the type of its row */
#include "job_read.h"

#include "job_keys.h"
#include "job_text.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/strlist.h"
#include "lib/base/text.h"
#include "lib/job/tree/job_group.h"
#include "lib/job/tree/job_yaml.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 128 }; /* size of a buffer for a dotted key; longer than any in the table */

void job_free(struct job *job)
{
    if (!job)
        return;
    job_members_free(&job_table, job);
    free(job->file);
    free(job->folder);
    free(job);
}

/* Borrow the origin of the key's value in the job, for the caller to set. */
static struct job_origin *origin_of(struct job *job, const struct job_key *key)
{
    return &job->origin[key - job_table.row];
}

/* ---- defaults ---- */

/* Read the key's value from `text` into r->job: lists and maps as YAML, all other types as one
 * scalar.  Return 0, -EINVAL or -ENOMEM.
 */
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

/* Return a job name for the folder, for the caller to free: the last name in its path from the
 * first letter or digit on, with '-' for characters that are not allowed; "job" if nothing is left.
 * NULL without memory.
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

/* Make a job whose keys have their defaults, without a command, and store it in *ret, for job_free.
 * `file` may be NULL.  Return 0 or a negative errno; -EINVAL: the folder is not an absolute path in
 * UTF-8.
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
    else if (*folder != '/' || text_utf8_bad(folder, strlen(folder)) < strlen(folder))
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
    if (rc < 0)
        job_free(job);
    else
        *ret = job;
    return rc;
}

/* ---- the file ---- */

/* Check whether the map has the key `name`.  If `misspelt`, a key so similar that its error message
 * has suggested `name` counts too.
 */
static bool has_key(const struct job_node *map, const char *name, bool misspelt)
{
    for (const struct job_node *n = map->first; n; n = n->next)
        if (strcmp(n->key, name) == 0 || (misspelt && text_nearest(n->key, &name, 1)))
            return true;
    return false;
}

/* Read all keys of the map `root` into r->job, check that there is a command, derive defaults and
 * check the values against each other.  Return 0 or a negative errno.
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
        (void)job_gather(r, rc, err);
    }
    if (rc < 0)
        return rc;
    job_follow(r->job);
    return job_check(r->job, err);
}

/* Check whether line `line`, counted from 1, of text [n] ends with the comment by which job_text
 * marks a default.
 */
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

/* If text [n], from which the job was read, is an output of job_text, mark the values as defaults
 * that it marks as defaults.  Such a text contains the values of all keys, also of those that the
 * user did not set.
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

/* Parse text [n] into a new job, as job_parse does, and store it in *ret.  If `all` is not NULL,
 * continue after errors and collect them there.  The caller frees *ret.  Return 0 or a negative
 * errno.
 */
static int parse(const char *text, size_t n, const char *name, const char *folder,
                 struct job_mistakes *all, struct job **ret, struct eddis_error *err)
{
    struct job_reader r = { .file = name, .all = all };
    struct job_node *root;
    int rc = job_new(name, folder, &r.job, err);

    if (rc < 0)
        return rc;
    r.base = r.job;
    r.origin = r.job->origin;
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

/* Parse text [n], read from the file at `path`, as parse does; relative paths in it are relative to
 * the file's folder.  Return 0 or a negative errno.
 */
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

/* Read the YAML file at `path` into a new job *ret, which the caller frees, and append its mistakes
 * to `all`.  Return 0 or a negative errno, also if the file cannot be read.
 */
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
    struct strlist words = { 0 };
    struct job *job;
    size_t n = 0;
    int rc;

    while (command[n]) {
        if (text_utf8_bad(command[n], strlen(command[n])) < strlen(command[n]))
            return eddis_fail(err, -EINVAL, "word %zu of the command is not UTF-8; rename it",
                              n + 1);
        n++;
    }
    if (n == 0 || !*command[0])
        return eddis_fail(err, -EINVAL, "the command names no program; write it after --");
    rc = job_new(NULL, folder, &job, err);
    if (rc < 0)
        return rc;
    strlist_add_all(&words, (char *const *)(uintptr_t)command);
    job->command = words.item;
    if (words.failed) {
        job_free(job);
        return job_no_memory(err);
    }
    *origin_of(job, job_key_find(&job_table, "command")) =
        (struct job_origin){ .kind = JOB_FLAG, .flag = "command line" };
    *ret = job;
    return 0;
}

/* Return -EINVAL for a flag with `key`, which is unknown or the name of a group of keys.  The
 * message suggests another key.
 */
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
    return job_unknown_key(r, &job_table, group, &n, err);
}

/* ---- flags ---- */

/* Borrow the row of a flag's key; NULL: there is none. */
static const struct job_key *find_key(const char *key)
{
    const struct job_key *k = job_key_find(&job_table, key);
    const char *dot = strrchr(key, '.');
    char group[PATH_SIZE];

    if (k || !dot)
        return k;
    snprintf(group, sizeof group, "%.*s", (int)(dot - key), key);
    return job_key_inside(&job_table, group, dot + 1);
}

/* Set a key of the job to `value`, from this flag, and derive defaults again.  A quoted value is
 * one scalar, never YAML.  If the key replaces another one (nodes, hostfile), the origin of the
 * other becomes the default.  Return 0 or a negative errno, and then the job is unchanged; -EINVAL:
 * the key is unknown, not implemented, or the value is wrong.
 */
static int set(struct job *job, const char *key, const struct job_node *value, const char *flag,
               struct eddis_error *err)
{
    const struct job_reader r = { .job = job, .base = job, .file = flag, .flag = flag };
    const struct job_key *k = find_key(key), *other;
    int rc;

    if (!k)
        return no_such_key(&r, key, err);
    if (k->later)
        return job_refuse_later(&r, k, 0, 0, err);
    if (text_utf8_bad(value->text, strlen(value->text)) < strlen(value->text))
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
