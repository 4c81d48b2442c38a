/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - logs that are on their nodes: fetched when the job is over, or for who looks now */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_H
#define EDDIS_AGENTS_DRIVER_LOGS_H

#include "inbox.h"
#include "job_run.h"
#include "subject.h"

struct fetch;
struct lookers;

struct logs {
    struct job_run *run;
    char marker[PROTOCOL_MARKER + 1]; /* file in log_dir, by which agents see that they share it */
    struct fetch *fetch;
    int64_t end_ns; /* when fetching under way has to end; 0: nothing is fetched */
    bool fetched;   /* for logs_fetched */
    struct lookers *lookers;
};

/* Events: ranks that begin or end, what was sent.  ACTION_BYE: what there is to fetch goes first;
 * once logs_fetched, agents may leave.
 */
extern const struct subject_ops logs_ops;

/* l is zeroed before; run is borrowed.  logs_close also when this fails. */
int logs_open(struct logs *l, struct job_run *run, struct eddis_error *err);

/* Keep the pieces of logs that a report has brought, before it is answered: what cannot be kept
 * must not be taken for arrived.
 */
int logs_pieces(struct logs *l, int agent, const struct report *r, struct eddis_error *err);

/* Answer somebody who looks at a rank's log, now or when its node has sent it. */
void logs_look(struct logs *l, const struct inbox_item *i, int64_t now_ns);

/* Fetch no more: logs are as far as they have come. */
void logs_stop(struct logs *l);

/* Return true once when fetching has come to its end. */
bool logs_fetched(struct logs *l);

void logs_close(struct logs *l);

#endif
