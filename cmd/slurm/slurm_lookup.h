/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_lookup.h - the job of Slurm's that a user names by its number: "12", "12_3", "12+1" */
#ifndef EDDIS_CMD_SLURM_SLURM_LOOKUP_H
#define EDDIS_CMD_SLURM_SLURM_LOOKUP_H

#include "lib/base/error.h"
#include "lib/slurm/slurm_job.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a word has the form of such a number. */
bool slurm_task_is_number(const char *word);

/* Choose among the records that scontrol has printed: of an array the one task that runs, or that
 * is left, and of a heterogeneous job its first component.  -ENOTUNIQ: several run, -EINVAL:
 * several are over, which the sentence names; -EIO: the text is not understood.
 */
int slurm_task_choose(const char *word, const char *said, struct slurm_job *ret,
                      struct eddis_error *err);

/* Ask Slurm for it, that of this machine's cluster, whatever SLURM_CLUSTERS says, which is unset
 * then.  Blocks, until end_ns or for a second.  -ENOENT: Slurm knows no such job, or no more;
 * -ENOTSUP: there is no Slurm on this machine; -ENOTUNIQ, -EINVAL as above; -EIO, -ETIMEDOUT: it
 * does not answer.
 */
int slurm_task_ask(const char *word, int64_t end_ns, struct slurm_job *ret,
                   struct eddis_error *err);

/* Ask again and again, also where it does not answer, until the job is_end; at end_ns one counts
 * whose epilog runs.  Blocks, for 10 s longer when Slurm is silent then.  -ETIMEDOUT: it still
 * runs; else as above.
 */
int slurm_task_await_end(const char *word, bool (*is_end)(const struct slurm_job *j),
                         int64_t end_ns, struct slurm_job *ret, struct eddis_error *err);

/* Write the name of this machine's cluster to ret [size].  Blocks.  -EIO, -ETIMEDOUT: as above. */
int slurm_task_cluster(int64_t end_ns, char *ret, size_t size, struct eddis_error *err);

/* Write the name of a node of the job where its script runs, or its first one, to ret [size]. */
void slurm_task_first_node(const struct slurm_job *j, char *ret, size_t size);

/* Take the job out of the queue if it still waits there.  Blocks. */
int slurm_task_withdraw(const char *word, struct eddis_error *err);

#endif
