/* SPDX-License-Identifier: Apache-2.0 */
/* node_list.h - nodes.jsonl: where a job has been, for eddis-run --cleanup
 *
 * One line for each start of an agent, written before it: host, how it is logged in to, where eddis
 * is there, the job's id and the start's mark (agents/protocol/node_identity.h), by which what it
 * started is found. No secret is in it.
 */
#ifndef EDDIS_AGENTS_JOB_NODE_LIST_H
#define EDDIS_AGENTS_JOB_NODE_LIST_H

#include "agents/protocol/protocol_limits.h"
#include "job_folder.h"
#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stddef.h>

#define JOB_NODES_FILE "nodes.jsonl"

/* One host, with the mark of the newest start of every node on it. */
struct node_list_entry {
    struct job_host host; /* only host, eddis and ssh are set; owned */
    char **mark;          /* [n_marks], NULL-ended */
    size_t n_marks;
};

struct node_list {
    char job_id[JOB_FOLDER_MAX_ID + 1];
    struct node_list_entry *node; /* [n] */
    size_t n;
};

/* Return one line without its end, or NULL without memory.  ssh: the settings for this host. */
char *node_list_line(const char *job_id, const struct job_host *host, const struct job_ssh *ssh,
                     const char *mark);

/* Read the list in a job's folder.  -ENOENT: it has none, for nothing was ever started. */
int node_list_read(const struct job_folder *f, struct node_list **ret, struct eddis_error *err);

/* Read the list from text, for its tests; `what` names it in errors. */
int node_list_parse(char *text, size_t n, const char *what, struct node_list **ret,
                    struct eddis_error *err);

void node_list_free(struct node_list *j); /* accepts NULL */

#endif
