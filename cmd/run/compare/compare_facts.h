/* SPDX-License-Identifier: Apache-2.0 */
/* compare_facts.h - what the folder of a run's job and the cache say beside the job's status */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_FACTS_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_FACTS_H

#include "cmd/run/compare/compare_json.h"

#include "lib/model/job.h"

#include <stddef.h>
#include <stdint.h>

/* Return when the first event of a type was recorded in the job's events.jsonl, in seconds since
 * 1970; NAN: there is none.
 */
double compare_event_s(const char *dir, const char *type);

/* Return when the last event of a type was recorded, likewise. */
double compare_last_event_s(const char *dir, const char *type);

/* Fill what describes the mode in *r from the newest plan of the job's folder. Leave it as it is
 * if there is no plan.
 */
void compare_facts_plan(const char *dir, struct compare_run *r);

/* Return the size of the job's model in bytes, as the last job of its program has reported it; 0:
 * none has. The plan of a first job does not have it.
 */
int64_t compare_facts_model(const struct job *job);

/* Store the efficiencies of the comparison's rows in the cache, for plans of later jobs of this
 * program. Return 0 or a negative errno; 0 also if no row has one.
 */
int compare_facts_keep(const struct job *job, const struct compare *c, struct eddis_error *err);

/* Write why eddis-run has failed, the last sentence of its own in the file of its standard error,
 * to ret [size]; "" if there is none.
 */
void compare_facts_why(const char *log, char *ret, size_t size);

#endif
