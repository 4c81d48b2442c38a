/* SPDX-License-Identifier: Apache-2.0 */
/* job_text.c - write a job as a train.yaml, and single values for people */
#include "job_text.h"

#include "job_keys.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct job_origin job_origin(const struct job *job, const char *key)
{
    const struct job_key *k = job_key_find(&job_table, key);

    return k ? job->origin[k - job_table.row] : (struct job_origin){ .kind = JOB_DEFAULT };
}

void job_origin_text(const struct job *job, const char *key, char *ret, size_t size)
{
    struct job_origin o = job_origin(job, key);

    if (job->hostfile && strcmp(key, "nodes") == 0) { /* the nodes are from the hostfile */
        snprintf(ret, size, "%s", job->hostfile);
        return;
    }
    switch (o.kind) {
    case JOB_FILE:
        snprintf(ret, size, "%s:%d", job->file ? job->file : "job", o.line);
        break;
    case JOB_FLAG:
        snprintf(ret, size, "%s", o.flag);
        break;
    case JOB_DEFAULT:
        snprintf(ret, size, "default");
        break;
    }
}

int job_fail_origin(const struct job *job, const char *key, int rc, struct eddis_error *err)
{
    char origin[1024];

    job_origin_text(job, key, origin, sizeof origin);
    return eddis_fail_prefix(err, rc, "%s", origin);
}

void job_value_text(const struct job *job, const char *key, char *ret, size_t size)
{
    const struct job_key *k = job_key_find(&job_table, key);
    cleanup_strbuf struct strbuf b = { 0 };

    if (k && k->field)
        k->field->type->write(job, k, &b);
    snprintf(ret, size, "%s", strbuf_text(&b));
}

/* Append a YAML comment with the origin of the key's value, and a newline.  Control characters and
 * bytes that are not ASCII become '?'.
 */
static void add_origin(struct strbuf *b, const struct job *job, const char *key)
{
    char text[512];

    job_origin_text(job, key, text, sizeof text);
    text_strip_control(text);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c >= 0x80 || *c == '\t')
            *c = '?';
    strbuf_addf(b, "  # %s\n", text);
}

/* If key `name` is in a group ("batch.global"), append an indent to b, preceded by a line with the
 * group's name if the key `before` is not in the same group.  Return the key's name without its
 * group, borrowed from `name`.
 */
static const char *add_group(struct strbuf *b, const char *name, const char *before)
{
    const char *dot = strchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) + 1 : 0;

    if (!dot)
        return name;
    if (strncmp(name, before, n) != 0)
        strbuf_addf(b, "%.*s:\n", (int)n - 1, name);
    strbuf_add(b, "  ");
    return dot + 1;
}

/* Check whether the file or a flag sets a key of the group of this name. */
static bool is_opened(const struct job *job, const char *group)
{
    size_t n = strlen(group);

    for (size_t i = 0; i < job_table.n; i++)
        if (strncmp(job_table.row[i].name, group, n) == 0 && job_table.row[i].name[n] == '.' &&
            job->origin[i].kind != JOB_DEFAULT)
            return true;
    return false;
}

/* Append the key's name, as add_group.  A key whose value may be inside a map (job_field.inner)
 * opens the map if a key of its group is set; otherwise the keys of the group are not written.
 * Return the name, or NULL: the key is not written.
 */
static const char *add_name(struct strbuf *b, const struct job *job, const struct job_key *k,
                            const char *before)
{
    const char *dot = strchr(k->name, '.');
    char group[64];
    const struct job_key *outer;

    if (k->field->inner && is_opened(job, k->name)) {
        strbuf_addf(b, "%s:\n  ", k->name);
        return k->field->inner;
    }
    (void)snprintf(group, sizeof group, "%.*s", dot ? (int)(dot - k->name) : 0, k->name);
    outer = job_key_find(&job_table, group);
    if (!outer)
        return add_group(b, k->name, before);
    if (!is_opened(job, group))
        return NULL;
    strbuf_add(b, "  ");
    return dot + 1;
}

char *job_text(const struct job *job)
{
    struct strbuf b = { 0 };
    const struct job_key *keys;
    const char *before = "";
    size_t n = job_keys(&keys);

    strbuf_add(&b, JOB_TEXT_HEAD EDDIS_VERSION " read it: each value and where it is from\n");
    for (size_t i = 0; i < n; i++) {
        const struct job_key *k = &keys[i];
        const char *name = k->field ? add_name(&b, job, k, before) : NULL;

        if (!name)
            continue;
        strbuf_addf(&b, "%s: ", name);
        if (job->hostfile && strcmp(k->name, "hostfile") == 0)
            strbuf_add(&b, k->field->word); /* the file's hosts are written as nodes */
        else
            k->field->type->write(job, k, &b);
        add_origin(&b, job, k->name);
        before = k->name;
    }
    return strbuf_steal(&b);
}
