/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_order.c - converts orders to and from JSON */
#include "protocol.h"

#include "lib/base/fields.h"
#include "protocol_relay.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/model/choice_json.h"
#include "lib/model/network_check_json.h"
#include "lib/model/plan.h"
#include "lib/model/sync_options_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

/* Limit of an emulated device's times in seconds: profile.emulate allows an hour at a millionth of
 * the speed.
 */
#define MAX_SECONDS (3600 * 1e6)

const char *const order_type_names[] = { "none",   "profile",  "prepare", "check",
                                         "start",  "relay",    "settle",  "rebalance",
                                         "signal", "look",     "stop",    "logs",
                                         "pause",  "continue", "release", "bye" };
static const char *const ladder_names[] = { "orderly", "failure", "kill" };

static const struct field node_fields[] = {
    FIELD(struct order_node, agent, INT, 0, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct order_node, host, HOST, 0, 0),
    FIELD(struct order_node, address, TEXT, 0, 0),
    FIELD(struct order_node, n_ranks, INT, 1, BOARD_MAX_LOCAL),
};
static const struct fields node_table = FIELDS(struct order_node, node_fields);

static const struct field rank_fields[] = {
    FIELD(struct order_rank, rank, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct order_rank, local_rank, INT, 0, BOARD_MAX_LOCAL - 1),
    FIELD(struct order_rank, device_id, TEXT, 0, 0),
    FIELD(struct order_rank, cpus, TEXT, 0, 0),
    FIELD(struct order_rank, batch, INT64, 0, INT32_MAX),
    FIELD_REAL(struct order_rank, weight, DOUBLE, 0, 1),
    FIELD_REAL(struct order_rank, fixed_s, DOUBLE, 0, MAX_SECONDS),
    FIELD_REAL(struct order_rank, sample_s, DOUBLE, 0, MAX_SECONDS),
};
static const struct fields rank_table = FIELDS(struct order_rank, rank_fields);

/* Members of orders to prepare and of orders to settle. */
static const struct field mode_fields[] = {
    FIELD(struct order, mode, NAME, 0, 0),
    FIELD(struct order, algorithm, NAME, 0, 0),
    FIELD_INLINE("", struct order, options, sync_options_table),
    FIELD_NUMBERS(struct order, group, OWNED, "group", n_plan, BOARD_MAX_RANKS,
                  "\"group\" of rank # is not a group"),
};
static const struct fields mode_table = FIELDS(struct order, mode_fields);

static const struct field prepare_fields[] = {
    FIELD(struct order, probe, BOOL, 0, 0),
    FIELD(struct order, check_only, BOOL, 0, 0),
    FIELD(struct order, network, TEXT, 0, 0),
    FIELD(struct order, share, NAME, 0, 0),
    FIELD(struct order, mpi_secret, NAME, 0, 0),
    FIELD(struct order, n_ranks, INT, 1, BOARD_MAX_RANKS),
    FIELD(struct order, seed, UINT64, 0, 0),
    FIELD(struct order, bucket_bytes, INT64, 0, INT64_MAX),
    FIELD(struct order, warmup_steps, INT64, 0, INT64_MAX),
    FIELD(struct order, checkpoint_every, INT64, 0, INT64_MAX),
    FIELD(struct order, checkpoint_keep, INT64, 0, INT32_MAX),
    FIELD(struct order, check_models, INT64, 0, INT64_MAX),
    FIELD(struct order, emulated, BOOL, 0, 0),
    FIELD(struct order, resume, BOOL, 0, 0),
    FIELD(struct order, resume_begun, BOOL, 0, 0),
    FIELD(struct order, report_at_step, INT64, 0, INT64_MAX),
    FIELD(struct order, open_ns, INT64, 0, INT64_MAX),
    FIELD(struct order, mode_named, BOOL, 0, 0),
    FIELD_INCLUDE(mode_table),
    FIELD_POINTER("choice", struct order, choice, choice_table), /* only of a replayed plan */
    FIELD_STRUCT_IF("checks", struct order, checks, checks.turns, network_checks_table),
    FIELD_OWNED("node", struct order, node, n_nodes, PROTOCOL_MAX_AGENTS, node_table),
    FIELD_OWNED("rank", struct order, rank, n_local, BOARD_MAX_LOCAL, rank_table),
};

/* Check row i of an order's list of ranks: its rank follows that of the row before, cores are a
 * list of numbers, and the device's id is printable.  Return 0 or -EINVAL.
 */
static int check_rank(const struct order *order, int i, struct eddis_error *err)
{
    const struct order_rank *r = &order->rank[i];

    if (r->local_rank != i || r->rank != order->rank[0].rank + i || r->rank >= order->n_ranks)
        return eddis_fail(err, -EINVAL, "row %d of \"rank\" is out of order", i);
    if (r->cpus[strspn(r->cpus, "0123456789,-")] != '\0')
        return eddis_fail(err, -EINVAL, "\"cpus\" of rank %d is not a list of numbers", r->rank);
    for (const char *c = r->device_id; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~')
            return eddis_fail(err, -EINVAL, "\"device_id\" of rank %d is not a name", r->rank);
    return 0;
}

/* Check that the text of member `key` is empty or has n hexadecimal digits.  Return 0 or -EINVAL.
 */
static int check_digits(const char *key, const char *text, int n, struct eddis_error *err)
{
    if (*text && !text_is_hex(text, (size_t)n))
        return eddis_fail(err, -EINVAL, "\"%s\" is not %d hexadecimal digits", key, n);
    return 0;
}

/* Check the members of an order to prepare, except the plan (fields.check).  Return 0 or -EINVAL.
 */
static int check_prepare_own(const void *order, struct eddis_error *err)
{
    const struct order *o = order;
    int rc = check_digits("share", o->share, PROTOCOL_MARKER, err); /* a part of a file's name */

    if (rc == 0)
        rc = check_digits("mpi_secret", o->mpi_secret, PROTOCOL_MPI_SECRET, err);
    if (rc == 0 && o->n_local == 0)
        rc = eddis_fail(err, -EINVAL, "\"rank\" is empty");
    for (int i = 0; rc == 0 && i < o->n_local; i++)
        rc = check_rank(o, i, err);
    return rc;
}

static const struct field profile_fields[] = {
    FIELD(struct order, turn, BOOL, 0, 0),
    FIELD(struct order, wait_ns, INT64, 0, INT64_MAX),
    FIELD_NUMBERS(struct order, device, OWNED, "device", n_device, PROFILE_MAX_DEVICES,
                  "\"device\" # is not a number"),
};

static const struct field check_fields[] = {
    FIELD(struct order, program_ns, INT64, 0, 86400 * CLOCK_S),
};

static const struct field stop_fields[] = {
    FIELD_WORD(struct order, ladder, ladder_names),
    FIELD(struct order, grace_ns, INT64, 0, 86400 * CLOCK_S),
};

static const struct field logs_fields[] = {
    FIELD(struct order, log_rank, INT, PROTOCOL_LOG_MPIRUN, BOARD_MAX_RANKS - 1),
    FIELD(struct order, log_offset, INT64, -INT64_MAX, INT64_MAX),
};

static const struct field relay_row[] = { FIELD_STRUCT("relay", struct order, relay, relay_table) };

/* The members that depend on the order's type, except the plan, by enum order_type. */
static const struct fields own_tables[] = {
    [ORDER_PROFILE] = FIELDS(struct order, profile_fields),
    [ORDER_PREPARE] = FIELDS(struct order, prepare_fields, .check = check_prepare_own),
    [ORDER_CHECK] = FIELDS(struct order, check_fields),
    [ORDER_RELAY] = FIELDS(struct order, relay_row),
    [ORDER_SETTLE] = FIELDS(struct order, mode_fields),
    [ORDER_STOP] = FIELDS(struct order, stop_fields),
    [ORDER_LOGS] = FIELDS(struct order, logs_fields),
    [ORDER_BYE] = { .n = 0 },
};

static const struct field order_fields[] = {
    FIELD(struct order, number, INT64, 0, INT64_MAX),
    FIELD_WORD(struct order, type, order_type_names),
    FIELD(struct order, generation, INT64, 0, INT32_MAX),
    FIELD_UNION(struct order, type, own_tables),
};
static const struct fields order_table = FIELDS(struct order, order_fields);

static const struct field plan_fields[] = {
    FIELD(struct board_plan, version, INT64, 0, INT64_MAX),
    FIELD(struct board_plan, global_batch, INT64, 0, INT64_MAX),
    FIELD(struct board_plan, flags, INT64, 0, BOARD_FLAGS),
    FIELD(struct board_plan, period, INT64, 0, INT32_MAX),
};

/* Check whether orders of this type carry a plan. */
static bool has_plan(enum order_type type)
{
    return type == ORDER_PREPARE || type == ORDER_SETTLE || type == ORDER_REBALANCE;
}

/* ---- making ---- */

_Static_assert((int)BOARD_MAX_RANKS == (int)PLAN_MAX_WORKERS, "what can be planned can be started");

struct board_plan *order_plan_new(int n_ranks)
{
    struct board_plan *b = calloc(1, sizeof *b + 2 * (size_t)n_ranks * sizeof *b->batch);

    if (b) {
        b->batch = (int64_t *)(b + 1);
        b->piece = b->batch + n_ranks;
    }
    return b;
}

struct board_plan *order_plan(const struct plan *p, int64_t version, int64_t flags)
{
    struct board_plan *b = order_plan_new(p->n_workers);

    if (!b)
        return NULL;
    b->version = version;
    b->global_batch = p->global_batch;
    b->flags = flags;
    b->period = p->options.period;
    for (int r = 0; r < p->n_workers; r++) {
        b->batch[r] = p->worker[r].batch;
        b->piece[r] = p->worker[r].piece;
    }
    return b;
}

/* ---- writing ---- */

/* Add order->plan to o as the member "plan".  Return 0 or -ENOMEM. */
static int write_plan(const struct order *order, json_t *o)
{
    json_t *plan = json_object(), *batch = json_array(), *piece = json_array();
    int rc;

    if (json_object_set_new(o, "plan", plan) < 0 || json_object_set_new(plan, "batch", batch) < 0 ||
        json_object_set_new(plan, "piece", piece) < 0)
        return -ENOMEM;
    rc = fields_write(plan_fields, N(plan_fields), order->plan, plan);
    for (int i = 0; rc == 0 && i < order->n_plan; i++)
        if (json_array_append_new(batch, json_integer(order->plan->batch[i])) < 0 ||
            json_array_append_new(piece, json_integer(order->plan->piece[i])) < 0)
            rc = -ENOMEM;
    return rc;
}

char *order_text(const struct order *order)
{
    cleanup_json json_t *o = fields_json(&order_table, order);
    char *text = NULL;

    if (o && (!has_plan(order->type) || (order->plan && write_plan(order, o) == 0)))
        text = json_text(o, false);
    json_wipe(o, "mpi_secret");
    return text;
}

/* ---- reading ---- */

/* Read the list "piece" of a plan, the n sizes of the ranks' micro-batches in samples, into ret.
 * Return 0 or a negative errno.
 */
static int read_pieces(const json_t *plan, int n, int64_t *ret, struct eddis_error *err)
{
    json_t *piece;
    int rc = json_want_array(plan, "piece", BOARD_MAX_RANKS, &piece, err);

    if (rc < 0)
        return rc;
    if (json_array_size(piece) != (size_t)n)
        return eddis_fail(err, -EINVAL,
                          "\"piece\" of the plan does not have one item for each batch");
    for (int i = 0; i < n; i++) {
        const json_t *one = json_array_get(piece, (size_t)i);

        if (!json_is_integer(one) || json_integer_value(one) < 0)
            return eddis_fail(err, -EINVAL, "\"piece\" of rank %d is not a number of samples", i);
        ret[i] = json_integer_value(one);
    }
    return 0;
}

/* Check that the order has a group below n for each of n ranks; an order to rebalance has no groups
 * and passes.  Return 0 or -EINVAL.
 */
static int check_groups(const struct order *order, int n, struct eddis_error *err)
{
    if (order->type == ORDER_REBALANCE)
        return 0;
    if (order->n_plan != n)
        return eddis_fail(err, -EINVAL, "\"group\" does not have one item for each rank");
    for (int r = 0; r < n; r++)
        if (order->group[r] >= n)
            return eddis_fail(err, -EINVAL, "\"group\" of rank %d is not a group", r);
    return 0;
}

/* Read the member "plan" of o into a new order->plan and set n_plan.  Check that the batches add up
 * to global_batch.  Return 0 or a negative errno.
 */
static int read_plan(struct order *order, const json_t *o, struct eddis_error *err)
{
    json_t *plan, *batch;
    int64_t left;
    int rc = json_want_object(o, "plan", &plan, err), n;

    if (rc < 0 || (rc = json_want_array(plan, "batch", BOARD_MAX_RANKS, &batch, err)) < 0)
        return rc;
    order->plan = order_plan_new((int)json_array_size(batch));
    if (!order->plan)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    if ((rc = fields_read(plan_fields, N(plan_fields), plan, order->plan, err)) < 0 ||
        (rc = fields_end(plan, N(plan_fields) + 2, err)) < 0)
        return rc;
    left = order->plan->global_batch;
    for (size_t i = 0; i < json_array_size(batch); i++) {
        const json_t *one = json_array_get(batch, i);

        if (!json_is_integer(one) || json_integer_value(one) < 0 || json_integer_value(one) > left)
            return eddis_fail(
                err, -EINVAL,
                "the batch of rank %zu is not a part of what remains of \"global_batch\"", i);
        order->plan->batch[i] = json_integer_value(one);
        left -= order->plan->batch[i];
    }
    if (left)
        return eddis_fail(err, -EINVAL, "the batches do not add up to \"global_batch\"");
    n = (int)json_array_size(batch);
    if ((rc = read_pieces(plan, n, order->plan->piece, err)) < 0 ||
        (rc = check_groups(order, n, err)) < 0)
        return rc;
    order->n_plan = n;
    return 0;
}

/* Check that the nodes' ranks add up to n_ranks, that each node has a host, and that addresses and
 * network have only characters of IP addresses.  Return 0 or -EINVAL.
 */
static int check_nodes(const struct order *order, struct eddis_error *err)
{
    int n = 0;

    for (int i = 0; i < order->n_nodes; i++) {
        const char *address = order->node[i].address;

        if (!order->node[i].host[0])
            return eddis_fail(err, -EINVAL, "row %d of \"node\" has no host", i);
        if (address[strspn(address, "0123456789abcdefABCDEF.:")])
            return eddis_fail(err, -EINVAL, "\"address\" of node %d is not an address", i);
        n += order->node[i].n_ranks;
    }
    if (n != order->n_ranks)
        return eddis_fail(err, -EINVAL, "the nodes have %d ranks, but the order has %d", n,
                          order->n_ranks);
    if (order->network[strspn(order->network, "0123456789abcdefABCDEF.:/")])
        return eddis_fail(err, -EINVAL, "\"network\" is not a network");
    return 0;
}

/* Check that an order to prepare agrees with its plan: the number of ranks, the batches of this
 * node's ranks, and the nodes.  Return 0 or -EINVAL.
 */
static int check_prepare(const struct order *order, struct eddis_error *err)
{
    if (order->n_plan != order->n_ranks)
        return eddis_fail(err, -EINVAL, "the plan is for %d ranks, but there are %d", order->n_plan,
                          order->n_ranks);
    for (int i = 0; i < order->n_local; i++)
        if (order->plan->batch[order->rank[i].rank] != order->rank[i].batch)
            return eddis_fail(err, -EINVAL, "rank %d has another batch in the plan",
                              order->rank[i].rank);
    return check_nodes(order, err);
}

/* Fill order from o and check it as a whole; reject unknown members.  Return 0 or a negative errno.
 */
static int read_order(struct order *order, const json_t *o, struct eddis_error *err)
{
    int rc = fields_read(order_fields, N(order_fields), o, order, err);
    size_t n = (size_t)rc + has_plan(order->type);

    if (rc >= 0 && has_plan(order->type))
        rc = read_plan(order, o, err);
    if (rc >= 0 && has_plan(order->type) && order->type != ORDER_PREPARE && !order->plan->version)
        rc = eddis_fail(err, -EINVAL, "the plan's \"version\" is 0");
    if (rc >= 0 && order->type == ORDER_PREPARE)
        rc = check_prepare(order, err);
    if (rc >= 0 && (order->type == ORDER_NONE) != (order->number == 0))
        rc = eddis_fail(err, -EINVAL, "\"number\" does not fit \"type\"");
    return rc < 0 ? rc : fields_end(o, n, err);
}

int order_parse(const char *text, size_t n, struct order **ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct order *order;
    int rc = json_parse(text, n, "order", &o, err);

    if (rc < 0)
        return rc;
    order = calloc(1, sizeof *order);
    rc = order ? read_order(order, o, err) : eddis_fail(err, -ENOMEM, "no memory for an order");
    json_wipe(o, "mpi_secret");
    if (rc < 0) {
        order_free(order);
        return eddis_fail_prefix(err, rc, "order");
    }
    *ret = order;
    return 0;
}

void order_free(struct order *order)
{
    if (!order)
        return;
    explicit_bzero(order->mpi_secret, sizeof order->mpi_secret);
    fields_free(&order_table, order);
    free(order->plan);
    free(order);
}
