/* SPDX-License-Identifier: Apache-2.0 */
/* localhost.h - check whether a host name means this machine */
#ifndef EDDIS_AGENTS_DRIVER_START_LOCALHOST_H
#define EDDIS_AGENTS_DRIVER_START_LOCALHOST_H

#include <stdbool.h>

/* Check whether a name is "localhost", a loopback address, this machine's own name, or an address
 * of one of its interfaces. No name is resolved, because this may take long, and ssh's
 * configuration may give a name another meaning. In a network namespace only the addresses of that
 * namespace count.
 */
bool localhost_is(const char *name);

/* Check the same as localhost_is, for a machine whose own name is `own`; for tests. */
bool localhost_is_named(const char *name, const char *own);

#endif
