/* SPDX-License-Identifier: Apache-2.0 */
/* run_compare.h - the command line of a comparison: what goes with --compare, and what its runs get
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_COMPARE_H
#define EDDIS_CMD_RUN_REQUEST_RUN_COMPARE_H

#include "run_job.h"

/* Check the options of --compare against the others, and set what --modes and --rounds leave out:
 * all modes, one round. resumes, plan: --resume and --plan are given. Return 0; -EINVAL: an option
 * has no meaning together with --compare, or needs it.
 */
int run_compare_check(struct run_request *r, bool resumes, bool plan, struct eddis_error *err);

/* Store the command line for the eddis-run of each run: in r->args the options but those of the
 * comparison and those that it sets itself, in r->words the job's file or "--" and the command.
 * Return 0 or -ENOMEM.
 */
int run_compare_words(int argc, char **argv, struct run_request *r, struct eddis_error *err);

#endif
