/* SPDX-License-Identifier: Apache-2.0 */
/* test_near_nic.c - tests of lib/topo/near_nic.h, on trees of PCI that the test makes */
#include "lib/topo/near_nic.h"

#include "suite.h"

#include "lib/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[64];

/* Make the folder root/path. */
static void make(const char *path)
{
    char *full = file_join(root, "%s", path);

    ck_assert_int_eq(file_mkdirs(full, 0755, NULL), 0);
    free(full);
}

/* Make a device of PCI at this path below sys/devices, on a NUMA node. */
static void add_device(const char *path, int numa)
{
    char *full, text[8];

    full = file_join(root, "sys/devices/%s/numa_node", path);
    *strrchr(full, '/') = '\0';
    ck_assert_int_eq(file_mkdirs(full, 0755, NULL), 0);
    free(full);
    full = file_join(root, "sys/devices/%s/numa_node", path);
    (void)snprintf(text, sizeof text, "%d\n", numa);
    ck_assert_int_eq(file_write_atomic(full, text, strlen(text), 0644, NULL), 0);
    free(full);
}

/* Link root/sys/<from> to sys/devices/<path>; `up`: as many levels as `from` is deep. */
static void link_to(const char *from, const char *up, const char *path)
{
    char *full = file_join(root, "sys/%s", from), target[256];

    *strrchr(full, '/') = '\0';
    ck_assert_int_eq(file_mkdirs(full, 0755, NULL), 0);
    full[strlen(full)] = '/';
    (void)snprintf(target, sizeof target, "%sdevices/%s", up, path);
    ck_assert_int_eq(symlink(target, full), 0);
    free(full);
}

#define GPU "pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0"

/* Where the network cards are, and those near the GPU. */
static const struct {
    const char *verbs, *net;
    int numa;
    const char *nearest;
} rows[] = {
    { "pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:01.0/0000:1a:00.0", "pci0000:00/0000:00:1f.6",
      0, "mlx5_0 PIX eth0 NODE" },
    { "pci0000:16/0000:16:01.0/0000:17:01.0/0000:1b:00.0/0000:1c:00.0", NULL, 0, "mlx5_0 PXB" },
    { "pci0000:16/0000:16:03.0/0000:20:00.0", NULL, 0, "mlx5_0 PHB" },
    { "pci0000:00/0000:00:1f.6", NULL, 0, "mlx5_0 NODE" },
    { "pci0000:00/0000:00:1f.6", NULL, 1, "mlx5_0 SYS" },
    { "pci0000:00/0000:00:1f.6", "pci0000:16/0000:16:03.0/0000:20:00.0", 0,
      "eth0 PHB mlx5_0 NODE" },
    { "pci0000:00/0000:00:1e.0", "pci0000:00/0000:00:1f.6", 0, "mlx5_0 NODE eth0 NODE" },
    /* one card with both names */
    { "pci0000:00/0000:00:1e.0", "pci0000:00/0000:00:1e.0", 0, "mlx5_0 NODE" },
    { NULL, "pci0000:00/0000:00:1f.6", 1, "eth0 SYS" },
    { NULL, NULL, 0, "" },
};

START_TEST(nearest)
{
    char found[256] = "before";

    strcpy(root, "/tmp/eddis-root-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    add_device(GPU, 0);
    link_to("bus/pci/devices/0000:19:00.0", "../../../", GPU);
    make("/sys/class/net/lo"); /* a virtual one */
    if (rows[_i].verbs) {
        add_device(rows[_i].verbs, rows[_i].numa);
        link_to("class/infiniband/mlx5_0/device", "../../../", rows[_i].verbs);
    }
    if (rows[_i].net) {
        add_device(rows[_i].net, rows[_i].numa);
        link_to("class/net/eth0/device", "../../../", rows[_i].net);
    }
    near_nic_find(root, "0000:19:00.0", found, sizeof found);
    ck_assert_str_eq(found, rows[_i].nearest);
    near_nic_find(root, "0000:19:00.0", found, 48); /* one has room */
    ck_assert_ptr_null(strchr(found, ' ') ? strchr(strchr(found, ' ') + 1, ' ') : NULL);
    near_nic_find(root, "0000:99:00.0", found, sizeof found);
    ck_assert_str_eq(found, "");
    ck_assert_int_eq(file_remove_tree(root, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, nearest, 0, sizeof rows / sizeof *rows);
}

SUITE_MAIN("near_nic", add_tests)
