/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* One table says how each member travels, in both directions. */
enum field_type { FIELD_STRING, FIELD_INT, FIELD_INT64, FIELD_NUMBER, FIELD_BOOL };

struct field {
    const char *name;
    enum field_type type;
    size_t offset, size; /* size: of a string's array */
    double min, max;     /* a number that may be missing is NAN then */
};

#define TEXT(s, m)                                                                                 \
    {                                                                                              \
#m, FIELD_STRING, offsetof(struct s, m), sizeof(((struct s *)0)->m), 0, 0                  \
    }
#define INT(s, m, min, max)                                                                        \
    {                                                                                              \
#m, FIELD_INT, offsetof(struct s, m), 0, min, max                                          \
    }
#define LONG(s, m, min, max)                                                                       \
    {                                                                                              \
#m, FIELD_INT64, offsetof(struct s, m), 0, min, max                                        \
    }
#define NUMBER(s, m, max)                                                                          \
    {                                                                                              \
#m, FIELD_NUMBER, offsetof(struct s, m), 0, 0, max                                         \
    }
#define FLAG(s, m)                                                                                 \
    {                                                                                              \
#m, FIELD_BOOL, offsetof(struct s, m), 0, 0, 0                                             \
    }

#define MOST_BYTES   1e18
#define MOST_FLOPS   1e20
#define MOST_SECONDS 253402300799.0 /* end of the year 9999 */
#define MOST_COUNT   1e6

static const struct field node_fields[] = {
    TEXT(node_profile, host),
    LONG(node_profile, measured_s, 0, MOST_SECONDS),
    FLAG(node_profile, cached),
    INT(node_profile, probe_version, 0, MOST_COUNT),
    TEXT(node_profile, eddis_version),
    TEXT(node_profile, mpi_version),
    TEXT(node_profile, kernel),
    TEXT(node_profile, machine_id),
    TEXT(node_profile, cpu_model),
    INT(node_profile, sockets, 0, MOST_COUNT),
    INT(node_profile, cores, 0, MOST_COUNT),
    INT(node_profile, threads, 0, MOST_COUNT),
    INT(node_profile, n_numa, 0, MOST_COUNT),
    LONG(node_profile, memory_bytes, 0, MOST_BYTES),
    NUMBER(node_profile, cpu_quota, MOST_COUNT),
    NUMBER(node_profile, load, MOST_COUNT),
    NUMBER(node_profile, read_bytes_per_s, MOST_BYTES),
    TEXT(node_profile, read_path),
    TEXT(node_profile, note),
};

static const struct field device_fields[] = {
    INT(device, index, 0, MOST_COUNT),
    TEXT(device, id),
    TEXT(device, name),
    TEXT(device, pci),
    TEXT(device, cpus),
    INT(device, numa, -1, MOST_COUNT),
    LONG(device, memory_bytes, 0, MOST_BYTES),
    NUMBER(device, fp32_flops, MOST_FLOPS),
    NUMBER(device, fp16_flops, MOST_FLOPS),
    NUMBER(device, memory_bytes_per_s, MOST_BYTES),
    NUMBER(device, to_device_bytes_per_s, MOST_BYTES),
    NUMBER(device, from_device_bytes_per_s, MOST_BYTES),
    INT(device, driver_version, 0, INT_MAX),
    NUMBER(device, rate, 1e12),
    NUMBER(device, fixed_s, MOST_SECONDS),
    NUMBER(device, sample_s, MOST_SECONDS),
};

#define N(table) (sizeof table / sizeof *table)

static const char *const kind_names[] = { "cpu", "cuda", "emulated" };

const char *device_kind_name(enum device_kind kind)
{
    return (size_t)kind < N(kind_names) ? kind_names[kind] : "unknown";
}

/* A path or name may hold bytes that are not UTF-8, which JSON cannot carry. */
static json_t *text_value(const char *s)
{
    json_t *j = json_string(s);
    cleanup_free char *plain = NULL;

    if (j || !(plain = strdup(s)))
        return j;
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(plain);
}

static json_t *field_value(const struct field *f, const void *from)
{
    const char *at = (const char *)from + f->offset;

    switch (f->type) {
    case FIELD_STRING:
        return text_value(at);
    case FIELD_INT:
        return json_integer(*(const int *)at);
    case FIELD_INT64:
        return json_integer(*(const int64_t *)at);
    case FIELD_NUMBER:
        return json_real(*(const double *)at);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    }
    return NULL;
}

static int fields_write(const struct field *f, size_t n, const void *from, json_t *o)
{
    for (size_t i = 0; i < n; i++) {
        if (f[i].type == FIELD_NUMBER &&
            !isfinite(*(const double *)((const char *)from + f[i].offset)))
            continue;
        if (json_object_set_new(o, f[i].name, field_value(&f[i], from)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int field_read(const struct field *f, const json_t *o, void *to, struct eddis_error *err)
{
    char *at = (char *)to + f->offset;
    int64_t n = 0;
    int rc;

    switch (f->type) {
    case FIELD_STRING:
        rc = json_copy_string(o, f->name, at, f->size, err);
        if (rc == 0)
            text_strip_control(at);
        return rc;
    case FIELD_INT:
        rc = json_want_int(o, f->name, (int64_t)f->min, (int64_t)f->max, &n, err);
        if (rc == 0)
            *(int *)at = (int)n;
        return rc;
    case FIELD_INT64:
        return json_want_int(o, f->name, (int64_t)f->min, (int64_t)f->max, (int64_t *)at, err);
    case FIELD_NUMBER:
        *(double *)at = NAN;
        if (!json_has(o, f->name))
            return 0;
        return json_want_number(o, f->name, f->min, f->max, (double *)at, err);
    case FIELD_BOOL:
        return json_want_bool(o, f->name, (bool *)at, err);
    }
    return -EINVAL;
}

static int fields_read(const struct field *f, size_t n, const json_t *o, void *to,
                       struct eddis_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc = field_read(&f[i], o, to, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Returns the device as an object, NULL without memory. */
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

static int kind_read(const json_t *o, enum device_kind *ret, struct eddis_error *err)
{
    const char *s;
    int rc = json_want_string(o, "kind", &s, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < N(kind_names); i++)
        if (strcmp(s, kind_names[i]) == 0) {
            *ret = (enum device_kind)i;
            return 0;
        }
    return eddis_fail(err, -EINVAL, "no kind of device is called '%.20s'", s);
}

/* What the single fields cannot tell. */
static int device_check(const struct device *d, struct eddis_error *err)
{
    if (!d->id[0])
        return eddis_fail(err, -EINVAL, "its id is empty");
    if (d->cpus[strspn(d->cpus, "0123456789-,")])
        return eddis_fail(err, -EINVAL, "member \"cpus\" is no list of cores");
    if (d->kind == DEVICE_EMULATED && !(d->rate > 0 && d->fixed_s >= 0 && d->sample_s >= 0))
        return eddis_fail(err, -EINVAL, "an emulated device needs rate, fixed_s and sample_s");
    return 0;
}

static int device_read(const json_t *o, struct device *ret, struct eddis_error *err)
{
    int rc = kind_read(o, &ret->kind, err);

    if (rc == 0)
        rc = fields_read(device_fields, N(device_fields), o, ret, err);
    return rc < 0 ? rc : device_check(ret, err);
}

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
    if (rc == 0 && !p->host[0])
        rc = eddis_fail(err, -EINVAL, "member \"host\" is empty");
    if (rc == 0)
        rc = json_want_array(o, "devices", PROFILE_MAX_DEVICES, &devices, err);
    if (rc == 0)
        rc = devices_read(devices, p, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "%s", what);
    *ret = *p;
    return 0;
}
