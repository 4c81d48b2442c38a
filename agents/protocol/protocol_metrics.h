/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_metrics.h - the step-time measurements in a worker's progress report */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_METRICS_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_METRICS_H

#include "lib/base/fields.h"
#include "lib/model/step_window.h"

/* The members of struct step_metrics; the object is absent if there are no measurements (plan 0).
 */
extern const struct fields step_metrics_table;

/* Add the member "figures" to o; add nothing if there are no measurements (f->plan 0).  Return 0 or
 * -ENOMEM.
 */
int metrics_write(const struct step_metrics *f, json_t *o);

/* Read the member "figures" of o into *ret; if there is none, set *ret to all zeros.  Return the
 * number of members read (0 or 1) or a negative errno.
 */
int metrics_read(struct step_metrics *ret, const json_t *o, struct eddis_error *err);

#endif
