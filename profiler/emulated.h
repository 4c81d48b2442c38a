/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.h - devices that a CPU emulates, instead of the real ones */
#ifndef EDDIS_PROFILER_EMULATED_H
#define EDDIS_PROFILER_EMULATED_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

/* Replace the node's devices by n emulated ones; n 0: keep them.  Their times are given, so all
 * measurements are NAN.  -EINVAL: too many, or invalid values; p is then unchanged.
 */
int emulated_apply(const struct job_emulated *list, int n, struct node_profile *p,
                   struct eddis_error *err);

#endif
