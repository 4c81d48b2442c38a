/* SPDX-License-Identifier: Apache-2.0 */
/* rank_steps.h - writes the steps that a rank's program prints to the rank's progress page
 *
 * When the program opens libeddis, libeddis writes the page, and the program's output is no longer
 * used.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_RANK_STEPS_H
#define EDDIS_AGENTS_NODE_OUTPUT_RANK_STEPS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rank_steps;

/* Begin to search output for steps by a pattern, see step_lines.h, in *ret, which the caller frees
 * with rank_steps_close. samples: number of samples of this rank in a step. Return 0; -EINVAL: the
 * text is no valid pattern, or the pattern has no group; or another negative errno.
 */
int rank_steps_open(const char *pattern, int64_t samples, struct rank_steps **ret,
                    struct eddis_error *err);

/* Search n bytes of output of program pid for steps; pid 0: the program has not started. */
void rank_steps_feed(struct rank_steps *s, pid_t pid, const char *data, size_t n, int64_t now_ns);

/* Free s; accept NULL. */
void rank_steps_close(struct rank_steps *s);

/* Check whether the program of this process's rank has left the job through libeddis, without
 * MPI_Finalize.
 */
bool rank_steps_left(void);

#endif
