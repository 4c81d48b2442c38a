/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limits.c - reads the memory limit of each worker, less what other processes use of it */
#include "memory_limits.h"

#include "lib/base/cleanup.h"
#include "profiler/quota.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS_BYTES = 4096 };

/* A memory limit, shared by the workers of one control group. */
struct limit {
    struct quota_memory is; /* the limit and the memory used under it */
    int pool;               /* rank of the first worker under the limit */
    int64_t left_bytes;     /* bytes that remain for the memory that the workers report */
};

/* Return a number of bytes of a process's memory without its file pages, which the kernel can take
 * back; at least 0.
 */
static int64_t not_file(int64_t bytes, const struct process_memory *m)
{
    return bytes > m->file_bytes ? bytes - m->file_bytes : 0;
}

/* Check whether a worker reports more memory than its process ever held here: then its program
 * reports the memory of a device.
 */
static bool is_elsewhere(const struct memory_limits_worker *w)
{
    return w->report->memory_told && w->report->memory_bytes > w->memory->peak_bytes;
}

/* Set ret->left_bytes to what remains of the limit *ret for the memory that its workers report:
 * subtract what other processes use, and what the workers hold beyond what they report.  The
 * workers under the limit are those of w [n] with of[i] == at.
 */
static void take_off(const struct memory_limits_worker *w, const int *of, int n, int at,
                     struct limit *ret)
{
    int64_t workers = 0, beside = 0;

    for (int i = 0; i < n; i++) {
        if (of[i] != at || is_elsewhere(&w[i]))
            continue;
        workers += not_file(w[i].memory->now_bytes, w[i].memory);
        beside += not_file(w[i].memory->peak_bytes, w[i].memory) - w[i].report->memory_bytes;
    }
    ret->left_bytes = ret->is.limit_bytes - beside;
    if (ret->is.used_bytes > workers)
        ret->left_bytes -= ret->is.used_bytes - workers;
    if (ret->left_bytes < 1)
        ret->left_bytes = 1;
}

/* Find the memory limits of the workers w [n].  Store each limit once in ret, and in of[i] the
 * index of worker i's limit; -1: unknown.  Return the number of limits.
 */
static int find_limits(const struct memory_limits_worker *w, int n, int *of, struct limit *ret)
{
    char groups[GROUPS_BYTES], before[GROUPS_BYTES] = "";
    int n_limits = 0, last = -1;

    for (int i = 0; i < n; i++) {
        struct limit l = { .pool = w[i].report->rank };

        of[i] = -1;
        if (!process_load_group(w[i].pid, groups, sizeof groups))
            continue;
        if (last < 0 || strcmp(groups, before) != 0) {
            quota_memory_of("", (int)w[i].pid, &l.is);
            for (last = 0; last < n_limits && ret[last].is.group != l.is.group;)
                last++;
            if (last == n_limits)
                ret[n_limits++] = l;
            memcpy(before, groups, sizeof before);
        }
        of[i] = last;
    }
    return n_limits;
}

void memory_limits_fill(const struct memory_limits_worker *w, int n)
{
    cleanup_free struct limit *limit = calloc((size_t)n + 1, sizeof *limit);
    cleanup_free int *of = calloc((size_t)n + 1, sizeof *of);
    int n_limits = limit && of ? find_limits(w, n, of, limit) : 0;

    for (int at = 0; at < n_limits; at++)
        if (limit[at].is.limit_bytes > 0)
            take_off(w, of, n, at, &limit[at]);
    for (int i = 0; i < n && n_limits > 0; i++) {
        w[i].report->memory_pool = w[i].report->rank;
        if (of[i] < 0 || w[i].report->memory_bytes <= 0)
            continue;
        w[i].report->memory_pool = limit[of[i]].pool;
        w[i].report->memory_limit_bytes = limit[of[i]].left_bytes;
    }
}
