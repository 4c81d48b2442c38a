/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.h - devices that a CPU emulates, in the place of the real ones */
#ifndef EDDIS_PROFILER_EMULATED_H
#define EDDIS_PROFILER_EMULATED_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

/* Replace the node's devices by n emulated ones, 0: leave them.  Their time is given, so they have
 * no figures that are measured.  -EINVAL: a rate or time that means nothing; p is as before.
 */
int emulated_apply(const struct job_emulated *list, int n, struct node_profile *p,
                   struct eddis_error *err);

#endif
