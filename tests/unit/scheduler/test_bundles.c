/* SPDX-License-Identifier: Apache-2.0 */
/* test_bundles.c - tests of scheduler/bundles.h */
#include "scheduler/bundles.h"
#include "scheduler/devices.h"
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

/* GPUs are joined by kind, those near one NUMA node first; rates and memory are those of the
 * slowest times the number, and the rest is named.
 */
START_TEST(bundled)
{
    static const struct {
        const char *name;
        int numa;
        double flops;
    } gpu[] = { { "A100", 0, 4 }, { "V100", 0, 1 }, { "A100", 1, 4 }, { "A100", 0, 3 },
                { "A100", 1, 4 }, { "V100", 1, 1 }, { "A100", 1, 4 } };

    double slowest = 0;

    make_nodes(1);
    add_device(node, DEVICE_CPU, 1);
    for (int i = 0; i < 7; i++) {
        struct device *d = add_device(node, DEVICE_CUDA, gpu[i].flops);

        (void)snprintf(d->name, sizeof d->name, "%s", gpu[i].name);
        (void)snprintf(d->id, sizeof d->id, "GPU-%d", i);
        (void)snprintf(d->cpus, sizeof d->cpus, gpu[i].numa ? "4-7" : "0-3");
        d->numa = gpu[i].numa;
        d->index = i;
        d->memory_bytes = 10 + i;
        slowest = i == 3 ? d->fp32_flops : slowest;
    }
    ck_assert_int_eq(bundles_make(node, 1, &err), 0);
    ck_assert_int_eq(node->n_devices, 8);
    ck_assert_int_eq(bundles_make(node, 2, &err), 0);
    ck_assert_int_eq(node->n_devices, 4);
    ck_assert_str_eq(node->device[1].id, "GPU-0,GPU-3");
    ck_assert_str_eq(node->device[1].cpus, "0-3");
    ck_assert_str_eq(node->device[1].name, "2 x A100");
    ck_assert_double_eq_tol(node->device[1].fp32_flops, 2 * slowest, slowest * 1e-9);
    ck_assert_int_eq(node->device[1].memory_bytes, 20);
    ck_assert_str_eq(node->device[2].id, "GPU-1,GPU-5");
    ck_assert_str_eq(node->device[2].cpus, "0-7");
    ck_assert_int_eq(node->device[2].numa, -1);
    ck_assert_str_eq(node->device[3].id, "GPU-2,GPU-4");
    ck_assert_str_eq(node->note,
                     "GPU 6 stays idle, because gpus_per_worker is 2 and no other GPU of "
                     "the same kind is left");
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->n_workers, 3);
    ck_assert_str_eq(p->worker[2].device_id, "GPU-2,GPU-4");
    devices_remark(1, PRECISION_FP32, node, 1);
    ck_assert_ptr_nonnull(
        strstr(node->note, "; 4 of 6 GPUs stay idle, because the job asks for 1 "));
    ck_assert_int_eq(bundles_make(node, 8, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "has no 8 usable GPUs of the same kind"));
    node->cpus_only = true;
    ck_assert_int_eq(bundles_make(node, 2, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "but the workers of node 'login1' run on its CPUs"));
}
END_TEST

/* MIG instances are in no bundle, a GPU without a measurement neither, and emulated devices are
 * refused.
 */
START_TEST(left_out)
{
    static const char *const ids[] = { "GPU-0", "MIG-1", "MIG-2", "GPU-3", "GPU-4" };

    make_nodes(1);
    for (int i = 0; i < 5; i++) {
        struct device *d = add_device(node, DEVICE_CUDA, i == 3 ? NAN : 1);

        (void)snprintf(d->name, sizeof d->name, "A100");
        (void)snprintf(d->id, sizeof d->id, "%s", ids[i]);
        if (i == 3)
            d->memory_bytes_per_s = NAN;
    }
    ck_assert_int_eq(bundles_make(node, 2, &err), 0);
    ck_assert_int_eq(node->n_devices, 1);
    ck_assert_str_eq(node->device[0].id, "GPU-0,GPU-4");
    ck_assert_str_eq(node->note, "2 MIG instances get no worker, because gpus_per_worker is 2 and "
                                 "CUDA shows a process only one");
    add_emulated(node, 1, 0.002, 0.0001);
    ck_assert_int_eq(bundles_make(node, 2, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "run on emulated devices"));
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, bundled);
    tcase_add_test(tc, left_out);
}

SUITE_MAIN("bundles", add_tests)
