/* SPDX-License-Identifier: Apache-2.0 */
/* sim_links.h - how long exchanges of models take in a simulated job whose parties share links
 *
 * The center variable is striped over the nodes, so an exchange uses links of all of them:
 *
 *     read     the receiving direction of the root's link, and 1 / (n_nodes - 1) of the sending
 *              direction of each other node's link
 *     write    the opposite directions
 *
 * A read goes ahead of its exchange as in lib/sync/elastic_ahead.h.
 *
 * A transfer takes as many times as long as transfers use its root's link when it begins. Later
 * ones are not counted, but neither do those that end make it shorter; on average both agree.
 *
 * Pure: times are in seconds of virtual time.
 */
#ifndef EDDIS_SCHEDULER_SIM_LINKS_H
#define EDDIS_SCHEDULER_SIM_LINKS_H

#include <stdbool.h>

/* A party's last exchange of models, and its newest read */
struct sim_exchange {
    int node; /* node of the party's root */
    /* when the newest read began and ended, when the increment began to leave the node and had
     * left it, when it was in the center, and when the party's next step began
     */
    double read_from_s, read_s, sent_from_s, sent_s, written_s, over_s;
    double step_s;   /* duration of a step between the last two exchanges; 0: not known */
    double hidden_s; /* duration of the last exchange's read before the exchange */
    bool has_read;   /* the newest read is that of the next exchange */
    bool read_waits; /* that read begins when the increment is in the center */
};

/* Exchanges of all parties */
struct sim_links {
    struct sim_exchange *exchange; /* [n] of each party, borrowed */
    int n, n_nodes;
};

/* Seconds that the parts of an exchange take if nothing else uses the links */
struct sim_exchange_times {
    double wire_s;    /* reading or writing the stripes of other nodes */
    double latency_s; /* of a read or a write, beside wire_s */
    double local_s;   /* reading or writing memory */
    double link_s;    /* passing the model on to the party's other nodes; 0: it has none */
    double memory_s;  /* passing it on inside of a node */
};

/* Transfers of other parties that use the link of a party's root, in its two directions. 1 is a
 * transfer that uses the whole link.
 */
struct sim_crowd {
    double receiving, sending;
};

/* Return the crowd at this time around party `self`. */
struct sim_crowd sim_links_crowd(const struct sim_links *l, int self, double at_s);

/* Begin to read the center for the next exchange of party `self`, which is due in `left` steps, if
 * this read goes ahead and it is time. The read begins once the last increment is in the center.
 */
void sim_links_ahead(struct sim_links *l, int self, const struct sim_exchange_times *t, double left,
                     double now_s);

/* Begin an exchange of party `self`, `steps` steps after the one before, once its last increment is
 * in the center and the center is read. Return when the party's next step may begin. The increment
 * is written while the party computes. A party on several nodes passes the model on by the link
 * over which its root writes, so its step begins after both.
 */
double sim_links_exchange(struct sim_links *l, int self, const struct sim_exchange_times *t,
                          double steps, double now_s);

#endif
