/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_lookup.h - the Slurm job that a user names by its number: "12", "12_3", "12+1" */
#ifndef EDDIS_CMD_SLURM_SLURM_LOOKUP_H
#define EDDIS_CMD_SLURM_SLURM_LOOKUP_H

#include "lib/base/error.h"
#include "lib/slurm/slurm_job.h"

#include <stdbool.h>
#include <stdint.h>

/* Check whether a word has the form of such a number. */
bool slurm_lookup_is_number(const char *word);

/* Choose one of the records that scontrol printed: for an array the only task that runs or is over,
 * or one that waits; for a heterogeneous job the first component. -ENOTUNIQ: several run; -EINVAL:
 * several are over; the error names them. -EIO: the text cannot be parsed.
 */
int slurm_lookup_choose(const char *word, const char *said, struct slurm_job *ret,
                        struct eddis_error *err);

/* Ask Slurm for a job of this machine's cluster; unset SLURM_CLUSTERS for that. Block until end_ns,
 * at least for a second. -ENOENT: Slurm knows no such job, or no longer; -ENOTSUP: this machine has
 * no Slurm; -ENOTUNIQ, -EINVAL as above; -EIO, -ETIMEDOUT: Slurm does not answer.
 */
int slurm_lookup_ask(const char *word, int64_t end_ns, struct slurm_job *ret,
                     struct eddis_error *err);

/* Poll Slurm, retrying if it does not answer, until is_end(job). At end_ns also accept a job whose
 * epilog runs. Block until then, 10 s longer if Slurm does not answer. -ETIMEDOUT: the job still
 * runs; other errors as slurm_lookup_ask.
 */
int slurm_lookup_await_end(const char *word, bool (*is_end)(const struct slurm_job *j),
                           int64_t end_ns, struct slurm_job *ret, struct eddis_error *err);

/* Write the name of this machine's cluster to ret [size]. Block. -EIO, -ETIMEDOUT as above. */
int slurm_lookup_cluster(int64_t end_ns, char *ret, size_t size, struct eddis_error *err);

/* Write to ret [size] the node of the job's script, else the first node of the job; "" if it has
 * none.
 */
void slurm_lookup_first_node(const struct slurm_job *j, char *ret, size_t size);

/* Cancel the job if it is still pending. Block. Fail with -EIO if scancel fails. */
int slurm_lookup_withdraw(const char *word, struct eddis_error *err);

#endif
