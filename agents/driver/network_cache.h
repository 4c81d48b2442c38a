/* SPDX-License-Identifier: Apache-2.0 */
/* network_cache.h - what the networks between nodes were measured to be, kept between jobs
 *
 * One file each beside the profiles of this machine ($XDG_CACHE_HOME/eddis, or ~/.cache/eddis),
 * "network-<digits>.json": the key is the network with the nodes' names and addresses, so that
 * nothing is believed of other nodes or of nodes that were moved.  A file that others could have
 * written is not believed.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_CACHE_H
#define EDDIS_AGENTS_DRIVER_NETWORK_CACHE_H

#include "lib/base/error.h"

#include <stdint.h>

/* Returns what was stored for this key at most age_ns ago.  -ENOENT, -ESTALE: nothing is. */
int network_cache_load(const char *key, int64_t age_ns, char **ret, struct eddis_error *err);

/* Replace it, atomically, mode 0600.  text is JSON. */
int network_cache_store(const char *key, const char *text, struct eddis_error *err);

void network_cache_drop(const char *key);

#endif
