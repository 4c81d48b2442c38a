/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - writes and reads models as safetensors
 *
 * Information that a reader needs besides the arrays is in the metadata; the format allows only
 * strings there:
 *
 *     format   "eddis-train"
 *     model    "mlp"            widths   "64,32": of all layers but the last
 *     shape    "8x8x1"          classes  "10"
 *     scale    "0.0625"         layout   explanation of the arrays, for people
 *     labels   "[\"a\", \"b\"]"  JSON: the classes' names, if labels are text
 */
#include "model_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the header's length; and the most bytes of a header, features and classes that are read.
 */
enum { LENGTH_BYTES = 8, HEADER_MAX = 8 << 20, FEATURES_MAX = 1 << 24, CLASSES_MAX = 65536 };
static const size_t file_max = (size_t)16 << 30; /* most bytes of a file that are read */

static const char dtype[] = "F32", scale_name[] = "scale";

static const char layout[] =
    "features [height, width, channels] times scale; dense: y = x weight + bias with weight "
    "[inputs, outputs]; conv: 3x3, zero padding 1, weight [9 channels, filters] whose rows go by "
    "row, column and channel of the window, then 2x2 maximum; ReLU behind all but the last";

static const char factors[] = "; each feature is multiplied by its own of the array scale, too";

/* Handle one parameter; name: its name in the file, "dense1.weight".  Return 0, or a negative
 * error, which ends each_param.
 */
typedef int param_fn(void *arg, const char *name, const struct param *p, struct eddis_error *err);

/* Call fn for each parameter, in the model's order, with its name in the file, and then for the
 * features' factors, unless factor is NULL.  Stop at the first negative result and return it;
 * otherwise return 0.
 */
static int each_param(const struct model *m, float *factor, param_fn *fn, void *arg,
                      struct eddis_error *err)
{
    const struct param p = {
        .n_dims = 1, .dims = { m->n_features }, .n = m->n_features, .value = factor
    };
    int rc = 0;

    for (int i = 0; rc == 0 && i < m->n_layers; i++) {
        const struct param *both[] = { &m->layer[i].weight, &m->layer[i].bias };

        for (int k = 0; rc == 0 && k < 2; k++) {
            char name[64];

            (void)snprintf(name, sizeof name, "%s.%s", m->layer[i].name, both[k]->name);
            rc = fn(arg, name, both[k], err);
        }
    }
    return rc == 0 && factor ? fn(arg, scale_name, &p, err) : rc;
}

/* ---- writing ---- */

/* Return a layer's width: its filters or neurons. */
static int64_t layer_width(const struct layer *l)
{
    return l->is_conv ? l->conv.c_out : l->dense.out;
}

/* Return the names as a new JSON string, whose text is a list in JSON; NULL: no memory. */
static json_t *labels_text(const char *const *name, int32_t n)
{
    cleanup_json json_t *list = json_array();
    cleanup_free char *text = NULL;

    for (int32_t i = 0; i < n; i++)
        if (json_array_append_new(list, json_string(name[i])) < 0)
            return NULL;
    text = json_text(list, false);
    return text ? json_string(text) : NULL;
}

/* Return the metadata of a model file as a new JSON object, which the caller releases; NULL: no
 * memory.
 */
static json_t *metadata(const struct model_spec *s, const struct model *m,
                        const struct model_input *input)
{
    struct strbuf widths = { 0 };
    json_t *o;

    for (int i = 0; i + 1 < m->n_layers; i++)
        strbuf_addf(&widths, "%s%lld", i ? "," : "", (long long)layer_width(&m->layer[i]));
    o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s+}", "format", "eddis-train", "model", s->name,
                  "widths", strbuf_text(&widths), "shape",
                  json_sprintf("%lldx%lldx%lld", (long long)s->height, (long long)s->width,
                               (long long)s->channels),
                  "classes", json_sprintf("%d", (int)s->n_classes), "scale",
                  json_sprintf("%.9g", (double)input->scale), "layout", layout,
                  input->factor ? factors : "");
    strbuf_fini(&widths);
    if (!o || !input->class_names ||
        json_object_set_new(o, "labels", labels_text(input->class_names, s->n_classes)) == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* The header that is being written. */
struct header {
    json_t *o;
    int64_t offset; /* bytes of data described so far */
};

/* Add a parameter's entry to the header, and its bytes to the header's offset.  A param_fn; arg:
 * struct header.  Return 0 or -ENOMEM.
 */
static int describe(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    struct header *h = arg;
    int64_t end = h->offset + p->n * (int64_t)sizeof(float);
    json_t *one = json_pack("{s:s, s:[], s:[I, I]}", "dtype", dtype, "shape", "data_offsets",
                            (json_int_t)h->offset, (json_int_t)end);
    json_t *shape = json_object_get(one, "shape");
    int rc = one ? json_object_set_new(h->o, name, one) : -1;

    for (int i = 0; rc == 0 && i < p->n_dims; i++)
        rc = json_array_append_new(shape, json_integer(p->dims[i]));
    h->offset = end;
    return rc < 0 ? eddis_fail(err, -ENOMEM, "out of memory") : 0;
}

/* Copy a parameter's values to the file's data at *arg and advance that pointer.  A param_fn; arg:
 * char **.  Return 0.
 */
static int copy_out(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    char **at = arg;

    (void)name, (void)err;
    memcpy(*at, p->value, (size_t)p->n * sizeof(float));
    *at += (size_t)p->n * sizeof(float);
    return 0;
}

int model_file_write(const char *path, const struct model_spec *spec, const struct model *m,
                     const struct model_input *input, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();
    cleanup_free char *text = NULL, *file = NULL;
    struct header h = { .o = o };
    size_t n, padded;
    uint64_t length;
    char *at;
    int rc;

    if (!o || json_object_set_new(o, "__metadata__", metadata(spec, m, input)) < 0)
        return eddis_fail(err, -ENOMEM, "out of memory");
    rc = each_param(m, input->factor, describe, &h, err);
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
    (void)each_param(m, input->factor, copy_out, &at, NULL);
    return file_write_atomic(path, file, (size_t)(at - file), 0644, err);
}

/* ---- reading ---- */

/* Parse the classes' names, which must be sorted like those of a data file, into f->class_names.
 * Return 0; -EINVAL: they are no sorted list of as many names as classes; -ENOMEM. f owns the
 * names, on failure those parsed so far.
 */
static int parse_labels(const char *text, struct model_file *f, struct eddis_error *err)
{
    cleanup_json json_t *list = NULL;
    size_t n = (size_t)f->spec.n_classes;
    int rc = json_parse(text, strlen(text), "labels", &list, err);

    if (rc < 0)
        return rc;
    if (!json_is_array(list) || json_array_size(list) != n)
        return eddis_fail(err, -EINVAL, "\"labels\" is not a list of %zu names", n);
    f->class_names = calloc(n + 1, sizeof *f->class_names);
    if (!f->class_names)
        return eddis_fail(err, -ENOMEM, "out of memory");
    f->input.class_names = (const char *const *)f->class_names;
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (!name || (i && strcmp(f->class_names[i - 1], name) >= 0))
            return eddis_fail(err, -EINVAL, "\"labels\" is not a list of names in ascending order");
        f->class_names[i] = strdup(name);
        if (!f->class_names[i])
            return eddis_fail(err, -ENOMEM, "out of memory");
    }
    return 0;
}

/* Parse and check the metadata in the header o, and store name, spec, scale and class names in f.
 * Return 0; -EINVAL: something is missing or malformed; or -ENOMEM.
 */
static int parse_metadata(const json_t *o, struct model_file *f, struct eddis_error *err)
{
    const char *format, *widths, *shape, *classes, *scale, *labels;
    const struct model_spec *s = &f->spec;
    long long n_classes;
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
    if (*widths && model_spec_widths(widths, &f->spec) < 0)
        return eddis_fail(err, -EINVAL, "\"widths\" is not a list of widths");
    if (model_spec_shape(shape, &f->spec) < 0 || s->height * s->width > FEATURES_MAX ||
        s->height * s->width * s->channels > FEATURES_MAX)
        return eddis_fail(err, -EINVAL, "\"shape\" is not a shape of samples");
    n_classes = strtoll(classes, &end, 10);
    if (*end || n_classes < 1 || n_classes > CLASSES_MAX)
        return eddis_fail(err, -EINVAL, "\"classes\" is not a number of classes");
    f->spec.n_classes = (int32_t)n_classes;
    f->input.scale = strtof(scale, &end);
    if (end == scale || *end || !(f->input.scale > 0 && isfinite(f->input.scale)))
        return eddis_fail(err, -EINVAL, "\"scale\" is not a number above 0");
    labels = json_string_value(json_object_get(about, "labels"));
    return labels ? parse_labels(labels, f, err) : 0;
}

/* The parsed header and the n bytes of data after it, borrowed. */
struct body {
    const json_t *o;
    const char *data;
    int64_t n;
};

/* Check whether a shape, a JSON list of numbers, is that of the parameter. */
static bool has_shape(const json_t *shape, const struct param *p)
{
    if (json_array_size(shape) != (size_t)p->n_dims)
        return false;
    for (int i = 0; i < p->n_dims; i++)
        if (json_integer_value(json_array_get(shape, (size_t)i)) != p->dims[i])
            return false;
    return true;
}

/* Copy a parameter's values from the file, arg, after checking its type, shape and position.
 * Return 0, or a negative errno if one of them is wrong: then nothing is copied (param_fn).
 */
static int copy_in(void *arg, const char *name, const struct param *p, struct eddis_error *err)
{
    const struct body *b = arg;
    int64_t first, bytes = p->n * (int64_t)sizeof(float);
    const char *own;
    json_t *one, *shape, *offsets;
    int rc = json_want_object(b->o, name, &one, err);

    if (rc == 0)
        rc = json_want_string(one, "dtype", &own, err);
    if (rc == 0)
        rc = json_want_array(one, "shape", 8, &shape, err);
    if (rc == 0)
        rc = json_want_array(one, "data_offsets", 2, &offsets, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "\"%s\"", name);
    if (strcmp(own, dtype) != 0)
        return eddis_fail(err, -EINVAL, "\"%s\" is not of dtype %s", name, dtype);
    if (!has_shape(shape, p))
        return eddis_fail(err, -EINVAL, "\"%s\" does not have the shape that the metadata require",
                          name);
    first = json_integer_value(json_array_get(offsets, 0));
    if (first < 0 || first > b->n - bytes ||
        json_integer_value(json_array_get(offsets, 1)) != first + bytes)
        return eddis_fail(err, -EINVAL, "\"%s\" does not lie within the file", name);
    memcpy(p->value, b->data + first, (size_t)bytes);
    return 0;
}

/* Check that each of the features' factors, if there are any, is above 0.  Return 0 or -EINVAL. */
static int check_factors(const struct model_file *f, struct eddis_error *err)
{
    for (int64_t i = 0; f->factor && i < f->model->n_features; i++)
        if (!(f->factor[i] > 0 && isfinite(f->factor[i])))
            return eddis_fail(err, -EINVAL, "\"%s\" has a number that is not above 0", scale_name);
    return 0;
}

/* Build the model f->model and read its parameters and the features' factors; -EINVAL before any
 * memory is allocated if the file has too little data for the parameters.  Return 0 or a negative
 * error.
 */
static int parse_body(const struct body *b, struct model_file *f, struct eddis_error *err)
{
    int64_t count;
    int rc = model_count(&f->spec, &count, err);

    if (rc < 0)
        return rc;
    if (count > b->n / (int64_t)sizeof(float))
        return eddis_fail(
            err, -EINVAL,
            "it is cut short: it has %lld bytes of data, but its metadata require %lld",
            (long long)b->n, (long long)count * (long long)sizeof(float));
    rc = model_new(&f->spec, &f->model, err);
    if (rc == 0 && json_object_get(b->o, scale_name)) {
        f->factor = malloc((size_t)f->model->n_features * sizeof *f->factor);
        f->input.factor = f->factor;
        rc = f->factor ? 0 : eddis_fail(err, -ENOMEM, "out of memory");
    }
    if (rc == 0)
        rc = each_param(f->model, f->factor, copy_in, (void *)b, err);
    return rc < 0 ? rc : check_factors(f, err);
}

/* Parse the content of a model file, data [n], into ret, with the model that it describes.  Return
 * 0 or a negative error; ret may then be partly filled.
 */
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
        return eddis_fail(err, -EINVAL, "it is not a safetensors file, or it is cut short");
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
    for (char **name = f->class_names; name && *name; name++)
        free(*name);
    free(f->class_names);
    free(f->factor);
    model_free(f->model);
    *f = (struct model_file){ 0 };
}
