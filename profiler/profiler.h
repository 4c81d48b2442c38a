/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.h - makes the profile of this node, from measurements or from the cache
 *
 * First the cores (all NUMA nodes in parallel, as in training), then their memory, then the GPUs. A
 * failed measurement leaves NAN and a note. If devices are emulated, the profile has only these,
 * and nothing is measured, loaded or stored.
 */
#ifndef EDDIS_PROFILER_PROFILER_H
#define EDDIS_PROFILER_PROFILER_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Time limit of a profile, even if a measurement hangs; the agent allows 57 s. A driver of many
 * GPUs may need 20 s to start, once for the search and once for the measurements.
 */
#define PROFILER_MOST_NS (INT64_C(54) * 1000000000)

/* What to measure, and how */
struct profiler_options {
    const char *cache_dir; /* folder of the cache; NULL: no cache */
    int64_t cache_ns; /* maximum age of a cached profile; 0: always measure, and store the result */
    const char *visible; /* value of CUDA_VISIBLE_DEVICES; NULL: unset */
    /* [n_emulate] devices to emulate in place of the real devices */
    const struct job_emulated *emulate;
    int n_emulate;
    /* id of this job; other jobs on the node are noted; NULL: do not search for jobs */
    const char *job_id;
    const char *root; /* folder of the files that show GPUs; NULL: "/"; another one in tests */
    bool cpus_only;   /* the job's program uses no GPU: a failure of their driver is only noted */
    bool kept_only;   /* do not measure; fail with -ENODATA if a measurement is needed */
};

/* Exit code of eddis-probe for -ENODATA */
enum { PROFILER_EXIT_UNMEASURED = 3 };

/* Store the profile of this node in *ret. Blocks for little more than PROFILER_MOST_NS at most; the
 * caller must have no other thread. Return 0, or a negative errno, which happens only for invalid
 * options, for lack of memory, with kept_only (-ENODATA), and if the driver of GPUs that the
 * job is to use fails or is late (-EIO, -ECHILD, -ETIMEDOUT).
 */
int profiler_run(const struct profiler_options *o, struct node_profile *ret,
                 struct eddis_error *err);

/* List the GPUs of this node in *ret, without measurements. Blocks for 30 s at most. Return 0, or a
 * negative errno if the driver fails or is late.
 */
int profiler_gpus(struct node_profile *ret, struct eddis_error *err);

/* If the machine was busy during the last measurement, add this to the note of p. */
void profiler_note_busy(struct node_profile *p);

#endif
