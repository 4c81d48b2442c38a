/* SPDX-License-Identifier: Apache-2.0 */
/* straggling.h - who has become slow in a generation, for people, the status and the journal */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_STRAGGLING_H
#define EDDIS_AGENTS_DRIVER_PLAN_STRAGGLING_H

#include "agents/driver/core/job_run.h"

#include "scheduler/stragglers.h"

struct straggling {
    struct job_run *run;      /* borrowed */
    struct stragglers *found; /* NULL: there is no generation */
    int n_all;                /* how often most were slow at once */
    /* of programs of whose steps only the numbers are known: what lies between two reports */
    struct step_window *told; /* [n_told]; NULL: none has told any */
    int n_told, n_telling;    /* all workers, and those that have told a step */
};

/* Begin with a generation's plan. */
int straggling_begin(struct straggling *s, const struct plan *p, struct eddis_error *err);

/* Take what a worker has measured; of those that tell the numbers of their steps alone, when all
 * do: one that prints for all would be blamed for all.  model: what is learnt of it; peer: the node
 * to which its busiest connection goes, -1: none.
 */
void straggling_progress(struct straggling *s, const struct plan *in_force,
                         const struct progress *p, const struct time_model *model, int peer);

/* Tell of those that are slow by now, or no more.  p: the plan published last; agent [n_nodes]: of
 * its nodes.
 */
void straggling_tell(struct straggling *s, const struct plan *p, const int *agent, int64_t now_ns);

void straggling_end(struct straggling *s); /* of the generation */

#endif
