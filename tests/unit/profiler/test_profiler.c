/* SPDX-License-Identifier: Apache-2.0 */
/* test_profiler.c - tests of profiler/profiler.h */
#include "profiler/profiler.h"

#include "fake_root.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/model/gpu_share.h"
#include "profiler/cache.h"
#include "profiler/cpu.h"
#include "profiler/emulated.h"
#include "profiler/note.h"
#include "profiler/probe_memory.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void check_devices(const struct node_profile *p, bool fake_gpus)
{
    int cpus = 0, gpus = 0;

    for (int i = 0; i < p->n_devices; i++) {
        const struct device *d = &p->device[i];

        cpus += d->kind == DEVICE_CPU;
        gpus += d->kind == DEVICE_CUDA;
        if (d->kind != DEVICE_CPU)
            continue;
        ck_assert_msg(d->fp32_flops > 1e7 && d->fp32_flops < 1e15, "%g", d->fp32_flops);
        ck_assert_msg(d->memory_bytes_per_s > 1e7 && d->memory_bytes_per_s < 1e14, "%g",
                      d->memory_bytes_per_s);
        ck_assert(isnan(d->rate) && isnan(d->fp16_flops));
    }
    ck_assert_int_eq(cpus, p->n_numa);
    ck_assert_int_ge(cpus, 1);
    if (fake_gpus)
        ck_assert_int_eq(gpus, 2);
}

/* As profiler_run, and anew where the machine was too busy to measure its cores in time. */
static int measure(const struct profiler_options *o, struct node_profile *ret,
                   struct eddis_error *err)
{
    struct profiler_options anew = *o;
    int rc = 0;

    for (int i = 0; i < 10; i++) {
        rc = profiler_run(&anew, ret, err);
        if (rc < 0 || !strstr(ret->note, "took too long") ||
            (ret->device[0].fp32_flops > 0 && ret->device[0].memory_bytes_per_s > 0))
            break;
        anew.cache_ns = 0;
    }
    return rc;
}

/* Measured, kept, taken from the cache; then what makes it measure anew. */
START_TEST(whole)
{
    bool fake_gpus = getenv("FAKE_CUDA") != NULL;
    struct fake_root r;
    struct node_profile p = { 0 }, q = { 0 };
    struct eddis_error err = { 0 };
    struct profiler_options o = { .cache_ns = 3600 * CLOCK_S };
    struct proctree_process *left = NULL;
    char *dir;

    fake_root_init(&r);
    dir = file_join(r.path, "cache");
    o.cache_dir = dir;
    o.kept_only = true; /* there is nothing yet */
    ck_assert_int_eq(profiler_run(&o, &p, &err), -ENODATA);
    o.kept_only = false;
    ck_assert_msg(measure(&o, &p, &err) == 0, "%s", err.text);
    check_devices(&p, fake_gpus);
    ck_assert(!p.cached && p.measured_s > 0);

    o.kept_only = true;
    ck_assert_int_eq(profiler_run(&o, &q, &err), 0);
    ck_assert(q.cached);
    o.kept_only = false;
    ck_assert_int_eq(profiler_run(&o, &q, &err), 0);
    ck_assert(q.cached);
    ck_assert_int_eq(q.measured_s, p.measured_s);
    ck_assert_int_eq(q.n_devices, p.n_devices);
    ck_assert(fabs(q.device[0].fp32_flops / p.device[0].fp32_flops - 1) < 1e-9);

    o.visible = fake_gpus ? "7" : "-1"; /* a machine without GPUs has none of that number */
    ck_assert_int_eq(profiler_run(&o, &q, &err), 0);
    ck_assert(!q.cached);
    ck_assert_ptr_nonnull(strstr(q.note, "another CUDA_VISIBLE_DEVICES: measured again"));
    ck_assert_int_eq(proctree_list(getpid(), &left, NULL), 0);
    free(left);
    free(dir);
    fake_root_fini(&r);
}
END_TEST

/* A driver that crashes or hangs costs its GPUs' figures, and is not waited for. */
static void driver_fails(const char *mode, const char *cards, int gpus, const char *words)
{
    struct node_profile p = { 0 };
    struct profiler_options o = { 0 };
    int measured = 0, listed = 0;

    setenv("FAKE_CUDA", mode, 1);
    setenv("FAKE_GPUS", cards, 1);
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    for (int i = 0; i < p.n_devices; i++) {
        listed += p.device[i].kind == DEVICE_CUDA;
        measured += p.device[i].kind == DEVICE_CUDA && p.device[i].fp16_flops > 0;
    }
    ck_assert_int_eq(listed, gpus ? 2 : 0);
    ck_assert_int_eq(measured, gpus);
    ck_assert(p.device[0].fp32_flops > 0);
    ck_assert_msg(strstr(p.note, words) != NULL, "%s", p.note);
}

START_TEST(driver_crashes)
{
    struct node_profile p = { 0 };
    struct profiler_options o = { .visible = "0,1" };
    struct eddis_error err = { 0 };

    driver_fails("crash", "", 0, "no GPU is used: the search for GPUs was killed by signal 11");
    ck_assert_int_eq(profiler_run(&o, &p, &err), -ECHILD); /* the job asks for GPUs */
    ck_assert_ptr_nonnull(
        strstr(err.text, "the node's GPUs cannot be used: the search for GPUs was killed by"));
    o.cpus_only = true;
    ck_assert_msg(measure(&o, &p, &err) == 0, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(p.note, "no GPU is used: the search for GPUs was killed by"));
    driver_fails("", "plain,plain:crash", 1,
                 "GPU 1: the measurement of a GPU was killed by signal 4");
}
END_TEST

/* Modes of the driver -> error of a job that asks for GPUs, and words of it. */
static const struct {
    const char *mode;
    int rc;
    const char *words;
} absent_rows[] = {
    { "nodevice", -ENODEV, "the node's GPUs cannot be used: the NVIDIA driver finds no GPU; see" },
    { "stub", -ENOENT, "libcuda.so.1 is only a stub of the NVIDIA driver; see whether nvidia-smi" },
    { "old", -ENOTSUP, "supports only CUDA 10.2, but eddis needs CUDA 11; update it, or set CUDA" },
};

/* The driver finds no GPU: an error if the job asks for some of those that the machine shows, else
 * the CPUs are used.
 */
START_TEST(driver_absent)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .visible = "0,1", .root = r.path };
    struct eddis_error err = { 0 };

    fake_root_init(&r);
    setenv("FAKE_CUDA", absent_rows[_i].mode, 1);
    ck_assert_msg(measure(&o, &p, &err) == 0, "%s", err.text);
    ck_assert_msg(strstr(p.note, "CUDA_VISIBLE_DEVICES names GPUs, but the node shows none: it "
                                 "trains on its CPUs") != NULL,
                  "%s", p.note);
    fake_root_add(&r, "proc/driver/nvidia/gpus/0000:17:00.0/information", "GPU UUID: \t GPU-aa\n");
    ck_assert_int_eq(profiler_run(&o, &p, &err), absent_rows[_i].rc);
    ck_assert_msg(strstr(err.text, absent_rows[_i].words) != NULL, "%s", err.text);
    o.visible = "";
    ck_assert_msg(measure(&o, &p, &err) == 0, "%s", err.text);
    ck_assert(p.n_devices > 0 && p.device[0].kind == DEVICE_CPU);
    o.visible = "0,1";
    o.cpus_only = true;
    ck_assert_msg(measure(&o, &p, &err) == 0, "%s", err.text);
    ck_assert(p.n_devices > 0 && p.device[0].kind == DEVICE_CPU);
    fake_root_fini(&r);
}
END_TEST

/* Files that show GPUs of AMD, AMD's variables -> error of the job, and words of it or of the note.
 * The variable of NVIDIA is empty.
 */
static const struct {
    bool shown;
    const char *hip, *rocr;
    int rc;
    const char *words;
} absent_amd_rows[] = {
    { false, NULL, "0", 0, "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES names GPUs, but the node" },
    { true, NULL, "0", -ENODEV,
      "ROCm finds no GPU; see whether rocminfo lists them (a container needs --gpus all or --nv), "
      "or set HIP_VISIBLE_DEVICES to an empty value to train on the CPUs" },
    { true, "", "0", 0, "" },
};

START_TEST(amd_driver_absent)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .visible = "", .root = r.path };
    struct eddis_error err = { 0 };
    int rc;

    fake_root_init(&r);
    if (absent_amd_rows[_i].shown)
        fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/1/properties",
                      "simd_count 416\nunique_id 12345\n");
    setenv("FAKE_CUDA", "nodevice", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    setenv("ROCR_VISIBLE_DEVICES", absent_amd_rows[_i].rocr, 1);
    if (absent_amd_rows[_i].hip)
        setenv("HIP_VISIBLE_DEVICES", absent_amd_rows[_i].hip, 1);
    rc = measure(&o, &p, &err);
    ck_assert_int_eq(rc, absent_amd_rows[_i].rc);
    ck_assert_msg(strstr(rc < 0 ? err.text : p.note, absent_amd_rows[_i].words) != NULL, "%s, %s",
                  err.text, p.note);
    if (!absent_amd_rows[_i].words[0])
        ck_assert_msg(!strstr(p.note, "GPU"), "%s", p.note);
    fake_root_fini(&r);
}
END_TEST

/* A small GPU of AMD in a processor is no reason to note that NVIDIA's driver is missing. */
START_TEST(small_amd_gpu)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .root = r.path };

    fake_root_init(&r);
    fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/1/properties",
                  "simd_count 4\nunique_id 0\n");
    setenv("FAKE_CUDA", "nodevice", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    ck_assert_msg(!strstr(p.note, "NVIDIA") && strstr(p.note, "no GPU is used: ROCm"), "%s",
                  p.note);
    fake_root_fini(&r);
}
END_TEST

/* A profile is kept for a while although one GPU is bad, but not who used the GPUs. */
START_TEST(gpus_kept)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .cache_ns = 3600 * CLOCK_S };

    fake_root_init(&r);
    o.cache_dir = r.path;
    setenv("FAKE_CUDA", "", 1);
    setenv("FAKE_GPUS", "plain:used,plain:bad", 1);
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    ck_assert(!p.cached);
    ck_assert_msg(strstr(p.note, "GPU 0 is also used by process 1") != NULL, "%s", p.note);
    ck_assert_msg(strstr(p.note, "not kept") == NULL, "%s", p.note);
    setenv("FAKE_GPUS", "plain,plain:bad", 1);
    ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
    ck_assert(p.cached);
    ck_assert_msg(strstr(p.note, "GPU 1: ") != NULL, "%s", p.note);
    ck_assert_msg(strstr(p.note, "also used") == NULL, "%s", p.note);
    setenv("FAKE_GPUS", "plain:busy,plain", 1);
    o.cache_ns = 0;
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    ck_assert_msg(strstr(p.note, "not kept, because another process keeps a GPU busy") != NULL,
                  "%s", p.note);
    fake_root_fini(&r);
}
END_TEST

/* Cards at the start of a job with a kept profile, a variable and its value -> the GPUs that keep
 * their speeds, whether the profile is used, and words of the note
 */
static const struct {
    const char *cards, *variable, *value;
    bool rated[2], cached;
    const char *words;
} kept_rows[] = {
    { "plain,plain", NULL, NULL, { true, true }, true, "" },
    { "plain:used,plain", NULL, NULL, { true, true }, true, "GPU 0 is also used by process 1" },
    { "plain,plain:busy", NULL, NULL, { true, false }, true, "GPU 1: process 1 " },
    { "plain:unseen,plain",
      NULL,
      NULL,
      { false, true },
      true,
      "GPU 0: a process that NVML does not list keeps it 90 % busy" },
    { "plain,plain:trail", NULL, NULL, { true, true }, true, "" },
    { "plain,plain:bad:used", NULL, NULL, { true, false }, true, "has it in exclusive mode" },
    { "plain,plain:busy",
      "CUDA_MPS_PIPE_DIRECTORY",
      "none",
      { true, true },
      true,
      "keeps it 90 % busy, so steps may be slower than planned" },
    { "plain:busy,plain:busy",
      NULL,
      NULL,
      { true, true },
      true,
      "keeps it 90 % busy, so steps may be slower than planned; GPU 1: process 1 " },
    { "plain,plain:display",
      NULL,
      NULL,
      { true, true },
      true,
      "GPU 1 is also used by process 1 (" },
    { "plain,plain", "FAKE_NVML", "hang", { true, true }, true, "look at the GPUs took too long" },
    { "plain,plain", NULL, NULL, { true, true }, true, "" }, /* the kept speeds are still there */
    { "plain,plain:lost",
      NULL,
      NULL,
      { true, false },
      false,
      "GPU 1 does not answer any more: measured again" },
    { "plain,plain:lost", NULL, NULL, { true, false }, true, "GPU 1: " },
    { "plain,plain:lost",
      "FAKE_NVML",
      "none",
      { true, false },
      false,
      "NVML does not answer any more: " },
};

/* Start a job with a kept profile as the row says. */
static void start_kept(const struct profiler_options *o, size_t row)
{
    const char *variable = kept_rows[row].variable;
    struct node_profile p = { 0 };
    const struct device *gpu = p.device;

    setenv("FAKE_GPUS", kept_rows[row].cards, 1);
    if (variable)
        setenv(variable, kept_rows[row].value, 1);
    ck_assert_int_eq(profiler_run(o, &p, NULL), 0);
    if (variable)
        unsetenv(variable);
    ck_assert_msg(p.cached == kept_rows[row].cached, "%zu: %s", row, p.note);
    while (gpu->kind != DEVICE_CUDA)
        gpu++;
    for (int i = 0; i < 2; i++)
        ck_assert_msg(isnan(gpu[i].fp32_flops) == !kept_rows[row].rated[i] &&
                          isnan(gpu[i].memory_bytes_per_s) == !kept_rows[row].rated[i],
                      "%zu: %s", row, p.note);
    ck_assert_msg(strstr(p.note, kept_rows[row].words) != NULL, "%zu: %s", row, p.note);
    if (!kept_rows[row].words[0])
        ck_assert_str_eq(p.note, "");
}

/* A busy GPU that another job of eddis has locked keeps its speed, since the lock refuses this job;
 * one that this job has locked does not.
 */
static void start_locked(struct profiler_options o, const char *id)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, GPU_LOCK_NAME "%s/0/own", id);

    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
                     0);
    setenv("FAKE_GPUS", "plain,plain:busy", 1);
    for (int own = 0; own < 2; own++) {
        struct node_profile p = { 0 };

        o.job_id = own ? "own" : "other";
        ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
        ck_assert(p.cached && isnan(p.device[p.n_devices - 1].fp32_flops) == own);
    }
    (void)close(fd);
}

/* What changes at any time is looked at although the speeds are kept. */
START_TEST(gpus_looked_at)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .cache_ns = 3600 * CLOCK_S };

    fake_root_init(&r);
    o.cache_dir = r.path;
    setenv("FAKE_SALT", r.path, 1); /* UUIDs that no other test has */
    setenv("FAKE_GPUS", "plain,plain", 1);
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    start_locked(o, p.device[p.n_devices - 1].id);
    for (size_t i = 0; i < sizeof kept_rows / sizeof *kept_rows; i++)
        start_kept(&o, i);
    fake_root_fini(&r);
}
END_TEST

/* Links sleep until the first copy, which comes when the driver has started at last. */
START_TEST(links_wake)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { 0 };
    char *awake;

    fake_root_init(&r);
    awake = file_join(r.path, "awake");
    setenv("FAKE_AWAKE", awake, 1);
    setenv("FAKE_CUDA", "slow=2", 1);
    setenv("FAKE_GPUS", "plain,plain:pcie=3x8", 1);
    ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
    for (int i = 0, k = 0; i < p.n_devices; i++)
        if (p.device[i].kind == DEVICE_CUDA)
            ck_assert_int_eq(p.device[i].gpu.pcie_gen, k++ == 0 ? 4 : 3);
    free(awake);
    fake_root_fini(&r);
}
END_TEST

START_TEST(driver_hangs)
{
    driver_fails("", "plain,plain:hang", 1, "GPU 1: the measurement of a GPU took too long");
}
END_TEST

/* A cache that cannot be written costs nothing but its use. */
START_TEST(no_cache)
{
    struct node_profile p = { 0 };
    struct profiler_options o = { .cache_dir = "/proc/nothing" };

    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    ck_assert(p.device[0].fp32_flops > 0 && p.device[0].memory_bytes_per_s > 0);
    ck_assert_ptr_nonnull(strstr(p.note, "not kept"));
}
END_TEST

/* No speed of the node's own is measured, nor kept as if there were one. */
START_TEST(emulated_instead)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct job_emulated two[] = { { 1, 0.002, 0.0001 }, { 0.25, 0.002, 0.0001 } };
    struct profiler_options o = { .emulate = two, .n_emulate = 2, .cache_ns = 3600 * CLOCK_S };

    fake_root_init(&r);
    o.cache_dir = r.path;
    ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
    ck_assert_int_eq(p.n_devices, 2);
    ck_assert_int_eq(p.device[1].kind, DEVICE_EMULATED);
    ck_assert_str_eq(p.device[1].id, "emulated:1");
    ck_assert_str_eq(p.device[1].name, "emulated 0.25");
    ck_assert(p.device[1].rate == 0.25 && p.device[1].fixed_s == 0.002);
    ck_assert(isnan(p.device[0].fp32_flops) && isnan(p.device[0].memory_bytes_per_s));
    ck_assert_str_eq(p.note, "");
    two[1].rate = 0;
    ck_assert_int_eq(profiler_run(&o, &p, NULL), -EINVAL);
    o.n_emulate = 0;
    ck_assert_int_eq(measure(&o, &p, NULL), 0);
    ck_assert(!p.cached && p.device[0].kind == DEVICE_CPU && p.device[0].fp32_flops > 0);
    fake_root_fini(&r);
}
END_TEST

static const struct {
    double load;
    const char *note;
} busy_rows[] = {
    { 2, "" },
    { 17.6, "measured while the machine was busy (load 17.6 on 8 threads), so speeds are too low; "
            "measured again once it is idle" },
};

START_TEST(busy_then)
{
    struct node_profile p = { .threads = 8, .load = busy_rows[_i].load };

    profiler_note_busy(&p);
    ck_assert_str_eq(p.note, busy_rows[_i].note);
}
END_TEST

/* What was measured beside others is not kept longer than they stay. */
START_TEST(busy_no_more)
{
    struct fake_root r;
    struct node_profile p = { 0 };
    struct machine m;
    struct profiler_options o = { .cache_ns = 3600 * CLOCK_S };

    fake_root_init(&r);
    o.cache_dir = r.path;
    ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
    machine_read("", NULL, &m);
    p.threads = 100000; /* beside so many this machine is quiet, whatever it does */
    p.load = 60000;
    ck_assert_int_eq(cache_store(o.cache_dir, &m, &p, false, NULL), 0);
    ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
    ck_assert(!p.cached);
    ck_assert_msg(strstr(p.note, "the machine is idle again") != NULL, "%s", p.note);
    fake_root_fini(&r);
}
END_TEST

/* Under `ulimit -v` there is no speed; the next job, perhaps without a limit, measures again. */
START_TEST(no_memory)
{
    struct rlimit l;
    struct fake_root r;
    struct node_profile p = { 0 };
    struct profiler_options o = { .cache_ns = 3600 * CLOCK_S };

    ck_assert_int_eq(getrlimit(RLIMIT_AS, &l), 0);
    l.rlim_cur = 300 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &l), 0);
    fake_root_init(&r);
    o.cache_dir = r.path;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(profiler_run(&o, &p, NULL), 0);
        ck_assert(!p.cached && isnan(p.device[0].fp32_flops));
        ck_assert_msg(strstr(p.note, "(memory is limited to 315 MB, ulimit -v)") != NULL, "%s",
                      p.note);
        ck_assert_msg(strstr(p.note, "the profile is not kept, because the speed of") != NULL, "%s",
                      p.note);
        ck_assert_msg(strstr(p.note, "busy") == NULL, "%s", p.note);
    }
    fake_root_fini(&r);
}
END_TEST

static const struct job_emulated bad[] = {
    { 0, 0, 1 },  { -1, 0, 1 },  { NAN, 0, 1 }, { INFINITY, 0, 1 },
    { 1, -1, 1 }, { 1, NAN, 1 }, { 1, 0, 0 },   { 1, 0, NAN },
};

START_TEST(emulated_refused)
{
    struct node_profile p = { .n_devices = 1, .device[0].id = "numa:0" };
    struct eddis_error err = { 0 };

    ck_assert_int_eq(emulated_apply(&bad[_i], 1, &p, &err), -EINVAL);
    ck_assert_str_ne(err.text, "");
    ck_assert_str_eq(p.device[0].id, "numa:0");
    ck_assert_int_eq(emulated_apply(NULL, 0, &p, NULL), 0);
    ck_assert_str_eq(p.device[0].id, "numa:0");
    ck_assert_int_eq(emulated_apply(bad, PROFILE_MAX_DEVICES + 1, &p, NULL), -EINVAL);
}
END_TEST

START_TEST(sizes)
{
    const int64_t mb = 1 << 20, gb = 1 << 30;

    ck_assert_int_eq(probe_memory_sweep_bytes(32 * mb, 64 * gb), 128 * mb);
    ck_assert_int_eq(probe_memory_sweep_bytes(0, 64 * gb), 64 * mb);
    ck_assert_int_eq(probe_memory_sweep_bytes(gb, 64 * gb), 2 * gb);
    ck_assert_int_eq(probe_memory_sweep_bytes(32 * mb, 256 * mb), 32 * mb);
    ck_assert_int_eq(probe_memory_sweep_bytes(32 * mb, 0), mb);
}
END_TEST

/* Cores that are not there are an error, not a crash. */
START_TEST(bad_task)
{
    struct cpu_task t = { .cpus = "9999", .threads = 1, .sweep_bytes = 1 << 20 };
    struct eddis_error err = { 0 };
    double x = 0;

    ck_assert_int_eq(cpu_matrix(&t, &x, &err), -EINVAL);
    ck_assert_int_eq(probe_memory_sweep(&t, &x, &err), -EINVAL);
    t = (struct cpu_task){ .threads = 3, .sweep_bytes = 1 << 20 };
    ck_assert_int_eq(probe_memory_sweep(&t, &x, &err), 0);
    ck_assert(x > 0);
}
END_TEST

START_TEST(notes)
{
    struct node_profile p = { 0 };

    note_add(&p, "one");
    note_add(&p, "two\033");
    ck_assert_str_eq(p.note, "one; two?");
    for (int i = 0; i < 100; i++)
        note_add(&p, "a longer sentence about something that went wrong");
    ck_assert_int_eq(strlen(p.note), sizeof p.note - 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    const char *fake = getenv("FAKE_CUDA");

    if (getenv("FAKE_GPUS")) {
        tcase_add_test(tc, driver_hangs);
        tcase_add_test(tc, gpus_kept);
        return;
    }
    tcase_add_test(tc, whole);
    if (fake) {
        tcase_add_test(tc, driver_crashes);
        tcase_add_loop_test(tc, driver_absent, 0, sizeof absent_rows / sizeof *absent_rows);
        tcase_add_loop_test(tc, amd_driver_absent, 0,
                            sizeof absent_amd_rows / sizeof *absent_amd_rows);
        tcase_add_test(tc, small_amd_gpu);
        tcase_add_test(tc, gpus_looked_at);
        tcase_add_test(tc, links_wake);
        return;
    }
    tcase_add_test(tc, no_cache);
    tcase_add_test(tc, emulated_instead);
    tcase_add_test(tc, busy_no_more);
    tcase_add_loop_test(tc, busy_then, 0, sizeof busy_rows / sizeof *busy_rows);
    tcase_add_loop_test(tc, emulated_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, bad_task);
    tcase_add_test(tc, notes);
    if (!SUITE_SHADOWED)
        tcase_add_test(tc, no_memory);
}

SUITE_MAIN("profiler", add_tests)
