/* SPDX-License-Identifier: Apache-2.0 */
/* test_topo.c - tests of lib/topo/topo.h */
#include "lib/topo/topo.h"

#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *description;
    int sockets, numa, cores, threads, cores_of_node;
    const char *last_cpus;
} rows[] = {
    { "pack:1 core:2 pu:1", 1, 1, 2, 2, 2, "0-1" },
    { "pack:2 numa:2 core:4 pu:2", 2, 4, 16, 32, 4, "24-31" },
    { "pack:2 [numa] core:8 pu:2", 2, 2, 16, 32, 8, "16-31" },
    { "pack:1 [numa(memory=4GB)] l3:1(size=32MB) core:4 pu:1", 1, 1, 4, 4, 4, "0-3" },
    /* two processors numbered alternately */
    { "pack:2(indexes=1,0) [numa] core:4 pu:1(indexes=0,2,4,6,1,3,5,7)", 2, 2, 8, 8, 4, "1,3,5,7" },
    { "numa:8 core:16 pu:1", 0, 8, 128, 128, 16, "112-127" },
    { "pu:3", 0, 1, 3, 3, 3, "0-2" },
};

/* Open the topology that a variable of hwloc gives instead of this machine's. */
static int open_from(const char *variable, const char *value, struct topo **ret,
                     struct eddis_error *err)
{
    int rc;

    ck_assert_int_eq(setenv(variable, value, 1), 0);
    rc = topo_open(true, ret, err);
    unsetenv(variable);
    return rc;
}

START_TEST(synthetic)
{
    struct node_profile p = { 0 };
    struct eddis_error err = { 0 };
    struct topo *t;

    ck_assert_msg(open_from("HWLOC_SYNTHETIC", rows[_i].description, &t, &err) == 0, "%s",
                  err.text);
    topo_describe(t, &p);
    ck_assert_int_eq(p.sockets, rows[_i].sockets);
    ck_assert_int_eq(p.n_numa, rows[_i].numa);
    ck_assert_int_eq(p.cores, rows[_i].cores);
    ck_assert_int_eq(p.threads, rows[_i].threads);
    ck_assert_int_eq(p.n_devices, rows[_i].numa);
    for (int i = 0; i < p.n_devices; i++) {
        ck_assert_int_eq(p.device[i].kind, DEVICE_CPU);
        ck_assert_int_eq(p.device[i].index, i);
        ck_assert_int_eq(topo_cores(t, i), rows[_i].cores_of_node);
        ck_assert(isnan(p.device[i].fp32_flops) && isnan(p.device[i].rate));
    }
    ck_assert_str_eq(p.device[p.n_devices - 1].cpus, rows[_i].last_cpus);
    ck_assert_str_eq(p.note, "");
    topo_close(t);
}
END_TEST

START_TEST(details)
{
    struct node_profile p = { 0 };
    struct topo *t;

    ck_assert_int_eq(open_from("HWLOC_SYNTHETIC",
                               "pack:1 [numa(memory=4GB)] l3:2(size=32MB) core:4 pu:1", &t, NULL),
                     0);
    topo_describe(t, &p);
    ck_assert_int_eq(topo_cache_bytes(t, 0), INT64_C(64000000));
    ck_assert_int_eq(p.memory_bytes, INT64_C(4000000000));
    ck_assert_int_eq(p.device[0].memory_bytes, INT64_C(4000000000));
    ck_assert_str_eq(p.device[0].id, "numa:0");
    ck_assert_str_eq(p.device[0].name, "CPU, 8 cores");
    ck_assert_int_eq(topo_locate(t, "0000:17:00.0", &p.device[0], NULL), -ENOENT);
    topo_close(t);
}
END_TEST

/* 512 lone threads of one node do not fit the list: none is named rather than some. */
START_TEST(long_list)
{
    char description[4096] = "pack:1 numa:2 pu:512(indexes=";
    struct node_profile p = { 0 };
    struct topo *t;

    for (int i = 0; i < 1024; i++)
        sprintf(description + strlen(description), "%s%d", i ? "," : "",
                i < 512 ? 2 * i : 2 * (i - 512) + 1);
    strcat(description, ")");
    ck_assert_int_eq(open_from("HWLOC_SYNTHETIC", description, &t, NULL), 0);
    topo_describe(t, &p);
    ck_assert_int_eq(p.n_devices, 2);
    ck_assert_str_eq(p.device[0].cpus, "");
    ck_assert_ptr_nonnull(strstr(p.note, "is too long, so workers"));
    topo_close(t);
}
END_TEST

/* A real GPU server's shape in hwloc's own format: a GPU under each of two sockets. */
static const char machine_xml[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
    "<topology version=\"2.0\">\n"
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000000f\" complete_cpuset=\"0x0000000f\" "
    "allowed_cpuset=\"0x0000000f\" nodeset=\"0x00000003\" complete_nodeset=\"0x00000003\" "
    "allowed_nodeset=\"0x00000003\" gp_index=\"1\">\n";

static void add_socket(FILE *f, int s)
{
    int set = 3 << 2 * s, gp = 10 + 20 * s;

    fprintf(f,
            "<object type=\"Package\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
            "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%d\">"
            "<info name=\"CPUModel\" value=\"Testium 9000\"/>\n"
            "<object type=\"NUMANode\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
            "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%d\" "
            "local_memory=\"1073741824\"/>\n",
            s, set, set, 1 << s, 1 << s, gp, s, set, set, 1 << s, 1 << s, gp + 1);
    for (int i = 2 * s; i < 2 * s + 2; i++)
        fprintf(f,
                "<object type=\"Core\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
                "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%d\">"
                "<object type=\"PU\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
                "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%d\"/></object>\n",
                i, 1 << i, 1 << i, 1 << s, 1 << s, gp + 2 + 2 * i, i, 1 << i, 1 << i, 1 << s,
                1 << s, gp + 3 + 2 * i);
    fprintf(f,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
            "bridge_pci=\"0000:[%d0-%d5]\">"
            "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%d3:00.0\" "
            "pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"0.0\"/></object>\n"
            "</object>\n",
            gp + 17, s + 1, s + 1, gp + 18, s + 1);
}

START_TEST(gpu_is_near_its_socket)
{
    char path[] = "/tmp/eddis-topo-XXXXXX";
    struct node_profile p = { 0 };
    struct eddis_error err = { 0 };
    struct device d = { 0 };
    struct topo *t;
    FILE *f = fdopen(mkstemp(path), "w");
    int rc;

    fputs(machine_xml, f);
    add_socket(f, 0);
    add_socket(f, 1);
    fputs("</object></topology>\n", f);
    fclose(f);
    rc = open_from("HWLOC_XMLFILE", path, &t, &err);
    unlink(path);
    ck_assert_msg(rc == 0, "%s", err.text);
    topo_describe(t, &p);
    ck_assert_int_eq(p.n_devices, 2);
    ck_assert_str_eq(p.device[0].name, "Testium 9000, 2 cores");
    ck_assert_msg(topo_locate(t, "0000:23:00.0", &d, &err) == 0, "%s", err.text);
    ck_assert_int_eq(d.numa, 1);
    ck_assert_str_eq(d.cpus, "2-3");
    ck_assert_str_eq(d.name, "");
    strcpy(d.name, "AMD GPU"); /* which says nothing of its kind */
    ck_assert_int_eq(topo_locate(t, "0000:23:00.0", &d, NULL), 0);
    ck_assert_str_eq(d.name, "AMD GPU 2330");
    ck_assert_int_eq(topo_locate(t, "0000:13:00.0", &d, NULL), 0);
    ck_assert_int_eq(d.numa, 0);
    ck_assert_int_eq(topo_locate(t, "0000:14:00.0", &d, NULL), -ENOENT);
    ck_assert_int_eq(topo_locate(t, "nonsense", &d, NULL), -ENOENT);
    topo_close(t);
}
END_TEST

/* Some network card or disk of this machine is found by its PCI id, when it has one. */
static void locate_one(const struct topo *t)
{
    DIR *dir = opendir("/sys/bus/pci/devices");
    int shown = 0, found = 0;
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        char path[PATH_MAX], class[16] = "";
        struct device d = { 0 };
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", e->d_name);
        f = fopen(path, "r");
        if (f && fgets(class, sizeof class, f) && strncmp(class, "0x02", 4) == 0) {
            shown++;
            found += topo_locate(t, e->d_name, &d, NULL) == 0 && d.cpus[0] != 0;
        }
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    ck_assert_int_eq(found, shown);
}

START_TEST(this_machine)
{
    struct node_profile p = { 0 };
    struct eddis_error err = { 0 };
    struct topo *t;
    cpu_set_t one;

    ck_assert_msg(topo_open(true, &t, &err) == 0, "%s", err.text);
    topo_describe(t, &p);
    locate_one(t);
    ck_assert_int_gt(p.threads, 0);
    ck_assert_int_gt(p.n_devices, 0);
    ck_assert_int_gt(p.memory_bytes, 1 << 20);
    topo_close(t);

    /* an affinity narrower than the machine counts */
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    memset(&p, 0, sizeof p);
    ck_assert_int_eq(topo_open(false, &t, NULL), 0);
    topo_describe(t, &p);
    ck_assert_int_eq(p.threads, 1);
    ck_assert_int_eq(p.cores, 1);
    ck_assert_int_eq(p.n_devices, 1);
    topo_close(t);
    topo_close(NULL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, synthetic, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, details);
    tcase_add_test(tc, long_list);
    tcase_add_test(tc, gpu_is_near_its_socket);
    tcase_add_test(tc, this_machine);
}

SUITE_MAIN("topo", add_tests)
