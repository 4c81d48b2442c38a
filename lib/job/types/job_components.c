/* SPDX-License-Identifier: Apache-2.0 */
/* job_components.c - the type of slurm.components: kinds of unlike nodes */
#include "job_texts.h"
#include "job_types.h"
#include "lib/job/tree/job_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMPONENTS = 128 };

/* ---- one of slurm.components ---- */

static const struct job_key component_table[] = {
    { "slurm.components.nodes", "whole number", "1", "number of nodes", NULL,
      &(const struct job_field){ JOB_AT(job_component, whole, nodes), .min = 1,
                                 .max = JOB_MAX_HOSTS } },
    { "slurm.components.partition", "text or auto", "auto", "their partition", NULL,
      JOB_SBATCH(job_component, partition, "auto") },
    { "slurm.components.gres", "text or auto", "auto", "generic resources of each", NULL,
      JOB_SBATCH(job_component, gres, "auto") },
    { "slurm.components.constraint", "text or auto", "auto", "features that each must have", NULL,
      JOB_SBATCH(job_component, constraint, "auto") },
    { "slurm.components.cpus", "whole number, all or auto", "auto", "processors of each", NULL,
      JOB_SBATCH_CPUS(job_component, cpus, "auto") },
    { "slurm.components.memory", "text or auto", "auto", "memory of each", NULL,
      JOB_SBATCH(job_component, memory, "auto") },
};

static const struct job_table components = { component_table,
                                             sizeof component_table / sizeof *component_table };

/* ---- the list ---- */

/* Free n components and their array.  Accepts NULL. */
static void list_free(struct job_component *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        job_members_free(&components, &list[i]);
    free(list);
}

/* Read the list of components into the job.  Return 0 or a negative errno, and then the job's list
 * is unchanged (job_type.read).
 */
static int components_read(const struct job_reader *r, const struct job_key *key,
                           const struct job_node *n, struct eddis_error *err)
{
    struct job_component *list;
    size_t k = 0;
    int rc = 0;

    if (n->kind != JOB_LIST || n->n > MAX_COMPONENTS)
        return job_mistyped(r, key, n, err);
    list = calloc(n->n + 1, sizeof *list); /* one more, so that the allocation is never empty */
    if (!list)
        return job_no_memory(err);
    for (const struct job_node *c = n->first; c && rc == 0; c = c->next, k++) {
        struct job_reader one = *r;

        one.base = &list[k];
        one.origin = NULL;
        list[k].nodes = 1;
        rc = c->kind == JOB_MAP
                 ? job_group_read(&one, &components, key->name, c, err)
                 : job_wrong(r, c->line, c->column, err,
                             "an entry of \"%s\" is not a map; write one like {nodes: 2, "
                             "constraint: a100}",
                             key->name);
    }
    if (rc < 0) {
        list_free(list, n->n);
        return rc;
    }
    list_free(r->job->slurm.component, r->job->slurm.n_components);
    r->job->slurm.component = list;
    r->job->slurm.n_components = n->n;
    return 0;
}

/* Append a component as a YAML map: its nodes and each member that is set. */
static void component_write(const struct job_component *c, struct strbuf *b)
{
    static const struct job_component nothing;

    for (size_t i = 0; i < components.n; i++) {
        const struct job_key *k = &components.row[i];
        cleanup_strbuf struct strbuf value = { 0 }, usual = { 0 };

        k->field->type->write(c, k, &value);
        k->field->type->write(&nothing, k, &usual);
        if (i == 0 || strcmp(strbuf_text(&value), strbuf_text(&usual)) != 0)
            strbuf_addf(b, "%s%s: %s", i ? ", " : "{", strrchr(k->name, '.') + 1,
                        strbuf_text(&value));
        b->failed = b->failed || value.failed || usual.failed;
    }
    strbuf_add(b, "}");
}

/* Append the components as YAML (job_type.write). */
static void components_write(const void *base, const struct job_key *key, struct strbuf *b)
{
    const struct job *job = base;

    strbuf_add(b, "[");
    for (size_t i = 0; i < job->slurm.n_components; i++) {
        strbuf_add(b, i ? ", " : "");
        component_write(&job->slurm.component[i], b);
    }
    strbuf_add(b, "]");
}

/* Free the components (job_type.free). */
static void components_free(void *base, const struct job_key *key)
{
    struct job *job = base;

    list_free(job->slurm.component, job->slurm.n_components);
    job->slurm.component = NULL;
    job->slurm.n_components = 0;
}

/* Append the form of a valid value (job_type.expect). */
static void components_expect(const struct job_key *key, struct strbuf *b)
{
    strbuf_addf(b,
                "a list of at most %d maps like [{nodes: 2, constraint: a100}, {nodes: 4, "
                "constraint: v100}]",
                MAX_COMPONENTS);
}

const struct job_type job_type_components = {
    .structured = true,
    .read = components_read,
    .write = components_write,
    .free = components_free,
    .expect = components_expect,
};
