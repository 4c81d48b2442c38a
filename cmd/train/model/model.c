/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the table of models, their layers and initial values */
#include "model.h"

#include "lib/base/random.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 }; /* bytes of a cache line */

/* Return a new zeroed array of n elements of `each` bytes, aligned to a cache line, which the
 * caller frees; NULL: no memory.
 */
static void *new_array(int64_t n, size_t each)
{
    size_t bytes = ((size_t)n * each + ALIGN) / ALIGN * ALIGN;
    void *p = aligned_alloc(ALIGN, bytes);

    if (p)
        memset(p, 0, bytes);
    return p;
}

/* ---- parsing ----------------------------------------------------------------------------- */

/* Parse a number from 1 to max at *s into *ret and move *s behind it.  Return 0, or -EINVAL: *s and
 * *ret are unchanged.
 */
static int take_number(const char **s, int64_t max, int64_t *ret)
{
    char *end;
    long long v = strtoll(*s, &end, 10);

    if (end == *s || v < 1 || v > max)
        return -EINVAL;
    *s = end;
    *ret = v;
    return 0;
}

int model_spec_widths(const char *text, struct model_spec *s)
{
    for (s->n_widths = 0;; text++) {
        int64_t v;

        if (take_number(&text, MODEL_MAX_WIDTH, &v) < 0 || (*text && *text != ','))
            return -EINVAL;
        if (s->n_widths == MODEL_MAX_LAYERS - 1)
            return -E2BIG;
        s->widths[s->n_widths++] = v;
        if (!*text)
            return 0;
    }
}

int model_spec_shape(const char *text, struct model_spec *s)
{
    int64_t side[3] = { 0, 0, 1 };

    for (int i = 0; i < 3; i++) {
        if (take_number(&text, INT32_MAX, &side[i]) < 0)
            return -EINVAL;
        if (!*text && i > 0) {
            s->height = side[0];
            s->width = side[1];
            s->channels = side[2];
            return 0;
        }
        if (*text++ != 'x')
            return -EINVAL;
    }
    return -EINVAL;
}

/* ---- building ---------------------------------------------------------------------------- */

/* Return the description of a parameter of rows x cols values, or of `rows` if n_dims is 1.
 * Reserve its place among the model's values by increasing m->n_values.
 */
static struct param make_param(struct model *m, const char *name, int n_dims, int64_t rows,
                               int64_t cols)
{
    struct param p = { .name = name,
                       .n_dims = n_dims,
                       .dims = { rows, cols },
                       .n = n_dims == 2 ? rows * cols : rows,
                       .offset = m->n_values };

    /* Each parameter starts on a cache line, like the library's gradients. */
    m->n_values += (p.n + 15) / 16 * 16;
    return p;
}

/* Append a dense layer to m, without its memory. */
static void add_dense(struct model *m, int64_t in, int64_t out, bool relu)
{
    struct layer *l = &m->layer[m->n_layers];

    *l = (struct layer){ .dense = { in, out, relu }, .in = in, .out = out };
    (void)snprintf(l->name, sizeof l->name, "dense%d", ++m->n_layers);
    l->weight = make_param(m, "weight", 2, in, out);
    l->bias = make_param(m, "bias", 1, out, 0);
}

/* Append a convolution to m, without its memory. */
static void add_conv(struct model *m, struct conv c)
{
    struct layer *l = &m->layer[m->n_layers];

    *l = (struct layer){ .is_conv = 1,
                         .conv = c,
                         .in = c.height * c.width * c.c_in,
                         .out = conv_out_height(&c) * conv_out_width(&c) * c.c_out };
    (void)snprintf(l->name, sizeof l->name, "conv%d", ++m->n_layers);
    l->weight = make_param(m, "weight", 2, 9 * c.c_in, c.c_out);
    l->bias = make_param(m, "bias", 1, c.c_out, 0);
}

/* Append the layers of softmax or mlp to m. */
static void build_dense(struct model *m, const struct model_spec *s)
{
    int64_t in = m->n_features;

    for (int i = 0; i < s->n_widths; in = s->widths[i++])
        add_dense(m, in, s->widths[i], true);
    add_dense(m, in, s->n_classes, false);
}

/* Append the layers of cnn to m. */
static void build_cnn(struct model *m, const struct model_spec *s)
{
    struct conv a = { s->height, s->width, s->channels, s->widths[0] };
    struct conv b = { conv_out_height(&a), conv_out_width(&a), s->widths[0], s->widths[1] };

    add_conv(m, a);
    add_conv(m, b);
    add_dense(m, m->layer[1].out, s->widths[2], true);
    add_dense(m, s->widths[2], s->n_classes, false);
}

static const struct {
    const char *name;
    int min_widths, max_widths, n_defaults;
    int64_t defaults[3];
    void (*build)(struct model *m, const struct model_spec *s);
} kinds[] = {
    { "softmax", 0, 0, 0, { 0 }, build_dense },
    { "mlp", 1, MODEL_MAX_LAYERS - 1, 2, { 128, 64 }, build_dense },
    { "cnn", 3, 3, 3, { 16, 32, 64 }, build_cnn },
};

/* Check the spec's shape, widths and number of classes.  Return 0 or -EINVAL. */
static int check_spec(const struct model_spec *s, struct eddis_error *err)
{
    if (s->height < 1 || s->width < 1 || s->channels < 1)
        return eddis_fail(err, -EINVAL,
                          "a sample's shape is %lldx%lldx%lld; each must be 1 or more",
                          (long long)s->height, (long long)s->width, (long long)s->channels);
    for (int i = 0; i < s->n_widths; i++)
        if (s->widths[i] < 1 || s->widths[i] > MODEL_MAX_WIDTH)
            return eddis_fail(err, -EINVAL, "width %d is %lld; it must be from 1 to %d", i + 1,
                              (long long)s->widths[i], MODEL_MAX_WIDTH);
    if (s->n_classes < 2)
        return eddis_fail(err, -EINVAL, "there are fewer than 2 classes");
    return 0;
}

/* Find the kind of model by its name, store its index in `kinds` in *ret, and check the number of
 * widths.  Return 0 or -EINVAL.
 */
static int find_kind(const struct model_spec *s, size_t *ret, struct eddis_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(s->name, kinds[i].name) != 0)
            continue;
        if (s->n_widths && (s->n_widths < kinds[i].min_widths || s->n_widths > kinds[i].max_widths))
            return eddis_fail(err, -EINVAL, "%d widths given; model '%s' takes %d to %d",
                              s->n_widths, s->name, kinds[i].min_widths, kinds[i].max_widths);
        *ret = i;
        return 0;
    }
    return eddis_fail(err, -EINVAL, "no model '%s'; the models are softmax, mlp and cnn", s->name);
}

/* Return the number of the model's parameters. */
static int64_t count(const struct model *m)
{
    int64_t n = 0;

    for (int i = 0; i < m->n_layers; i++)
        n += m->layer[i].weight.n + m->layer[i].bias.n;
    return n;
}

/* Allocate the values and the scratch memory, and point the layers' parameters to their values.
 * Return 0; -EINVAL: the parameters do not fit into memory.
 */
static int make_values(struct model *m, struct eddis_error *err)
{
    int64_t scratch = 1;

    m->values = new_array(m->n_values, sizeof(float));
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layer[i];

        l->weight.value = m->values ? m->values + l->weight.offset : NULL;
        l->bias.value = m->values ? m->values + l->bias.offset : NULL;
        if (l->is_conv && conv_scratch(&l->conv) > scratch)
            scratch = conv_scratch(&l->conv);
    }
    m->scratch = new_array(scratch, sizeof(float));
    if (m->values && m->scratch)
        return 0;
    return eddis_fail(err, -EINVAL, "no memory for a model of %lld parameters, %.1f GB of them",
                      (long long)count(m), (double)count(m) * sizeof(float) / 1e9);
}

/* Set the model's sizes and append its layers, without their memory.  Return 0 or -EINVAL. */
static int lay_out(const struct model_spec *spec, struct model *m, struct eddis_error *err)
{
    struct model_spec s = *spec;
    size_t k = 0;
    int rc = check_spec(&s, err);

    if (rc == 0)
        rc = find_kind(&s, &k, err);
    if (rc < 0)
        return rc;
    if (s.n_widths == 0) {
        s.n_widths = kinds[k].n_defaults;
        memcpy(s.widths, kinds[k].defaults, sizeof kinds[k].defaults);
    }
    m->n_classes = s.n_classes;
    m->n_features = s.height * s.width * s.channels;
    kinds[k].build(m, &s);
    return 0;
}

int model_count(const struct model_spec *spec, int64_t *ret, struct eddis_error *err)
{
    struct model m = { 0 };
    int rc = lay_out(spec, &m, err);

    *ret = count(&m);
    return rc;
}

int model_new(const struct model_spec *spec, struct model **ret, struct eddis_error *err)
{
    struct model *m = calloc(1, sizeof *m);
    int rc;

    if (!m)
        return eddis_fail(err, -ENOMEM, "out of memory");
    rc = lay_out(spec, m, err);
    if (rc == 0)
        rc = make_values(m, err);
    if (rc < 0) {
        model_free(m);
        return rc;
    }
    *ret = m;
    return 0;
}

/* Free the arrays of all layers; the model's capacity is then 0. */
static void free_arrays(struct model *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        free(m->layer[i].y);
        free(m->layer[i].dy);
        free(m->layer[i].which);
        m->layer[i].y = m->layer[i].dy = NULL;
        m->layer[i].which = NULL;
    }
    m->capacity = 0;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    free_arrays(m);
    free(m->values);
    free(m->scratch);
    free(m);
}

int model_reserve(struct model *m, int64_t n, struct eddis_error *err)
{
    if (n <= m->capacity)
        return 0;
    free_arrays(m);
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layer[i];

        l->y = new_array(n * l->out, sizeof(float));
        l->dy = new_array(n * l->out, sizeof(float));
        l->which = new_array(l->is_conv ? n * l->out : 1, sizeof(int32_t));
        if (!l->y || !l->dy || !l->which)
            return eddis_fail(err, -ENOMEM, "out of memory for a batch of %lld samples",
                              (long long)n);
    }
    m->capacity = n;
    return 0;
}

void model_set_gradients(struct model *m, float *g)
{
    for (int i = 0; i < m->n_layers; i++) {
        m->layer[i].weight.gradient = g + m->layer[i].weight.offset;
        m->layer[i].bias.gradient = g + m->layer[i].bias.offset;
    }
}

/* Fill x [n] with normal random numbers of this deviation, in pairs (Box and Muller, 1958). */
static void fill_normal(float *x, int64_t n, double deviation, uint64_t seed)
{
    for (int64_t i = 0; i < n; i += 2) {
        double r = deviation * sqrt(-2 * log(1 - random_unit(&seed)));
        double angle = 2 * M_PI * random_unit(&seed);

        x[i] = (float)(r * cos(angle));
        if (i + 1 < n)
            x[i + 1] = (float)(r * sin(angle));
    }
}

void model_init(struct model *m, uint64_t seed)
{
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layer[i];

        /* For both kinds of layer a weight's rows are the inputs of one neuron. */
        fill_normal(l->weight.value, l->weight.n, sqrt(2.0 / (double)l->weight.dims[0]),
                    random_mix(seed, (uint64_t)i));
        memset(l->bias.value, 0, (size_t)l->bias.n * sizeof(float));
    }
}

void model_copy(struct model *to, const struct model *from)
{
    assert(to->n_values == from->n_values);
    memcpy(to->values, from->values, (size_t)to->n_values * sizeof *to->values);
}

/* ---- running ----------------------------------------------------------------------------- */

void model_begin(struct model *m, const float *x, int64_t n)
{
    assert(n <= m->capacity);
    m->x = x;
    m->n = n;
}

/* Borrow the input of a layer in the present pass. */
static const float *input_of(const struct model *m, int layer)
{
    return layer ? m->layer[layer - 1].y : m->x;
}

void model_forward(struct model *m, int layer)
{
    struct layer *l = &m->layer[layer];
    const float *x = input_of(m, layer);

    if (l->is_conv)
        conv_forward(&l->conv, l->y, l->which, x, l->weight.value, l->bias.value, m->n, m->scratch);
    else
        dense_forward(&l->dense, l->y, x, l->weight.value, l->bias.value, m->n);
}

struct loss model_loss(struct model *m, const int32_t *label, int backward)
{
    struct layer *last = &m->layer[m->n_layers - 1];

    return loss_softmax(backward ? last->dy : NULL, last->y, label, m->n, m->n_classes);
}

void model_backward(struct model *m, int layer)
{
    struct layer *l = &m->layer[layer];
    const float *x = input_of(m, layer);
    float *dx = layer ? m->layer[layer - 1].dy : NULL; /* the gradient of the data is not needed */

    if (l->is_conv)
        conv_backward(&l->conv,
                      &(struct conv_backward){ .dx = dx,
                                               .dw = l->weight.gradient,
                                               .db = l->bias.gradient,
                                               .dy = l->dy,
                                               .x = x,
                                               .w = l->weight.value,
                                               .which = l->which },
                      m->n, m->scratch);
    else
        dense_backward(&l->dense, dx, l->weight.gradient, l->bias.gradient, l->dy, l->y, x,
                       l->weight.value, m->n);
}
