/* SPDX-License-Identifier: Apache-2.0 */
/* agent_config_make.h - make the configuration that an agent receives at its start */
#ifndef EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H
#define EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"

/* Make the configuration of an agent as JSON text in *ret.  It holds the agent's token, so the
 * caller wipes and frees it.  The agent connects to the addresses of l; log_marker names a file in
 * the log folder.
 */
int agent_config_make(const struct job_run *r, int agent, const struct listeners *l,
                      const char *log_marker, char **ret, struct eddis_error *err);

/* Return the path that the program reads its data from, so that a node can check it: the last
 * --data argument of the command, if that file is readable here.  The caller frees it; NULL:
 * unknown.
 */
char *agent_config_data_path(const struct job *job);

#endif
