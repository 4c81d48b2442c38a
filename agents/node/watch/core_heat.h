/* SPDX-License-Identifier: Apache-2.0 */
/* core_heat.h - reads how hot processors are, and how long they were throttled for it
 *
 * Intel's processors count the time for which heat throttled their cores; others report only a
 * temperature, or nothing.  root is put before every path: "" except in tests.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H
#define EDDIS_AGENTS_NODE_WATCH_CORE_HEAT_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>

/* Throttled times of the first few cores of a set: each core costs a file or two. */
struct core_heat {
    int n;                       /* cores that count the time */
    int64_t core_ms, package_ms; /* sums over them since boot: throttled for the core's own heat,
                                    for the whole processor's */
};

/* Open root/path for reading, path from a format; return NULL if that fails. */
FILE *core_heat_open(const char *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Read the throttled times of the first few of these cores; ret->n is 0 if none counts them. */
void core_heat_read(const char *root, const cpu_set_t *cores, struct core_heat *ret);

/* Return the temperature of the hottest processor in degrees Celsius; NAN: unknown. */
double core_heat_celsius(const char *root);

#endif
