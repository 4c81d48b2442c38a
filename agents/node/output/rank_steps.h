/* SPDX-License-Identifier: Apache-2.0 */
/* rank_steps.h - the steps that a rank's program prints, on the page that libeddis would write
 *
 * The page is the program's: once it opens libeddis itself it has it, and what it prints is no
 * longer looked at.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_RANK_STEPS_H
#define EDDIS_AGENTS_NODE_OUTPUT_RANK_STEPS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rank_steps;

/* samples: of this rank in a step.  -EINVAL: the pattern is none, or has no group. */
int rank_steps_open(const char *pattern, int64_t samples, struct rank_steps **ret,
                    struct eddis_error *err);

/* Take n bytes of output of program pid; 0: of what runs before it. */
void rank_steps_feed(struct rank_steps *s, pid_t pid, const char *data, size_t n, int64_t now_ns);

void rank_steps_close(struct rank_steps *s); /* accepts NULL */

/* Whether the program of this process's rank has left the job, and not MPI. */
bool rank_steps_left(void);

#endif
