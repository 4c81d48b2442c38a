/* SPDX-License-Identifier: Apache-2.0 */
/* compare_estimate.h - how long the open runs of a comparison will take */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_ESTIMATE_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_ESTIMATE_H

#include "cmd/run/compare/compare_json.h"

#include <stddef.h>

/* Write a sentence on how long the open runs will take to ret [size]: by the runs of the comparison
 * that have ended; otherwise by the target, if it is a time, or by the newest job of this name that
 * has trained to its end; otherwise that nothing is there to estimate from. "": no run is open.
 */
void compare_estimate(const struct compare *c, char *ret, size_t size);

#endif
