/* SPDX-License-Identifier: Apache-2.0 */
/* network_result.c - parse the results of the network probe, or find the two nodes that could not
 * connect
 */
#include "network_result.h"

#include "lib/base/clock.h"
#include "lib/model/network.h"

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

/* Add the network and the nodes' names to the network probe's results, and store them in *used;
 * without memory for the names *used is unchanged.
 */
static void measured(const struct job_run *r, struct network *n, struct run_network *used)
{
    (void)snprintf(n->network, sizeof n->network, "%s", used->subnet);
    if (name_nodes(r, n) < 0)
        return;
    free(used->measured);
    used->measured = network_text(n);
    network_result_describe(used);
}

bool network_result_take(struct job_run *r, const char *text, struct run_network *used)
{
    struct eddis_error err = { 0 };
    struct network *n = NULL;
    bool good = false;

    if (network_parse(text, strlen(text), "the network probe", &n, &err) < 0)
        state_network_failed(&r->state, err.text, clock_now_ns());
    else if (n->failed[0])
        failed(r, n);
    else {
        measured(r, n, used);
        good = used->measured != NULL;
    }
    network_free(n);
    return good;
}
