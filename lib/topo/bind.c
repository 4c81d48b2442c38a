/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - bind a process to a list of cores */
#include "topo.h"

#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <string.h>

enum { MOST_CPUS = 16384 }; /* numbers of cores are below this */

/* Load the topology of this machine with its processors only, and store it in *ret, for
 * hwloc_topology_destroy.  Binding needs no other objects, whose discovery would delay a rank's
 * start.  Return 0, -ENOMEM or -EIO.
 */
static int open_bare(hwloc_topology_t *ret, struct eddis_error *err)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for the topology of this machine");
    (void)hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(t) < 0) {
        hwloc_topology_destroy(t);
        return eddis_fail(err, -EIO, "hwloc cannot read the topology");
    }
    *ret = t;
    return 0;
}

/* Parse a list of cores like "0-3,8" into set.  Return 0 or -EINVAL: it has another form, is empty
 * or without an end.  The characters are checked here, because hwloc is lenient ("3-" has no end).
 */
static int parse_list(const char *cpus, hwloc_bitmap_t set, struct eddis_error *err)
{
    if (!cpus[0] || cpus[strspn(cpus, "0123456789-,")] || hwloc_bitmap_list_sscanf(set, cpus) < 0 ||
        hwloc_bitmap_iszero(set) || hwloc_bitmap_last(set) < 0 ||
        hwloc_bitmap_last(set) >= MOST_CPUS)
        return eddis_fail(err, -EINVAL, "'%.100s' is not a list of cores like \"0-3,8\"", cpus);
    return 0;
}

/* Bind this process to those cores of the list `cpus` that it may use; `set` is overwritten.
 * Return 0; -EINVAL: `cpus` is not a list of cores, or the process may use none of them; else the
 * errno of binding.
 */
static int bind_to(hwloc_topology_t t, const char *cpus, hwloc_bitmap_t set,
                   struct eddis_error *err)
{
    int rc = parse_list(cpus, set, err);

    if (rc < 0)
        return rc;
    (void)hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(t));
    if (hwloc_bitmap_iszero(set))
        return eddis_fail(err, -EINVAL, "this process may use none of the cores %.100s", cpus);
    if (hwloc_set_cpubind(t, set, HWLOC_CPUBIND_PROCESS) < 0)
        return eddis_fail_errno(err, -errno, "cannot bind to the cores %.100s", cpus);
    return 0;
}

int topo_bind(const char *cpus, struct eddis_error *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_topology_t t = NULL;
    int rc;

    if (!set)
        return eddis_fail(err, -ENOMEM, "no memory to bind to cores");
    rc = open_bare(&t, err);
    if (rc == 0) {
        rc = bind_to(t, cpus, set, err);
        hwloc_topology_destroy(t);
    }
    hwloc_bitmap_free(set);
    return rc;
}

int topo_allowed(char *ret, size_t size, struct eddis_error *err)
{
    size_t bytes = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *mine = CPU_ALLOC(MOST_CPUS);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = 0;

    if (!mine || !set)
        rc = eddis_fail(err, -ENOMEM, "no memory for a set of cores");
    else if (sched_getaffinity(0, bytes, mine) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot tell which cores this process may use");
    for (unsigned i = 0; rc == 0 && i < MOST_CPUS; i++)
        if (CPU_ISSET_S(i, bytes, mine))
            (void)hwloc_bitmap_set(set, i);
    if (rc == 0 && hwloc_bitmap_list_snprintf(ret, size, set) >= (int)size)
        rc = eddis_fail(err, -ENOSPC, "the list of cores is too long");
    CPU_FREE(mine);
    hwloc_bitmap_free(set);
    return rc;
}
