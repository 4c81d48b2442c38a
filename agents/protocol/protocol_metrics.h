/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_metrics.h - the step-time measurements in a worker's progress report */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_METRICS_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_METRICS_H

#include "lib/base/fields.h"
#include "lib/model/step_window.h"

/* Fields of the JSON object for a struct step_metrics; a report has no such object if there are no
 * measurements (plan 0)
 */
extern const struct fields step_metrics_table;

#endif
