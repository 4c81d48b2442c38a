/* SPDX-License-Identifier: Apache-2.0 */
/* node_list.c - writes and reads the lines of nodes.jsonl */
#include "node_list.h"

#include "agents/protocol/node_identity.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, MAX_WORDS = 64 };

/* ---- writing ---- */

/* Set member `key` of o to text; do nothing if text is NULL.  Failures are ignored. */
static void set_text(json_t *o, const char *key, const char *text)
{
    if (text)
        json_object_set_new(o, key, json_string(text));
}

/* Return the login settings that are set in s as a new JSON object, which is empty if s is NULL;
 * NULL without memory.
 */
static json_t *pack_ssh(const struct job_ssh *s)
{
    json_t *o = json_object();

    if (!o || !s)
        return o;
    set_text(o, "user", s->user);
    set_text(o, "identity", s->identity);
    if (s->port)
        json_object_set_new(o, "port", json_integer((json_int_t)s->port));
    if (s->command) {
        json_t *words = json_array();

        for (char **w = s->command; *w; w++)
            json_array_append_new(words, json_string(*w));
        json_object_set_new(o, "command", words);
    }
    return o;
}

char *node_list_line(const char *job_id, const struct job_host *host, const struct job_ssh *ssh,
                     const char *mark)
{
    cleanup_json json_t *o =
        json_pack("{s:i, s:s, s:s, s:s, s:o}", "schema_version", 1, "job", job_id, "host",
                  host->host, "mark", mark, "ssh", pack_ssh(ssh));

    if (!o)
        return NULL;
    set_text(o, "eddis", host->eddis);
    return json_text(o, false);
}

/* ---- reading ---- */

/* Free the strings and marks of an entry, but not the entry. */
static void free_node(struct node_list_entry *n)
{
    free(n->host.host);
    free(n->host.eddis);
    free(n->host.ssh.user);
    free(n->host.ssh.identity);
    for (char **w = n->host.ssh.command; w && *w; w++)
        free(*w);
    free(n->host.ssh.command);
    for (size_t i = 0; i < n->n_marks; i++)
        free(n->mark[i]);
    free(n->mark);
}

void node_list_free(struct node_list *j)
{
    for (size_t i = 0; j && i < j->n; i++)
        free_node(&j->node[i]);
    if (j)
        free(j->node);
    free(j);
}

/* Set *err to "no memory" and return -ENOMEM. */
static int no_memory(struct eddis_error *err)
{
    return eddis_fail(err, -ENOMEM, "no memory for the job's nodes");
}

/* Copy the text of member `key`, if o has it, to a new string in *ret.  Return 0 or a negative
 * errno.
 */
static int copy_text(const json_t *o, const char *key, char **ret, struct eddis_error *err)
{
    const char *text = NULL;
    int rc = json_has(o, key) ? json_want_string(o, key, &text, err) : 0;

    if (rc == 0 && text && !(*ret = strdup(text)))
        rc = no_memory(err);
    return rc;
}

/* Read the list "command" of o, if there is one, into a new ret->command.  Return 0 or a negative
 * errno; strings read so far stay in *ret.
 */
static int read_command(const json_t *o, struct job_ssh *ret, struct eddis_error *err)
{
    json_t *words = NULL;
    int rc = json_has(o, "command") ? json_want_array(o, "command", MAX_WORDS, &words, err) : 0;

    if (rc < 0 || !words || json_array_size(words) == 0)
        return rc;
    ret->command = calloc(json_array_size(words) + 1, sizeof *ret->command);
    if (!ret->command)
        return no_memory(err);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));

        if (!word)
            return eddis_fail(err, -EINVAL, "member \"command\" has an item that is not a string");
        ret->command[i] = strdup(word);
        if (!ret->command[i])
            return no_memory(err);
    }
    return 0;
}

/* Read host, installation path and login settings of a line into *ret.  Return 0 or a negative
 * errno; strings read so far stay in *ret.
 */
static int read_host(const json_t *o, struct job_host *ret, struct eddis_error *err)
{
    json_t *ssh = NULL;
    int rc = copy_text(o, "host", &ret->host, err);

    if (rc == 0 && (!ret->host || !*ret->host))
        rc = eddis_fail(err, -EINVAL, "member \"host\" is missing");
    if (rc == 0)
        rc = copy_text(o, "eddis", &ret->eddis, err);
    if (rc == 0)
        rc = json_want_object(o, "ssh", &ssh, err);
    if (rc == 0)
        rc = copy_text(ssh, "user", &ret->ssh.user, err);
    if (rc == 0)
        rc = copy_text(ssh, "identity", &ret->ssh.identity, err);
    if (rc == 0 && json_has(ssh, "port"))
        rc = json_want_int(ssh, "port", 1, 65535, &ret->ssh.port, err);
    return rc == 0 ? read_command(ssh, &ret->ssh, err) : rc;
}

/* Replace the text of the mark `known` by `mark` if both belong to one node and `mark` is not
 * older: the newest start of a node stands for all its starts.  Return true if it was replaced.
 */
static bool is_later(const char *mark, char *known)
{
    struct node_identity id;

    if (!node_identity_read(mark, &id) || !node_identity_covers(&id, 1, known))
        return false;
    memcpy(known, mark, sizeof id.mark);
    return true;
}

/* Add a start's mark to the host's entry n, or replace the mark of an earlier start of the same
 * node.  Return 0 or -ENOMEM.
 */
static int add_mark(struct node_list_entry *n, const char *mark, struct eddis_error *err)
{
    char **more;

    for (size_t i = 0; i < n->n_marks; i++)
        if (is_later(mark, n->mark[i]))
            return 0;
    more = realloc(n->mark, (n->n_marks + 2) * sizeof *more);
    if (!more)
        return no_memory(err);
    n->mark = more;
    more[n->n_marks] = strdup(mark);
    if (!more[n->n_marks])
        return no_memory(err);
    more[++n->n_marks] = NULL;
    return 0;
}

/* Set *ret to the entry of the host that the line o names.  If the list has none, add an entry with
 * this line's login settings.  Return 0 or a negative errno.
 */
static int place(struct node_list *j, const json_t *o, struct node_list_entry **ret,
                 struct eddis_error *err)
{
    const char *host = NULL;
    struct node_list_entry *more;
    int rc = json_want_string(o, "host", &host, err);

    for (size_t i = 0; rc == 0 && i < j->n; i++)
        if (strcmp(j->node[i].host.host, host) == 0) {
            *ret = &j->node[i];
            return 0;
        }
    if (rc < 0)
        return rc;
    more = realloc(j->node, (j->n + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    j->node = more;
    more[j->n] = (struct node_list_entry){ 0 };
    rc = read_host(o, &more[j->n].host, err);
    if (rc < 0) {
        free_node(&more[j->n]);
        return rc;
    }
    *ret = &more[j->n++];
    return 0;
}

/* Parse one line, add its host and mark to the list, and set the list's job id.  `what` names the
 * line in errors.  Return 0 or a negative errno.
 */
static int parse_line(struct node_list *j, const char *line, const char *what,
                      struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct node_list_entry *node = NULL;
    char mark[NODE_IDENTITY_DIGITS + 1], id[sizeof j->job_id];
    int rc = json_parse(line, strlen(line), what, &o, err);

    if (rc == 0)
        rc = json_copy_string(o, "mark", mark, sizeof mark, err);
    if (rc == 0 && !node_identity_is_mark(mark))
        rc = eddis_fail(err, -EINVAL, "member \"mark\" is not %d hexadecimal digits",
                        NODE_IDENTITY_DIGITS);
    if (rc == 0)
        rc = json_copy_string(o, "job", id, sizeof id, err);
    if (rc == 0)
        rc = place(j, o, &node, err);
    if (rc == 0)
        rc = add_mark(node, mark, err);
    if (rc == 0)
        strcpy(j->job_id, id);
    return rc;
}

int node_list_parse(char *text, size_t n, const char *what, struct node_list **ret,
                    struct eddis_error *err)
{
    struct node_list *j = calloc(1, sizeof *j);
    int number = 1, rc = 0;

    if (!j)
        return no_memory(err);
    /* A last line without a newline is ignored: the driver was killed while writing it, before it
     * started that agent.
     */
    for (char *line = text, *end; rc == 0 && (end = memchr(line, '\n', n - (size_t)(line - text)));
         line = end + 1, number++) {
        *end = '\0';
        if (strlen(line) != (size_t)(end - line))
            rc = eddis_fail(err, -EINVAL, "the line contains a 0 byte");
        else
            rc = parse_line(j, line, "line", err);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "%s:%d", what, number);
    }
    if (rc == 0 && j->n == 0)
        rc = eddis_fail(err, -ENOENT, "'%s' names no node", what);
    if (rc < 0)
        node_list_free(j);
    else
        *ret = j;
    return rc;
}

int node_list_read(const struct job_folder *f, struct node_list **ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, JOB_NODES_FILE), *text = NULL;
    size_t n = 0;
    int rc = path ? 0 : no_memory(err);

    if (rc == 0) /* the file names commands that will be executed */
        rc = file_read_trusted(path, MAX_BYTES, NULL, &text, &n, err);
    return rc < 0 ? rc : node_list_parse(text, n, path, ret, err);
}
