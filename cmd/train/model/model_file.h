/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.h - a trained model in a file of the safetensors format
 *
 *     8 bytes   length of the header, little endian
 *     header    JSON, filled up with spaces to a multiple of 8 bytes:
 *                 "<layer>.weight", "<layer>.bias": { "dtype", "shape", "data_offsets" }
 *                 "__metadata__": strings that say what the parameters are of, see model_file.c
 *     data      the arrays one behind the other, row by row, little endian; behind the parameters
 *               "scale", float32, where each feature has a factor of its own
 *
 * Any reader of safetensors reads it (https://github.com/huggingface/safetensors).
 */
#ifndef EDDIS_TRAIN_MODEL_FILE_H
#define EDDIS_TRAIN_MODEL_FILE_H

#include "model.h"

/* Not to be copied. */
struct model_file {
    char name[16];          /* of the kind of model */
    struct model_spec spec; /* whose name is that one */
    struct model_input input;
    struct model *model; /* owned, NULL: none */
    float *factor;       /* what input points to */
    char **class_names;
};

/* Write the parameters of m, which was made of this spec and trained on this input.  Replaces the
 * file atomically.
 */
int model_file_write(const char *path, const struct model_spec *spec, const struct model *m,
                     const struct model_input *input, struct eddis_error *err);

/* Read a file that model_file_write has written, or a tool that kept its names, shapes and
 * metadata; untrusted.  The caller frees *ret with model_file_fini.
 * -EINVAL: what is wrong with it.
 */
int model_file_read(const char *path, struct model_file *ret, struct eddis_error *err);

/* Read it from memory, as model_file_read; what: the name of it in errors. */
int model_file_parse(const char *data, size_t n, const char *what, struct model_file *ret,
                     struct eddis_error *err);

/* Accepts one that is zero-initialised. */
void model_file_fini(struct model_file *f);

#endif
