/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - cache of a host's profile between jobs
 *
 * One file per host, "profile-<host>.json", because home folders are shared between nodes:
 *     { "complete": true, "key": { "machine_id": ..., ... }, "profile": { ... } }
 *
 * The key contains everything whose change invalidates the measurements. Emulated devices are never
 * stored, because they are part of a job's request. A file that other users could have written is
 * rejected.
 */
#ifndef EDDIS_PROFILER_CACHE_H
#define EDDIS_PROFILER_CACHE_H

#include "lib/base/error.h"
#include "lib/model/profile.h"
#include "profiler/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* Time for which a profile is valid that lacks measurements or was made on a busy machine */
#define CACHE_PROVISIONAL_NS (INT64_C(600) * 1000000000)

/* Read the entry of machine m, which must be at most age_ns old at wall time now_ns, into *ret, and
 * set ret->cached. Return 0, or a negative errno with the reason in err: -ENOENT: there is no
 * entry; -ESTALE: it is too old, or of another machine, driver, version, ...; -EPERM: other users
 * may have written it; -EINVAL or -EFBIG: it is corrupt.
 */
int cache_load(const char *dir, const struct machine *m, int64_t age_ns, int64_t now_ns,
               struct node_profile *ret, struct eddis_error *err);

/* Replace the entry of machine m atomically, in a file of mode 0600; create dir, with mode 0700, if
 * it is missing. complete: every measurement of existing hardware succeeded, and no other job
 * disturbed it. Return 0 or a negative errno.
 */
int cache_store(const char *dir, const struct machine *m, const struct node_profile *p,
                bool complete, struct eddis_error *err);

#endif
