/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.h - replaces a node's devices by devices that a CPU emulates */
#ifndef EDDIS_PROFILER_EMULATED_H
#define EDDIS_PROFILER_EMULATED_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

/* Replace the devices of p by n emulated devices; n 0: keep the devices. Times of emulated devices
 * are given, so all their measurements are NAN. Return 0; -EINVAL: too many devices, or invalid
 * values; p is then unchanged.
 */
int emulated_apply(const struct job_emulated *list, int n, struct node_profile *p,
                   struct eddis_error *err);

#endif
