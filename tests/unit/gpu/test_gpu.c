/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu.c - tests of lib/gpu/gpu.h */
#include "lib/gpu/gpu.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct gpu_device first;

/* Run without the fake libraries: this machine as it is, or a build without GPUs. */
START_TEST(as_it_is)
{
    struct gpu_device gpu[8];
    struct gpu_metrics f;
    struct eddis_error err = { 0 };
    int n = 0, rc = gpu_list(GPU_NVIDIA, gpu, 8, &n, &err);

    if (rc < 0) {
        ck_assert_str_ne(err.text, "");
        ck_assert_msg(rc == -ENOENT || rc == -ENODEV || rc == -ENOTSUP || rc == -EIO, "%d: %s", rc,
                      err.text);
        if (access("/proc/driver/nvidia/version", F_OK) < 0)
            ck_assert_msg(rc == -ENOENT, "%d: %s", rc, err.text);
        ck_assert_int_eq(n, 0);
        ck_assert_int_lt(gpu_measure(&first, &f, &err), 0);
        return;
    }
    ck_assert_msg(gpu_measure(&gpu[0], &f, &err) == 0, "%s", err.text);
    printf("%s %s %s %.1f GB driver %d: fp32 %.3g tf32 %.3g bf16 %.3g fp16 %.3g memory %.3g "
           "to %.3g from %.3g %s\n",
           gpu[0].name, gpu[0].uuid, gpu[0].pci, (double)gpu[0].memory_bytes / 1e9,
           gpu[0].driver_version, f.fp32_flops, f.tf32_flops, f.bf16_flops, f.fp16_flops,
           f.memory_bytes_per_s, f.to_device_bytes_per_s, f.from_device_bytes_per_s, f.note);
    ck_assert(f.to_device_bytes_per_s > 1e8);
}
END_TEST

START_TEST(list)
{
    struct gpu_device gpu[8];
    struct eddis_error err = { 0 };
    int n = 0;

    ck_assert_msg(gpu_list(GPU_NVIDIA, gpu, 8, &n, &err) == 0, "%s", err.text);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(gpu[1].ordinal, 1);
    ck_assert_str_eq(gpu[0].name, "Fake GPU?[2J");
    ck_assert_str_eq(gpu[1].uuid, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    ck_assert_str_eq(gpu[0].pci, "0000:b7:00.0");
    ck_assert_int_eq(gpu[0].memory_bytes, INT64_C(16) << 30);
    ck_assert_int_eq(gpu[0].driver_version, 12040);
    ck_assert_int_eq(gpu_list(GPU_NVIDIA, gpu, 1, &n, &err), 0);
    ck_assert_int_eq(n, 1);
}
END_TEST

START_TEST(measure)
{
    struct eddis_error err = { 0 };
    struct gpu_metrics f;

    ck_assert_msg(gpu_measure(&(struct gpu_device){ .ordinal = 1 }, &f, &err) == 0, "%s", err.text);
    ck_assert_str_eq(f.note, "");
    ck_assert(f.fp32_flops > 0 && f.fp32_flops < 2.0 * 1024 * 1024 * 1024 / 0.010);
    ck_assert(f.fp16_flops > f.fp32_flops);
    ck_assert(f.to_device_bytes_per_s > 0 && f.from_device_bytes_per_s > 0);
    ck_assert(f.memory_bytes_per_s > 0);
    ck_assert_int_eq(gpu_measure(&(struct gpu_device){ .ordinal = 7 }, &f, &err), -EIO);
}
END_TEST

/* A card, and its rates in 1e12 operations per second: 0: it has none; NAN: not measured. */
static const struct {
    const char *card;
    double fp32, tf32, bf16, fp16;
    enum gpu_maker maker;
} rates[] = {
    { "A100", 19, 130, 270, 270 },
    { "V100", 14.5, 0, 0, 100 },
    { "1080Ti", 11, 0, 0, 11 },
    { "A100:nobf16", 19, 130, NAN, 270 },
    { "A100:oldblas", 19, 130, 0, 270 },
    { "MI210", 35, 35, 140, 140, GPU_AMD },
    { "MI210:oldblas", 35, 35, 0, 140, GPU_AMD },
};

/* Check a measured rate: the fake's products are not faster, and a busy machine makes them slower.
 */
static void check_rate(double measured, double wanted)
{
    if (!(wanted > 0))
        ck_assert(isnan(wanted) ? isnan(measured) : measured == 0);
    else
        ck_assert_msg(measured > 0 && measured <= 1.001 * wanted * 1e12, "%g", measured);
}

/* Each precision that the card has is measured, by products in it. */
START_TEST(precisions)
{
    struct eddis_error err = { 0 };
    struct gpu_metrics f;

    setenv(rates[_i].maker == GPU_AMD ? "FAKE_AMD_GPUS" : "FAKE_GPUS", rates[_i].card, 1);
    ck_assert_msg(gpu_measure(&(struct gpu_device){ .maker = rates[_i].maker }, &f, &err) == 0,
                  "%s", err.text);
    check_rate(f.fp32_flops, rates[_i].fp32);
    check_rate(f.tf32_flops, rates[_i].tf32);
    check_rate(f.bf16_flops, rates[_i].bf16);
    check_rate(f.fp16_flops, rates[_i].fp16);
    ck_assert_str_eq(f.note,
                     isnan(rates[_i].bf16) ? "the matrix product fails (cuBLAS status 7)" : "");
}
END_TEST

/* Cards, what is visible of them -> the GPUs that are listed, and CUDA_DEVICE_ORDER. */
static const struct {
    const char *cards, *visible, *uuid[4], *order;
} lists[] = {
    { "A100:mig=2,V100", NULL, { "MIG-80102030", "MIG-90102030", "GPU-01112131" } },
    { "A100:mig=2,V100", "MIG-9010,GPU-01", { "MIG-90102030", "GPU-01112131" } },
    { "A100:mig=2,V100",
      "GPU-01,MIG-90,MIG-80",
      { "GPU-01112131", "MIG-90102030", "MIG-80102030" } },
    { "A100:mig=2,V100,1080Ti", "GPU-02,GPU-01", { "GPU-02122232", "GPU-01112131" } },
    { "A100:mig=2,V100", "0", { "MIG-80102030" } },
    { "A100:mig=2,V100", "0", { "MIG-80102030" }, "FASTEST_FIRST" },
    { "A100:mig=2,V100", "0", { "MIG-80102030", "MIG-90102030" }, "PCI_BUS_ID" },
    { "A100:mig=2,A100", "1,0", { "GPU-01112131", "MIG-80102030", "MIG-90102030" } },
    { "A100:mig=2,A100", "1", { "GPU-01112131" } },
    { "A100:mig=2,A100:mig=1", "1", { "MIG-81112131" } },
    { "A100,V100", NULL, { "GPU-00102030", "GPU-01112131" } },
    { "A100,V100:lost", NULL, { "GPU-00102030", "gpu:1" } },
};

/* Each MIG instance is a device by its own UUID, and can be measured. */
START_TEST(instances)
{
    static const char *const pci[] = { "0000:b7:00.0", "0000:a7:00.0", "0000:97:00.0" };
    struct gpu_device gpu[8];
    struct eddis_error err = { 0 };
    struct gpu_metrics f;
    int n = 0, wanted = 0;

    setenv("FAKE_GPUS", lists[_i].cards, 1);
    if (lists[_i].visible)
        setenv("CUDA_VISIBLE_DEVICES", lists[_i].visible, 1);
    else
        unsetenv("CUDA_VISIBLE_DEVICES");
    if (lists[_i].order)
        setenv("CUDA_DEVICE_ORDER", lists[_i].order, 1);
    else
        unsetenv("CUDA_DEVICE_ORDER");
    ck_assert_msg(gpu_list(GPU_NVIDIA, gpu, 8, &n, &err) == 0, "%s", err.text);
    n = gpu_complete(gpu, 8, n);
    while (wanted < 4 && lists[_i].uuid[wanted])
        wanted++;
    ck_assert_int_eq(n, wanted);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(gpu[i].ordinal, i);
        ck_assert_int_eq(strncmp(gpu[i].uuid, lists[_i].uuid[i], 12), 0);
        ck_assert_int_eq(gpu[i].driver_version, 12040);
        if (strncmp(gpu[i].uuid, "gpu:", 4) != 0) /* the card's number is a digit of the UUID */
            ck_assert_str_eq(gpu[i].pci, pci[gpu[i].uuid[5] - '0']);
    }
    if (_i > 0) /* one of them will do */
        return;
    ck_assert_msg(gpu_measure(&gpu[1], &f, &err) == 0, "%s", err.text);
    ck_assert(f.fp32_flops > 0);
}
END_TEST

/* AMD's cards, and what the variables say of them -> the ids of those that are listed. */
static const struct {
    const char *cards, *hip, *rocr, *cuda, *id[4];
} amd_lists[] = {
    { "MI300X,MI210", NULL, NULL, NULL, { "GPU-0010203040506070", "GPU-0111213141516171" } },
    { "MI300X,MI210", "1,0", NULL, NULL, { "GPU-0111213141516171", "GPU-0010203040506070" } },
    { "MI300X,MI210", NULL, NULL, "1", { "GPU-0111213141516171" } },
    { "MI300X,MI210", NULL, "GPU-0111", NULL, { "GPU-0111213141516171" } },
    { "MI300X,MI210", "0", "1,0", "7", { "GPU-0111213141516171" } },
    { "MI300X,MI210", NULL, "1", "", { "GPU-0111213141516171" } },
    { "MI300X,MI210", "", NULL, NULL, { NULL } },
    { "MI300X,MI210", "-1", NULL, NULL, { NULL } },
    { "MI300X,MI210", "0", "", NULL, { NULL } },
    { "MI300X,MI210", NULL, NULL, "", { NULL } },
    { "MI300X,MI210", NULL, NULL, "NoDevFiles", { NULL } },
    { "MI300X,MI210", NULL, "", "", { NULL } },
    { "MI300X,MI210:lost", NULL, NULL, NULL, { "GPU-0010203040506070", "gpu:1" } },
    { "MI300X,7900XTX:nouuid", NULL, NULL, NULL, { "HIP-0", "HIP-1" } },
    { "MI300X,7900XTX,MI210:nouuid", "2,1", NULL, NULL, { "HIP-2", "HIP-1" } },
    { "MI300X,7900XTX:nouuid", NULL, NULL, "1", { "HIP-1" } },
    { "MI300X,7900XTX,MI210:nouuid", " 2 , 1", NULL, NULL, { "HIP-2", "HIP-1" } },
};

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

START_TEST(amd)
{
    struct gpu_device gpu[8];
    struct eddis_error err = { 0 };
    struct gpu_metrics f;
    int n = 0, wanted = 0, rc;

    set("FAKE_AMD_GPUS", amd_lists[_i].cards);
    set("HIP_VISIBLE_DEVICES", amd_lists[_i].hip);
    set("ROCR_VISIBLE_DEVICES", amd_lists[_i].rocr);
    set("CUDA_VISIBLE_DEVICES", amd_lists[_i].cuda);
    while (wanted < 4 && amd_lists[_i].id[wanted])
        wanted++;
    rc = gpu_list(GPU_AMD, gpu, 8, &n, &err);
    ck_assert_msg(rc == (wanted ? 0 : -ENODEV), "%s", err.text);
    ck_assert_int_eq(n, wanted);
    for (int i = 0; i < n; i++) {
        ck_assert_str_eq(gpu[i].uuid, amd_lists[_i].id[i]);
        ck_assert_int_eq(gpu[i].maker, GPU_AMD);
        ck_assert_int_eq(gpu[i].driver_version, 60342131);
    }
    if (_i > 0)
        return;
    ck_assert_int_eq(gpu_complete(gpu, 8, n), n); /* nothing is known of NVML */
    ck_assert_str_eq(gpu[0].name, "AMD Instinct MI300X");
    ck_assert_int_eq(gpu[0].memory_bytes, INT64_C(192) << 30);
    ck_assert_msg(gpu_measure(&gpu[1], &f, &err) == 0, "%s", err.text);
    ck_assert_str_eq(f.note, "");
    ck_assert(f.fp32_flops > 0 && f.fp16_flops > f.fp32_flops && f.memory_bytes_per_s > 0);
    ck_assert(f.to_device_bytes_per_s > 0 && f.from_device_bytes_per_s > 0);
}
END_TEST

START_TEST(users)
{
    struct gpu_device gpu[8];
    int n = 0;

    setenv("FAKE_GPUS",
           "A100,A100:used,A100:busy,A100:unseen,A100:trail,A100:bad:used,A100:display", 1);
    ck_assert_int_eq(gpu_list(GPU_NVIDIA, gpu, 8, &n, NULL), 0);
    n = gpu_complete(gpu, 8, n);
    ck_assert_int_eq(n, 7);
    ck_assert_str_eq(gpu[0].user, "");
    ck_assert_int_eq(strncmp(gpu[1].user, "process 1 (", 11), 0);
    ck_assert_int_eq(gpu[1].busy_percent, 0);
    ck_assert_int_eq(gpu[2].busy_percent, 90);
    ck_assert_int_eq(gpu[3].busy_percent, 90);
    ck_assert_str_eq(gpu[3].user, "a process that NVML does not list");
    ck_assert_int_eq(gpu[4].busy_percent, 0); /* of work that has ended */
    ck_assert_str_eq(gpu[4].user, "");
    ck_assert_int_eq(gpu[6].busy_percent, 0); /* of a screen */
    ck_assert_ptr_nonnull(strstr(gpu[6].user, ", for graphics"));
    for (int i = 0; i < n; i++)
        ck_assert(gpu[i].taken == (i == 5) && !gpu[i].lost);
    setenv("FAKE_GPUS", "A100,A100:lost", 1);
    ck_assert(gpu_look(gpu, 2));
    ck_assert(!gpu[0].lost && gpu[1].lost);
    setenv("FAKE_NVML", "none", 1);
    ck_assert(!gpu_look(gpu, 2));
}
END_TEST

/* The facts have what a card did while it worked, not its state when it was idle again. */
START_TEST(worked_briefly)
{
    volatile int64_t until_ns = clock_now_ns() + 200 * CLOCK_MS;
    struct gpu_device gpu[2];
    struct gpu_facts facts[2];
    int n = 0;

    setenv("FAKE_GPUS", "A100:brief,A100:pcie=3x8", 1); /* the link of the second never wakes */
    ck_assert_int_eq(gpu_list(GPU_NVIDIA, gpu, 2, &n, NULL), 0);
    ck_assert_int_eq(gpu_read_facts(gpu, n, &until_ns, facts), 2);
    ck_assert_int_eq(facts[0].state.slowed, GPU_SLOWED_NOT);
}
END_TEST

static const struct {
    const char *mode;
    int list, measure;
    const char *words, *gpus;
    enum gpu_maker maker;
} rows[] = {
    { "nodevice", -ENODEV, -ENODEV, "no GPU" },
    { "stub", -ENOENT, -ENOENT, "stub" },
    { "old", -ENOTSUP, -ENOTSUP, "CUDA 10.2" },
    { "broken", -EIO, -EIO, "unknown error (CUDA error 999)" },
    { "nomemory", 0, 0, "out of memory" },
    { "", 0, 0, "cuBLAS status 1", "plain:noblas" },
    { "", 0, -EIO, "it does not work (CUDA error 46)", "plain:bad" },
    { "", -EIO, -EIO, "unknown error (CUDA error 999)", "plain:lost,plain:lost" },
    { "", -ENODEV, -ENODEV, "ROCm finds no GPU", "", GPU_AMD },
    { "old", -ENOTSUP, -ENOTSUP, "version 5.5", "MI210", GPU_AMD },
    { "broken", -EIO, -EIO, "ROCm does not start: unknown error (HIP error 999)", "MI210",
      GPU_AMD },
    { "nomemory", 0, 0, "out of memory", "MI210", GPU_AMD },
    { "", 0, 0, "rocBLAS status 1", "MI210:noblas", GPU_AMD },
    { "", 0, -EIO, "it does not work (HIP error 46)", "MI210:bad", GPU_AMD },
    { "", -EIO, -EIO, "unknown error (HIP error 999)", "MI210:lost,MI210:lost", GPU_AMD },
};

START_TEST(failing)
{
    struct gpu_device gpu[8];
    struct gpu_metrics f = { 0 };
    struct eddis_error err = { 0 };
    int n;

    setenv(rows[_i].maker == GPU_AMD ? "FAKE_HIP" : "FAKE_CUDA", rows[_i].mode, 1);
    if (rows[_i].gpus)
        setenv(rows[_i].maker == GPU_AMD ? "FAKE_AMD_GPUS" : "FAKE_GPUS", rows[_i].gpus, 1);
    ck_assert_int_eq(gpu_list(rows[_i].maker, gpu, 8, &n, &err), rows[_i].list);
    ck_assert_int_eq(gpu_measure(&(struct gpu_device){ .maker = rows[_i].maker }, &f, &err),
                     rows[_i].measure);
    ck_assert_msg(strstr(rows[_i].measure ? err.text : f.note, rows[_i].words) != NULL, "%s, %s",
                  err.text, f.note);
    if (rows[_i].measure == 0)
        ck_assert(isnan(f.fp16_flops));
}
END_TEST

/* Where PyTorch's packages put cuBLAS, below the folder of a Python that is found in these ways. */
static const char *const pythons[] = { "VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "HOME" };

START_TEST(blas_of_python)
{
    char folder[] = "/tmp/eddis-test-XXXXXX", command[1024], value[128];
    bool home = strcmp(pythons[_i], "HOME") == 0, path = strcmp(pythons[_i], "PATH") == 0;
    struct gpu_metrics f = { 0 };
    struct eddis_error err = { 0 };

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s%s && mkdir -p bin local/lib/python3.11/dist-packages/nvidia/cu11/lib && "
             "cp /bin/true bin/python3 && ln -s "
             "\"${LD_LIBRARY_PATH%%%%:*}/libcublas.so.12\" "
             "local/lib/python3.11/dist-packages/nvidia/cu11/lib/libcublas.so.11",
             folder, home ? " && mkdir .local && cd .local" : "");
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(setenv("FAKE_CUDA", "eleven", 1), 0);
    ck_assert_int_eq(gpu_measure(&first, &f, &err), 0);
    ck_assert_str_ne(f.note, "");
    ck_assert(isnan(f.fp32_flops) && f.memory_bytes_per_s > 0);

    snprintf(value, sizeof value, "%s%s", folder, path ? "/bin:/usr/bin:/bin" : "");
    ck_assert_int_eq(setenv(pythons[_i], value, 1), 0);
    ck_assert_int_eq(gpu_measure(&first, &f, &err), 0);
    ck_assert_str_eq(f.note, "");
    ck_assert(f.fp32_flops > 0);
    snprintf(command, sizeof command, "/bin/rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Without ROCm, HIP and the rocBLAS beside it are those of PyTorch's packages. */
START_TEST(hip_of_python)
{
    char folder[] = "/tmp/eddis-test-XXXXXX", command[1024];
    struct gpu_device gpu[2];
    struct gpu_metrics f = { 0 };
    struct eddis_error err = { 0 };
    int n = 0;

    unsetenv("CUDA_VISIBLE_DEVICES");
    ck_assert_int_eq(setenv("FAKE_AMD_GPUS", "MI210", 1), 0);
    ck_assert_int_eq(gpu_list(GPU_AMD, gpu, 2, &n, &err), -ENOENT);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("VIRTUAL_ENV", folder, 1), 0);
    snprintf(command, sizeof command,
             "cd %s && mkdir -p lib/python3.11/site-packages/torch/lib && "
             "cd lib/python3.11/site-packages/torch/lib && "
             "ln -s \"$FAKE_FOLDER/libamdhip64.so.6\" libamdhip64.so && "
             "ln -s \"$FAKE_FOLDER/librocblas.so.4\" librocblas.so",
             folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_msg(gpu_list(GPU_AMD, gpu, 2, &n, &err) == 0, "%s", err.text);
    ck_assert_int_eq(n, 1);
    ck_assert_int_eq(gpu_measure(&gpu[0], &f, &err), 0);
    ck_assert_str_eq(f.note, "");
    ck_assert(f.fp32_flops > 0);
    snprintf(command, sizeof command, "/bin/rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Check whether the fake libraries are built, and there is no ROCm, which would be used. */
static bool has_fake_alone(void)
{
    const char *folder = getenv("FAKE_FOLDER");
    char path[1024];

    snprintf(path, sizeof path, "%s/librocblas.so.4", folder ? folder : "");
    return folder && access(path, F_OK) == 0 && access("/opt/rocm/lib/libamdhip64.so", F_OK) < 0;
}

static void add_tests(TCase *tc)
{
    if (!getenv("FAKE_CUDA")) {
        tcase_add_test(tc, as_it_is);
        if (has_fake_alone())
            tcase_add_test(tc, hip_of_python);
        return;
    }
    tcase_add_test(tc, list);
    tcase_add_test(tc, measure);
    tcase_add_loop_test(tc, instances, 0, sizeof lists / sizeof *lists);
    tcase_add_test(tc, users);
    tcase_add_test(tc, worked_briefly);
    tcase_add_loop_test(tc, precisions, 0, sizeof rates / sizeof *rates);
    tcase_add_loop_test(tc, amd, 0, sizeof amd_lists / sizeof *amd_lists);
    tcase_add_loop_test(tc, blas_of_python, 0, sizeof pythons / sizeof *pythons);
    tcase_add_loop_test(tc, failing, 0, sizeof rows / sizeof *rows);
}

SUITE_MAIN("gpu", add_tests)
