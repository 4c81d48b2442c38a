/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - convert a node's profile to and from JSON, with a check of every number */
#include "profile.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define MOST_BYTES   INT64_C(1000000000000000000)
#define MOST_FLOPS   1e20
#define MOST_SECONDS INT64_C(253402300799) /* end of the year 9999 */
#define MOST_COUNT   1000000

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
    FIELD_REAL(struct node_profile, read_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD(struct node_profile, read_path, LINE, 0, 0),
    FIELD(struct node_profile, beside, LINE, 0, 0),
    FIELD(struct node_profile, note, LINE, 0, 0),
};

static const struct field device_fields[] = {
    FIELD(struct device, index, INT, 0, MOST_COUNT),
    FIELD(struct device, id, LINE, 0, 0),
    FIELD(struct device, name, LINE, 0, 0),
    FIELD(struct device, pci, LINE, 0, 0),
    FIELD(struct device, cpus, LINE, 0, 0),
    FIELD(struct device, numa, INT, -1, MOST_COUNT),
    FIELD(struct device, memory_bytes, INT64, 0, MOST_BYTES),
    FIELD_REAL(struct device, fp32_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, fp16_flops, METRIC, 0, MOST_FLOPS),
    FIELD_REAL(struct device, memory_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD_REAL(struct device, to_device_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD_REAL(struct device, from_device_bytes_per_s, METRIC, 0, MOST_BYTES),
    FIELD(struct device, driver_version, INT, 0, INT_MAX),
    FIELD_REAL(struct device, rate, METRIC, 0, 1e12),
    FIELD_REAL(struct device, fixed_s, METRIC, 0, MOST_SECONDS),
    FIELD_REAL(struct device, sample_s, METRIC, 0, MOST_SECONDS),
};

#define N(table) (sizeof table / sizeof *table)

static const char *const kind_names[] = { "cpu", "cuda", "emulated" };

bool profile_is_busy(double load, int threads)
{
    return load > 1 && load > threads / 2.0;
}

const char *device_kind_name(enum device_kind kind)
{
    return (size_t)kind < N(kind_names) ? kind_names[kind] : "unknown";
}

bool device_kind_find(const char *name, enum device_kind *ret)
{
    for (size_t i = 0; i < N(kind_names); i++)
        if (strcmp(name, kind_names[i]) == 0) {
            *ret = (enum device_kind)i;
            return true;
        }
    return false;
}

/* Return the device as a new JSON object; NULL without memory. */
static json_t *device_value(const struct device *d)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(device_fields, N(device_fields), d, o) < 0 ||
        json_object_set_new(o, "kind", json_string(device_kind_name(d->kind))) < 0)
        return NULL;
    return cleanup_keep(o);
}

char *profile_text(const struct node_profile *p)
{
    cleanup_json json_t *o = json_object();
    json_t *devices = json_array();

    if (!o || fields_write(node_fields, N(node_fields), p, o) < 0) {
        json_decref(devices);
        return NULL;
    }
    if (json_object_set_new(o, "devices", devices) < 0)
        return NULL;
    for (int i = 0; i < p->n_devices; i++)
        if (json_array_append_new(devices, device_value(&p->device[i])) < 0)
            return NULL;
    return json_text(o, true);
}

/* Read the device kind of object o. */
static int kind_read(const json_t *o, enum device_kind *ret, struct eddis_error *err)
{
    const char *s;
    int rc = json_want_string(o, "kind", &s, err);

    if (rc < 0)
        return rc;
    if (device_kind_find(s, ret))
        return 0;
    return eddis_fail(err, -EINVAL, "no kind of device is called '%.20s'", s);
}

/* Check what the single members cannot show: id, cores, and values of an emulated device. */
static int device_check(const struct device *d, struct eddis_error *err)
{
    if (!d->id[0])
        return eddis_fail(err, -EINVAL, "its id is empty");
    if (d->cpus[strspn(d->cpus, "0123456789-,")])
        return eddis_fail(err, -EINVAL, "member \"cpus\" is not a list of cores");
    if (d->kind == DEVICE_EMULATED && !(d->rate > 0 && d->fixed_s >= 0 && d->sample_s >= 0))
        return eddis_fail(err, -EINVAL, "an emulated device needs rate, fixed_s and sample_s");
    return 0;
}

/* Read one device from object o and check it. */
static int device_read(const json_t *o, struct device *ret, struct eddis_error *err)
{
    int rc = kind_read(o, &ret->kind, err);

    if (rc == 0)
        rc = fields_read(device_fields, N(device_fields), o, ret, err);
    return rc < 0 ? rc : device_check(ret, err);
}

/* Read a list of devices; their ids must be unique. */
static int devices_read(const json_t *list, struct node_profile *p, struct eddis_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        int rc = device_read(json_array_get(list, i), &p->device[i], err);

        if (rc < 0)
            return eddis_fail_prefix(err, rc, "device %zu", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(p->device[j].id, p->device[i].id) == 0)
                return eddis_fail(err, -EINVAL, "two devices are called '%s'", p->device[i].id);
    }
    p->n_devices = (int)json_array_size(list);
    return 0;
}

int profile_parse(const char *text, size_t n, const char *what, struct node_profile *ret,
                  struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    cleanup_free struct node_profile *p = calloc(1, sizeof *p);
    json_t *devices;
    int rc;

    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory for a profile");
    rc = json_parse(text, n, what, &o, err);
    if (rc < 0)
        return rc;
    rc = fields_read(node_fields, N(node_fields), o, p, err);
    if (rc >= 0 && !p->host[0])
        rc = eddis_fail(err, -EINVAL, "member \"host\" is empty");
    if (rc >= 0)
        rc = json_want_array(o, "devices", PROFILE_MAX_DEVICES, &devices, err);
    if (rc == 0)
        rc = devices_read(devices, p, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "%s", what);
    *ret = *p;
    return 0;
}
