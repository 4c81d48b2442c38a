/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.c - assemble a node's profile, from the cache or measured */
#include "profiler.h"

#include "cache.h"
#include "cpu.h"
#include "cuda.h"
#include "emulated.h"
#include "expected.h"
#include "gpu_check.h"
#include "gpu_probe.h"
#include "isolate.h"
#include "machine.h"
#include "neighbours.h"
#include "note.h"
#include "nvml_late.h"
#include "probe_memory.h"
#include "quota.h"

#include "lib/base/blas_core.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/gpu/gpu.h"
#include "lib/topo/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* State of one profile */
struct probe {
    const struct profiler_options *options;
    struct machine machine;
    struct topo *topo;
    struct cuda_list gpus;
    int64_t deadline_ns; /* monotonic time at which the whole profile must be done */
    const char *kernels; /* kernels to set in OpenBLAS; NULL: its own choice */
    bool unsure;         /* whether `kernels` are the best is unknown */
    bool unsearched;     /* the search for GPUs failed: whether there are some is unknown */
    struct node_profile *p;
};

/* Return the monotonic time `ns` from now, but at most the deadline of the whole profile. */
static int64_t within(const struct probe *b, int64_t ns)
{
    int64_t own = clock_now_ns() + ns;

    return own < b->deadline_ns ? own : b->deadline_ns;
}

/* Write the name of another job on this node to p->beside, unless one was found before. Called
 * before, between and after measurements, because jobs come and go.
 */
static void look_around(struct probe *b)
{
    if (b->options->job_id && !b->p->beside[0])
        (void)neighbours_find(b->options->job_id, b->p->beside, sizeof b->p->beside);
}

/* ---- cores and memory ---- */

/* Return the number of threads for the NUMA node with this index: its cores, or fewer if the CPU
 * quota allows less. More threads would be throttled again and again.
 */
static int threads_of(const struct probe *b, int index)
{
    int cores = topo_cores(b->topo, index), n = b->p->n_numa > 0 ? b->p->n_numa : 1;
    double allowed = ceil(b->p->cpu_quota / n);

    return !isnan(allowed) && allowed < cores ? (allowed < 1 ? 1 : (int)allowed) : cores;
}

/* Return the bytes of memory available to this process: free memory, or the control group's limit
 * if that is smaller.
 */
static int64_t free_bytes(void)
{
    int64_t free_here = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t quota = quota_memory_bytes("");

    return quota < free_here ? quota : free_here;
}

/* Write " (memory is limited to 410 MB, ulimit -v)" to ret, or "" without a limit. Under such a
 * limit a matrix product fails, or OpenBLAS retries its allocation forever.
 */
static void limit_text(char *ret, size_t size)
{
    struct rlimit l;

    ret[0] = '\0';
    if (getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
        (void)snprintf(ret, size, " (memory is limited to %.0f MB, ulimit -v)",
                       (double)l.rlim_cur / 1e6);
}

/* Run fn, named `what` in notes, on all NUMA nodes in parallel, each in a child process. Store each
 * result at `offset` in the NUMA node's device. Failures leave the device unchanged and are noted.
 * Blocks for up to 5 s.
 */
static void on_cores(struct probe *b, const char *what, isolate_fn fn, size_t offset)
{
    struct isolated child[PROFILE_MAX_NUMA];
    int64_t memory = free_bytes(), deadline;
    int n = b->p->n_devices;
    char limit[64];

    limit_text(limit, sizeof limit);
    for (int i = 0; i < n; i++) {
        struct cpu_task t = { .threads = threads_of(b, i), .kernels = b->kernels };

        memcpy(t.cpus, b->p->device[i].cpus, sizeof t.cpus);
        t.sweep_bytes = probe_memory_sweep_bytes(topo_cache_bytes(b->topo, i), memory / n);
        isolate_start(&child[i], what, fn, &t, sizeof(double));
    }
    deadline = within(b, 5 * CLOCK_S);
    for (int i = 0; i < n; i++) {
        struct eddis_error err = { 0 };
        double figure = NAN;

        if (isolate_wait(&child[i], deadline, &figure, &err) < 0)
            note_add(b->p, "NUMA node %d: %s%s", b->p->device[i].numa, err.text, limit);
        else
            *(double *)((char *)&b->p->device[i] + offset) = figure;
    }
}

/* Reduce fp32_flops of the devices to what the CPU quota sustains. A measured product takes
 * milliseconds and ends before the quota throttles it.
 */
static void share_out_quota(struct probe *b)
{
    int n = b->p->n_numa > 0 ? b->p->n_numa : 1;

    for (int i = 0; i < b->p->n_devices; i++) {
        double share = b->p->cpu_quota / n / threads_of(b, i);

        if (share < 1)
            b->p->device[i].fp32_flops *= share;
    }
}

/* Set b->kernels to the OpenBLAS kernels that eddis-train would choose. On failure note it and set
 * b->unsure.
 */
static void choose_kernels(struct probe *b)
{
    struct isolated child;
    struct eddis_error err = { 0 };
    char taken[CPU_CORE_NAME] = "";

    isolate_start(&child, "choice of the OpenBLAS kernels", cpu_core, NULL, sizeof taken);
    if (isolate_wait(&child, within(b, 5 * CLOCK_S), taken, &err) == 0) {
        b->kernels = blas_core_better(taken);
        return;
    }
    note_add(b->p, "%s", err.text);
    b->unsure = true;
}

/* Measure matrix products and memory of all NUMA nodes, and store the results in the devices. */
static void measure_cores(struct probe *b)
{
    choose_kernels(b);
    on_cores(b, "matrix product", cpu_matrix, offsetof(struct device, fp32_flops));
    look_around(b);
    share_out_quota(b);
    on_cores(b, "memory sweep", probe_memory_sweep, offsetof(struct device, memory_bytes_per_s));
}

/* ---- the whole ---- */

/* Set the nearest cores and NUMA node of each GPU, if hwloc sees the GPU (not without PCI access,
 * as in some containers).
 */
static void place_gpus(struct probe *b)
{
    for (int i = 0; i < b->p->n_devices; i++)
        if (b->p->device[i].kind == DEVICE_CUDA)
            (void)topo_locate(b->topo, b->p->device[i].pci, &b->p->device[i], NULL);
}

/* Replace the memory size by /proc/meminfo's, the memory that the kernel actually allocates. hwloc
 * adds up sizes from sysfs, which differ in containers and in virtual machines with growing memory.
 */
static void correct_memory(struct node_profile *p)
{
    int64_t bytes = quota_machine_bytes("");

    if (bytes <= 0)
        return;
    p->memory_bytes = bytes;
    if (p->n_numa == 1 && p->n_devices == 1 && p->device[0].kind == DEVICE_CPU)
        p->device[0].memory_bytes = bytes;
}

/* Return the folder before the paths of the files that show GPUs. */
static const char *root_of(const struct probe *b)
{
    return b->options->root ? b->options->root : "";
}

/* Return the maker whose GPUs the job is meant to use, if the search has found no GPU at all.
 * GPU_MAKERS: there is none.
 */
static int missing(const struct probe *b)
{
    const struct machine *m = &b->machine;
    int first = m->amd_gpus[0] && !m->gpus[0] ? GPU_AMD : GPU_NVIDIA;

    if (b->options->cpus_only || !gpu_built())
        return GPU_MAKERS;
    for (int i = 0; i < GPU_MAKERS; i++) {
        int maker = (first + i) % GPU_MAKERS;

        if (expected_surely(root_of(b), m, maker, b->gpus.absent[maker].code))
            return maker;
    }
    return GPU_MAKERS;
}

/* Note why no GPU of this maker is used, if the machine has some, or that it has none although the
 * maker's variable names some.
 */
static void note_missing(struct probe *b, enum gpu_maker maker)
{
    static const char *const variable[GPU_MAKERS] = {
        [GPU_NVIDIA] = "CUDA_VISIBLE_DEVICES",
        [GPU_AMD] = "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES",
    };
    const struct eddis_error *why = &b->gpus.absent[maker];
    bool used = !b->options->cpus_only;

    if (!expected_has(root_of(b), &b->machine, maker)) {
        if (used && expected_by_name(&b->machine, maker))
            note_add(b->p, "%s names GPUs, but the node shows none: it trains on its CPUs",
                     variable[maker]);
    } else if (why->code == -ENOTSUP || (used && expected_perhaps(&b->machine, maker))) {
        note_add(b->p, "no GPU is used: %s", why->text);
    }
}

/* Fail if the search has found no GPU, but the job is meant to use some: it would train on the
 * CPUs. Otherwise, if there might be some, note why none is used. Return 0 or the reason's code.
 */
static int check_missing(struct probe *b, struct eddis_error *err)
{
    int maker = missing(b);
    const char *variable = maker == GPU_AMD ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
    const struct eddis_error *why = &b->gpus.absent[maker < GPU_MAKERS ? maker : 0];

    if (maker < GPU_MAKERS && why->code == -ENOTSUP)
        return eddis_fail(
            err, why->code,
            "the node's GPUs cannot be used: %s, or set %s to an empty value to train on the CPUs",
            why->text, variable);
    if (maker < GPU_MAKERS)
        return eddis_fail(
            err, why->code,
            "the node's GPUs cannot be used: %s; see whether %s lists them (a container needs "
            "--gpus all or --nv), or set %s to an empty value to train on the CPUs",
            why->text, maker == GPU_AMD ? "rocminfo" : "nvidia-smi", variable);
    for (int i = 0; i < GPU_MAKERS; i++)
        note_missing(b, i);
    return 0;
}

/* Find the GPUs. If the driver fails or is late, or finds none, where GPUs are expected, return
 * that error: the job would train on the CPUs. Elsewhere note it and set b->unsearched. Return 0 or
 * a negative errno.
 */
static int find_gpus(struct probe *b, struct eddis_error *err)
{
    bool expected = !b->options->cpus_only && (expected_perhaps(&b->machine, GPU_NVIDIA) ||
                                               expected_perhaps(&b->machine, GPU_AMD));
    struct eddis_error why = { 0 };
    /* Without persistence mode the driver initialises each GPU, for 1 to 3 s. */
    int rc = cuda_find(within(b, (expected ? 25 : 8) * CLOCK_S), &b->gpus, b->p, &why);

    if (rc == 0)
        return b->gpus.n > 0 ? 0 : check_missing(b, err);
    if (rc == -ELIBBAD && !expected) { /* no matter on a machine without GPUs */
        note_add(b->p, "no GPU is used: %s", why.text);
        return 0;
    }
    if (expected)
        return eddis_fail(err, rc,
                          "the node's GPUs cannot be used: %s; see whether nvidia-smi (of AMD: "
                          "rocminfo) works and persistence mode is on, or set "
                          "CUDA_VISIBLE_DEVICES (of AMD: HIP_VISIBLE_DEVICES) to an empty value to "
                          "train on the CPUs",
                          why.text);
    note_add(b->p, "no GPU is used: %s", why.text);
    b->unsearched = true;
    return 0;
}

/* Find and measure all devices of the node, within the deadline; failures are noted. Return 0, or
 * an error of find_gpus.
 */
static int measure(struct probe *b, struct eddis_error *ret_err)
{
    int64_t begun_ns = clock_now_ns(), search_ns;
    struct cuda_run *gpus;
    struct gpu_probe facts;
    struct eddis_error err = { 0 };
    int rc;

    look_around(b);
    rc = find_gpus(b, ret_err);
    if (rc < 0)
        return rc;
    search_ns = clock_now_ns() - begun_ns; /* each measurement initialises the driver again */
    if (topo_open(b->gpus.n > 0, &b->topo, &err) == 0) {
        topo_describe(b->topo, b->p);
        correct_memory(b->p);
        measure_cores(b);
    } else {
        note_add(b->p, "%s", err.text);
    }
    gpus = cuda_start(&b->gpus, b->p);
    gpu_probe_start(&facts, &b->gpus, b->deadline_ns);
    if (b->topo)
        place_gpus(b);
    cuda_finish(gpus, within(b, 12 * CLOCK_S + search_ns), b->p);
    gpu_probe_finish(&facts, within(b, CLOCK_S), b->p);
    look_around(b);
    topo_close(b->topo);
    return 0;
}

/* Check whether a GPU lacks a rate in some precision that it may have. */
static bool lacks_rate(const struct device *d)
{
    return d->kind == DEVICE_CUDA &&
           (isnan(d->tf32_flops) || isnan(d->bf16_flops) || isnan(d->fp16_flops));
}

/* Check whether every measurement of existing hardware succeeded undisturbed. If not, a later
 * measurement may be better.
 */
static bool complete(const struct probe *b)
{
    const struct node_profile *p = b->p;
    int gpus = 0;

    if (b->unsure || profile_is_busy(p->load, p->threads))
        return false;
    for (int i = 0; i < p->n_devices; i++) {
        if (isnan(p->device[i].fp32_flops) || isnan(p->device[i].memory_bytes_per_s) ||
            lacks_rate(&p->device[i]))
            return false;
        gpus += p->device[i].kind == DEVICE_CUDA;
    }
    if (gpu_built() && b->machine.gpus[0] && gpus == 0)
        return false;
    return p->n_devices > 0;
}

/* Set the members that describe the present: host, kernel, limits and MPI's version. They are set
 * in a cached profile, too.
 */
static void fill_now(const struct machine *m, struct node_profile *p)
{
    memcpy(p->host, m->host, sizeof p->host);
    memcpy(p->machine_id, m->machine_id, sizeof p->machine_id);
    memcpy(p->kernel, m->kernel, sizeof p->kernel);
    p->cpu_quota = quota_cpus("");
    p->memory_limit = quota_memory_bytes("");
    if (p->memory_limit == INT64_MAX)
        p->memory_limit = 0;
    machine_mpi_version(p->mpi_version, sizeof p->mpi_version);
}

/* Initialise a profile to be measured. */
static void start_profile(const struct machine *m, struct node_profile *p)
{
    *p = (struct node_profile){
        .measured_s = clock_wall_ns() / CLOCK_S,
        .probe_version = PROFILE_PROBE_VERSION,
        .eddis_version = EDDIS_VERSION,
        .load = quota_load(""),
    };
    memcpy(p->cpu_model, m->cpu_model, sizeof p->cpu_model);
    fill_now(m, p);
}

/* Set the members of a cached profile that describe the present, while a process looks at the GPUs,
 * unless the job uses none; keep whether NVML was late. Return as gpu_check_finish.
 */
static int look_at_gpus(struct probe *b, struct eddis_error *err)
{
    const struct profiler_options *o = b->options;
    bool late = !o->cpus_only && nvml_late_known(o->cache_dir, &b->machine);
    struct gpu_check gpus = { .n = 0 };
    int rc;

    if (!o->cpus_only)
        gpu_check_start(&gpus, b->p, late);
    fill_now(&b->machine, b->p);
    rc = gpu_check_finish(&gpus, o->job_id, b->p, err);
    if (gpus.n > 0 && !(late && gpus.late)) /* else the hour would begin anew at each start */
        nvml_late_keep(o->cache_dir, &b->machine, gpus.late);
    return rc;
}

/* Load the cached profile into b->p, with the members that describe the present, and without GPUs
 * that others use now. Return 0, or a negative errno value, with the reason in err, if no cached
 * profile can be used: -ENOENT: there is none.
 */
static int load(struct probe *b, struct eddis_error *err)
{
    const struct profiler_options *o = b->options;
    double quota;
    int rc;

    if (!o->cache_dir || o->cache_ns <= 0)
        return eddis_fail(err, -ENOENT, "the profile cache is not used");
    rc = cache_load(o->cache_dir, &b->machine, o->cache_ns, clock_wall_ns(), b->p, err);
    if (rc < 0)
        return rc;
    quota = b->p->cpu_quota;
    rc = look_at_gpus(b, err);
    if (rc < 0)
        return rc;
    if (isnan(quota) != isnan(b->p->cpu_quota) || fabs(quota - b->p->cpu_quota) > 1e-6)
        return eddis_fail(err, -ESTALE, "the cached profile is for another CPU quota");
    /* Twice the load: hysteresis, so that a load near the limit does not cause a measurement for
     * every job.
     */
    if (profile_is_busy(b->p->load, b->p->threads) &&
        !profile_is_busy(2 * quota_load(""), b->p->threads))
        return eddis_fail(err, -ESTALE,
                          "the machine is idle again, but was busy at the last measurement");
    return 0;
}

/* Borrow the first device whose speed could not be measured; NULL: none, or only GPUs beside others
 * that a plan can use. The note has the reason.
 */
static const struct device *unrated(const struct node_profile *p)
{
    const struct device *ret = NULL;
    bool gpu_rated = false;

    for (int i = 0; i < p->n_devices; i++)
        gpu_rated |= p->device[i].kind == DEVICE_CUDA && !isnan(p->device[i].fp32_flops);
    for (int i = 0; i < p->n_devices && !ret; i++)
        if (isnan(p->device[i].fp32_flops) && !(gpu_rated && p->device[i].kind == DEVICE_CUDA))
            ret = &p->device[i];
    return ret;
}

/* Store the profile in the cache, or note why it cannot be stored. Nothing is stored if the speed
 * of a device is missing without which no plan could use the profile, or if another job or process
 * may have slowed a device. Then the next job measures again.
 */
static void store(struct probe *b)
{
    struct eddis_error err = { 0 };

    if (!b->options->cache_dir || b->p->beside[0])
        return;
    if (b->unsearched)
        note_add(b->p, "the profile is not kept");
    else if (cuda_is_busy(&b->gpus)) /* perhaps only now */
        note_add(b->p, "the profile is not kept, because another process keeps a GPU busy");
    else if (unrated(b->p))
        note_add(b->p, "the profile is not kept, because the speed of %s is unknown",
                 unrated(b->p)->name);
    else if (cache_store(b->options->cache_dir, &b->machine, b->p, complete(b), &err) < 0)
        note_add(b->p, "the profile is not kept: %s", err.text);
}

/* Note only in a profile just measured that the machine was busy. A cached profile has a known age,
 * and is measured again once the machine is idle.
 */
void profiler_note_busy(struct node_profile *p)
{
    if (profile_is_busy(p->load, p->threads))
        note_add(p,
                 "measured while the machine was busy (load %.1f on %d threads), so speeds are too "
                 "low; measured again once it is idle",
                 p->load, p->threads);
}

/* Note that another job ran during the measurement. */
static void note_beside(struct probe *b)
{
    if (b->p->beside[0])
        note_add(b->p, "measured while %.80s ran, so perhaps too low; not kept", b->p->beside);
}

/* Fill b->p from the cache, or by measuring everything and storing it. Return 0, also if a
 * measurement failed; -ENODATA: options->kept_only is set, and the cache has no profile to use; an
 * error of find_gpus.
 */
static int load_or_measure(struct probe *b, struct eddis_error *ret_err)
{
    struct eddis_error err = { 0 };
    int rc = load(b, &err), found;

    if (b->options->kept_only && rc < 0)
        return eddis_fail(ret_err, -ENODATA, "there is no complete cached profile");
    if (rc == 0)
        return 0;
    start_profile(&b->machine, b->p);
    found = measure(b, ret_err);
    if (found < 0)
        return found;
    store(b);
    cuda_note_users(&b->gpus, b->p); /* not stored */
    note_beside(b);
    if (!unrated(b->p) && !b->p->beside[0]) /* otherwise there is no valid measurement */
        profiler_note_busy(b->p);
    if (rc != -ENOENT) /* a missing cache entry needs no note */
        note_add(b->p, "%s: measured again", err.text);
    return 0;
}

/* Fill b->p with the node's topology, for emulated devices: nothing is measured, since their times
 * are given, so it is the same in each run.
 */
static void describe(struct probe *b)
{
    struct eddis_error err = { 0 };

    start_profile(&b->machine, b->p);
    b->p->load = NAN;
    if (topo_open(false, &b->topo, &err) == 0) {
        topo_describe(b->topo, b->p);
        correct_memory(b->p);
    } else {
        note_add(b->p, "%s", err.text);
    }
    topo_close(b->topo);
}

int profiler_gpus(struct node_profile *ret, struct eddis_error *err)
{
    cleanup_free struct cuda_list *list = calloc(1, sizeof *list);
    int rc;

    if (!list)
        return eddis_fail(err, -ENOMEM, "no memory for a list of GPUs");
    *ret = (struct node_profile){ 0 };
    rc = cuda_find(clock_after_ns(clock_now_ns(), 25 * CLOCK_S), list, ret, err);
    for (int i = 0; rc == 0 && i < list->n; i++) {
        struct device *d = &ret->device[ret->n_devices++];

        *d = device_unmeasured(DEVICE_CUDA, list->gpu[i].ordinal, -1);
        (void)snprintf(d->id, sizeof d->id, "%s", list->gpu[i].uuid);
    }
    return rc;
}

int profiler_run(const struct profiler_options *o, struct node_profile *ret,
                 struct eddis_error *err)
{
    cleanup_free struct probe *b = calloc(1, sizeof *b);
    cleanup_free struct node_profile *p = calloc(1, sizeof *p);
    int rc = 0;

    if (!b || !p)
        return eddis_fail(err, -ENOMEM, "no memory for a profile");
    b->options = o;
    b->p = p;
    b->deadline_ns = clock_now_ns() + PROFILER_MOST_NS;
    machine_read(root_of(b), o->visible, &b->machine);
    if (o->n_emulate)
        describe(b);
    else
        rc = load_or_measure(b, err);
    if (rc < 0)
        return rc;
    rc = emulated_apply(o->emulate, o->n_emulate, p, err);
    if (rc < 0)
        return rc;
    *ret = *p;
    return 0;
}
