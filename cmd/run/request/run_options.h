/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - table of eddis-run's options */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_OPTIONS_H
#define EDDIS_CMD_RUN_REQUEST_RUN_OPTIONS_H

#include "cmd/shared/options.h"

extern const struct option_table run_options;

#endif
