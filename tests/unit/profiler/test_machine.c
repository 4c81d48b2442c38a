/* SPDX-License-Identifier: Apache-2.0 */
/* test_machine.c - tests of profiler/machine.h and profiler/expected.h */
#include "profiler/machine.h"

#include "fake_root.h"
#include "profiler/expected.h"
#include "suite.h"

#include <errno.h>

static const char id[] = "0123456789abcdef0123456789abcdef\n";

/* Files of a root, the machine id expected. */
static const struct {
    const char *path[3], *text[3], *machine_id;
} ids[] = {
    { { "etc/machine-id" }, { id }, "0123456789abcdef0123456789abcdef" },
    { { "etc/machine-id", "var/lib/dbus/machine-id" },
      { "", id },
      "0123456789abcdef0123456789abcdef" },
    { { "etc/machine-id", "sys/class/dmi/id/product_uuid" },
      { "uninitialized\n", "4c4c4544-0042-3510-8052-b4c04f4d3532\n" },
      "4c4c4544-0042-3510-8052-b4c04f4d3532" },
    { { "sys/class/net/lo/address", "sys/class/net/br0/address", "sys/class/net/eth0/address" },
      { "00:00:00:00:00:00\n", "02:42:ac:11:00:02\n", "b4:05:5d:00:00:01\n" },
      "b4:05:5d:00:00:01" },
    { { 0 }, { 0 }, "" },
};

START_TEST(machine_ids)
{
    struct machine m;
    struct fake_root r;

    fake_root_init(&r);
    for (int i = 0; i < 3 && ids[_i].path[i]; i++)
        fake_root_add(&r, ids[_i].path[i], ids[_i].text[i]);
    machine_read(r.path, NULL, &m);
    ck_assert_str_eq(m.machine_id, ids[_i].machine_id);
    ck_assert_str_eq(m.driver, "");
    ck_assert_str_eq(m.gpus, "");
    ck_assert_str_eq(m.visible, "");
    ck_assert_str_ne(m.host, "");
    ck_assert_str_ne(m.cpus, "");
    fake_root_fini(&r);
}
END_TEST

START_TEST(gpus)
{
    struct machine m;
    struct fake_root r;

    fake_root_init(&r);
    fake_root_add(&r, "proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 2025\n"
                  "GCC version:  gcc 12\n");
    fake_root_add(&r, "proc/driver/nvidia/gpus/0000:b7:00.0/information",
                  "Model: \t\t NVIDIA H100\nIRQ:   \t\t 11\nGPU UUID: \t GPU-bb\n");
    fake_root_add(&r, "proc/driver/nvidia/gpus/0000:17:00.0/information",
                  "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-aa\n");
    fake_root_add(&r, "proc/driver/nvidia/gpus/0000:18:00.0/information", "nothing\n");
    fake_root_add(&r, "proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: X\nmodel name\t: Testium\033[2J 9000\nflags: a\n");
    machine_read(r.path, "0,1", &m);
    ck_assert_str_eq(m.gpus, "0000:17:00.0 GPU-aa,0000:18:00.0 ,0000:b7:00.0 GPU-bb");
    ck_assert_str_eq(m.driver, "NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 2025");
    ck_assert_str_eq(m.cpu_model, "Testium?[2J 9000");
    ck_assert_str_eq(m.visible, "0,1");
    machine_read(r.path, "", &m); /* hides all, which unset does not */
    ck_assert_str_eq(m.visible, "-1");
    fake_root_fini(&r);
}
END_TEST

START_TEST(amd_gpus)
{
    struct machine m;
    struct fake_root r;

    fake_root_init(&r);
    fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/0/properties",
                  "cpu_cores_count 64\nsimd_count 0\nunique_id 0\n");
    fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/2/properties",
                  "cpu_cores_count 0\nsimd_count 416\nunique_id 7\n");
    fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/1/properties",
                  "cpu_cores_count 0\nmax_simd_count 1\nsimd_count 416\nunique_id 12345\n");
    fake_root_add(&r, "sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 4");
    fake_root_add(&r, "sys/module/amdgpu/version", "6.10.5\n");
    machine_read(r.path, NULL, &m);
    ck_assert_str_eq(m.amd_gpus, "1 12345,2 7");
    ck_assert_str_eq(m.driver, "6.10.5");
    ck_assert_str_eq(m.gpus, "");
    fake_root_fini(&r);
}
END_TEST

/* Variables, the GPUs of the kernel, a device file, why the search has found none -> whether GPUs
 * of the maker are expected
 */
static const struct {
    enum gpu_maker maker;
    struct machine m;
    const char *file;
    int rc;
    bool surely;
} expected_rows[] = {
    { GPU_NVIDIA, { .gpus = "" }, NULL, -ENOENT, false },
    { GPU_NVIDIA, { .gpus = "0000:17:00.0 GPU-aa" }, NULL, -ENODEV, false },
    { GPU_NVIDIA, { .gpus = "0000:17:00.0 GPU-aa" }, "dev/nvidiactl", -ENODEV, false },
    { GPU_NVIDIA, { .gpus = "0000:17:00.0 GPU-aa" }, "dev/nvidia3", -ENODEV, true },
    { GPU_NVIDIA, { .gpus = "" }, "dev/nvidia0", -ENOENT, true },
    { GPU_NVIDIA, { .visible = "-1" }, "dev/nvidia0", -ENODEV, false },
    { GPU_NVIDIA, { .visible = "NoDevFiles" }, "dev/nvidia0", -ENODEV, false },
    { GPU_NVIDIA, { .visible = "0,1" }, NULL, -ENOENT, false },
    { GPU_NVIDIA, { .visible = "0,1", .gpus = "0000:17:00.0 GPU-aa" }, NULL, -ENOENT, true },
    { GPU_NVIDIA, { .visible = "0,1" }, "dev/nvidia3", -ENOENT, true },
    { GPU_AMD, { .visible = "0" }, NULL, -ENOENT, false },
    /* Slurm sets the variables of both makers */
    { GPU_AMD, { .visible = "-1", .amd_visible = " of 0" }, NULL, -ENOENT, false },
    { GPU_AMD, { .amd_visible = "0" }, NULL, -ENODEV, false },
    { GPU_AMD, { .amd_visible = "0", .amd_gpus = "1 7" }, NULL, -ENOENT, true },
    { GPU_AMD, { .visible = "0", .amd_visible = "0", .amd_gpus = "1 7" }, NULL, -ENOENT, false },
    { GPU_AMD, { .visible = "0", .amd_visible = "0", .amd_gpus = "1 7" }, NULL, -ENODEV, true },
    { GPU_AMD, { .amd_visible = "-1", .amd_gpus = "1 7" }, "dev/dri/renderD128", -ENODEV, false },
    { GPU_AMD, { .amd_gpus = "1 7" }, "dev/dri/renderD129", -ENODEV, true },
    { GPU_AMD, { .amd_gpus = "1 7" }, "dev/dri/renderD129", -ENOENT, false },
    { GPU_AMD, { .amd_gpus = "1 7" }, NULL, -ENODEV, false },
    { GPU_AMD, { .amd_gpus = "" }, "dev/dri/renderD128", -ENODEV, false },
};

START_TEST(expected)
{
    struct fake_root r;

    fake_root_init(&r);
    if (expected_rows[_i].file)
        fake_root_add(&r, expected_rows[_i].file, "");
    ck_assert_int_eq(expected_surely(r.path, &expected_rows[_i].m, expected_rows[_i].maker,
                                     expected_rows[_i].rc),
                     expected_rows[_i].surely);
    fake_root_fini(&r);
}
END_TEST

/* Vendor and class of a PCI device -> whether it is a GPU of NVIDIA */
static const struct {
    const char *vendor, *class;
    bool gpu;
} pci_rows[] = {
    { "0x10de\n", "0x030200\n", true },  { "0x10de\n", "0x030000\n", true },
    { "0x10de\n", "0x040300\n", false }, /* sound */
    { "0x15b3\n", "0x020700\n", false }, { "", "", false },
};

START_TEST(on_pci)
{
    const struct machine m = { .visible = "0" };
    struct fake_root r;

    fake_root_init(&r);
    fake_root_add(&r, "sys/bus/pci/devices/0000:17:00.0/vendor", pci_rows[_i].vendor);
    fake_root_add(&r, "sys/bus/pci/devices/0000:17:00.0/class", pci_rows[_i].class);
    ck_assert_int_eq(expected_has(r.path, &m, GPU_NVIDIA), pci_rows[_i].gpu);
    ck_assert_int_eq(expected_surely(r.path, &m, GPU_NVIDIA, -ENOENT), pci_rows[_i].gpu);
    fake_root_fini(&r);
}
END_TEST

START_TEST(this_machine)
{
    struct machine m, again;
    char mpi[64];

    machine_read("", NULL, &m);
    machine_read("", NULL, &again);
    ck_assert_mem_eq(&m, &again, sizeof m);
    machine_mpi_version(mpi, sizeof mpi);
    ck_assert_str_eq(strncmp(mpi, "Open MPI ", 9) == 0 ? "Open MPI" : mpi, "Open MPI");
    setenv("PATH", "/nonexistent", 1);
    machine_mpi_version(mpi, sizeof mpi);
    ck_assert_str_eq(mpi, "");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, machine_ids, 0, sizeof ids / sizeof *ids);
    tcase_add_test(tc, gpus);
    tcase_add_test(tc, amd_gpus);
    tcase_add_loop_test(tc, expected, 0, sizeof expected_rows / sizeof *expected_rows);
    tcase_add_loop_test(tc, on_pci, 0, sizeof pci_rows / sizeof *pci_rows);
    tcase_add_test(tc, this_machine);
}

SUITE_MAIN("machine", add_tests)
