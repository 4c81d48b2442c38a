/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - eddis-run --compare: trains a job in one mode after another and compares them
 *
 * Each run is an ordinary job, in a folder of its own below that of the comparison
 * (compare_folder.h). It writes no checkpoints, resumes from none and does not start again after a
 * failure. Rounds are interleaved: one run of each mode, then the next seed.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_H

#include "cmd/run/request/run_job.h"

/* Variable in the environment of the jobs of a comparison */
#define COMPARE_VARIABLE "EDDIS_COMPARISON"

/* Do what the request asks: train all runs that have not ended yet, and print the comparison.
 * Changes q->job. Return the exit code: 0, also if some modes have failed; EXIT_FAULT if all have,
 * or if the result cannot be written; 128 + a signal that has ended it; EXIT_USAGE. On EXIT_FAULT
 * and EXIT_USAGE err may have a sentence, which the caller prints.
 */
int compare_run(struct run_request *q, struct eddis_error *err);

#endif
