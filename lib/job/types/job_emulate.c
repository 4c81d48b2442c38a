/* SPDX-License-Identifier: Apache-2.0 */
/* job_emulate.c - the type of profile.emulate and nodes.emulate: devices that CPUs emulate */
#include "job_types.h"

#include "lib/base/decimal.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Members of one device in the file.  The file has milliseconds, struct job_emulated has seconds.
 */
static const struct member {
    const char *name;
    size_t offset;
    double scale, low, high;
    bool optional; /* may be missing in the first entry: 0 */
} members[] = {
    { "rate", offsetof(struct job_emulated, rate), 1, 1e-6, 1e6 },
    { "a_ms", offsetof(struct job_emulated, fixed_s), 1000, 0, 3.6e6 },
    { "c_ms", offsetof(struct job_emulated, sample_s), 1000, 1e-6, 3.6e6 },
    { "jitter", offsetof(struct job_emulated, jitter), 1, 0, 0.5, .optional = true },
};

enum { N_MEMBERS = sizeof members / sizeof *members };

/* Return the address (never NULL) of member m of the device. */
static double *member_at(struct job_emulated *d, size_t m)
{
    return (double *)((char *)d + members[m].offset);
}

/* Return -EINVAL for an unknown member, with the nearest known one. */
static int unknown(const struct job_reader *r, const char *name, const struct job_node *c,
                   struct eddis_error *err)
{
    const char *names[N_MEMBERS], *nearest;

    for (size_t m = 0; m < N_MEMBERS; m++)
        names[m] = members[m].name;
    nearest = text_nearest(c->key, names, N_MEMBERS);
    if (nearest)
        return job_wrong(r, c->key_line, c->key_column, err,
                         "unknown key \"%.40s\" in \"%s\"; did you mean \"%s\"?", c->key, name,
                         nearest);
    return job_wrong(r, c->key_line, c->key_column, err,
                     "unknown key \"%.40s\" in \"%s\"; the known keys are rate, a_ms, c_ms, jitter",
                     c->key, name);
}

/* Read member c into device d and set its `given`.  Return 0 or -EINVAL: unknown, or not a number
 * in range.
 */
static int read_member(const struct job_reader *r, const char *name, const struct job_node *c,
                       struct job_emulated *d, bool *given, struct eddis_error *err)
{
    char words[80];

    for (size_t m = 0; m < N_MEMBERS; m++) {
        double v = 0;

        if (strcmp(c->key, members[m].name) != 0)
            continue;
        if (c->kind == JOB_SCALAR && !c->quoted && decimal_number(c->text, &v) &&
            v >= members[m].low && v <= members[m].high) {
            *member_at(d, m) = v / members[m].scale;
            given[m] = true;
            return 0;
        }
        job_node_words(c, words, sizeof words);
        return job_wrong(r, c->line, c->column, err, "\"%s\" is %s; write a number from %g to %g",
                         c->key, words, members[m].low, members[m].high);
    }
    return unknown(r, name, c, err);
}

/* Read one device of the list into *d.  Members that it omits are taken from the first device,
 * which must have all that are not optional.  Return 0 or -EINVAL, and then *d is partly filled.
 */
static int read_device(const struct job_reader *r, const char *name, const struct job_node *n,
                       const struct job_emulated *first, struct job_emulated *d,
                       struct eddis_error *err)
{
    bool given[N_MEMBERS] = { false };

    if (n->kind != JOB_MAP)
        return job_wrong(r, n->line, n->column, err,
                         "an entry of \"%s\" is not a map; write one like {rate: 0.5}", name);
    for (const struct job_node *c = n->first; c; c = c->next) {
        int rc = read_member(r, name, c, d, given, err);

        if (rc < 0)
            return rc;
    }
    for (size_t m = 0; m < N_MEMBERS; m++) {
        if (given[m])
            continue;
        if (d == first && members[m].optional)
            continue;
        if (d == first || m == 0)
            return job_wrong(r, n->line, n->column, err,
                             "\"%s\" is missing in %s entry of \"%s\"; add it, as in {rate: 1.0, "
                             "a_ms: 2, c_ms: 0.1}",
                             members[m].name, m == 0 ? "an" : "the first", name);
        *member_at(d, m) = *member_at((struct job_emulated *)(uintptr_t)first, m);
    }
    return 0;
}

/* Read a key's list of emulated devices into the job or node that r fills; the first device's
 * members are the defaults of the others (job_type.read).  Return 0, -EINVAL or -ENOMEM; after a
 * failure the member is unchanged.
 */
static int emulate_read(const struct job_reader *r, const struct job_key *key,
                        const struct job_node *n, struct eddis_error *err)
{
    struct job_emulated *list, *d;

    if (n->kind != JOB_LIST)
        return job_mistyped(r, key, n, err);
    if (n->n > JOB_MAX_EMULATED)
        return job_wrong(r, n->line, n->column, err, "\"%s\" has %zu entries; write at most %d",
                         key->name, n->n, JOB_MAX_EMULATED);
    if (n->n == 0 && r->base != r->job) { /* a node without its own devices uses those of the job */
        job_pointer_free(r->base, key);
        return 0;
    }
    list = d = calloc(n->n + 1, sizeof *list); /* one more, so that the allocation is never empty */
    if (!list)
        return job_no_memory(err);
    for (const struct job_node *c = n->first; c; c = c->next, d++) {
        int rc = read_device(r, key->name, c, list, d, err);

        if (rc < 0) {
            free(list);
            return rc;
        }
    }
    job_pointer_set(r->base, key, list, n->n);
    return 0;
}

/* Check whether job_text writes member m: an optional one only if it is not 0 in the first entry.
 * Then the others must write their 0, too.
 */
static bool is_written(const struct job_emulated *first, size_t m)
{
    return !members[m].optional || *(const double *)((const char *)first + members[m].offset) > 0;
}

/* Append the devices as YAML (job_type.write). */
static void emulate_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    struct job_emulated *const *list = job_member_const(base, key);
    size_t n = *(const size_t *)((const char *)base + key->field->count);

    strbuf_add(b, "[");
    for (size_t i = 0; i < n; i++) {
        strbuf_add(b, i ? ", {" : "{");
        for (size_t m = 0; m < N_MEMBERS; m++) {
            if (!is_written(*list, m) && *member_at(&(*list)[i], m) == 0)
                continue;
            strbuf_addf(b, "%s%s: ", m ? ", " : "", members[m].name);
            decimal_add(b, *member_at(&(*list)[i], m), members[m].scale);
        }
        strbuf_add(b, "}");
    }
    strbuf_add(b, "]");
}

const struct job_type job_type_emulate = {
    .structured = true,
    .read = emulate_read,
    .write = emulate_write,
    .free = job_pointer_free,
    .form = "a list like [{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]",
};
