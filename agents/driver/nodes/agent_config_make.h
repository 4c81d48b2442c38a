/* SPDX-License-Identifier: Apache-2.0 */
/* agent_config_make.h - what an agent is told at its start, from the job */
#ifndef EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H
#define EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"

/* Returns the brief of an agent, who comes to these listeners, as JSON text to be wiped and freed;
 * log_marker names a file in the folder of logs.
 */
int brief_make(const struct job_run *r, int agent, const struct listeners *l,
               const char *log_marker, char **ret, struct eddis_error *err);

/* Returns the path of what the program is told to read, for the storage probe: the argument of
 * --data when it is there; NULL: not known.
 */
char *brief_data_path(const struct job *job);

#endif
