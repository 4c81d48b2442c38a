/* SPDX-License-Identifier: Apache-2.0 */
/* network_result.h - results of the network probe */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_RESULT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_RESULT_H

#include "agents/driver/core/job_run.h"

/* Parse the probe's results (lib/model/network.h) and store them in *used. Return true if the
 * network works. Otherwise, also if the text cannot be parsed, report the failure to the state
 * machine and return false.
 */
bool network_result_take(struct job_run *r, const char *text, struct run_network *used);

/* Return the name of the node of a rank of the probe, borrowed from the state; "a node" if there is
 * no such rank.
 */
const char *network_result_node(const struct job_run *r, int rank);

/* Set used->reason from used->measured: "slowest from c01 to c03: 112 MB/s, 0.11 ms"; "" if nothing
 * was measured.
 */
void network_result_describe(struct run_network *used);

#endif
