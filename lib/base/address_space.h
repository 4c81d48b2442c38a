/* SPDX-License-Identifier: Apache-2.0 */
/* address_space.h - whether a limit of the address space (ulimit -v) leaves room for something
 *
 * Libraries that get no memory for their threads end the process by a signal, or wait for ever: so
 * they are asked for before.
 */
#ifndef EDDIS_BASE_ADDRESS_SPACE_H
#define EDDIS_BASE_ADDRESS_SPACE_H

#include "error.h"

#include <stddef.h>

/* Check that `what` can have so many bytes of address space.  0 where there is no limit.  -ENOMEM
 * with a sentence that names the limit.
 */
int address_space_check(size_t bytes, const char *what, struct eddis_error *err);

#endif
