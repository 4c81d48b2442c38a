/* SPDX-License-Identifier: Apache-2.0 */
/* job_group.h - read the keys of a map into a struct */
#ifndef EDDIS_JOB_TREE_JOB_GROUP_H
#define EDDIS_JOB_TREE_JOB_GROUP_H

#include "job_field.h"

/* Read all keys of a map into r->base; `group` is the map's dotted name, "" for the job.  Return 0
 * or a negative errno, that of the last wrong key.  After a wrong key read on only if r gathers
 * errors.
 */
int job_group_read(const struct job_reader *r, const struct job_table *t, const char *group,
                   const struct job_node *map, struct eddis_error *err);

/* Borrow the row of the key whose value has this name in the map of the group (job_field.inner), as
 * "nodes" for "hosts" in "nodes"; NULL: there is none.
 */
const struct job_key *job_key_inside(const struct job_table *t, const char *group,
                                     const char *name);

/* Return -EINVAL for an unknown key n->key of a group ("" for the top level), with the nearest key
 * or how to write it.
 */
int job_unknown_key(const struct job_reader *r, const struct job_table *t, const char *group,
                    const struct job_node *n, struct eddis_error *err);

/* Return -EINVAL for a key, at line and column, that is reserved for a later version. */
int job_refuse_later(const struct job_reader *r, const struct job_key *key, int line, int column,
                     struct eddis_error *err);

/* Add an -EINVAL error to the list of the reader, unless a nested group has added it.  Return false
 * if reading must stop: the reader has no list, rc is another error, or the list is full.
 */
bool job_gather(const struct job_reader *r, int rc, const struct eddis_error *err);

#endif
