/* SPDX-License-Identifier: Apache-2.0 */
/* host_name.h - what hosts and users may be called
 *
 * Each name becomes an argument of ssh or of Open MPI.  A name that passes these checks is not an
 * option of any program and not a path, and needs no quotes in any shell.
 */
#ifndef EDDIS_HOSTS_HOST_NAME_H
#define EDDIS_HOSTS_HOST_NAME_H

#include "lib/base/error.h"

/* Check the name or address of a host: a host name of letters, digits, '.', '-' and '_', or an IPv4
 * or IPv6 address.  Return 0 or -EINVAL.
 */
int host_name_check(const char *host, struct eddis_error *err);

/* Check a host's numeric address, IPv4 or IPv6.  Return 0 or -EINVAL. */
int host_address_check(const char *address, struct eddis_error *err);

/* Check the name of a user to log in as on a host.  Return 0 or -EINVAL. */
int host_user_check(const char *user, struct eddis_error *err);

#endif
