/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - a job's figures in Prometheus' text format (GET /metrics)
 *
 * Labels are job, rank, node and nothing else: no command line and no variable of the user's.
 */
#ifndef EDDIS_AGENTS_JOB_PROMETHEUS_H
#define EDDIS_AGENTS_JOB_PROMETHEUS_H

#include "status_json.h"

#include <stdint.h>

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Return the text, to be freed, or NULL without memory.  refused: requests without a valid token.
 * What is not known is left out.
 */
char *prometheus_text(const struct job_status *s, int64_t refused);

#endif
