/* SPDX-License-Identifier: Apache-2.0 */
/* topo.c - convert hwloc's tree into plain data */
#include "topo.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <hwloc.h>
#include <inttypes.h>
#include <string.h>

/* A machine's topology. */
struct topo {
    hwloc_topology_t hwloc;
    hwloc_obj_t numa[PROFILE_MAX_NUMA]; /* [n_numa] NUMA nodes that have cores, in hwloc's order */
    int n_numa;
};

/* Borrow the set of cores of NUMA node t->numa[index].  Valid until topo_close. */
static hwloc_const_bitmap_t cores_of(const struct topo *t, int index)
{
    return t->numa[index]->cpuset;
}

/* Check whether a NUMA node of t->numa has some of the cores of `node`.  If so, `node` is only
 * memory, such as flat HBM beside DRAM.
 */
static bool cores_taken(const struct topo *t, hwloc_obj_t node)
{
    for (int i = 0; i < t->n_numa; i++)
        if (hwloc_bitmap_intersects(cores_of(t, i), node->cpuset))
            return true;
    return false;
}

/* Store the NUMA nodes that have cores of their own in t->numa, at most PROFILE_MAX_NUMA. */
static void collect_numa(struct topo *t)
{
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(t->hwloc, HWLOC_OBJ_NUMANODE, node)))
        if (t->n_numa < PROFILE_MAX_NUMA && !hwloc_bitmap_iszero(node->cpuset) &&
            !cores_taken(t, node))
            t->numa[t->n_numa++] = node;
}

/* Restrict the topology to the cores of this process's affinity (taskset, Slurm), because hwloc
 * itself respects only the cgroup.  If that fails, or no core would be left, change nothing.
 */
static void keep_to_affinity(struct topo *t)
{
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();

    if (mine && hwloc_get_cpubind(t->hwloc, mine, HWLOC_CPUBIND_THREAD) == 0 &&
        hwloc_bitmap_intersects(mine, hwloc_topology_get_topology_cpuset(t->hwloc)))
        (void)hwloc_topology_restrict(t->hwloc, mine, 0);
    hwloc_bitmap_free(mine);
}

/* Disable plugins that start drivers, or leak as libpciaccess does. hwloc finds PCI devices in
 * sysfs without them.
 */
static void leave_out_plugins(hwloc_topology_t t)
{
    static const char *const names[] = {
        "pci", "opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, names[i]);
}

int topo_open(bool devices, struct topo **ret, struct eddis_error *err)
{
    struct topo *t = calloc(1, sizeof *t);

    if (!t || hwloc_topology_init(&t->hwloc) < 0) {
        free(t);
        return eddis_fail(err, -ENOMEM, "no memory for the topology of this machine");
    }
    leave_out_plugins(t->hwloc);
    if (devices)
        (void)hwloc_topology_set_io_types_filter(t->hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    errno = 0; /* hwloc does not set it for every failure */
    if (hwloc_topology_load(t->hwloc) < 0) {
        int rc = eddis_fail_errno(err, errno ? -errno : -EIO, "hwloc cannot read the topology");

        topo_close(t);
        return rc;
    }
    if (hwloc_topology_is_thissystem(t->hwloc))
        keep_to_affinity(t);
    collect_numa(t);
    *ret = t;
    return 0;
}

void topo_close(struct topo *t)
{
    if (!t)
        return;
    hwloc_topology_destroy(t->hwloc);
    free(t);
}

/* Return the number of objects of this type; 0 if there are none, or if they are on several levels.
 */
static int count(const struct topo *t, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(t->hwloc, type);

    return n > 0 ? n : 0;
}

int topo_cores(const struct topo *t, int index)
{
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(t->hwloc, cores_of(t, index), HWLOC_OBJ_CORE);

    if (n <= 0) /* some virtual machines have threads but no cores */
        n = hwloc_bitmap_weight(cores_of(t, index));
    return n > 0 ? n : 1;
}

int64_t topo_cache_bytes(const struct topo *t, int index)
{
    static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
                                               HWLOC_OBJ_L2CACHE };

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        int64_t bytes = 0;
        hwloc_obj_t cache = NULL;

        while ((cache = hwloc_get_next_obj_by_type(t->hwloc, levels[i], cache)))
            if (hwloc_bitmap_intersects(cache->cpuset, cores_of(t, index)))
                bytes += (int64_t)cache->attr->cache.size;
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

/* Write the set to ret [size] as a list like "0-3,8".  If it does not fit, store "" and return
 * false.
 */
static bool list_text(hwloc_const_bitmap_t set, char *ret, size_t size)
{
    int n = hwloc_bitmap_list_snprintf(ret, size, set);

    if (n >= 0 && (size_t)n < size)
        return true;
    ret[0] = 0;
    return false;
}

/* Append NUMA node t->numa[index] to the devices of profile p, as a DEVICE_CPU whose measurements
 * are NAN.  p->cpu_model must be set.  If the node's list of cores is too long, write that to
 * p->note, unless the note is in use.
 */
static void describe_numa(const struct topo *t, int index, struct node_profile *p)
{
    struct device *d = &p->device[p->n_devices++];
    int cores = topo_cores(t, index);

    *d = device_unmeasured(DEVICE_CPU, index, (int)t->numa[index]->os_index);
    d->memory_bytes = (int64_t)t->numa[index]->attr->numanode.local_memory;
    (void)snprintf(d->id, sizeof d->id, "numa:%d", d->numa);
    (void)snprintf(d->name, sizeof d->name, "%.75s, %d core%s",
                   p->cpu_model[0] ? p->cpu_model : "CPU", cores, cores == 1 ? "" : "s");
    if (!list_text(cores_of(t, index), d->cpus, sizeof d->cpus) && !p->note[0])
        (void)snprintf(
            p->note, sizeof p->note,
            "the list of the cores of NUMA node %d is too long, so workers are not bound", d->numa);
}

void topo_describe(const struct topo *t, struct node_profile *p)
{
    hwloc_obj_t machine = hwloc_get_root_obj(t->hwloc);
    hwloc_obj_t package = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    p->sockets = count(t, HWLOC_OBJ_PACKAGE);
    p->threads = count(t, HWLOC_OBJ_PU);
    p->cores = count(t, HWLOC_OBJ_CORE);
    if (p->cores == 0)
        p->cores = p->threads;
    p->n_numa = t->n_numa;
    p->memory_bytes = (int64_t)machine->total_memory;
    if (model)
        (void)snprintf(p->cpu_model, sizeof p->cpu_model, "%s", model);
    for (int i = 0; i < t->n_numa && p->n_devices < PROFILE_MAX_DEVICES; i++)
        describe_numa(t, i, p);
}

int topo_locate(const struct topo *t, const char *pci, struct device *ret, struct eddis_error *err)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(t->hwloc, pci);
    hwloc_obj_t near = device ? hwloc_get_non_io_ancestor_obj(t->hwloc, device) : NULL;

    if (!near)
        return eddis_fail(err, -ENOENT, "hwloc finds no PCI device '%s'", pci);
    if (strcmp(ret->name, GPU_NAMELESS) == 0)
        text_append(ret->name, sizeof ret->name, " %04x", device->attr->pcidev.device_id);
    (void)list_text(near->cpuset, ret->cpus, sizeof ret->cpus);
    ret->numa = -1;
    for (int i = 0; i < t->n_numa; i++)
        if (hwloc_bitmap_isincluded(near->cpuset, cores_of(t, i)))
            ret->numa = (int)t->numa[i]->os_index;
    return 0;
}
