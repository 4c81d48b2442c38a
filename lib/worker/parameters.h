/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the layers and parameters that the program registers
 *
 * The list grows until eddis_commit, made by one thread, and stays as it is then.  `announced`,
 * `held` and the mail belong to the step and are guarded by its announce_lock (step.h).
 */
#ifndef EDDIS_WORKER_PARAMETERS_H
#define EDDIS_WORKER_PARAMETERS_H

#include "lib/eddis.h"

#include "lib/board/layout.h"
#include "lib/sync/comm_thread.h"

struct step_set;

struct parameter_layer {
    char *name;
    enum eddis_layer_kind kind;
    int set;
    int newest; /* its parameter registered last; -1: it has none */
};

struct parameter {
    char *name;
    int layer, set; /* the set is the layer's */
    int older;      /* the layer's parameter registered before this one; -1: none */
    enum eddis_dtype dtype;
    int n_dims;
    int64_t dims[EDDIS_MAX_DIMS];
    size_t n;
    void *value;
    void *result;            /* NULL: each announcement says */
    int slot;                /* of its gradient, the engine's number; -1: it has none */
    struct step_set *rounds; /* the set's; NULL before eddis_commit */
    bool factored;
    bool announced; /* in its set's round under way */
    bool held;      /* announced, but an emulated device is not so far */
    struct mail_announce mail;
};

struct parameters {
    struct parameter_layer *layer; /* [n_layers] */
    int n_layers;
    struct parameter *item; /* [n] */
    int n, n_slots;         /* n_slots: those with a gradient */
};

/* Mix all that must be alike on all workers into the hash h; and a text. */
uint64_t parameters_hash(const struct parameters *all, uint64_t h);
uint64_t parameters_hash_text(uint64_t h, const char *s);

/* Return how many sets there are, as layers name them: at least one.  -EINVAL: of several one has
 * no parameter with a gradient.
 */
int parameters_sets(const struct parameters *all, struct eddis_error *err);

/* Bytes of the values of one parameter, and of all. */
size_t parameter_bytes(const struct parameter *p);
size_t parameters_bytes(const struct parameters *all);

/* The sizes that plans go by; the rest of it is 0. */
struct program parameters_program(const struct parameters *all);

/* Copy all values into one block of parameters_bytes, which is returned; NULL without memory. */
void *parameters_copy(const struct parameters *all);

/* Write the values of such a block back to the program's memory. */
void parameters_put_back(const struct parameters *all, const void *block);

void parameters_free(struct parameters *all);

#endif
