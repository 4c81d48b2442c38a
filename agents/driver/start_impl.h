/* SPDX-License-Identifier: Apache-2.0 */
/* start_impl.h - the ways of start.h, for their authors and start.c */
#ifndef EDDIS_AGENTS_DRIVER_START_IMPL_H
#define EDDIS_AGENTS_DRIVER_START_IMPL_H

#include "start.h"

extern const struct start_ops start_local; /* start_local.c */

#endif
