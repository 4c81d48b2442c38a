/* SPDX-License-Identifier: Apache-2.0 */
/* agent_config_make.h - make the configuration that an agent receives at its start */
#ifndef EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H
#define EDDIS_AGENTS_DRIVER_NODES_AGENT_CONFIG_MAKE_H

#include "agents/driver/core/job_run.h"
#include "listeners.h"

/* Make the configuration of an agent as JSON text in *ret. The text contains the agent's token, so
 * the caller wipes and frees it. The agent will connect to the addresses of l; log_marker: name of
 * the file by which the agent detects a shared log folder. Return 0 or a negative errno.
 */
int agent_config_make(const struct job_run *r, int agent, const struct listeners *l,
                      const char *log_marker, char **ret, struct eddis_error *err);

/* Return the path of the program's data, for nodes to check: the last --data argument of the
 * command, if this file is readable on this machine. The caller frees the path. NULL: unknown.
 */
char *agent_config_data_path(const struct job *job);

#endif
