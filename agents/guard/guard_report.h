/* SPDX-License-Identifier: Apache-2.0 */
/* guard_report.h - reports rejected connections to the agent */
#ifndef EDDIS_AGENTS_GUARD_GUARD_REPORT_H
#define EDDIS_AGENTS_GUARD_GUARD_REPORT_H

#include "guard_peer.h"

/* Send a datagram about a rejected peer to the agent's socket `path`. The call never waits: if the
 * agent is busy, or many datagrams were sent in this second, a later datagram counts this
 * rejection, too.
 */
void guard_report(const char *path, const union guard_address *peer);

#endif
