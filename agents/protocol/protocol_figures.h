/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_figures.h - the step-time measurements in a worker's progress report */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_FIGURES_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_FIGURES_H

#include "lib/base/json.h"
#include "lib/model/step_window.h"

/* Add the member "figures" to o; add nothing if there are no measurements (f->plan 0).  Return 0 or
 * -ENOMEM.
 */
int figures_write(const struct step_figures *f, json_t *o);

/* Read the member "figures" of o into *ret; if there is none, set *ret to all zeros.  Return the
 * number of members read (0 or 1) or a negative errno.
 */
int figures_read(struct step_figures *ret, const json_t *o, struct eddis_error *err);

#endif
