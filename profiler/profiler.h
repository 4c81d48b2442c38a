/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.h - everything about this node, measured or from the cache
 *
 * First the cores (all NUMA nodes at once, as in training), then their memory, then the GPUs
 * beside the data path: what runs together does not use the same thing.  Whatever fails leaves
 * NAN and a note.  A node that emulates devices has these alone; of it nothing is measured, nor
 * taken from the cache, nor kept.
 */
#ifndef EDDIS_PROFILER_PROFILER_H
#define EDDIS_PROFILER_PROFILER_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Longest profile, whatever hangs: the agent allows 20 s. */
#define PROFILER_MOST_NS (INT64_C(18) * 1000000000)

struct profiler_options {
    const char *cache_dir;              /* NULL: no cache */
    int64_t cache_ns;                   /* how old an entry may be; 0: measure anew, and keep it */
    const char *read_path;              /* of the data; NULL: none */
    const char *visible;                /* CUDA_VISIBLE_DEVICES; NULL: unset */
    const struct job_emulated *emulate; /* [n_emulate], in the place of the devices */
    int n_emulate;
    const char
        *job_id;    /* for which it is: others' beside it are noted; NULL: nobody is looked for */
    bool kept_only; /* measure nothing: -ENODATA where that would be needed */
};

/* What eddis-probe exits with after that. */
enum { PROFILER_EXIT_UNMEASURED = 3 };

/* Profile this node.  Blocks for PROFILER_MOST_NS and a little at most; the caller has no other
 * thread.  Fails only for bad options, without memory, and with -ENODATA for kept_only.
 */
int profiler_run(const struct profiler_options *o, struct node_profile *ret,
                 struct eddis_error *err);

/* Note in p that others compute beside the measurement just made; nothing when none do. */
void profiler_note_busy(struct node_profile *p);

#endif
