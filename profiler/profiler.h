/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.h - everything about this node, measured or from the cache
 *
 * First the cores (all NUMA nodes in parallel, as in training), then their memory, then the GPUs. A
 * failed measurement leaves NAN and a note.  A node with emulated devices has only these; nothing
 * of it is measured, loaded or stored.
 */
#ifndef EDDIS_PROFILER_PROFILER_H
#define EDDIS_PROFILER_PROFILER_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Time limit of a profile, even if a measurement hangs; the agent allows 20 s. */
#define PROFILER_MOST_NS (INT64_C(18) * 1000000000)

/* What to measure */
struct profiler_options {
    const char *cache_dir;              /* NULL: no cache */
    int64_t cache_ns;                   /* most age of an entry; 0: measure again and store it */
    const char *visible;                /* CUDA_VISIBLE_DEVICES; NULL: unset */
    const struct job_emulated *emulate; /* [n_emulate], instead of the real devices */
    int n_emulate;
    const char *job_id; /* this job; other jobs are noted; NULL: do not look */
    bool kept_only;     /* measure nothing; -ENODATA if that would be needed */
};

/* Exit code of eddis-probe for -ENODATA */
enum { PROFILER_EXIT_UNMEASURED = 3 };

/* Profile this node.  Blocks for little more than PROFILER_MOST_NS; the caller must have no other
 * thread.  Fails only for bad options, without memory, and with -ENODATA for kept_only.
 */
int profiler_run(const struct profiler_options *o, struct node_profile *ret,
                 struct eddis_error *err);

/* Note in p if the machine was busy during the measurement just made. */
void profiler_note_busy(struct node_profile *p);

#endif
