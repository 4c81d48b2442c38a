/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - what the kernel lets a process use: limits of its control groups, and the load
 *
 * The limit of a group holds for those below it, so the smallest on the way up counts.  Both
 * versions of control groups may be mounted side by side; the group's place under a mount follows
 * from /proc/self/cgroup and /proc/self/mountinfo, also inside containers.
 */
#ifndef EDDIS_PROFILER_QUOTA_H
#define EDDIS_PROFILER_QUOTA_H

#include <stdint.h>

/* Return the cores this process may use, 1.5 for 150 ms in 100 ms; NAN: no limit.  root is put
 * before every path: "" but in tests.
 */
double quota_cpus(const char *root);

/* Return the bytes of memory it may use; INT64_MAX: no limit. */
int64_t quota_memory_bytes(const char *root);

/* Return the bytes of memory of the machine; 0 unknown. */
int64_t quota_machine_bytes(const char *root);

/* What holds the memory of a process: the smallest limit of its control groups, or the machine. */
struct quota_memory {
    int64_t limit_bytes; /* 0: unknown */
    int64_t used_bytes;  /* there, by anybody, that could not be taken back to make room */
    uint64_t group;      /* equal for processes under the same limit; 0: the machine's */
};

/* Fill *ret for a process; pid 0: this one. */
void quota_memory_of(const char *root, int pid, struct quota_memory *ret);

/* Return the load of the last minute; NAN unknown. */
double quota_load(const char *root);

#endif
