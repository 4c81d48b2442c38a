/* SPDX-License-Identifier: Apache-2.0 */
/* node_list.h - nodes.jsonl: the nodes on which a job was started, for eddis-run --cleanup
 *
 * The driver writes one line before each start of an agent: the host, the way to log in on the
 * host, the path of eddis on the host, the job's id and the start's mark
 * (agents/protocol/node_identity.h). The mark identifies every process and folder of that start.
 * The file contains no secret.
 */
#ifndef EDDIS_AGENTS_JOB_NODE_LIST_H
#define EDDIS_AGENTS_JOB_NODE_LIST_H

#include "agents/protocol/protocol_limits.h"
#include "job_folder.h"
#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stddef.h>

#define JOB_NODES_FILE "nodes.jsonl"

/* One host, with the mark of the newest start for each of the job's nodes on this host */
struct node_list_entry {
    struct job_host host; /* only host, eddis and ssh are set; owned */
    char **mark;          /* [n_marks], NULL-ended */
    size_t n_marks;
};

/* The nodes of one job. */
struct node_list {
    char job_id[JOB_FOLDER_MAX_ID + 1];
    struct node_list_entry *node; /* [n] hosts */
    size_t n;
};

/* Return one line of nodes.jsonl without the newline, which the caller frees; NULL without memory.
 * ssh: the login settings for this host, or NULL.
 */
char *node_list_line(const char *job_id, const struct job_host *host, const struct job_ssh *ssh,
                     const char *mark);

/* Read the list in a job's folder into *ret, which the caller frees with node_list_free. Return 0,
 * -ENOENT if the job has no list because it started no agent, or another negative errno.
 */
int node_list_read(const struct job_folder *f, struct node_list **ret, struct eddis_error *err);

/* Parse the list in text [n] into *ret, which the caller frees with node_list_free. The text is
 * changed; `what` names it in errors. Return 0 or a negative errno.
 */
int node_list_parse(char *text, size_t n, const char *what, struct node_list **ret,
                    struct eddis_error *err);

void node_list_free(struct node_list *j); /* accepts NULL */

#endif
