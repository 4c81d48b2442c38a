/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - what is known of a job's program, of its workers and of their network, for a plan
 *
 * Of earlier jobs of the program at first, then of this one.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_HISTORY_H
#define EDDIS_AGENTS_DRIVER_HISTORY_HISTORY_H

#include "agents/driver/core/job_run.h"
#include "past.h"

struct known {
    struct job_run *run;               /* borrowed */
    const struct run_network *network; /* that the plan counts on; borrowed */
    char algorithm[16];                /* of the last plan that was launched; "": none */
    enum sync_wire wire;               /* likewise; SYNC_WIRE_AUTO: none */
    struct learned_model model;        /* the program's, as it was told last */
    struct learned_times times;        /* of the workers, in seconds */
    struct learned_memory memory;      /* of what they hold */
    bool memory_kept;                  /* there is something of it that the next job would find */
    bool loaded;
};

/* Fill *ret with all of it, which borrows.  The first time it reads files. */
void known_fill(struct known *k, struct planner_known *ret);

/* Take the size of the model and what else is told with it, and keep it for the next job; what was
 * learnt with one of another size is forgotten.  Returns whether it is news.
 */
bool known_model(struct known *k, int64_t bytes, const struct program *p);

/* Take how many gradients workers have laid out, for the next job. */
void known_gradients(struct known *k, int64_t n);

/* Take how many samples the job trains, likewise; 0: not known.  Returns whether it is news. */
bool known_samples(struct known *k, int64_t n);

/* Keep the workers' times, and what they hold, for the next job. */
void known_keep_times(struct known *k);
void known_keep_memory(struct known *k);

void known_fini(struct known *k);

#endif
