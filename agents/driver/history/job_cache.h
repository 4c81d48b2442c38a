/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.h - measurements of earlier jobs, kept for the next job
 *
 * Each entry is one file beside the profiles of this machine ($XDG_CACHE_HOME/eddis, or
 * ~/.cache/eddis), "<kind>-<digits>.json".  Kinds and their keys:
 *
 *     network   the network with the nodes' names and addresses, so that an entry never
 *               applies to other nodes or to nodes that were moved
 *     model     the command and its folder
 *     times     the version of eddis, the command and its folder
 *     memory    the same as times
 *     cards     the same as times
 *     curves    the same as times
 *     efficiencies  the same as times
 *
 * A file that another user could have written is ignored. The cache only saves time, so no call
 * waits long for a file system that does not respond: the cache then counts as empty (-ETIMEDOUT).
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_JOB_CACHE_H
#define EDDIS_AGENTS_DRIVER_HISTORY_JOB_CACHE_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"

#include <stdint.h>

/* Identifies an entry: its kind, and a key of any length */
struct job_cache_entry {
    const char *kind, *key;
};

/* Load from the cache the JSON object stored for this key at most age_ns ago into *ret, which the
 * caller frees. Return 0; -ENOENT: there is none; -ETIMEDOUT: the cache does not answer; or another
 * negative errno. Blocks for half a second at most.
 */
int job_cache_load(struct file_thread *reader, const struct job_cache_entry *e, int64_t age_ns,
                   char **ret);

/* Replace the cache's entry e by text, a JSON object: atomically, in a file of mode 0600. Return 0
 * or a negative errno. Blocks for at most half a second.
 */
int job_cache_store(struct file_thread *reader, const struct job_cache_entry *e, const char *text,
                    struct eddis_error *err);

/* Delete the cache's entry e. The call does not wait for the deletion. */
void job_cache_drop(struct file_thread *reader, const struct job_cache_entry *e);

#endif
