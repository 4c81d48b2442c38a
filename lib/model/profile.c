/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - convert a node's profile to and from JSON, with a check of every number */
#include "profile.h"

#include "gpu_state_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define MOST_BYTES   INT64_C(1000000000000000000)
#define MOST_FLOPS   1e20
#define MOST_SECONDS INT64_C(253402300799) /* end of the year 9999 */
#define MOST_COUNT   1000000

const char *const device_kind_names[DEVICE_KINDS] = { "cpu", "cuda", "emulated" };

static const struct field gpu_fields[] = {
    FIELD(struct gpu_facts, known, INT64, 1, 1),
    FIELD(struct gpu_facts, pcie_gen, INT, 0, 99),
    FIELD(struct gpu_facts, pcie_gen_most, INT, 0, 99),
    FIELD(struct gpu_facts, pcie_width, INT, 0, 99),
    FIELD(struct gpu_facts, pcie_width_most, INT, 0, 99),
    FIELD_REAL(struct gpu_facts, watts_most, METRIC, 0, 1e6),
    FIELD_REAL(struct gpu_facts, watts_usual, METRIC, 0, 1e6),
    FIELD(struct gpu_facts, compute_mode, LINE, 0, 0),
    FIELD(struct gpu_facts, persistence, LINE, 0, 0),
    FIELD(struct gpu_facts, ecc, LINE, 0, 0),
    FIELD(struct gpu_facts, mig, LINE, 0, 0),
    FIELD(struct gpu_facts, nic, LINE, 0, 0),
    FIELD(struct gpu_facts, links, LINE, 0, 0),
    FIELD_STRUCT_IF("state", struct gpu_facts, state, state.reading, gpu_state_table),
};
static const struct fields gpu_table = FIELDS(struct gpu_facts, gpu_fields, .open = true);

static const struct field device_fields[] = {
    FIELD_ROW(struct device, kind, ENUM, .max = DEVICE_KINDS, .names = device_kind_names,
              .wrong = "no kind of device is called '#'"),
    FIELD(struct device, index, INT, 0, MOST_COUNT),
    FIELD(struct device, id, LINE, 0, 0),
    FIELD(struct device, name, LINE, 0, 0),
    FIELD(struct device, pci, LINE, 0, 0),
    FIELD(struct device, cpus, LINE, 0, 0),
    FIELD(struct device, numa, INT, -1, MOST_COUNT),
    FIELD(struct device, memory_bytes, INT64, 0, MOST_BYTES),
    FIELD_REAL(struct device, fp32_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, tf32_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, bf16_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, fp16_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, memory_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD_REAL(struct device, to_device_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD_REAL(struct device, from_device_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD(struct device, driver_version, INT, 0, INT_MAX),
    FIELD_STRUCT_IF("gpu", struct device, gpu, gpu.known, gpu_table),
    FIELD_REAL(struct device, rate, METRIC, 0, 1e12),
    FIELD_REAL(struct device, fixed_s, METRIC, 0, MOST_SECONDS),
    FIELD_REAL(struct device, sample_s, METRIC, 0, MOST_SECONDS),
};

/* Check that a device has an id, a list of cores or "" and, if it is emulated, its rate and times.
 * Return 0 or -EINVAL.  Callback `check` of device_table.
 */
static int check_device(const void *device, struct eddis_error *err)
{
    const struct device *d = device;

    if (!d->id[0])
        return eddis_fail(err, -EINVAL, "its id is empty");
    if (d->cpus[strspn(d->cpus, "0123456789-,")])
        return eddis_fail(err, -EINVAL, "member \"cpus\" is not a list of cores");
    if (d->kind == DEVICE_EMULATED && !(d->rate > 0 && d->fixed_s >= 0 && d->sample_s >= 0))
        return eddis_fail(err, -EINVAL, "an emulated device needs rate, fixed_s and sample_s");
    return 0;
}

static const struct fields device_table =
    FIELDS(struct device, device_fields, .name = "device", .open = true, .check = check_device);

/* Check that the node has a name and no two of its devices have the same id.  Return 0 or -EINVAL.
 * Callback `check` of node_table.
 */
static int check_node(const void *node, struct eddis_error *err)
{
    const struct node_profile *p = node;

    if (!p->host[0])
        return eddis_fail(err, -EINVAL, "member \"host\" is empty");
    for (int i = 0; i < p->n_devices; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(p->device[j].id, p->device[i].id) == 0)
                return eddis_fail(err, -EINVAL, "two devices are called '%s'", p->device[i].id);
    return 0;
}

static const struct field node_fields[] = {
    FIELD(struct node_profile, host, LINE, 0, 0),
    FIELD(struct node_profile, measured_s, INT64, 0, MOST_SECONDS),
    FIELD(struct node_profile, cached, BOOL, 0, 0),
    FIELD(struct node_profile, probe_version, INT, 0, MOST_COUNT),
    FIELD(struct node_profile, eddis_version, LINE, 0, 0),
    FIELD(struct node_profile, mpi_version, LINE, 0, 0),
    FIELD(struct node_profile, kernel, LINE, 0, 0),
    FIELD(struct node_profile, machine_id, LINE, 0, 0),
    FIELD(struct node_profile, cpu_model, LINE, 0, 0),
    FIELD(struct node_profile, sockets, INT, 0, MOST_COUNT),
    FIELD(struct node_profile, cores, INT, 0, MOST_COUNT),
    FIELD(struct node_profile, threads, INT, 0, MOST_COUNT),
    FIELD(struct node_profile, n_numa, INT, 0, MOST_COUNT),
    FIELD(struct node_profile, memory_bytes, INT64, 0, MOST_BYTES),
    FIELD(struct node_profile, memory_limit, INT64, 0, MOST_BYTES),
    FIELD_REAL(struct node_profile, cpu_quota, METRIC, 0, MOST_COUNT),
    FIELD_REAL(struct node_profile, load, METRIC, 0, MOST_COUNT),
    FIELD(struct node_profile, beside, LINE, 0, 0),
    FIELD(struct node_profile, note, LINE, 0, 0),
    FIELD_ARRAY("devices", struct node_profile, device, n_devices, device_table),
};
static const struct fields node_table =
    FIELDS(struct node_profile, node_fields, .open = true, .check = check_node);

double profile_rate(const struct device *d, enum precision precision)
{
    const double rate[PRECISIONS] = {
        d->fp32_flops, d->fp32_flops, d->tf32_flops, d->bf16_flops, d->fp16_flops,
    };

    return rate[precision];
}

int profile_count(const struct node_profile *p, enum device_kind kind)
{
    int n = 0;

    for (int d = 0; d < p->n_devices; d++)
        n += p->device[d].kind == kind;
    return n;
}

bool profile_is_busy(double load, int threads)
{
    return load > 1 && load > threads / 2.0;
}

const char *device_kind_name(enum device_kind kind)
{
    return (size_t)kind < DEVICE_KINDS ? device_kind_names[kind] : "unknown";
}

char *profile_text(const struct node_profile *p)
{
    cleanup_json json_t *o = fields_json(&node_table, p);

    return o ? json_text(o, true) : NULL;
}

int profile_parse(const char *text, size_t n, const char *what, struct node_profile *ret,
                  struct eddis_error *err)
{
    cleanup_free struct node_profile *p = calloc(1, sizeof *p);
    int rc = p ? fields_parse(&node_table, text, n, what, p, err)
               : eddis_fail(err, -ENOMEM, "no memory for a profile");

    if (rc == 0)
        *ret = *p;
    return rc;
}
