/* SPDX-License-Identifier: Apache-2.0 */
/* address_space.h - check whether the limit of the address space (ulimit -v) leaves enough free
 *
 * A library that cannot allocate memory for its threads aborts the process or hangs.  So callers
 * check the limit before they use such a library.
 */
#ifndef EDDIS_BASE_ADDRESS_SPACE_H
#define EDDIS_BASE_ADDRESS_SPACE_H

#include "error.h"

#include <stddef.h>

/* Check that `bytes` of address space are free for `what` (for the error text), by mapping and
 * unmapping them.  Return 0 also if there is no limit.  -ENOMEM: err names the limit.
 */
int address_space_check(size_t bytes, const char *what, struct eddis_error *err);

#endif
