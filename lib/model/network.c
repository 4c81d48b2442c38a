/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - convert a measured network to and from JSON, and compute a node's bandwidth */
#include "network.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/text.h"

#include <errno.h>
#include <string.h>

#define MOST_SECONDS 1e6
#define MOST_BYTES   1e15

#define N(table) (sizeof table / sizeof *table)

/* Rows for the members of a network except its lists of hosts and links. */
static const struct field network_fields[] = {
    FIELD(struct network, network, LINE, 0, 0),
    FIELD_AS("nodes", struct network, n_nodes, INT, .min = 1, .max = NETWORK_MAX_NODES),
    FIELD(struct network, failed_from, INT, -1, NETWORK_MAX_NODES - 1),
    FIELD(struct network, failed_to, INT, -1, NETWORK_MAX_NODES - 1),
    FIELD(struct network, failed, LINE, 0, 0),
    FIELD_REAL(struct network, allreduce_s, METRIC, 0, MOST_SECONDS),
};

static const struct field link_fields[] = {
    FIELD(struct network_link, from, INT, 0, NETWORK_MAX_NODES - 1),
    FIELD(struct network_link, to, INT, 0, NETWORK_MAX_NODES - 1),
    FIELD_REAL(struct network_link, latency_s, DOUBLE, 0, MOST_SECONDS),
    FIELD_REAL(struct network_link, bytes_per_s, DOUBLE, 0, MOST_BYTES),
};
static const struct fields link_table = FIELDS(struct network_link, link_fields);

/* The row by which links are written; read_links reads them. */
static const struct field links_row[] = {
    FIELD_OWNED("links", struct network, link, n_links, NETWORK_MAX_LINKS, link_table),
};

/* ---- writing ---- */

/* Add the list "hosts" of the nodes' names to object o; the list is empty if n has no names.
 * Return 0 or -ENOMEM.
 */
static int write_hosts(const struct network *n, json_t *o)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "hosts", list) < 0)
        return -ENOMEM;
    for (int i = 0; n->host && i < n->n_nodes; i++)
        if (json_array_append_new(list, json_string(n->host[i])) < 0)
            return -ENOMEM;
    return 0;
}

char *network_text(const struct network *n)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(network_fields, N(network_fields), n, o) < 0 ||
        fields_write(links_row, N(links_row), n, o) < 0 || write_hosts(n, o) < 0)
        return NULL;
    return json_text(o, false);
}

/* ---- reading ---- */

/* Read one link from object o into *ret.  Return 0 or -EINVAL: a member is wrong, or the link's two
 * nodes are equal or not nodes of n.
 */
static int read_link(const json_t *o, const struct network *n, struct network_link *ret,
                     struct eddis_error *err)
{
    int rc;

    if ((rc = fields_limit(o, "from", 0, n->n_nodes - 1, err)) < 0 ||
        (rc = fields_limit(o, "to", 0, n->n_nodes - 1, err)) < 0 ||
        (rc = fields_read(link_fields, N(link_fields), o, ret, err)) < 0)
        return rc;
    return ret->from != ret->to ? 0 : eddis_fail(err, -EINVAL, "a link from a node to itself");
}

/* Read the list "links" of object o into a new array of n.  Return 0, -EINVAL or -ENOMEM;
 * network_free frees the array in any case.
 */
static int read_links(const json_t *o, struct network *n, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "links", NETWORK_MAX_LINKS, &list, err);

    if (rc < 0)
        return rc;
    n->link = calloc(json_array_size(list) + 1, sizeof *n->link);
    if (!n->link)
        return eddis_fail(err, -ENOMEM, "no memory for the links");
    for (size_t i = 0; i < json_array_size(list); i++) {
        rc = read_link(json_array_get(list, i), n, &n->link[i], err);
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "link %zu", i);
        n->n_links++;
    }
    return 0;
}

/* Read the list "hosts" of object o into a new array of n.  The list is empty, which leaves n->host
 * NULL, or has one name for each node.  Return 0, -EINVAL or -ENOMEM; network_free frees the array
 * in any case.
 */
static int read_hosts(const json_t *o, struct network *n, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "hosts", NETWORK_MAX_NODES, &list, err);

    if (rc < 0 || json_array_size(list) == 0)
        return rc;
    if ((int)json_array_size(list) != n->n_nodes)
        return eddis_fail(err, -EINVAL, "%zu hosts for %d nodes", json_array_size(list),
                          n->n_nodes);
    n->host = calloc((size_t)n->n_nodes + 1, sizeof *n->host);
    for (int i = 0; n->host && i < n->n_nodes; i++) {
        const json_t *one = json_array_get(list, (size_t)i);

        if (!json_is_string(one) || strlen(json_string_value(one)) != json_string_length(one))
            return eddis_fail(err, -EINVAL, "host %d is not a name", i);
        n->host[i] = strdup(json_string_value(one));
        if (!n->host[i])
            return eddis_fail(err, -ENOMEM, "no memory for a host");
        text_strip_control(n->host[i]);
    }
    return n->host ? 0 : eddis_fail(err, -ENOMEM, "no memory for the hosts");
}

/* Read all members of object o into n.  Return 0 or a negative errno; then the caller frees n by
 * network_free.
 */
static int read_all(const json_t *o, struct network *n, struct eddis_error *err)
{
    int rc;

    if ((rc = fields_read(network_fields, N(network_fields), o, n, err)) < 0 ||
        (rc = fields_limit(o, "failed_from", -1, n->n_nodes - 1, err)) < 0 ||
        (rc = fields_limit(o, "failed_to", -1, n->n_nodes - 1, err)) < 0 ||
        (rc = read_hosts(o, n, err)) < 0)
        return rc;
    return read_links(o, n, err);
}

int network_parse(const char *text, size_t size, const char *what, struct network **ret,
                  struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct network *n;
    int rc = json_parse(text, size, what, &o, err);

    if (rc < 0)
        return rc;
    n = calloc(1, sizeof *n);
    if (!n)
        return eddis_fail(err, -ENOMEM, "no memory for a network");
    rc = read_all(o, n, err);
    if (rc < 0) {
        network_free(n);
        return eddis_fail_prefix(err, rc, "%s", what);
    }
    *ret = n;
    return 0;
}

const struct network_link *network_slowest(const struct network *n)
{
    const struct network_link *slowest = NULL;

    for (int i = 0; i < n->n_links; i++)
        if (!slowest || n->link[i].bytes_per_s < slowest->bytes_per_s)
            slowest = &n->link[i];
    return slowest;
}

/* Compare two doubles, for qsort. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Return the median of x [n], n at least 1, which is sorted in place. */
static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Check whether both nodes of a link are in the set; NULL: the set of all nodes. */
static bool is_within(const struct network_link *l, const bool *in)
{
    return !in || (in[l->from] && in[l->to]);
}

/* Sort the bandwidths of the links within a set by their nodes: those of node i are ret from
 * first[i] to first[i + 1].  ret has room for twice the number of links.
 */
static void sort_links(const struct network *n, const bool *in, size_t *first, double *ret)
{
    size_t sum = 0;

    for (int i = 0; i < n->n_links; i++)
        if (is_within(&n->link[i], in)) {
            first[n->link[i].from]++;
            first[n->link[i].to]++;
        }
    for (int i = 0; i <= n->n_nodes; i++) {
        sum += first[i];
        first[i] = sum; /* the end of node i, which becomes its start below */
    }
    for (int i = 0; i < n->n_links; i++)
        if (is_within(&n->link[i], in)) {
            ret[--first[n->link[i].from]] = n->link[i].bytes_per_s;
            ret[--first[n->link[i].to]] = n->link[i].bytes_per_s;
        }
}

int network_wire_within(const struct network *n, const bool *in, double *ret_latency_s,
                        double *ret_bytes_per_s)
{
    cleanup_free double *x = calloc(2 * (size_t)n->n_links + 1, sizeof *x);
    cleanup_free size_t *first = calloc((size_t)n->n_nodes + 2, sizeof *first);
    double least = INFINITY;
    size_t k = 0;

    if (!x || !first)
        return -ENOMEM;
    sort_links(n, in, first, x);
    for (int node = 0; node < n->n_nodes; node++)
        if (first[node + 1] > first[node])
            least = fmin(least, median(x + first[node], first[node + 1] - first[node]));
    for (int i = 0; i < n->n_links; i++)
        if (is_within(&n->link[i], in))
            x[k++] = n->link[i].latency_s;
    if (k == 0)
        return -ENODATA;
    *ret_latency_s = median(x, k);
    *ret_bytes_per_s = least;
    return 0;
}

int network_wire(const struct network *n, double *ret_latency_s, double *ret_bytes_per_s)
{
    return network_wire_within(n, NULL, ret_latency_s, ret_bytes_per_s);
}

void network_free(struct network *n)
{
    if (!n)
        return;
    for (int i = 0; n->host && i < n->n_nodes; i++)
        free(n->host[i]);
    free(n->host);
    free(n->link);
    free(n);
}
