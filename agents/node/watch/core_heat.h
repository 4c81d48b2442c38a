/* SPDX-License-Identifier: Apache-2.0 */
/* core_heat.h - whether processors are too hot, as far as the kernel tells
 *
 * The time for which cores were slowed down for heat is counted by Intel's processors; others tell
 * a temperature only, or nothing.  root is put before every path: "" but in tests.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H
#define EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H

#include <sched.h>
#include <stdint.h>

/* Of the first few of some cores: each is a file or two. */
struct core_heat {
    int n;                       /* cores that count it */
    int64_t core_ms, package_ms; /* sums over them, each since its start: it was slowed down for
                                  * its own heat, for that of all beside it */
};

void core_heat_read(const char *root, const cpu_set_t *cores, struct core_heat *ret);

/* Return the temperature of the hottest processor; NAN unknown. */
double core_heat_celsius(const char *root);

#endif
