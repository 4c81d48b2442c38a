/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - a table of two plans beside each other, and both as JSON
 *
 *                                     today          then  ratio
 *     mode                   sync allreduce  sync allreduce
 *     workers                             3             2  0.67x
 *     network                   9.41 Gbit/s   9.41 Gbit/s  1.00x
 *     samples/s                      18 500        12 300  0.66x
 *     of the devices' sum              97 %          98 %
 *     efficiency                       1.00          1.00  1.00x
 *     progress                       18 500        12 300  0.66x
 *     time for its samples          1:12:03       1:48:10  1.50x
 *
 * Rows about simulations follow if there are any (simulated.h). Figures that cannot be predicted
 * are "-", in JSON null.
 */
#ifndef EDDIS_CMD_RUN_WHAT_IF_COMPARISON_H
#define EDDIS_CMD_RUN_WHAT_IF_COMPARISON_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"
#include "lib/model/plan.h"
#include "scheduler/sim_plan.h"

#include <stdbool.h>
#include <stdint.h>

enum { WHAT_IF_SCHEMA_VERSION = 1 };

/* A plan, borrowed, and the network between its nodes, without those that it leaves out; 0: unknown
 */
struct comparison_case {
    const struct plan *plan;
    const struct sim_reached *reached; /* of a simulation, borrowed; NULL: there is none */
    double latency_s, bytes_per_s;
};

/* Two plans of a job */
struct comparison {
    struct comparison_case today, then;
    bool only_today; /* `then` is not printed */
    int64_t samples; /* number of samples of the whole job; 0: unknown */
};

/* What is said beside the plans in JSON, borrowed */
struct comparison_about {
    const char *changes;        /* the argument of --what-if */
    const char *job;            /* id of the job that measured nodes and network */
    int64_t measured_s;         /* when it did, in seconds since 1970 */
    const struct strlist *note; /* sentences about the predictions */
    double simulate_s;          /* duration of the simulations; 0: there are none */
    uint64_t seed;              /* of the simulations */
};

/* Append the table. Without memory b has failed. */
void comparison_print(const struct comparison *c, struct strbuf *b);

/* Store a JSON document with a newline at its end in *ret, which the caller frees:
 *
 *     { "schema_version": 1, "changes": "-node3", "notes": [ ... ],
 *       "from":  { "job": "digits-20261121-140712-3f9a", "measured_s": 1795000000 },
 *       "today": { "samples_per_s": ..., "of_sum": ..., "efficiency": ..., "progress": ...,
 *                  "seconds": ..., "bytes_per_s": ..., "latency_s": ...,
 *                  "plan": { ... } },                        as plan-1-1.json
 *       "then":  { ... } }
 *
 * Simulations add "simulate" to the document, and "simulated" to both plans (simulated.h). With
 * only_today there is neither "changes" nor "then".
 *
 * Return 0 or -ENOMEM.
 */
int comparison_json(const struct comparison *c, const struct comparison_about *about, char **ret,
                    struct eddis_error *err);

#endif
