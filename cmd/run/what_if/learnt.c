/* SPDX-License-Identifier: Apache-2.0 */
/* learnt.c - reads what earlier jobs of a program measured, from their folders and the cache */
#include "learnt.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/file_thread.h"
#include "lib/base/json.h"
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SIZE = 1 << 16 }; /* bytes of a key's value that are compared */

/* ---- the job that measured the nodes ---- */

/* Check whether two jobs run the same command in the same folder. */
static bool is_same_program(const struct job *a, const struct job *b)
{
    size_t i = 0;

    if (strcmp(a->workdir, b->workdir) != 0)
        return false;
    while (a->command[i] && b->command[i] && strcmp(a->command[i], b->command[i]) == 0)
        i++;
    return !a->command[i] && !b->command[i];
}

/* Check whether two jobs emulate the same devices, which their nodes' profiles contain. */
static bool is_same_emulation(const struct job *a, const struct job *b)
{
    cleanup_free char *x = calloc(1, VALUE_SIZE), *y = calloc(1, VALUE_SIZE);

    if (!x || !y)
        return false;
    job_value_text(a, "profile.emulate", x, VALUE_SIZE);
    job_value_text(b, "profile.emulate", y, VALUE_SIZE);
    return strcmp(x, y) == 0;
}

/* Borrow from a list of profiles in JSON that of a host, or with NULL the only one; NULL: there is
 * none.
 */
static const json_t *profile_of(const json_t *list, const char *host)
{
    const json_t *one;
    const char *name;
    size_t i;

    if (!host)
        return json_array_size(list) == 1 ? json_array_get(list, 0) : NULL;
    json_array_foreach(list, i, one)
    {
        name = json_string_value(json_object_get(one, "host"));
        if (name && strcmp(name, host) == 0)
            return one;
    }
    return NULL;
}

/* Read the profiles of the job's nodes from a list in JSON into f->node. Return 0; -ENOENT: a node
 * is not in the list; or another negative error. facts_fini frees the nodes in any case.
 */
static int read_nodes(const struct job *job, const json_t *list, struct facts *f,
                      struct eddis_error *err)
{
    int n = job->n_hosts ? (int)job->n_hosts : 1;

    f->node = calloc((size_t)n, sizeof *f->node);
    if (!f->node)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes");
    for (; f->n_nodes < n; f->n_nodes++) {
        const char *host = job->n_hosts ? job->host[f->n_nodes].host : NULL;
        const json_t *one = profile_of(list, host);
        cleanup_free char *text = one ? json_text(one, false) : NULL;
        int rc;

        if (!one)
            return eddis_fail(err, -ENOENT, "no earlier job of this program has measured '%s'",
                              host ? host : "this machine");
        if (!text)
            return eddis_fail(err, -ENOMEM, "no memory for the nodes");
        rc = profile_parse(text, strlen(text), "profile.json", &f->node[f->n_nodes], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Read the profiles and the network from the folder l->from, if its job ran this program on these
 * nodes. Return 0; -ESRCH: it ran another program, or measured nothing; -ENOENT: it lacked a node;
 * or another negative error.
 */
static int read_folder(const struct job *job, struct learnt *l, struct eddis_error *err)
{
    cleanup_free char *yaml = file_join(l->from.path, "job.yaml");
    cleanup_free char *profile = file_join(l->from.path, "profile.json"), *text = NULL;
    cleanup_json json_t *o = NULL;
    struct job *was = NULL;
    const json_t *network;
    int rc = -ESRCH;

    if (!yaml || !profile)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (json_read_file(profile, &o, NULL) == 0 && job_read(yaml, &was, NULL) == 0 &&
        is_same_program(was, job) && !was->n_hosts == !job->n_hosts && is_same_emulation(was, job))
        rc = read_nodes(job, json_object_get(o, "nodes"), &l->facts, err);
    if (rc == 0)
        l->facts.gpus_per_worker = was->gpus_per_worker;
    job_free(was);
    network = json_object_get(o, "network");
    if (rc == 0 && json_is_object(network) && (text = json_text(network, false)))
        (void)network_parse(text, strlen(text), "profile.json", &l->network, NULL);
    if (rc < 0)
        facts_fini(&l->facts);
    return rc;
}

/* Find the newest job that ran this program on these nodes, and read what it measured of them.
 * Return 0; -ENOENT: there is none; or another negative error.
 */
static int search(const struct job *job, struct learnt *l, struct eddis_error *err)
{
    cleanup_free struct job_folder *list = NULL;
    struct eddis_error lacks = { 0 };
    int n = job_folder_list(&list, err);

    if (n < 0 && n != -ENOENT)
        return n;
    while (n-- > 0) {
        struct eddis_error why = { 0 };
        int rc;

        l->from = list[n];
        rc = read_folder(job, l, &why);
        if (rc == 0)
            return 0;
        if (!lacks.code && rc != -ESRCH)
            lacks = why;
    }
    return eddis_fail(err, -ENOENT, "%s; run the job once, then its profiles are there",
                      lacks.code ? lacks.text
                                 : "no earlier job of this program has measured its nodes");
}

/* ---- the cache ---- */

/* Read model, times and memory limits from the cache. Return 0 or a negative error. */
static int read_cache(const struct job *job, struct learnt *l, struct eddis_error *err)
{
    struct file_thread *reader;
    int rc = file_thread_start(&reader, err);

    if (rc < 0)
        return rc;
    l->model = past_model(reader, job);
    past_times_load(reader, job, l->model.bytes, &l->times);
    past_memory_load(reader, job, l->model.bytes, &l->memory);
    (void)past_efficiencies_load(reader, job, l->model.bytes, &l->efficiencies);
    file_thread_stop(reader);
    return 0;
}

/* Return a copy of the rows for facts_fini. NULL without memory, or if there are none. */
static void *own(const void *rows, int n, size_t size)
{
    void *ret = n > 0 ? malloc((size_t)n * size) : NULL;

    if (ret)
        memcpy(ret, rows, (size_t)n * size);
    return ret;
}

/* Complete the facts with what was read. Return 0 or -ENOMEM. */
static int fill(struct learnt *l, struct eddis_error *err)
{
    struct facts *f = &l->facts;
    struct planner_history *h = &f->program;

    past_fill(&l->model, &l->times, &l->memory, &l->efficiencies, h);
    f->time = own(h->time, h->n_times, sizeof *h->time);
    f->bound = own(h->bound, h->n_bounds, sizeof *h->bound);
    if ((h->n_times && !f->time) || (h->n_bounds && !f->bound))
        return eddis_fail(err, -ENOMEM, "no memory for what earlier jobs measured");
    f->n_times = h->n_times;
    f->n_bounds = h->n_bounds;
    f->network = l->network;
    if (l->network)
        (void)network_wire(l->network, &f->latency_s, &f->bytes_per_s); /* else unknown */
    l->measured_s = INT64_MAX;
    for (int i = 0; i < f->n_nodes; i++)
        if (f->node[i].measured_s < l->measured_s)
            l->measured_s = f->node[i].measured_s;
    return 0;
}

int learnt_load(const struct job *job, const char *dir, struct learnt *ret, struct eddis_error *err)
{
    cleanup_free char *path = NULL;
    int rc;

    *ret = (struct learnt){ 0 };
    if (dir) {
        path = file_join(dir, "%s", ""); /* ends in '/', and is no beginning of an id */
        rc = path ? job_folder_find(path, &ret->from, err)
                  : eddis_fail(err, -ENOMEM, "no memory for a path");
        rc = rc == 0 ? read_folder(job, ret, err) : rc;
        if (rc == -ESRCH)
            eddis_fail(err, rc, "the job in '%s' was not of this program, or measured nothing",
                       dir);
    } else {
        rc = search(job, ret, err);
    }
    if (rc == 0)
        rc = read_cache(job, ret, err);
    return rc == 0 ? fill(ret, err) : rc;
}

void learnt_fini(struct learnt *l)
{
    facts_fini(&l->facts);
    past_times_fini(&l->times);
    past_memory_fini(&l->memory);
    past_efficiencies_fini(&l->efficiencies);
    network_free(l->network);
    *l = (struct learnt){ 0 };
}
