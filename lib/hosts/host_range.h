/* SPDX-License-Identifier: Apache-2.0 */
/* host_range.h - expand ranges in host names, "v100-[1-4,7]"
 *
 * Brackets contain numbers and ranges of numbers.  A first number with leading zeros sets the
 * width: "c[08-10]" is c08, c09, c10.  With several brackets, the last one varies fastest.
 */
#ifndef EDDIS_MODEL_HOST_RANGE_H
#define EDDIS_MODEL_HOST_RANGE_H

#include "lib/base/error.h"

#include <stddef.h>

enum { HOST_RANGE_MAX = 16384 };

/* Callback for each name in order; a negative result ends the expansion and is returned. */
typedef int host_range_fn(void *ctx, const char *name, struct eddis_error *err);

/* Expand a pattern of n bytes and call fn for each name; text without brackets is one name.  Return
 * the result of fn for the last name, or a negative errno; fn may have been called before.
 * -EINVAL: unbalanced brackets or invalid ranges; -E2BIG: more than HOST_RANGE_MAX names.
 */
int host_range_expand(const char *pattern, size_t n, host_range_fn *fn, void *ctx,
                      struct eddis_error *err);

#endif
