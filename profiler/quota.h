/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - limits of a process's control groups, and the machine's load
 *
 * A group's limit also applies to the groups below it, so the smallest limit of the process's group
 * and its ancestors counts. Both versions of control groups may be mounted together. The path of a
 * group's folder follows from /proc/self/cgroup and /proc/self/mountinfo, also in containers.
 */
#ifndef EDDIS_PROFILER_QUOTA_H
#define EDDIS_PROFILER_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the number of cores that this process may use, such as 1.5 for a quota of 150 ms in 100
 * ms; NAN: no limit. root is prepended to every path: "" except in tests.
 */
double quota_cpus(const char *root);

/* Return the bytes of memory that this process may use; INT64_MAX: no limit. */
int64_t quota_memory_bytes(const char *root);

/* Return the bytes of memory of the machine; 0: unknown. */
int64_t quota_machine_bytes(const char *root);

/* Memory limit of a process: the smallest of its control groups, or the machine's memory */
struct quota_memory {
    int64_t limit_bytes; /* memory limit in bytes; 0: unknown */
    /* memory that all processes under this limit use, without reclaimable memory */
    int64_t used_bytes;
    /* id that is equal for processes under the same limit; 0: the limit is the machine's memory */
    uint64_t group;
};

/* Fill *ret with the memory limit of the process pid; 0: this process. */
void quota_memory_of(const char *root, int pid, struct quota_memory *ret);

enum { QUOTA_GROUP = 2 * 4096 };

/* Write the folder of the control group of a process ("self" or its pid) in the hierarchy of a
 * version 1 controller, or of version 2 (""), to ret.  Return the length of the mount point, with
 * which it begins; 0: there is none. *ret_outside (may be NULL): the group is outside the mount,
 * and ret is the mount point.
 */
size_t quota_group(const char *root, const char *process, const char *controller,
                   char ret[QUOTA_GROUP], bool *ret_outside);

/* Return the one-minute load average; NAN: unknown. */
double quota_load(const char *root);

#endif
