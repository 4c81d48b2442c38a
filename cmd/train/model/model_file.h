/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.h - writes and reads a trained model in the safetensors format
 *
 *     8 bytes   length of the header, little endian
 *     header    JSON, padded with spaces to a multiple of 8 bytes:
 *                 "<layer>.weight", "<layer>.bias": { "dtype", "shape", "data_offsets" }
 *                 "__metadata__": strings that describe the model, see model_file.c
 *     data      the arrays, one after another, in row-major order, little endian; after the
 *               parameters "scale", float32, if each feature has its own factor
 *
 * Any safetensors reader can read the file (https://github.com/huggingface/safetensors).
 */
#ifndef EDDIS_TRAIN_MODEL_FILE_H
#define EDDIS_TRAIN_MODEL_FILE_H

#include "model.h"

/* A model that was read from a file. Members point into the struct, so it must not be copied. */
struct model_file {
    char name[16];          /* name of the kind of model */
    struct model_spec spec; /* spec.name points to name */
    struct model_input input;
    struct model *model; /* owned; NULL: none */
    float *factor;       /* owned; input.factor points to it */
    char **class_names;  /* owned; input.class_names points to it */
};

/* Write the parameters of m, which was built from `spec` and trained on `input`, to a file, which
 * replaces an existing file atomically. Return 0 or a negative errno.
 */
int model_file_write(const char *path, const struct model_spec *spec, const struct model *m,
                     const struct model_input *input, struct eddis_error *err);

/* Read a file written by model_file_write, or by a tool that keeps the names, shapes and metadata,
 * into *ret, which the caller frees with model_file_fini. The content is not trusted. Return 0;
 * -EINVAL: the file is malformed; or another negative errno.
 */
int model_file_read(const char *path, struct model_file *ret, struct eddis_error *err);

/* Parse data [n], the content of a model file. what: name of the data for errors. Returns as
 * model_file_read.
 */
int model_file_parse(const char *data, size_t n, const char *what, struct model_file *ret,
                     struct eddis_error *err);

/* Free the model and the texts of *f. Accepts a zero-initialised struct. */
void model_file_fini(struct model_file *f);

#endif
