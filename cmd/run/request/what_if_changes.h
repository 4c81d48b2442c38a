/* SPDX-License-Identifier: Apache-2.0 */
/* what_if_changes.h - parses the changes of --what-if
 *
 *     -node3, +2xnode1, node4.rate=0.5, network=10gbit, latency=50us, batch.global=1024
 *
 * Pure: whether the job has the nodes is checked by what_if_apply (cmd/run/what_if/facts.h), and
 * the keys of train.yaml by job_set.
 */
#ifndef EDDIS_CMD_RUN_REQUEST_WHAT_IF_CHANGES_H
#define EDDIS_CMD_RUN_REQUEST_WHAT_IF_CHANGES_H

#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>

enum { WHAT_IF_MAX_COPIES = 65536 }; /* most copies of nodes, all changes together */

/* Least and greatest factor of NODE.rate: those of an emulated device's rate */
#define WHAT_IF_MIN_RATE 1e-6
#define WHAT_IF_MAX_RATE 1e6

enum what_if_kind { WHAT_IF_LEAVE, WHAT_IF_ADD, WHAT_IF_RATE };

/* A change of one node */
struct what_if_node {
    enum what_if_kind kind;
    char host[256]; /* name of the node */
    int copies;     /* WHAT_IF_ADD: number of copies, at least 1 */
    double rate;    /* WHAT_IF_RATE: factor by which all devices of the node become faster */
};

/* The changes of one --what-if; zero-initialised: nothing changes */
struct what_if_changes {
    struct what_if_node *node; /* [n_nodes], in the order in which they are applied; owned */
    int n_nodes;
    int copies;         /* number of copies of all nodes together */
    double bytes_per_s; /* bandwidth of the network; 0: unchanged */
    double latency_s;   /* latency of the network; 0: unchanged */
    struct strlist key; /* keys of train.yaml, "batch.global=1024" */
};

/* Parse the changes, divided by commas that stand in no brackets, into *ret, which the caller frees
 * with what_if_changes_fini. Blanks around a change are ignored; an empty text changes nothing.
 * Return 0; -EINVAL: err names the word that is no change, and *ret is unchanged; -ENOMEM.
 */
int what_if_changes_parse(const char *text, struct what_if_changes *ret, struct eddis_error *err);

/* Check whether nothing changes. */
bool what_if_changes_are_none(const struct what_if_changes *c);

/* Free the members. */
void what_if_changes_fini(struct what_if_changes *c);

#endif
