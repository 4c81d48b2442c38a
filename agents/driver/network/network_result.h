/* SPDX-License-Identifier: Apache-2.0 */
/* network_result.h - what the probe of a network has told */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_RESULT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_RESULT_H

#include "agents/driver/core/job_run.h"

/* Take what the probe has measured, as lib/model/network.h writes it, into *used.  Returns whether
 * the network works; else the state machine was told that it does not.
 */
bool network_result_take(struct job_run *r, const char *text, struct run_network *used);

/* Fill used->reason from used->measured: "slowest from c01 to c03: 112 MB/s, 0.11 ms", "" when
 * nothing is known.
 */
void network_result_describe(struct run_network *used);

#endif
