/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_lookup.h - finds the Slurm job that a user names by its number: "12", "12_3", "12+1" */
#ifndef EDDIS_CMD_SLURM_SLURM_LOOKUP_H
#define EDDIS_CMD_SLURM_SLURM_LOOKUP_H

#include "lib/base/error.h"
#include "lib/slurm/slurm_job.h"

#include <stdbool.h>
#include <stdint.h>

/* Check whether a word has the form of a Slurm job's number: "12", "12_3" or "12+1". */
bool slurm_lookup_is_number(const char *word);

/* Choose one of the records in `said`, the output of scontrol, and fill *ret: of an array the only
 * task that runs or is over, or a task that waits; of a heterogeneous job the first component.
 * Return 0; -ENOTUNIQ: several tasks run; -EINVAL: several tasks are over; err names these tasks.
 * -EIO: the text cannot be parsed.
 */
int slurm_lookup_choose(const char *word, const char *said, struct slurm_job *ret,
                        struct eddis_error *err);

/* Ask Slurm for a job of this machine's cluster (SLURM_CLUSTERS is unset for this), and fill *ret.
 * Block at most until end_ns, or for a second if that is later. Return 0; -ENOENT: Slurm does not
 * know the job, or no longer; -ENOTSUP: this machine has no Slurm; -ENOTUNIQ or -EINVAL as
 * slurm_lookup_choose; -EIO or -ETIMEDOUT: Slurm does not answer.
 */
int slurm_lookup_ask(const char *word, int64_t end_ns, struct slurm_job *ret,
                     struct eddis_error *err);

/* Poll Slurm until is_end(job) is true, and fill *ret; retry if Slurm does not answer. From end_ns
 * on, a job whose epilog runs is accepted, too. Block at most until end_ns, or 10 s longer if Slurm
 * does not answer. Return 0; -ETIMEDOUT: the job still runs; other errors as slurm_lookup_ask.
 */
int slurm_lookup_await_end(const char *word, bool (*is_end)(const struct slurm_job *j),
                           int64_t end_ns, struct slurm_job *ret, struct eddis_error *err);

/* Write the name of this machine's cluster to ret [size]. Block at most until end_ns. Return 0, or
 * -EIO or -ETIMEDOUT if Slurm does not answer.
 */
int slurm_lookup_cluster(int64_t end_ns, char *ret, size_t size, struct eddis_error *err);

/* Write to ret [size] the node on which the job's script runs, or, if unknown, the first node of
 * the job; "" if the job has no nodes.
 */
void slurm_lookup_first_node(const struct slurm_job *j, char *ret, size_t size);

/* Cancel the job if it is still pending. Blocks until scancel ends. Return 0, or -EIO if scancel
 * fails.
 */
int slurm_lookup_withdraw(const char *word, struct eddis_error *err);

#endif
