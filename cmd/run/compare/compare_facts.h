/* SPDX-License-Identifier: Apache-2.0 */
/* compare_facts.h - what the folder of a run's job says beside its status */
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

/* Fill what describes the mode in *r from the newest plan of the job's folder. Leave it as it is
 * if there is no plan.
 */
void compare_facts_plan(const char *dir, struct compare_run *r);

/* Return the size of the job's model in bytes, as the last job of its program has reported it; 0:
 * none has. The plan of a first job does not have it.
 */
int64_t compare_facts_model(const struct job *job);

/* Write why eddis-run has failed, the last sentence of its own in the file of its standard error,
 * to ret [size]; "" if there is none.
 */
void compare_facts_why(const char *log, char *ret, size_t size);

#endif
