/* SPDX-License-Identifier: Apache-2.0 */
/* plan_json.c - a plan to and from JSON
 *
 * What is read may have been edited by hand or come from another cluster, so everything that the
 * launch relies on is checked here: the order of ranks, the sum of the batches, no device twice.
 * Weights are not read but computed again from the batches: 15 digits of JSON would not give the
 * same bits, and a replayed plan must.
 */
#include "plan.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/model/choice_json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const double MAX_S = 1e12;         /* seconds of one step */
static const double MAX_PER_S = 1e18;     /* samples per second */
static const double WEIGHT_ERROR = 1e-12; /* of a weight's 15 digits */

static const char *const plan_members[] = {
    "algorithm",
    "async_samples_per_s",
    "bucket_bytes",
    "communication",
    "emulated",
    "equal_samples_per_s",
    "generation",
    "global_batch",
    "hybrid_samples_per_s",
    "ideal_samples_per_s",
    "mode",
    "model_bytes",
    "momentum",
    "moving_rate",
    "network",
    "network_reason",
    "nodes",
    "period",
    "predicted_samples_per_s",
    "reason",
    "relative",
    "schema_version",
    "seed",
    "sync_samples_per_s",
    "version",
    "workers",
};

static const char *const worker_members[] = {
    "batch",      "cpus", "device", "device_id", "equal_batch",   "fixed_s", "group",  "kind",
    "local_rank", "node", "rank",   "sample_s",  "samples_per_s", "step_s",  "weight",
};

/* ---- writing ---- */

static json_t *worker_json(const struct plan_worker *w)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:f}",
                     "group", w->group, "rank", w->rank, "local_rank", w->local_rank, "node",
                     w->node, "kind", device_kind_name(w->kind), "device_id", w->device_id,
                     "device", w->device, "cpus", w->cpus, "fixed_s", w->fixed_s, "sample_s",
                     w->sample_s, "batch", (json_int_t)w->batch, "equal_batch",
                     (json_int_t)w->equal_batch, "weight", w->weight, "step_s", w->step_s,
                     "samples_per_s", w->samples_per_s);
}

/* What the mode brings with it. */
static json_t *mode_json(const struct plan *p)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:I, s:f, s:f, s:f, s:o}", "mode", p->mode,
                     "algorithm", p->algorithm, "reason", p->reason, "period",
                     (json_int_t)p->period, "moving_rate", p->moving_rate, "momentum", p->momentum,
                     "model_bytes", (json_int_t)p->model_bytes, "sync_samples_per_s",
                     p->sync_samples_per_s, "async_samples_per_s", p->async_samples_per_s,
                     "hybrid_samples_per_s", p->hybrid_samples_per_s, "communication",
                     p->choice ? choice_json(p->choice) : json_null());
}

static json_t *plan_json(const struct plan *p)
{
    json_t *nodes = json_array(), *workers = json_array();
    int rc = nodes && workers ? 0 : -1;

    for (int i = 0; i < p->n_nodes && rc == 0; i++)
        rc = json_array_append_new(nodes, json_string(p->node[i]));
    for (int i = 0; i < p->n_workers && rc == 0; i++)
        rc = json_array_append_new(workers, worker_json(&p->worker[i]));
    if (rc < 0) {
        json_decref(nodes);
        json_decref(workers);
        return NULL;
    }
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:f, s:f, s:f, s:s, s:s, s:o, s:o}",
                     "schema_version", PLAN_SCHEMA_VERSION, "generation", (json_int_t)p->generation,
                     "version", (json_int_t)p->version, "global_batch", (json_int_t)p->global_batch,
                     "bucket_bytes", (json_int_t)p->bucket_bytes, "seed", (json_int_t)p->seed,
                     "emulated", p->emulated, "relative", p->relative, "predicted_samples_per_s",
                     p->predicted_samples_per_s, "ideal_samples_per_s", p->ideal_samples_per_s,
                     "equal_samples_per_s", p->equal_samples_per_s, "network", p->network,
                     "network_reason", p->network_reason, "nodes", nodes, "workers", workers);
}

char *plan_text(const struct plan *p)
{
    cleanup_json json_t *j = plan_json(p), *mode = mode_json(p);
    cleanup_free char *text = NULL;
    struct strbuf b = { 0 };

    if (!j || !mode || json_object_update(j, mode) < 0)
        return NULL;
    text = json_text(j, true);
    if (!text)
        return NULL;
    strbuf_add(&b, text);
    strbuf_add(&b, "\n");
    return strbuf_steal(&b);
}

/* ---- reading ---- */

static int only_members(const json_t *o, const char *const *names, size_t n,
                        struct eddis_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        size_t i = 0;

        while (i < n && strcmp(names[i], key) != 0)
            i++;
        if (i == n)
            return eddis_fail(err, -EINVAL, "unknown member \"%.40s\"", key);
    }
    return 0;
}

static int read_kind(const json_t *o, enum device_kind *ret, struct eddis_error *err)
{
    const char *s;
    int rc = json_want_string(o, "kind", &s, err);

    if (rc < 0)
        return rc;
    for (int k = DEVICE_CPU; k <= DEVICE_EMULATED; k++)
        if (strcmp(s, device_kind_name((enum device_kind)k)) == 0) {
            *ret = (enum device_kind)k;
            return 0;
        }
    return eddis_fail(err, -EINVAL, "member \"kind\" is no kind of device");
}

static int read_int(const json_t *o, const char *key, int max, int *ret, struct eddis_error *err)
{
    int64_t v;
    int rc = json_want_int(o, key, 0, max, &v, err);

    if (rc == 0)
        *ret = (int)v;
    return rc;
}

static int read_worker_numbers(const json_t *o, const struct plan *p, struct plan_worker *w,
                               struct eddis_error *err)
{
    double weight;
    int rc;

    if ((rc = json_want_number(o, "fixed_s", 0, MAX_S, &w->fixed_s, err)) < 0 ||
        (rc = json_want_number(o, "sample_s", 0, MAX_S, &w->sample_s, err)) < 0 ||
        (rc = json_want_number(o, "step_s", 0, MAX_S, &w->step_s, err)) < 0 ||
        (rc = json_want_number(o, "samples_per_s", 0, MAX_PER_S, &w->samples_per_s, err)) < 0 ||
        (rc = json_want_int(o, "batch", 0, p->global_batch, &w->batch, err)) < 0 ||
        (rc = json_want_int(o, "equal_batch", 0, p->global_batch, &w->equal_batch, err)) < 0 ||
        (rc = json_want_number(o, "weight", 0, 1, &weight, err)) < 0)
        return rc;
    if (w->sample_s == 0)
        return eddis_fail(err, -EINVAL, "member \"sample_s\" is 0");
    w->weight = (double)w->batch / (double)p->global_batch;
    if (fabs(w->weight - weight) > WEIGHT_ERROR)
        return eddis_fail(err, -EINVAL, "member \"weight\" is not \"batch\" / \"global_batch\"");
    return 0;
}

static int read_worker(const json_t *o, const struct plan *p, struct plan_worker *w,
                       struct eddis_error *err)
{
    int rc;

    if (!json_is_object(o))
        return eddis_fail(err, -EINVAL, "it is no object");
    if ((rc = only_members(o, worker_members, sizeof worker_members / sizeof *worker_members,
                           err)) < 0 ||
        (rc = read_int(o, "rank", PLAN_MAX_WORKERS - 1, &w->rank, err)) < 0 ||
        (rc = read_int(o, "local_rank", PLAN_MAX_WORKERS - 1, &w->local_rank, err)) < 0 ||
        (rc = read_int(o, "node", p->n_nodes - 1, &w->node, err)) < 0 ||
        (json_has(o, "group") &&
         (rc = read_int(o, "group", p->n_workers - 1, &w->group, err)) < 0) ||
        (rc = read_kind(o, &w->kind, err)) < 0 ||
        (rc = json_copy_string(o, "device_id", w->device_id, sizeof w->device_id, err)) < 0 ||
        (rc = json_copy_string(o, "device", w->device, sizeof w->device, err)) < 0 ||
        (rc = json_copy_string(o, "cpus", w->cpus, sizeof w->cpus, err)) < 0)
        return rc;
    return read_worker_numbers(o, p, w, err);
}

/* Ranks count up from node to node, and local ranks within each; n_local [n_nodes] starts at 0. */
static int check_order(const struct plan *p, int i, int *n_local, struct eddis_error *err)
{
    const struct plan_worker *w = &p->worker[i];

    if (w->rank != i)
        return eddis_fail(err, -EINVAL, "it has rank %d; ranks count up from 0 in their order",
                          w->rank);
    if (i > 0 && w->node < p->worker[i - 1].node)
        return eddis_fail(err, -EINVAL, "it is on node %d; ranks are in the order of their nodes",
                          w->node);
    if (w->local_rank != n_local[w->node]++)
        return eddis_fail(err, -EINVAL, "it has local rank %d; %d comes next on its node",
                          w->local_rank, n_local[w->node] - 1);
    return 0;
}

static int read_workers(const json_t *list, struct plan *p, struct eddis_error *err)
{
    cleanup_free int *n_local = calloc((size_t)p->n_nodes + 1, sizeof *n_local);
    int64_t left = p->global_batch, equal_left = p->global_batch;

    if (!n_local)
        return eddis_fail(err, -ENOMEM, "no memory");
    for (int i = 0; i < p->n_workers; i++) {
        int rc = read_worker(json_array_get(list, (size_t)i), p, &p->worker[i], err);

        if (rc == 0)
            rc = check_order(p, i, n_local, err);
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "worker %d", i);
        left -= p->worker[i].batch; /* each is at most global_batch: no overflow */
        equal_left -= p->worker[i].equal_batch;
        if (left < 0 || equal_left < 0)
            break;
    }
    if (left != 0 || equal_left != 0)
        return eddis_fail(err, -EINVAL, "the workers' \"%s\" do not add up to %lld",
                          left != 0 ? "batch" : "equal_batch", (long long)p->global_batch);
    return 0;
}

static int compare_devices(const void *a, const void *b)
{
    const struct plan_worker *x = *(const struct plan_worker *const *)a;
    const struct plan_worker *y = *(const struct plan_worker *const *)b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return strcmp(x->device_id, y->device_id);
}

/* Only a CPU is shared by two workers. */
static int check_duplicates(const struct plan *p, struct eddis_error *err)
{
    cleanup_free const struct plan_worker **w = calloc((size_t)p->n_workers, sizeof *w);

    if (!w)
        return eddis_fail(err, -ENOMEM, "no memory");
    for (int i = 0; i < p->n_workers; i++)
        w[i] = &p->worker[i];
    qsort(w, (size_t)p->n_workers, sizeof *w, compare_devices);
    for (int i = 1; i < p->n_workers; i++)
        if (w[i]->kind != DEVICE_CPU && compare_devices(&w[i - 1], &w[i]) == 0)
            return eddis_fail(err, -EINVAL, "workers %d and %d are both on device '%s'",
                              w[i - 1]->rank, w[i]->rank, w[i]->device_id);
    return 0;
}

static int read_nodes(const json_t *list, struct plan *p, struct eddis_error *err)
{
    for (int i = 0; i < p->n_nodes; i++) {
        const char *s = json_string_value(json_array_get(list, (size_t)i));

        if (!s || !*s || strlen(s) >= sizeof p->node[i])
            return eddis_fail(err, -EINVAL, "node %d is no host name", i);
        memcpy(p->node[i], s, strlen(s) + 1);
    }
    return 0;
}

/* Groups are numbered from 0 without a gap, and all take samples. */
static int check_groups(struct plan *p, struct eddis_error *err)
{
    cleanup_free bool *seen = calloc((size_t)p->n_workers, sizeof *seen);
    cleanup_free bool *fed = calloc((size_t)p->n_workers, sizeof *fed);

    if (!seen || !fed)
        return eddis_fail(err, -ENOMEM, "no memory");
    for (int i = 0; i < p->n_workers; i++) {
        seen[p->worker[i].group] = true;
        fed[p->worker[i].group] |= p->worker[i].batch > 0;
        if (p->worker[i].group >= p->n_groups)
            p->n_groups = p->worker[i].group + 1;
    }
    for (int g = 0; g < p->n_groups; g++)
        if (!seen[g] || !fed[g])
            return eddis_fail(err, -EINVAL, "no worker %s group %d of %d",
                              seen[g] ? "takes samples in" : "is in", g, p->n_groups);
    return 0;
}

/* A member that older plans do not have stays 0. */
static int read_number(const json_t *o, const char *key, double max, double *ret,
                       struct eddis_error *err)
{
    return json_has(o, key) ? json_want_number(o, key, 0, max, ret, err) : 0;
}

static int read_choice(const json_t *o, struct plan *p, struct eddis_error *err)
{
    if (!json_has(o, "communication"))
        return 0;
    p->choice = calloc(1, sizeof *p->choice);
    if (!p->choice)
        return eddis_fail(err, -ENOMEM, "no memory");
    return choice_read(json_object_get(o, "communication"), p->choice, err);
}

static int read_mode(const json_t *o, struct plan *p, struct eddis_error *err)
{
    bool elastic;
    int rc;

    if ((json_has(o, "period") &&
         (rc = json_want_int(o, "period", 0, INT64_C(1) << 40, &p->period, err)) < 0) ||
        (json_has(o, "model_bytes") &&
         (rc = json_want_int(o, "model_bytes", 0, INT64_MAX, &p->model_bytes, err)) < 0) ||
        (rc = read_number(o, "moving_rate", 1, &p->moving_rate, err)) < 0 ||
        (rc = read_number(o, "momentum", 0.9999, &p->momentum, err)) < 0 ||
        (rc = read_number(o, "sync_samples_per_s", MAX_PER_S, &p->sync_samples_per_s, err)) < 0 ||
        (rc = read_number(o, "async_samples_per_s", MAX_PER_S, &p->async_samples_per_s, err)) < 0 ||
        (rc = read_number(o, "hybrid_samples_per_s", MAX_PER_S, &p->hybrid_samples_per_s, err)) < 0)
        return rc;
    elastic = strcmp(p->mode, "async") == 0 || strcmp(p->mode, "hybrid") == 0;
    if (elastic != (p->period > 0) || elastic != (p->moving_rate > 0))
        return eddis_fail(err, -EINVAL, "\"period\" and \"moving_rate\" do not fit the mode '%s'",
                          p->mode);
    return read_choice(o, p, err);
}

static int read_head(const json_t *o, struct plan *p, struct eddis_error *err)
{
    int64_t seed;
    int rc;

    if ((rc = json_want_int(o, "generation", 1, INT64_MAX, &p->generation, err)) < 0 ||
        (rc = json_want_int(o, "version", 1, INT64_MAX, &p->version, err)) < 0 ||
        (rc = json_copy_string(o, "mode", p->mode, sizeof p->mode, err)) < 0 ||
        (rc = json_copy_string(o, "algorithm", p->algorithm, sizeof p->algorithm, err)) < 0 ||
        (rc = json_copy_string(o, "reason", p->reason, sizeof p->reason, err)) < 0 ||
        (rc = json_want_int(o, "global_batch", 1, INT64_C(1) << 53, &p->global_batch, err)) < 0 ||
        (rc = json_want_int(o, "bucket_bytes", 0, INT64_C(1) << 40, &p->bucket_bytes, err)) < 0 ||
        (rc = json_want_int(o, "seed", 0, INT64_MAX, &seed, err)) < 0 ||
        (rc = json_want_bool(o, "emulated", &p->emulated, err)) < 0 ||
        (rc = json_want_bool(o, "relative", &p->relative, err)) < 0 ||
        (rc = json_want_number(o, "predicted_samples_per_s", 0, MAX_PER_S,
                               &p->predicted_samples_per_s, err)) < 0 ||
        (rc = json_want_number(o, "ideal_samples_per_s", 0, MAX_PER_S, &p->ideal_samples_per_s,
                               err)) < 0)
        return rc;
    if (json_has(o, "network") &&
        ((rc = json_copy_string(o, "network", p->network, sizeof p->network, err)) < 0 ||
         (rc = json_copy_string(o, "network_reason", p->network_reason, sizeof p->network_reason,
                                err)) < 0))
        return rc;
    p->seed = (uint64_t)seed;
    rc = json_want_number(o, "equal_samples_per_s", 0, MAX_PER_S, &p->equal_samples_per_s, err);
    return rc < 0 ? rc : read_mode(o, p, err);
}

static int read_plan(const json_t *o, struct plan **ret, struct eddis_error *err)
{
    json_t *nodes, *workers;
    struct plan *p;
    int64_t schema;
    int rc;

    if (!json_is_object(o))
        return eddis_fail(err, -EINVAL, "it is no object");
    if ((rc = json_want_int(o, "schema_version", 0, INT64_MAX, &schema, err)) < 0)
        return rc;
    if (schema != PLAN_SCHEMA_VERSION)
        return eddis_fail(err, -EINVAL, "its schema_version is %lld, this eddis reads %d",
                          (long long)schema, PLAN_SCHEMA_VERSION);
    if ((rc = only_members(o, plan_members, sizeof plan_members / sizeof *plan_members, err)) < 0 ||
        (rc = json_want_array(o, "nodes", PLAN_MAX_WORKERS, &nodes, err)) < 0 ||
        (rc = json_want_array(o, "workers", PLAN_MAX_WORKERS, &workers, err)) < 0)
        return rc;
    if (json_array_size(nodes) == 0 || json_array_size(workers) == 0)
        return eddis_fail(err, -EINVAL, "it has no nodes or no workers");
    p = plan_new((int)json_array_size(nodes), (int)json_array_size(workers));
    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory");
    if ((rc = read_head(o, p, err)) < 0 || (rc = read_nodes(nodes, p, err)) < 0 ||
        (rc = read_workers(workers, p, err)) < 0 || (rc = check_duplicates(p, err)) < 0 ||
        (rc = check_groups(p, err)) < 0) {
        plan_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

int plan_parse(const char *text, size_t n, const char *what, struct plan **ret,
               struct eddis_error *err)
{
    cleanup_json json_t *j = NULL;
    const json_t *whole;
    int rc = json_parse(text, n, what, &j, err);

    if (rc < 0)
        return rc;
    whole = json_object_get(j, "plan"); /* what eddis-run --dry-run --json prints */
    rc = read_plan(json_is_object(whole) ? whole : j, ret, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s: not a plan", what) : 0;
}
