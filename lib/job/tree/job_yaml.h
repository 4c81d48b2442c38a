/* SPDX-License-Identifier: Apache-2.0 */
/* job_yaml.h - parse bytes into a tree, over libyaml */
#ifndef EDDIS_JOB_TREE_JOB_YAML_H
#define EDDIS_JOB_TREE_JOB_YAML_H

#include "job_node.h"

/* Parse one YAML document without anchors, aliases and tags.  Return its root in *ret, for
 * job_node_free.
 */
int job_yaml_parse(const struct job_reader *r, const char *text, size_t n, struct job_node **ret,
                   struct eddis_error *err);

#endif
