/* SPDX-License-Identifier: Apache-2.0 */
/* network_result.c - parse the results of the network probe, or find the two nodes that could not
 * connect
 */
#include "network_result.h"

#include "lib/base/clock.h"
#include "lib/model/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *network_result_node(const struct job_run *r, int rank)
{
    const struct state *s = &r->state;

    return rank >= 0 && rank < s->n_ranks ? s->agent[s->rank[rank].agent].host : "a node";
}

/* Report to the state machine that the probe failed, and between which nodes if that is known. */
static void failed(struct job_run *r, const struct network *n)
{
    char text[600];

    if (n->failed_from >= 0 && n->failed_to >= 0)
        (void)snprintf(text, sizeof text, "%.200s got no answer from %.200s (%s)",
                       network_result_node(r, n->failed_from), network_result_node(r, n->failed_to),
                       n->failed);
    else
        (void)snprintf(text, sizeof text, "%s", n->failed);
    state_network_failed(&r->state, text, clock_now_ns());
}

/* Write the slowest link to used->reason, "slowest from c01 to c03: 112 MB/s, 0.11 ms"; leave it if
 * no link or name is known.
 */
static void describe(const struct network *n, struct run_network *used)
{
    const struct network_link *l = network_slowest(n);

    if (l && n->host)
        (void)snprintf(used->reason, sizeof used->reason,
                       "slowest from %.60s to %.60s: %.0f MB/s, %.2f ms", n->host[l->from],
                       n->host[l->to], l->bytes_per_s / 1e6, 1e3 * l->latency_s);
}

/* Add the nodes' names to the network probe's results, which have only their numbers, as n->host.
 * Return 0, or -1 without memory; n owns the names in both cases.
 */
static int name_nodes(const struct job_run *r, struct network *n)
{
    if (n->host || n->n_nodes != r->state.n_ranks)
        return 0;
    n->host = calloc((size_t)n->n_nodes, sizeof *n->host);
    for (int i = 0; n->host && i < n->n_nodes; i++)
        if (!(n->host[i] = strdup(network_result_node(r, i))))
            return -1;
    return n->host ? 0 : -1;
}

void network_result_describe(struct run_network *used)
{
    struct network *n = NULL;

    used->reason[0] = '\0';
    if (!used->measured ||
        network_parse(used->measured, strlen(used->measured), "the network", &n, NULL) < 0)
        return;
    describe(n, used);
    network_free(n);
}

/* Add the network and the nodes' names to the network probe's results, and store them in *used.
 * Return 0, or -ENOMEM with *used unchanged.
 */
static int measured(const struct job_run *r, struct network *n, struct run_network *used,
                    struct eddis_error *err)
{
    char *text = NULL;

    (void)snprintf(n->network, sizeof n->network, "%s", used->subnet);
    if (name_nodes(r, n) == 0)
        text = network_text(n);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for the measurement of the network");
    free(used->measured);
    used->measured = text;
    network_result_describe(used);
    return 0;
}

bool network_result_take(struct job_run *r, const char *text, struct run_network *used)
{
    struct eddis_error err = { 0 };
    struct network *n = NULL;
    int rc = network_parse(text, strlen(text), "the network probe", &n, &err);
    bool good = rc == 0 && !n->failed[0];

    if (rc == 0 && !good)
        failed(r, n);
    if (good)
        rc = measured(r, n, used, &err);
    if (rc < 0)
        state_network_failed(&r->state, err.text, clock_now_ns());
    network_free(n);
    return good && rc == 0;
}
