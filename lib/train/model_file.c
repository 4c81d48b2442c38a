/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - writes and reads models as safetensors
 *
 * What a reader needs beside the arrays is in the metadata, all of it strings, as the format wants:
 *
 *     format   "eddis-train"
 *     model    "mlp"            widths   "64,32": of the layers but the last
 *     shape    "8x8x1"          classes  "10"
 *     scale    "0.0625"         layout   words about orientation, for people
 */
#include "model_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, HEADER_MAX = 1 << 20, FEATURES_MAX = 1 << 24, CLASSES_MAX = 65536 };
static const size_t file_max = (size_t)16 << 30;

#ifdef EDDIS_TRAIN_FLOAT64
#define DTYPE "F64"
#else
#define DTYPE "F32"
#endif

static const char layout[] =
    "features [height, width, channels] times scale; dense: y = x weight + bias with weight "
    "[inputs, outputs]; conv: 3x3, zero padding 1, weight [9 channels, filters] whose rows go by "
    "row, column and channel of the window, then 2x2 maximum; ReLU behind all but the last";

typedef int param_fn(void *arg, const char *name, const struct param *p, struct eddis_error *err);

/* Call fn for each parameter, in their order, with its name in the file. */
static int each_param(const struct model *m, param_fn *fn, void *arg, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < m->n_layers; i++) {
        const struct param *both[] = { &m->layer[i].weight, &m->layer[i].bias };

        for (int k = 0; rc == 0 && k < 2; k++) {
            char name[64];

            (void)snprintf(name, sizeof name, "%s.%s", m->layer[i].name, both[k]->name);
            rc = fn(arg, name, both[k], err);
        }
    }
    return rc;
}

/* ---- writing ---- */

static int64_t layer_width(const struct layer *l)
{
    return l->is_conv ? l->conv.c_out : l->dense.out;
}

static int set_text(json_t *o, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int set_text(json_t *o, const char *key, const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    return json_object_set_new(o, key, json_string(text)) < 0 ? -ENOMEM : 0;
}

static json_t *metadata(const struct model_spec *s, const struct model *m, float scale)
{
    struct strbuf widths = { 0 };
    json_t *o = json_object();
    int bad;

    for (int i = 0; i + 1 < m->n_layers; i++)
        strbuf_addf(&widths, "%s%lld", i ? "," : "", (long long)layer_width(&m->layer[i]));
    bad =
        !o || set_text(o, "format", "eddis-train") < 0 || set_text(o, "model", "%s", s->name) < 0 ||
        set_text(o, "widths", "%s", strbuf_text(&widths)) < 0 ||
        set_text(o, "shape", "%lldx%lldx%lld", (long long)s->height, (long long)s->width,
                 (long long)s->channels) < 0 ||
        set_text(o, "classes", "%d", (int)s->n_classes) < 0 ||
        set_text(o, "scale", "%.9g", (double)scale) < 0 || set_text(o, "layout", "%s", layout) < 0;
    strbuf_fini(&widths);
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

struct header {
    json_t *o;
    int64_t offset; /* bytes of data so far */
};

static int describe(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    struct header *h = arg;
    int64_t end = h->offset + p->n * (int64_t)sizeof(real);
    json_t *one = json_pack("{s:s, s:[], s:[I, I]}", "dtype", DTYPE, "shape", "data_offsets",
                            (json_int_t)h->offset, (json_int_t)end);
    json_t *shape = json_object_get(one, "shape");
    int rc = one ? json_object_set_new(h->o, name, one) : -1;

    for (int i = 0; rc == 0 && i < p->n_dims; i++)
        rc = json_array_append_new(shape, json_integer(p->dims[i]));
    h->offset = end;
    return rc < 0 ? eddis_fail(err, -ENOMEM, "out of memory") : 0;
}

static int copy_out(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    char **at = arg;

    (void)name, (void)err;
    memcpy(*at, p->value, (size_t)p->n * sizeof(real));
    *at += (size_t)p->n * sizeof(real);
    return 0;
}

int model_file_write(const char *path, const struct model_spec *spec, const struct model *m,
                     float scale, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();
    cleanup_free char *text = NULL, *file = NULL;
    struct header h = { .o = o };
    size_t n, padded;
    uint64_t length;
    char *at;
    int rc;

    if (!o || json_object_set_new(o, "__metadata__", metadata(spec, m, scale)) < 0)
        return eddis_fail(err, -ENOMEM, "out of memory");
    rc = each_param(m, describe, &h, err);
    if (rc < 0)
        return rc;
    text = json_text(o, false);
    n = text ? strlen(text) : 0;
    padded = (n + 7) / 8 * 8;
    file = malloc(LENGTH_BYTES + padded + (size_t)h.offset);
    if (!text || !file)
        return eddis_fail(err, -ENOMEM, "out of memory");
    length = htole64(padded);
    memcpy(file, &length, LENGTH_BYTES);
    memcpy(file + LENGTH_BYTES, text, n);
    memset(file + LENGTH_BYTES + n, ' ', padded - n);
    at = file + LENGTH_BYTES + padded;
    (void)each_param(m, copy_out, &at, NULL);
    return file_write_atomic(path, file, (size_t)(at - file), 0644, err);
}

/* ---- reading ---- */

/* A whole number from 1 to max at *s; moves *s behind it. */
static int take_int(const char **s, int64_t max, int64_t *ret)
{
    char *end;
    long long v;

    if (**s < '0' || **s > '9')
        return -EINVAL;
    errno = 0;
    v = strtoll(*s, &end, 10);
    if (errno || v < 1 || v > max)
        return -EINVAL;
    *s = end;
    *ret = v;
    return 0;
}

static int parse_widths(const char *s, struct model_spec *spec)
{
    if (!*s)
        return 0;
    for (;; s++) {
        if (spec->n_widths == MODEL_MAX_LAYERS - 1 ||
            take_int(&s, MODEL_MAX_WIDTH, &spec->widths[spec->n_widths]) < 0)
            return -EINVAL;
        spec->n_widths++;
        if (*s != ',')
            return *s ? -EINVAL : 0;
    }
}

static int parse_shape(const char *s, struct model_spec *spec)
{
    int64_t *side[] = { &spec->height, &spec->width, &spec->channels }, all = 1;

    for (int i = 0; i < 3; i++) {
        if ((i && *s++ != 'x') || take_int(&s, FEATURES_MAX, side[i]) < 0)
            return -EINVAL;
        all *= *side[i];
        if (all > FEATURES_MAX)
            return -EINVAL;
    }
    return *s ? -EINVAL : 0;
}

static int parse_metadata(const json_t *o, struct model_file *f, struct eddis_error *err)
{
    const char *format, *widths, *shape, *classes, *scale;
    int64_t n_classes = 0;
    json_t *about;
    char *end;
    int rc = json_want_object(o, "__metadata__", &about, err);

    if (rc == 0)
        rc = json_want_string(about, "format", &format, err);
    if (rc == 0 && strcmp(format, "eddis-train") != 0)
        return eddis_fail(err, -EINVAL, "its format is not \"eddis-train\"");
    if (rc == 0)
        rc = json_copy_string(about, "model", f->name, sizeof f->name, err);
    if (rc == 0)
        rc = json_want_string(about, "widths", &widths, err);
    if (rc == 0)
        rc = json_want_string(about, "shape", &shape, err);
    if (rc == 0)
        rc = json_want_string(about, "classes", &classes, err);
    if (rc == 0)
        rc = json_want_string(about, "scale", &scale, err);
    if (rc < 0)
        return rc;
    f->spec.name = f->name;
    if (parse_widths(widths, &f->spec) < 0)
        return eddis_fail(err, -EINVAL, "\"widths\" is no list of widths");
    if (parse_shape(shape, &f->spec) < 0)
        return eddis_fail(err, -EINVAL, "\"shape\" is no shape of samples");
    if (take_int(&classes, CLASSES_MAX, &n_classes) < 0 || *classes)
        return eddis_fail(err, -EINVAL, "\"classes\" is no number of classes");
    f->spec.n_classes = (int32_t)n_classes;
    f->scale = strtof(scale, &end);
    if (end == scale || *end || !(f->scale > 0 && isfinite(f->scale)))
        return eddis_fail(err, -EINVAL, "\"scale\" is no number above 0");
    return 0;
}

struct body {
    const json_t *o;
    const char *data;
    int64_t n;
};

static bool has_shape(const json_t *shape, const struct param *p)
{
    if (json_array_size(shape) != (size_t)p->n_dims)
        return false;
    for (int i = 0; i < p->n_dims; i++)
        if (json_integer_value(json_array_get(shape, (size_t)i)) != p->dims[i])
            return false;
    return true;
}

static int copy_in(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    const struct body *b = arg;
    const int64_t bytes = p->n * (int64_t)sizeof(real);
    const char *dtype;
    json_t *one, *shape, *offsets;
    int64_t first;
    int rc = json_want_object(b->o, name, &one, err);

    if (rc == 0)
        rc = json_want_string(one, "dtype", &dtype, err);
    if (rc == 0)
        rc = json_want_array(one, "shape", 8, &shape, err);
    if (rc == 0)
        rc = json_want_array(one, "data_offsets", 2, &offsets, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "\"%s\"", name);
    if (strcmp(dtype, DTYPE) != 0)
        return eddis_fail(err, -EINVAL, "\"%s\" is not of dtype " DTYPE, name);
    if (!has_shape(shape, p))
        return eddis_fail(err, -EINVAL, "\"%s\" has not the shape that its metadata ask for", name);
    first = json_integer_value(json_array_get(offsets, 0));
    if (first < 0 || first > b->n - bytes ||
        json_integer_value(json_array_get(offsets, 1)) != first + bytes)
        return eddis_fail(err, -EINVAL, "\"%s\" does not lie within the file", name);
    memcpy(p->value, b->data + first, (size_t)bytes);
    return 0;
}

/* A model is built only for a file that holds as many numbers. */
static int parse_body(const struct body *b, struct model_file *f, struct eddis_error *err)
{
    int64_t count;
    int rc = model_count(&f->spec, &count, err);

    if (rc < 0)
        return rc;
    if (count > b->n / (int64_t)sizeof(real))
        return eddis_fail(err, -EINVAL,
                          "it is cut short: %lld bytes of data, and its metadata ask for %lld",
                          (long long)b->n, (long long)count * (long long)sizeof(real));
    rc = model_new(&f->spec, &f->model, err);
    return rc < 0 ? rc : each_param(f->model, copy_in, (void *)b, err);
}

static int parse(const char *data, size_t n, const char *what, struct model_file *ret,
                 struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct body b;
    uint64_t length = 0;
    int rc;

    if (n >= LENGTH_BYTES)
        memcpy(&length, data, LENGTH_BYTES);
    length = le64toh(length);
    if (length < 2 || length > HEADER_MAX || length > n - LENGTH_BYTES)
        return eddis_fail(err, -EINVAL, "it is no safetensors file, or cut short");
    rc = json_parse(data + LENGTH_BYTES, (size_t)length, what, &o, err);
    if (rc == 0)
        rc = parse_metadata(o, ret, err);
    if (rc < 0)
        return rc;
    b = (struct body){ o, data + LENGTH_BYTES + length, (int64_t)(n - LENGTH_BYTES - length) };
    return parse_body(&b, ret, err);
}

int model_file_parse(const char *data, size_t n, const char *what, struct model_file *ret,
                     struct eddis_error *err)
{
    int rc;

    *ret = (struct model_file){ 0 };
    rc = parse(data, n, what, ret, err);
    if (rc == 0)
        return 0;
    model_file_fini(ret);
    return eddis_fail_prefix(err, rc, "model file '%s'", what);
}

int model_file_read(const char *path, struct model_file *ret, struct eddis_error *err)
{
    cleanup_free char *data = NULL;
    size_t n = 0;
    int rc = file_read(path, file_max, &data, &n, err);

    return rc < 0 ? rc : model_file_parse(data, n, path, ret, err);
}

void model_file_fini(struct model_file *f)
{
    model_free(f->model);
    *f = (struct model_file){ 0 };
}
