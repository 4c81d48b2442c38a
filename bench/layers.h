/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h - a model of equal layers, for measurements without real computing */
#ifndef EDDIS_BENCH_LAYERS_H
#define EDDIS_BENCH_LAYERS_H

#include "lib/eddis.h"

#include <stddef.h>

/* Register n layers of one float32 parameter each, with `elements` numbers of value [n * elements],
 * and commit.  Collective; errors are those of eddis.h.
 */
int layers_register(struct eddis *e, float *value, int n, size_t elements, struct eddis_error *err);

#endif
