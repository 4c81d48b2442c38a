/* SPDX-License-Identifier: Apache-2.0 */
/* host_range.h - "v100-[1-4,7]" written out
 *
 * Between brackets stand numbers and ranges of them; a first number with leading zeros keeps their
 * width, "c[08-10]" is c08, c09, c10.  Of several brackets the last runs fastest.
 */
#ifndef EDDIS_MODEL_HOST_RANGE_H
#define EDDIS_MODEL_HOST_RANGE_H

#include "lib/base/error.h"

#include <stddef.h>

enum { HOST_RANGE_MAX = 16384 };

/* Called for each name in turn; a negative result ends the expansion and is its result. */
typedef int host_range_fn(void *ctx, const char *name, struct eddis_error *err);

/* Expand a pattern of n bytes; a text without brackets is one name.  -EINVAL: brackets that do not
 * fit, numbers that run backwards; -E2BIG: more than HOST_RANGE_MAX names.
 */
int host_range_expand(const char *pattern, size_t n, host_range_fn *fn, void *ctx,
                      struct eddis_error *err);

#endif
