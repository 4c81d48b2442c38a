/* SPDX-License-Identifier: Apache-2.0 */
/* signal_fd.h - receive signals by a descriptor */
#ifndef EDDIS_BASE_SIGNAL_FD_H
#define EDDIS_BASE_SIGNAL_FD_H

#include "error.h"

/* Block the signals of a 0-ended list in this thread, and make a descriptor that receives them.  It
 * does not block.  Return it or a negative errno value.
 */
int signal_fd_open(const int *signals, struct eddis_error *err);

#endif
