/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - cache of a host's profile between jobs
 *
 * One file per host, "profile-<host>.json", because home folders are shared between nodes:
 *     { "complete": true, "key": { "machine_id": ..., ... }, "profile": { ... } }
 *     he key has everything whose change invalidates the measurements. Emulated devices are never
 * stored: they are part of a job's request. A file that others could have written is rejected.
 */
#ifndef EDDIS_PROFILER_CACHE_H
#define EDDIS_PROFILER_CACHE_H

#include "lib/base/error.h"
#include "lib/model/profile.h"
#include "profiler/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* Validity of a profile that lacks measurements or was made on a busy machine */
#define CACHE_PROVISIONAL_NS (INT64_C(600) * 1000000000)

/* Read the entry of machine m, at most age_ns old at wall time now_ns.  Sets ret->cached.  -ENOENT:
 * there is none; -ESTALE: too old, or of another machine, driver, version, ...; -EPERM: others may
 * have written it; -EINVAL, -EFBIG: corrupt. err has the reason.
 */
int cache_load(const char *dir, const struct machine *m, int64_t age_ns, int64_t now_ns,
               struct node_profile *ret, struct eddis_error *err);

/* Replace the entry atomically, mode 0600; create the folder if missing, mode 0700. complete: every
 * measurement of existing hardware succeeded undisturbed.
 */
int cache_store(const char *dir, const struct machine *m, const struct node_profile *p,
                bool complete, struct eddis_error *err);

#endif
