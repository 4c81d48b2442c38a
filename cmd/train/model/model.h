/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a network as a list of layers, run one layer at a time
 *
 *     softmax   one dense layer
 *     mlp       dense layers of the given widths with ReLU, and one of the classes
 *     cnn       two 3x3 convolutions with ReLU and pooling, a dense layer with ReLU, and one of
 *               the classes; widths are { channels, channels, hidden }
 *
 * The forward pass goes through layers 0 .. n_layers - 1, the loss, and back; the caller steps
 * through them itself, so that it can announce each layer's gradients at once.  All memory but the
 * gradients is the model's and is made before the first step.
 */
#ifndef EDDIS_TRAIN_MODEL_H
#define EDDIS_TRAIN_MODEL_H

#include "conv.h"
#include "dense.h"
#include "lib/base/error.h"
#include "loss.h"
#include "real.h"

#include <stddef.h>

enum { MODEL_MAX_LAYERS = 32, MODEL_MAX_WIDTH = 1 << 20 };

struct model_spec {
    const char *name;                /* "softmax", "mlp", "cnn" */
    int64_t height, width, channels; /* of a sample; their product is its number of features */
    int32_t n_classes;
    int n_widths; /* 0: { 128, 64 } of mlp, { 16, 32, 64 } of cnn */
    int64_t widths[MODEL_MAX_LAYERS];
};

/* What the features and classes of a model are. */
struct model_input {
    float scale;                    /* that multiplied every feature */
    float *factor;                  /* [n_features], each feature's own beside it; NULL: none */
    const char *const *class_names; /* [n_classes], the labels as text; NULL: they are numbers */
};

struct param {
    const char *name; /* "weight", "bias" */
    int n_dims;
    int64_t dims[2], n; /* n is the dims' product */
    int64_t offset;     /* of value in the model's values */
    real *value;        /* [n] */
    real *gradient;     /* [n], the caller's; sums over samples of the mean loss's gradient */
};

struct layer {
    char name[24];
    int is_conv;
    struct conv conv; /* one of these two, by is_conv */
    struct dense dense;
    struct param weight, bias;
    int64_t in, out;   /* numbers of one sample */
    real *y;           /* [capacity, out] */
    real *dy;          /* [capacity, out] */
    real_index *which; /* [capacity, out], of a conv */
};

struct model {
    int n_layers;
    struct layer layer[MODEL_MAX_LAYERS];
    int32_t n_classes;
    int64_t n_features;
    real *values; /* [n_values]: all parameters, layer by layer, weight before bias */
    int64_t n_values;
    int64_t capacity; /* samples that the arrays hold */
    real *scratch;
    const real *x; /* [n, n_features], of the forward pass under way */
    int64_t n;
};

/* Build a model, its parameters zero, which the caller frees with model_free.
 * -EINVAL: the name, the widths, a shape that is not the features', or parameters that the memory
 * does not hold, which fewer samples would not mend.
 */
int model_new(const struct model_spec *s, struct model **ret, struct eddis_error *err);

/* Fill the weights with normal numbers of variance 2 / (inputs of a neuron) (He et al., ICCV 2015),
 * the biases with 0: the same for the same seed on every machine.
 */
void model_init(struct model *m, uint64_t seed);

/* Copy the parameters of a model of the same spec. */
void model_copy(struct model *to, const struct model *from);

/* Return how many numbers the parameters of such a model are, without building it; errors as
 * model_new.
 */
int model_count(const struct model_spec *s, int64_t *ret, struct eddis_error *err);

/* Make room for batches of n samples. */
int model_reserve(struct model *m, int64_t n, struct eddis_error *err);

/* Point every gradient into g [n_values], laid out as the values are. */
void model_set_gradients(struct model *m, real *g);

/* Begin a pass over x [n, n_features], borrowed until the pass is over; n at most the capacity. */
void model_begin(struct model *m, const real *x, int64_t n);

/* Run a layer, from the first to the last. */
void model_forward(struct model *m, int layer);

/* Return the loss, after the last layer's forward; backward: the way back follows. */
struct loss model_loss(struct model *m, const int32_t *label, int backward);

/* Write the layer's two gradients; from the last layer to the first. */
void model_backward(struct model *m, int layer);

/* Free m, which may be NULL. */
void model_free(struct model *m);

#endif
