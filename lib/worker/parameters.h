/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - the layers and parameters that the program registers
 *
 * One thread fills the list until eddis_commit; it does not change later.  `announced`, `held` and
 * `command` belong to the step and are guarded by its announce_lock (step.h).
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
    int newest; /* index of the layer's newest parameter; -1: none */
};

struct parameter {
    char *name;
    int layer, set; /* the layer's number, and its set */
    int older;      /* index of the layer's parameter before this one; -1: none */
    enum eddis_dtype dtype;
    int n_dims;
    int64_t dims[EDDIS_MAX_DIMS];
    size_t n; /* number of elements */
    void *value;
    void *result;            /* NULL: each announcement gives the place */
    int slot;                /* the engine's number of the parameter's gradient; -1: it has no
                              * gradient */
    struct step_set *rounds; /* state of the parameter's set; NULL before eddis_commit */
    bool factored;
    bool announced; /* announced in its set's present round */
    bool held;      /* announced but not yet sent, since an emulated device still computes */
    struct command_announce command;
};

struct parameters {
    struct parameter_layer *layer; /* [n_layers] */
    int n_layers;
    struct parameter *item; /* [n] */
    int n, n_slots;         /* number of parameters, and of those with a gradient */
};

/* Mix everything about layers and parameters that must be equal on all workers into the hash h.
 * Return the new hash.
 */
uint64_t parameters_hash(const struct parameters *all, uint64_t h);

/* Mix a text, including its end, into the hash h.  Return the new hash. */
uint64_t parameters_hash_text(uint64_t h, const char *s);

/* Return the number of sets that the layers use, at least 1.  -EINVAL: there are several sets, and
 * one has no parameter with a gradient.
 */
int parameters_sets(const struct parameters *all, struct eddis_error *err);

/* Return the bytes of one parameter's values. */
size_t parameter_bytes(const struct parameter *p);

/* Return the bytes of all parameters' values. */
size_t parameters_bytes(const struct parameters *all);

/* Return the sizes of centre and gradients, which plans depend on; other members are 0. */
struct program parameters_program(const struct parameters *all);

/* Free the lists and names; not the struct or the values. */
void parameters_free(struct parameters *all);

#endif
