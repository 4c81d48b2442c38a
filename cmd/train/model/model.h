/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a network as a list of layers, run one layer at a time
 *
 *     softmax   one dense layer
 *     mlp       dense layers of the given widths with ReLU, and one for the classes
 *     cnn       two 3x3 convolutions with ReLU and pooling, a dense layer with ReLU, and one for
 *               the classes; widths are { channels, channels, hidden }
 *
 * A pass runs forward through layers 0 .. n_layers - 1, computes the loss, and runs backward. The
 * caller runs each layer itself, so that it can announce each layer's gradients immediately. The
 * model owns all memory except the gradients, and allocates it before the first step.
 */
#ifndef EDDIS_TRAIN_MODEL_H
#define EDDIS_TRAIN_MODEL_H

#include "conv.h"
#include "dense.h"
#include "lib/base/error.h"
#include "loss.h"

#include <stddef.h>
#include <stdint.h>

enum { MODEL_MAX_LAYERS = 32, MODEL_MAX_WIDTH = 1 << 20 };

/* The description of a model to build. */
struct model_spec {
    const char *name; /* "softmax", "mlp", "cnn" */
    /* shape of a sample, whose product is the number of features */
    int64_t height, width, channels;
    int32_t n_classes;
    /* number of widths; 0: default widths, { 128, 64 } for mlp, { 16, 32, 64 } for cnn */
    int n_widths;
    int64_t widths[MODEL_MAX_LAYERS];
};

/* The scaling of a model's features and the names of its classes. */
struct model_input {
    float scale;                    /* factor of every feature */
    float *factor;                  /* [n_features] additional factor of each feature; NULL: none */
    const char *const *class_names; /* [n_classes] text labels; NULL: labels are numbers */
};

/* A parameter of a layer. */
struct param {
    const char *name; /* "weight", "bias" */
    int n_dims;
    int64_t dims[2], n; /* n is the dims' product */
    int64_t offset;     /* offset of value in the model's values */
    float *value;       /* [n] */
    float *gradient;    /* [n], owned by the caller; gradient of the mean loss */
};

/* A layer of a model. */
struct layer {
    char name[24];
    int is_conv;
    struct conv conv; /* used if is_conv; otherwise `dense` is used */
    struct dense dense;
    struct param weight, bias;
    int64_t in, out; /* numbers of one sample's input and output */
    float *y;        /* [capacity, out] output */
    float *dy;       /* [capacity, out] gradient of the output */
    int32_t *which;  /* [capacity, out] for a convolution, see conv_forward */
};

/* A built model with its memory. */
struct model {
    int n_layers;
    struct layer layer[MODEL_MAX_LAYERS];
    int32_t n_classes;
    int64_t n_features;
    float *values; /* [n_values]: all parameters, layer by layer, weight before bias */
    int64_t n_values;
    int64_t capacity; /* samples for which the arrays have room */
    float *scratch;   /* for convolutions */
    const float *x;   /* [n, n_features] input of the present pass, borrowed */
    int64_t n;
};

/* Parse widths, "64,32", into s->widths. Return 0; -EINVAL: they are not numbers from 1 to
 * MODEL_MAX_WIDTH; -E2BIG: they are too many. On failure s has some of the widths.
 */
int model_spec_widths(const char *text, struct model_spec *s);

/* Parse the shape of a sample, "28x28" or "32x32x3", into height, width and channels of s. Return
 * 0, or -EINVAL: it is no shape, and s is unchanged.
 */
int model_spec_shape(const char *text, struct model_spec *s);

/* Build a model with zero parameters in *ret, which the caller frees with model_free. Return 0;
 * -EINVAL: a wrong name, width or shape; or parameters that do not fit into memory, which fewer
 * samples would not change; -ENOMEM.
 */
int model_new(const struct model_spec *s, struct model **ret, struct eddis_error *err);

/* Fill the weights with normal random numbers of variance 2 / (inputs of a neuron) (He et al., ICCV
 * 2015), and the biases with 0.  The same seed gives the same values on every machine.
 */
void model_init(struct model *m, uint64_t seed);

/* Copy the parameters of `from` to `to`, a model with the same spec. */
void model_copy(struct model *to, const struct model *from);

/* Store the number of parameters of a model with this spec in *ret, without building the model.
 * Returns as model_new.
 */
int model_count(const struct model_spec *s, int64_t *ret, struct eddis_error *err);

/* Allocate the arrays for batches of up to n samples. Return 0 or a negative errno. */
int model_reserve(struct model *m, int64_t n, struct eddis_error *err);

/* Let every gradient point into g [n_values], laid out like the values. */
void model_set_gradients(struct model *m, float *g);

/* Begin a pass over the samples x [n, n_features], borrowed until the pass is over; n is at most
 * the capacity.
 */
void model_begin(struct model *m, const float *x, int64_t n);

/* Run the forward pass of a layer. To be called for each layer, from the first to the last. */
void model_forward(struct model *m, int layer);

/* Return the loss for the labels label [n], after the forward pass of the last layer. backward:
 * also compute the gradient of the last layer's output, for the backward pass.
 */
struct loss model_loss(struct model *m, const int32_t *label, int backward);

/* Run the backward pass of a layer, which writes the gradients of its weight and bias. To be called
 * for each layer, from the last to the first.
 */
void model_backward(struct model *m, int layer);

/* Free m.  Accept NULL. */
void model_free(struct model *m);

#endif
