/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.h - what earlier jobs were measured to be, kept for the next
 *
 * One file each beside the profiles of this machine ($XDG_CACHE_HOME/eddis, or ~/.cache/eddis),
 * "<kind>-<digits>.json".  Kinds and their keys:
 *
 *   network   the network with the nodes' names and addresses, so that nothing is believed of other
 *             nodes or of nodes that were moved
 *   model     the command and its folder
 *   times     the version of eddis, the command and its folder
 *
 * A file that others could have written is not believed.  It is a convenience, so that nobody waits
 * for a file system that does not answer: then it is as if there were no cache (-ETIMEDOUT).
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_JOB_CACHE_H
#define EDDIS_AGENTS_DRIVER_HISTORY_JOB_CACHE_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"

#include <stdint.h>

struct job_cache_entry {
    const char *kind, *key;
};

/* Load what was stored for this key at most age_ns ago, a JSON object, into *ret, to be freed.
 * -ENOENT, -ESTALE: there is nothing.
 */
int job_cache_load(struct file_thread *looks, const struct job_cache_entry *e, int64_t age_ns,
                   char **ret, struct eddis_error *err);

/* Replace what is stored for this key by text, a JSON object: atomically, mode 0600. */
int job_cache_store(struct file_thread *looks, const struct job_cache_entry *e, const char *text,
                    struct eddis_error *err);

void job_cache_drop(struct file_thread *looks, const struct job_cache_entry *e);

#endif
