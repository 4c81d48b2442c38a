/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - the profile of a host, kept between jobs
 *
 * One file a host, "profile-<host>.json", because home folders are shared between nodes:
 *     { "complete": true, "key": { "machine_id": ..., ... }, "profile": { ... } }
 * The key is everything whose change makes the figures wrong.  Emulated devices are never kept:
 * they are a job's wish.  A file that others could have written is not believed.
 */
#ifndef EDDIS_PROFILER_CACHE_H
#define EDDIS_PROFILER_CACHE_H

#include "lib/base/error.h"
#include "lib/model/profile.h"
#include "profiler/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* How long a profile is believed that misses figures or was taken on a busy machine. */
#define CACHE_PROVISIONAL_NS (INT64_C(600) * 1000000000)

/* Read the entry of machine m, at most age_ns old at wall time now_ns.  Sets ret->cached.
 * -ENOENT: there is none; -ESTALE: too old, or of another machine, driver, version, ...;
 * -EPERM: not ours alone to write; -EINVAL, -EFBIG: corrupt.  err says which.
 */
int cache_load(const char *dir, const struct machine *m, int64_t age_ns, int64_t now_ns,
               struct node_profile *ret, struct eddis_error *err);

/* Replace the entry, atomically, mode 0600; the folder is made when missing, mode 0700.
 * complete: nothing that is there to be measured failed or was disturbed.
 */
int cache_store(const char *dir, const struct machine *m, const struct node_profile *p,
                bool complete, struct eddis_error *err);

#endif
