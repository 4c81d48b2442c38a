/* SPDX-License-Identifier: Apache-2.0 */
/* core_heat.h - reads how hot processors are, and how long heat has throttled them
 *
 * Intel's processors count the time for which heat throttled their cores; other processors report
 * only a temperature, or nothing. root is a prefix for every path: "" except in tests.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H
#define EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>

/* Throttled times of the first few cores of a set, as each core costs reading one or two files */
struct core_heat {
    int n; /* number of cores that count throttled time */
    /* sums over these cores since boot: time throttled because of the core's heat, and of the whole
     * processor's heat
     */
    int64_t core_ms, package_ms;
};

/* Open root/path for reading, path from a format; return NULL if that fails. */
FILE *core_heat_open(const char *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read the throttled times of the first few of these cores; ret->n is 0 if no core counts them. */
void core_heat_read(const char *root, const cpu_set_t *cores, struct core_heat *ret);

/* Return the temperature of the hottest processor in degrees Celsius; NAN: unknown. */
double core_heat_celsius(const char *root);

#endif
