/* SPDX-License-Identifier: Apache-2.0 */
/* plan_json.c - convert a plan to and from JSON
 *
 * A plan may have been edited by hand or come from another cluster.  So everything that the launch
 * relies on is checked here: the order of ranks, the sum of the batches, no device twice.  Weights
 * are computed from the batches, not read: 15 digits of JSON would not give the same bits, and a
 * replayed plan must.
 */
#include "plan.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/strbuf.h"
#include "lib/model/choice_json.h"
#include "lib/model/program_facts_json.h"
#include "lib/model/sync_options_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_S          1e12 /* seconds per step */
#define MAX_PER_S      1e18 /* samples per second */
#define MAX_EFFICIENCY 1e3
#define MAX_STEPS      1e18
#define MAX_BATCH      (INT64_C(1) << 53)
#define MAX_BUCKET     (INT64_C(1) << 40)
#define WEIGHT_ERROR   1e-12 /* limit of the rounding error of a weight written with 15 digits */

#define N(table) (sizeof table / sizeof *table)

static const struct field candidate_fields[] = {
    FIELD(struct plan_candidate, mode, TEXT, 0, 0),
    FIELD(struct plan_candidate, algorithm, TEXT, 0, 0),
    FIELD_REAL(struct plan_candidate, predicted_samples_per_s, DOUBLE, 0, MAX_PER_S),
    FIELD_REAL(struct plan_candidate, efficiency, DOUBLE, 0, MAX_EFFICIENCY),
    FIELD(struct plan_candidate, measured, BOOL, 0, 0),
    FIELD_REAL(struct plan_candidate, predicted_progress, DOUBLE, 0, MAX_PER_S),
    FIELD(struct plan_candidate, lost, TEXT, 0, 0),
    FIELD_INLINE("", struct plan_candidate, options, sync_options_table),
};
static const struct fields candidate_table =
    FIELDS(struct plan_candidate, candidate_fields, .name = "candidate");

/* Rows for the members that every plan has, except nodes and workers. */
static const struct field plan_fields[] = {
    FIELD(struct plan, generation, INT64, 1, INT64_MAX),
    FIELD(struct plan, version, INT64, 1, INT64_MAX),
    FIELD(struct plan, mode, TEXT, 0, 0),
    FIELD(struct plan, algorithm, TEXT, 0, 0),
    FIELD(struct plan, reason, TEXT, 0, 0),
    FIELD(struct plan, global_batch, INT64, 1, MAX_BATCH),
    FIELD(struct plan, bucket_bytes, INT64, 0, MAX_BUCKET),
    FIELD(struct plan, seed, INT64, 0, INT64_MAX),
    FIELD(struct plan, emulated, BOOL, 0, 0),
    FIELD(struct plan, relative, BOOL, 0, 0),
    FIELD_REAL(struct plan, predicted_samples_per_s, DOUBLE, 0, MAX_PER_S),
    FIELD_REAL(struct plan, ideal_samples_per_s, DOUBLE, 0, MAX_PER_S),
    FIELD_REAL(struct plan, equal_samples_per_s, DOUBLE, 0, MAX_PER_S),
    FIELD(struct plan, model_bytes, INT64, 0, INT64_MAX),
    PROGRAM_ROW(struct plan),
    FIELD(struct plan, takes_pieces, BOOL, 0, 0),
    FIELD(struct plan, change, TEXT, 0, 0),
    FIELD_REAL(struct plan, gain, DOUBLE, 0, MAX_PER_S),
    FIELD_INLINE("", struct plan, options, sync_options_table),
    FIELD_ARRAY("candidates", struct plan, candidate, n_candidates, candidate_table),
};

/* Members about the network, which are all present or all absent. */
static const struct field network_fields[] = {
    FIELD(struct plan, network, TEXT, 0, 0),
    FIELD(struct plan, network_reason, TEXT, 0, 0),
};

static const char *const time_sources[TIME_SOURCES] = { "probe", "guessed", "given", "learnt",
                                                        "measured" };

static const struct field worker_fields[] = {
    FIELD(struct plan_worker, rank, INT, 0, PLAN_MAX_WORKERS - 1),
    FIELD(struct plan_worker, local_rank, INT, 0, PLAN_MAX_WORKERS - 1),
    FIELD(struct plan_worker, node, INT, 0, PLAN_MAX_WORKERS - 1),
    FIELD(struct plan_worker, group, INT, 0, PLAN_MAX_WORKERS - 1),
    FIELD(struct plan_worker, device_id, TEXT, 0, 0),
    FIELD(struct plan_worker, device, TEXT, 0, 0),
    FIELD(struct plan_worker, cpus, TEXT, 0, 0),
    FIELD_REAL(struct plan_worker, fixed_s, DOUBLE, 0, MAX_S),
    FIELD_REAL(struct plan_worker, sample_s, DOUBLE, 0, MAX_S),
    FIELD_REAL(struct plan_worker, step_s, DOUBLE, 0, MAX_S),
    FIELD_REAL(struct plan_worker, samples_per_s, DOUBLE, 0, MAX_PER_S),
    FIELD(struct plan_worker, batch, INT64, 0, MAX_BATCH),
    FIELD(struct plan_worker, equal_batch, INT64, 0, MAX_BATCH),
    FIELD_REAL(struct plan_worker, weight, DOUBLE, 0, 1),
    FIELD(struct plan_worker, largest, INT64, 0, MAX_BATCH),
    FIELD(struct plan_worker, max, INT64, 0, MAX_BATCH),
    FIELD(struct plan_worker, piece, INT64, 0, MAX_BATCH),
    FIELD_ROW(struct plan_worker, time, ENUM, .max = TIME_SOURCES, .names = time_sources),
    FIELD_ROW(struct plan_worker, kind, ENUM, .max = DEVICE_KINDS, .names = device_kind_names,
              .wrong = "member \"kind\" is not a kind of device"),
};
static const struct fields worker_table = FIELDS(struct plan_worker, worker_fields);

/* The measured communication settings, absent from a plan without them. */
static const struct field choice_row[] = {
    FIELD_POINTER("communication", struct plan, choice, choice_table),
};
/* The workers that were left out, absent from a plan of all workers. */
static const struct field left_row[] = {
    FIELD_ARRAY_IF("left_out", struct plan, left, n_left, plan_left_table),
};
/* The steps of an epoch, absent from a plan that does not know them. */
static const struct field epoch_row[] = {
    FIELD_REAL(struct plan, epoch_steps, DOUBLE, 0, MAX_STEPS),
};
/* The keys that no table reads, for only_known. */
static const struct field plan_others[] = {
    { .key = "nodes" },
    { .key = "schema_version" },
    { .key = "workers" },
};

/* All tables of a plan's members, for only_known. */
static const struct fields plan_tables[] = {
    FIELDS(struct plan, plan_fields), FIELDS(struct plan, network_fields),
    FIELDS(struct plan, choice_row),  FIELDS(struct plan, left_row),
    FIELDS(struct plan, epoch_row),   FIELDS(struct plan, plan_others),
};

/* The row by which workers are written; read_workers reads them. */
static const struct field workers_row[] = {
    FIELD_OWNED("workers", struct plan, worker, n_workers, PLAN_MAX_WORKERS, worker_table),
};

const char *time_source_name(enum time_source s)
{
    return time_sources[s];
}

/* ---- writing ---- */

/* Add the list "nodes" of the nodes' names to object o.  Return 0 or -ENOMEM. */
static int write_nodes(const struct plan *p, json_t *o)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "nodes", list) < 0)
        return -ENOMEM;
    for (int i = 0; i < p->n_nodes; i++)
        if (json_array_append_new(list, json_string(p->node[i])) < 0)
            return -ENOMEM;
    return 0;
}

/* Add all members of the plan to object o.  Return 0 or -ENOMEM. */
static int write_plan(const struct plan *p, json_t *o)
{
    if (fields_write(choice_row, N(choice_row), p, o) < 0 ||
        fields_write(left_row, N(left_row), p, o) < 0 ||
        (p->epoch_steps > 0 && fields_write(epoch_row, N(epoch_row), p, o) < 0) ||
        json_object_set_new(o, "schema_version", json_integer(PLAN_SCHEMA_VERSION)) < 0 ||
        fields_write(plan_fields, N(plan_fields), p, o) < 0 ||
        fields_write(network_fields, N(network_fields), p, o) < 0 || write_nodes(p, o) < 0)
        return -ENOMEM;
    return fields_write(workers_row, N(workers_row), p, o);
}

char *plan_text(const struct plan *p)
{
    cleanup_json json_t *o = json_object();
    cleanup_free char *text = NULL;
    struct strbuf b = { 0 };

    if (!o || write_plan(p, o) < 0)
        return NULL;
    text = json_text(o, true);
    if (!text)
        return NULL;
    strbuf_add(&b, text);
    strbuf_add(&b, "\n");
    return strbuf_steal(&b);
}

/* ---- reading ---- */

/* Check that one of the n tables has a row for each member of object o.  Return 0, or -EINVAL with
 * a message that names an unknown member.
 */
static int only_known(const json_t *o, const struct fields *table, size_t n,
                      struct eddis_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        bool known = false;

        for (size_t i = 0; i < n && !known; i++)
            known = fields_have(table[i].field, table[i].n, key);
        if (!known)
            return eddis_fail(err, -EINVAL, "unknown member \"%.40s\"", key);
    }
    return 0;
}

/* Set the worker's weight to batch / global_batch, exactly.  Return 0 or -EINVAL: the weight that
 * was read differs from it by more than rounding, or sample_s is 0.
 */
static int set_weight(const struct plan *p, struct plan_worker *w, struct eddis_error *err)
{
    double weight = w->weight;

    if (w->sample_s == 0)
        return eddis_fail(err, -EINVAL, "member \"sample_s\" is 0");
    w->weight = (double)w->batch / (double)p->global_batch;
    if (fabs(w->weight - weight) > WEIGHT_ERROR)
        return eddis_fail(err, -EINVAL, "member \"weight\" is not \"batch\" / \"global_batch\"");
    return 0;
}

/* Read one worker of plan p from o into w, check it against the plan and set its weight.  Return 0
 * or a negative errno.
 */
static int read_worker(const json_t *o, const struct plan *p, struct plan_worker *w,
                       struct eddis_error *err)
{
    int rc;

    if (!json_is_object(o))
        return eddis_fail(err, -EINVAL, "it is not a JSON object");
    w->time = p->relative ? TIME_PROBE : TIME_GIVEN; /* overwritten by fields_read */
    if ((rc = only_known(o, &worker_table, 1, err)) < 0 ||
        (rc = fields_limit(o, "node", 0, p->n_nodes - 1, err)) < 0 ||
        (rc = fields_limit(o, "group", 0, p->n_workers - 1, err)) < 0 ||
        (rc = fields_limit(o, "batch", 0, p->global_batch, err)) < 0 ||
        (rc = fields_limit(o, "equal_batch", 0, p->global_batch, err)) < 0 ||
        (rc = fields_read(worker_fields, N(worker_fields), o, w, err)) < 0)
        return rc;
    return set_weight(p, w, err);
}

/* Check that worker i has rank i, is not on an earlier node than worker i - 1, and has the next
 * local rank of its node.  Return 0 or -EINVAL.  n_local [n_nodes] is the number of workers of each
 * node so far; count worker i in it.
 */
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

/* Read all workers of plan p from `list`, and check their order and that both their batches and
 * their equal batches add up to the global batch.  Return 0 or a negative errno.
 */
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
        left -= p->worker[i].batch; /* no overflow: a batch is at most global_batch */
        equal_left -= p->worker[i].equal_batch;
        if (left < 0 || equal_left < 0)
            break;
    }
    if (left != 0 || equal_left != 0)
        return eddis_fail(err, -EINVAL, "the workers' \"%s\" do not add up to %lld",
                          left != 0 ? "batch" : "equal_batch", (long long)p->global_batch);
    return 0;
}

/* Compare two pointers to workers by node, then by device id, for qsort. */
static int compare_devices(const void *a, const void *b)
{
    const struct plan_worker *x = *(const struct plan_worker *const *)a;
    const struct plan_worker *y = *(const struct plan_worker *const *)b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return strcmp(x->device_id, y->device_id);
}

/* Check that no two workers of a node have the same device, unless it is a CPU.  Return 0, -EINVAL
 * or -ENOMEM.
 */
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

/* Read the nodes' host names from `list` into p.  Return 0 or -EINVAL. */
static int read_nodes(const json_t *list, struct plan *p, struct eddis_error *err)
{
    for (int i = 0; i < p->n_nodes; i++) {
        const char *s = json_string_value(json_array_get(list, (size_t)i));

        if (!s || !*s || strlen(s) >= sizeof p->node[i])
            return eddis_fail(err, -EINVAL, "node %d is not a host name", i);
        memcpy(p->node[i], s, strlen(s) + 1);
    }
    return 0;
}

/* Set p->n_groups to the number of groups.  Check that each group from 0 on has a worker and gets
 * samples.  Return 0, -EINVAL or -ENOMEM.
 */
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

/* Check that the options which every plan of the algorithm sets are set, and those that the
 * algorithm does not have are not.  Return 0 or -EINVAL; 0 for an unknown algorithm, which
 * planner_adopt reports.
 */
static int check_mode(const struct plan *p, struct eddis_error *err)
{
    const struct sync_options *o = &p->options;
    const struct {
        const char *name;
        unsigned traits; /* bits of enum algorithm_trait: an algorithm with one has the option */
        bool set;
    } option[] = {
        { "period", ALGORITHM_ELASTIC | ALGORITHM_ROUNDS, o->period > 0 },
        { "moving_rate", ALGORITHM_ELASTIC, o->moving_rate > 0 },
        { "outer_rate", ALGORITHM_OUTER, o->outer_rate > 0 },
        { "outer_momentum", ALGORITHM_OUTER, o->outer_momentum > 0 },
    };
    const struct algorithm *a = algorithm_find(p->algorithm);

    if (a && o->momentum > 0 && !(a->traits & ALGORITHM_ELASTIC))
        return eddis_fail(err, -EINVAL, "\"momentum\" does not fit the algorithm '%s' of mode '%s'",
                          p->algorithm, p->mode);
    if (a && o->overlap > 0 && !(a->traits & ALGORITHM_ROUNDS))
        return eddis_fail(err, -EINVAL, "\"overlap\" does not fit the algorithm '%s' of mode '%s'",
                          p->algorithm, p->mode);
    for (size_t i = 0; a && i < N(option); i++)
        if (option[i].set != !!(a->traits & option[i].traits))
            return eddis_fail(err, -EINVAL, "\"%s\" does not fit the algorithm '%s' of mode '%s'",
                              option[i].name, p->algorithm, p->mode);
    return 0;
}

/* Read all members of a plan except nodes and workers from o into p.  Return 0 or a negative errno.
 */
static int read_head(const json_t *o, struct plan *p, struct eddis_error *err)
{
    int rc = fields_read(plan_fields, N(plan_fields), o, p, err);

    if (rc >= 0 && json_has(o, "network"))
        rc = fields_read(network_fields, N(network_fields), o, p, err);
    if (rc >= 0)
        rc = check_mode(p, err);
    if (rc >= 0 && json_has(o, "communication"))
        rc = fields_read(choice_row, N(choice_row), o, p, err);
    if (rc >= 0)
        rc = fields_read(left_row, N(left_row), o, p, err);
    if (rc >= 0 && json_has(o, "epoch_steps"))
        rc = fields_read(epoch_row, N(epoch_row), o, p, err);
    return rc < 0 ? rc : 0;
}

/* Read a plan from o and check it.  Store it in *ret, for plan_free.  Return 0, -EINVAL or -ENOMEM.
 */
static int read_plan(const json_t *o, struct plan **ret, struct eddis_error *err)
{
    json_t *nodes, *workers;
    struct plan *p;
    int64_t schema;
    int rc;

    if (!json_is_object(o))
        return eddis_fail(err, -EINVAL, "it is not a JSON object");
    if ((rc = json_want_int(o, "schema_version", 0, INT64_MAX, &schema, err)) < 0)
        return rc;
    if (schema != PLAN_SCHEMA_VERSION)
        return eddis_fail(err, -EINVAL, "its schema_version is %lld, this eddis reads %d",
                          (long long)schema, PLAN_SCHEMA_VERSION);
    if ((rc = only_known(o, plan_tables, N(plan_tables), err)) < 0 ||
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

/* Return rc, and replace the message in err by one that says that `what` is not a plan and where
 * plans are found, with the old message at its end.  For users who give another file.
 */
static int no_plan(const char *what, int rc, struct eddis_error *err)
{
    char why[sizeof err->text];

    if (!err)
        return rc;
    memcpy(why, err->text, sizeof why);
    return eddis_fail(err, rc,
                      "%.200s is not a plan; a plan is a plan-*.json of a job's folder or the "
                      "output of eddis-run --dry-run --json (%s)",
                      what, why);
}

int plan_parse(const char *text, size_t n, const char *what, struct plan **ret,
               struct eddis_error *err)
{
    cleanup_json json_t *j = NULL;
    const json_t *whole;
    int rc = json_parse(text, n, what, &j, err);

    if (rc < 0)
        return no_plan(what, rc, err);
    whole = json_object_get(j, "plan"); /* the output of eddis-run --dry-run --json */
    if (!json_is_object(whole))
        whole = j;
    rc = read_plan(whole, ret, err);
    if (rc < 0 && !json_object_get(whole, "schema_version"))
        return no_plan(what, rc, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s: not a plan", what) : 0;
}
