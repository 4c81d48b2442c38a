/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - a job's metrics in Prometheus' text format (GET /metrics)
 *
 * Labels are job, rank and node only; never a command line or a variable of the user's.
 */
#ifndef EDDIS_AGENTS_JOB_PROMETHEUS_H
#define EDDIS_AGENTS_JOB_PROMETHEUS_H

#include "status_json.h"

#include <stdint.h>

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Return the metrics as text, which the caller frees; NULL without memory. refused: number of
 * requests without a valid token.  Unknown values are left out.
 */
char *prometheus_text(const struct job_status *s, int64_t refused);

#endif
