/* SPDX-License-Identifier: Apache-2.0 */
/* job_nodes.c - the types of nodes and hostfile: the hosts of a job
 *
 * An entry is a name, or a map with the keys of job_host_table.  A range in a name gives several
 * hosts with the same settings.  Both keys fill job.host, so each replaces the other.
 */
#include "host_list.h"
#include "hostfile.h"
#include "job_host_keys.h"
#include "job_types.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/job/tree/job_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

/* Replace the job's hosts by those of l, and its hostfile by this path (NULL: none).  The job then
 * owns both.
 */
static void take_hosts(struct job *job, struct host_list *l, char *hostfile)
{
    job_hosts_free(job->host, job->n_hosts);
    free(job->hostfile);
    job->host = cleanup_keep(l->at);
    job->n_hosts = l->n;
    job->hostfile = hostfile;
    l->n = 0;
}

/* Return -EINVAL: the file has both "nodes" and "hostfile".  A flag of one replaces the other
 * instead.
 */
static int exclude(const struct job_reader *r, const struct job_node *n, struct eddis_error *err)
{
    return job_wrong(r, n->key_line, n->key_column, err,
                     "\"nodes\" and \"hostfile\" exclude each other; remove one");
}

/* Borrow the value of a key in a map; NULL: the map has no such key. */
static const struct job_node *child(const struct job_node *map, const char *key)
{
    for (const struct job_node *n = map->first; n; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n;
    return NULL;
}

/* Return -EINVAL: a host is repeated; names both positions. */
static int twice(const struct job_reader *r, const struct host_list *l, ssize_t first,
                 ssize_t second, struct eddis_error *err)
{
    return job_wrong(
        r, l->line[second], l->column[second], err,
        "node \"%s\" is listed a second time, first on line %d; remove one, or write its "
        "workers",
        l->at[second].host, l->line[first]);
}

/* Append the hosts of one entry of `nodes`, a name or a map, with their settings.  Return 0,
 * -EINVAL or -ENOMEM; l may have the hosts then, too.
 */
static int add_entry(const struct job_reader *r, const struct job_node *n, struct host_list *l,
                     struct eddis_error *err)
{
    const struct job_node *host = n->kind == JOB_MAP ? child(n, "host") : n;
    const struct job_node *python = n->kind == JOB_MAP ? child(n, "python") : NULL;
    struct eddis_error why = { 0 };
    size_t first = l->n;
    char words[80];
    int rc = 0;

    if (!host)
        return job_wrong(r, n->line, n->column, err,
                         "\"host\" is missing in an entry of \"nodes\"; add it, as in {host: "
                         "v100-1, workers: 2}");
    if (host->kind != JOB_SCALAR || job_node_is_null(host)) {
        job_node_words(host, words, sizeof words);
        return job_wrong(r, host->line, host->column, err,
                         "a host of \"nodes\" is %s; write its name, or a map like {host: v100-1, "
                         "workers: 2}",
                         words);
    }
    rc = host_list_add(l, host->text, false, host->line, host->column, &why);
    if (rc == -ENOMEM)
        return job_no_memory(err);
    if (rc < 0)
        return job_wrong(r, host->line, host->column, err, "\"nodes\": %s", why.text);
    for (size_t i = first; i < l->n && n->kind == JOB_MAP && rc == 0; i++) {
        struct job_reader one = *r;

        one.base = &l->at[i];
        one.origin = NULL;
        rc = job_group_read(&one, &job_host_table, "nodes", n, err);
        l->at[i].python_line = python ? python->line : 0;
    }
    return rc;
}

/* Append the hosts of the argument of -H, "a:2,c[01-04]".  Return 0, -EINVAL or -ENOMEM. */
static int add_line(const struct job_reader *r, const struct job_node *n, struct host_list *l,
                    struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    int rc = host_list_add_line(l, n->text, &why);

    if (rc == 0)
        rc = host_list_add_up(l, &why);
    if (rc == -ENOMEM)
        return job_no_memory(err);
    return rc < 0 ? job_wrong(r, n->line, n->column, err, "%s", why.text) : 0;
}

/* Append the hosts of a list.  Return 0, -ENOMEM, or -EINVAL: an entry is wrong, or a host
 * repeated.
 */
static int add_list(const struct job_reader *r, const struct job_node *list, struct host_list *l,
                    struct eddis_error *err)
{
    ssize_t first, second;
    int rc = 0;

    for (const struct job_node *n = list->first; n && rc == 0; n = n->next)
        rc = add_entry(r, n, l, err);
    if (rc == 0)
        rc = host_list_twice(l, &first, &second, err);
    return rc == 0 && second >= 0 ? twice(r, l, first, second, err) : rc;
}

/* Read `nodes`: a list, or the argument of -H (job_type.read).  Return 0, -ENOMEM, or -EINVAL, also
 * beside a hostfile; after a failure the job's hosts are unchanged.
 */
static int nodes_read(const struct job_reader *r, const struct job_key *key,
                      const struct job_node *n, struct eddis_error *err)
{
    struct host_list l = { 0 };
    int rc;

    if (r->job->hostfile && !r->flag)
        return n->kind == JOB_LIST && n->n == 0 ? 0 : exclude(r, n, err);
    if (n->kind == JOB_LIST)
        rc = add_list(r, n, &l, err);
    else if (n->kind == JOB_SCALAR && !job_node_is_null(n))
        rc = add_line(r, n, &l, err);
    else
        rc = job_mistyped(r, key, n, err);
    if (rc == 0)
        take_hosts(r->job, &l, NULL);
    host_list_fini(&l);
    return rc;
}

/* Write the group inside a map to which a row belongs ("ssh." of "nodes.ssh.user") to *ret; return
 * its length, 0: none.
 */
static size_t map_of(const struct job_key *k, const char **ret)
{
    *ret = strchr(k->name, '.') + 1;
    return (size_t)(strrchr(k->name, '.') + 1 - *ret);
}

/* Append ", name: value" for each setting of the host that differs from the default.  Return
 * whether there are any.
 */
static bool add_settings(struct strbuf *b, const struct job_host *h)
{
    static const struct job_host nothing;
    const char *map = "", *before = "";
    size_t inside = 0; /* length of `before`, the map that is open */
    bool any = false;

    for (size_t i = 1; i < job_host_table.n; i++) { /* row 0 is the host itself */
        const struct job_key *k = &job_host_table.row[i];
        cleanup_strbuf struct strbuf value = { 0 }, usual = { 0 };
        size_t n = map_of(k, &map);

        k->field->type->write(h, k, &value);
        k->field->type->write(&nothing, k, &usual);
        if (strcmp(strbuf_text(&value), strbuf_text(&usual)) != 0) {
            bool same = n == inside && strncmp(map, before, n) == 0;

            strbuf_add(b, inside && !same ? "}, " : ", ");
            if (n && !same)
                strbuf_addf(b, "%.*s: {", (int)n - 1, map);
            strbuf_addf(b, "%s: ", map + n);
            strbuf_add(b, strbuf_text(&value));
            before = map;
            inside = n;
            any = true;
        }
        b->failed = b->failed || value.failed || usual.failed;
    }
    if (inside)
        strbuf_add(b, "}");
    return any;
}

/* Append the hosts as YAML (job_type.write). */
static void nodes_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    const struct job *job = base;

    strbuf_add(b, "[");
    for (size_t i = 0; i < job->n_hosts; i++) {
        cleanup_strbuf struct strbuf settings = { 0 };
        bool map = add_settings(&settings, &job->host[i]);

        strbuf_add(b, i ? ", " : "");
        strbuf_add(b, map ? "{host: " : "");
        job_scalar_add(b, job->host[i].host);
        strbuf_add(b, strbuf_text(&settings));
        strbuf_add(b, map ? "}" : "");
        b->failed = b->failed || settings.failed;
    }
    strbuf_add(b, "]");
}

/* Free the hosts (job_type.free). */
static void nodes_free(void *base, const struct job_key *key)
{
    struct job *job = base;

    job_hosts_free(job->host, job->n_hosts);
    job->host = NULL;
    job->n_hosts = 0;
}

const struct job_type job_type_nodes = {
    .structured = true,
    .read = nodes_read,
    .write = nodes_write,
    .free = nodes_free,
    .form = "a list like [a100-1, {host: \"v100-[1-4]\", workers: 2}]",
};

/* ---- hostfile ---- */

/* Read the hostfile at a path, or "none", into the job's hosts (job_type.read).  Return 0 or a
 * negative errno; after a failure the job's hosts are unchanged.
 */
static int hostfile_read(const struct job_reader *r, const struct job_key *key,
                         const struct job_node *n, struct eddis_error *err)
{
    cleanup_free char *text = NULL, *path = NULL;
    struct eddis_error why = { 0 };
    struct host_list l = { 0 };
    size_t size;
    int rc;

    if (n->kind == JOB_SCALAR && strcmp(n->text, key->field->word) == 0) {
        if (r->job->hostfile)
            take_hosts(r->job, &l, NULL);
        return 0;
    }
    if (r->job->n_hosts && !r->flag)
        return exclude(r, n, err);
    rc = job_path_read(r, key, n, &path, err);
    if (rc < 0)
        return rc;
    rc = file_read(path, JOB_MAX_BYTES, &text, &size, &why);
    if (rc < 0)
        return job_wrong(r, n->line, n->column, err, "%s", why.text);
    rc = hostfile_parse(text, size, n->text, &l, &why);
    if (rc == 0)
        take_hosts(r->job, &l, cleanup_keep(path));
    host_list_fini(&l);
    if (rc == -ENOMEM)
        return job_no_memory(err);
    return rc < 0 ? job_wrong(r, n->line, n->column, err, "%s", why.text) : 0;
}

const struct job_type job_type_hostfile = {
    .read = hostfile_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .form = "a path or none",
};
