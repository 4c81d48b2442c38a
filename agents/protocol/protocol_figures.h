/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_figures.h - what the latest steps of a worker took, in its progress */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_FIGURES_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_FIGURES_H

#include "lib/base/json.h"
#include "lib/model/step_window.h"

/* Add the member "figures" to o, or nothing where there are none (plan 0).  Returns 0 or -ENOMEM.
 */
int figures_write(const struct step_figures *f, json_t *o);

/* Read it, when it is there; else *ret is all 0.  Returns how many members it took, or fails. */
int figures_read(struct step_figures *ret, const json_t *o, struct eddis_error *err);

#endif
