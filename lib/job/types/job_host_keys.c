/* SPDX-License-Identifier: Apache-2.0 */
/* job_host_keys.c - the keys of one of `nodes`: their types and their table */
#include "job_host_keys.h"

#include "job_texts.h"
#include "job_types.h"
#include "lib/base/cleanup.h"
#include "lib/base/decimal.h"
#include "lib/hosts/host_name.h"

#include <stdlib.h>
#include <string.h>

enum { JOB_HOST_MAX_BATCH = 1000000000 };

/* ---- one host ---- */

/* Check that a host name is a scalar; it was expanded before (job_type.read).  Return 0 or -EINVAL.
 */
static int host_read(const struct job_reader *r, const struct job_key *key,
                     const struct job_node *n, struct eddis_error *err)
{
    return n->kind == JOB_SCALAR ? 0 : job_mistyped(r, key, n, err);
}

const struct job_type job_type_host = {
    .read = host_read,
    .write = job_text_write,
    .free = job_pointer_free,
    .form = "a name, an address or a range like v100-[1-4,7]",
};

/* ---- devices ---- */

enum { MAX_DEVICES = 1024 };

/* Read a list of distinct device numbers, or "auto" (job_type.read).  Return 0, -EINVAL or -ENOMEM;
 * after a failure the member is unchanged.
 */
static int devices_read(const struct job_reader *r, const struct job_key *key,
                        const struct job_node *n, struct eddis_error *err)
{
    cleanup_free int64_t *list = NULL;
    size_t k = 0;

    if (n->kind == JOB_SCALAR && strcmp(n->text, "auto") == 0) {
        job_pointer_free(r->base, key);
        return 0;
    }
    if (n->kind != JOB_LIST || n->n == 0 || n->n > MAX_DEVICES)
        return job_mistyped(r, key, n, err);
    list = calloc(n->n, sizeof *list);
    if (!list)
        return job_no_memory(err);
    for (const struct job_node *c = n->first; c; c = c->next, k++) {
        if (c->kind != JOB_SCALAR || c->quoted || !decimal_whole(c->text, &list[k]) ||
            list[k] < 0 || list[k] >= MAX_DEVICES)
            return job_mistyped(r, key, c, err);
        for (size_t i = 0; i < k; i++)
            if (list[i] == list[k])
                return job_wrong(r, c->line, c->column, err, "\"%s\" names device %s twice",
                                 key->name, c->text);
    }
    job_pointer_set(r->base, key, cleanup_keep(list), k);
    return 0;
}

/* Append the devices as YAML (job_type.write). */
static void devices_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    int64_t *const *list = job_member_const(base, key);
    size_t n = *(const size_t *)((const char *)base + key->field->count);

    if (!*list) {
        strbuf_add(b, "auto");
        return;
    }
    for (size_t i = 0; i < n; i++)
        strbuf_addf(b, "%s%lld", i ? ", " : "[", (long long)(*list)[i]);
    strbuf_add(b, "]");
}

const struct job_type job_type_devices = {
    .structured = true,
    .read = devices_read,
    .write = devices_write,
    .free = job_pointer_free,
    .form = "a list of whole numbers from 0, like [0, 1], or auto",
};

/* ---- table ---- */

#define HOST(kind, member)                                                                         \
    &(const struct job_field)                                                                      \
    {                                                                                              \
        JOB_AT(job_host, kind, member)                                                             \
    }

static const struct job_key host_table[] = {
    { "nodes.host", "text", "", "name, address or a range of names", NULL, HOST(host, host) },
    { "nodes.workers", "whole number or auto", "auto", "number of workers on it", NULL,
      &(const struct job_field){ JOB_AT(job_host, whole, workers), .word = "auto", .min = 1,
                                 .max = 1024 } },
    { "nodes.batch.max", "whole number or auto", "auto",
      "maximum number of samples of one of its workers in a step; auto: batch.max", NULL,
      &(const struct job_field){ JOB_AT(job_host, whole, max_batch), .word = "auto", .min = 1,
                                 .max = JOB_HOST_MAX_BATCH } },
    { "nodes.devices", "list of whole numbers or auto", "auto", "devices to use", NULL,
      &(const struct job_field){ JOB_AT(job_host, devices, device), .word = "auto",
                                 .count = offsetof(struct job_host, n_device) } },
    { "nodes.address", "address or auto", "auto", "the address at which the other nodes reach it",
      NULL,
      &(const struct job_field){ JOB_AT(job_host, text, address), .word = "auto",
                                 .check = host_address_check } },
    { "nodes.emulate", "list of devices", "[]", "devices to emulate on it", NULL,
      &(const struct job_field){ JOB_AT(job_host, emulate, emulate),
                                 .count = offsetof(struct job_host, n_emulate) } },
    { "nodes.eddis", "path or auto", "auto", "the path of eddis on it", NULL,
      &(const struct job_field){ JOB_AT(job_host, text, eddis), .word = "auto",
                                 .check = job_check_eddis } },
    { "nodes.python", "path or auto", "auto", "the Python that runs the command on it", NULL,
      &(const struct job_field){ JOB_AT(job_host, text, python), .word = "auto",
                                 .check = job_check_python } },
    { "nodes.setup", "list of lines", "[]", "lines to run on it after those of setup", NULL,
      HOST(lines, setup) },
    { "nodes.env", "map", "{}", "environment variables of its workers", NULL, HOST(env, env) },
    { "nodes.ssh.user", "text or auto", "auto", "the user to log in as", NULL,
      &(const struct job_field){ JOB_AT(job_host, text, ssh.user), .word = "auto",
                                 .check = host_user_check } },
    { "nodes.ssh.port", "whole number or auto", "auto", "the port of its ssh server", NULL,
      &(const struct job_field){ JOB_AT(job_host, whole, ssh.port), .word = "auto", .min = 1,
                                 .max = 65535 } },
    { "nodes.ssh.identity", "path or auto", "auto", "the private key to log in with", NULL,
      &(const struct job_field){ JOB_AT(job_host, path, ssh.identity), .word = "auto",
                                 .tilde = true } },
    { "nodes.ssh.command", "list or line of words", "[]", "the program to run instead of ssh", NULL,
      HOST(command, ssh.command) },
};

const struct job_table job_host_table = { host_table, sizeof host_table / sizeof *host_table };

void job_hosts_free(struct job_host *host, size_t n)
{
    for (size_t i = 0; host && i < n; i++)
        job_members_free(&job_host_table, &host[i]);
    free(host);
}
