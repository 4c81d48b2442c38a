/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.h - what the simulations of --simulate reached, in the table and in JSON
 *
 *     simulated samples/s            17 900        12 000  0.67x
 *       of the prediction              97 %          97 %
 *       of the devices' sum            94 %          96 %
 *     re-plans                           11             9
 *       with another period               0             0
 *     slow-downs                          6             6
 *       found                             6             6
 */
#ifndef EDDIS_CMD_RUN_WHAT_IF_SIMULATED_H
#define EDDIS_CMD_RUN_WHAT_IF_SIMULATED_H

#include "cmd/shared/table.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/model/plan.h"
#include "scheduler/sim_plan.h"

#include <stdint.h>

/* A plan and what its simulation reached, borrowed */
struct simulated {
    const struct plan *plan;
    const struct sim_reached *reached;
};

/* Append the rows about two simulations to a table with the columns of comparison.h. */
void simulated_rows(const struct simulated *today, const struct simulated *then, struct table *t);

/* Append a line about each of the first slow-downs: which worker was slow when, and when a plan
 * followed. Nothing without slow-downs.
 */
void simulated_print_slow(const struct simulated *s, struct strbuf *b);

/* Append the sentence that says what is simulated, "600 s with seed 0: ...". */
void simulate_print(double seconds, uint64_t seed, struct strbuf *b);

/* Return what a simulation reached in JSON; NULL without memory:
 *
 *     { "samples_per_s": ..., "of_predicted": ..., "of_sum": ..., "replans": ...,
 *       "period_changes": ..., "period": ...,
 *       "slow_downs": [ { "rank": ..., "begin_s": ..., "end_s": ..., "followed_s": ...,
 *                         "found": ... }, ... ] }
 */
json_t *simulated_json(const struct simulated *s);

/* Return what is simulated in JSON; NULL without memory:
 *
 *     { "seconds": ..., "seed": ..., "jitter": ..., "slow_down_every_s": ...,
 *       "slow_down_times": ..., "slow_down_least_s": ..., "slow_down_most_s": ... }
 */
json_t *simulate_json(double seconds, uint64_t seed);

#endif
