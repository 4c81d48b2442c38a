/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - a job's metrics in Prometheus' text format (GET /metrics)
 *
 * The only labels are job, rank and node; no label contains a command line or an environment
 * variable.
 */
#ifndef EDDIS_AGENTS_JOB_PROMETHEUS_H
#define EDDIS_AGENTS_JOB_PROMETHEUS_H

#include "status_json.h"

#include <stdint.h>

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Return the metrics as text, which the caller frees; NULL without memory. refused: number of
 * requests without a valid token. The text has no line for an unknown value.
 */
char *prometheus_text(const struct job_status *s, int64_t refused);

#endif
