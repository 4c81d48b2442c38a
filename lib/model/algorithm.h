/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.h - the table of synchronisation algorithms: modes, traits, options, efficiencies
 *
 * lib/sync implements each row by the ops of the same name, and scheduler predicts it by the
 * predictor of the same name; tests check that the three agree.  Other code asks for traits of an
 * algorithm and compares no names.  libeddis links this file, so it depends on nothing else.
 */
#ifndef EDDIS_MODEL_ALGORITHM_H
#define EDDIS_MODEL_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sync_mode { SYNC_MODE_SYNC, SYNC_MODE_ASYNC, SYNC_MODE_HYBRID, SYNC_MODE_LOCAL, SYNC_MODES };

/* Return the name of a mode: "sync", "async", "hybrid" or "local", a constant. */
const char *sync_mode_name(enum sync_mode mode);

/* Return the mode whose name is the n bytes at `name`; SYNC_MODES if there is none. */
enum sync_mode sync_mode_find(const char *name, size_t n);

/* Properties of an algorithm on which other code depends */
enum algorithm_trait {
    ALGORITHM_EXACT = 1,     /* an update equals that of one process on the whole batch */
    ALGORITHM_SEVERAL = 2,   /* each worker, or group of workers, trains its own model */
    ALGORITHM_ELASTIC = 4,   /* every `period` steps, models are drawn to a common centre by
                              * moving_rate */
    ALGORITHM_GROUPED = 8,   /* a group of workers shares one model */
    ALGORITHM_EXTERNAL = 16, /* the program combines the gradients itself and has said so in
                              * eddis_options.gradients; neither a job nor a plan chooses it */
    ALGORITHM_ROUNDS = 32,   /* all groups combine their models at the same time, at the end of a
                              * round of `period` steps */
    ALGORITHM_OUTER = 64,    /* the combined difference of the models is a gradient for an outer
                              * optimizer, of outer_rate and outer_momentum */
    ALGORITHM_NAMED = 128,   /* eddis chooses it only for a job that names the algorithm: with some
                              * learning rates it diverges */
};

/* Number format of gradient sums sent between nodes */
enum sync_wire {
    SYNC_WIRE_AUTO,
    SYNC_WIRE_FLOAT32,
    SYNC_WIRE_BFLOAT16,
    SYNC_WIRE_FLOAT16,
    SYNC_WIRES
};

/* Names of the formats: "auto", "float32", "bfloat16", "float16". */
extern const char *const sync_wire_names[SYNC_WIRES];

/* Return the name of format i; NULL after the last. */
const char *sync_wire_name(size_t i);

/* Return the format of this name; SYNC_WIRE_AUTO if there is none. */
enum sync_wire sync_wire_find(const char *name);

/* Check whether the format has 16 bits. */
bool sync_wire_is_half(enum sync_wire w);

/* Options of an algorithm.  0 means "auto" in a job and "not applicable" in a plan.  Each member
 * has its row in sync_options_rows.h.  The struct is placed in shared memory: no padding.
 */
struct sync_options {
    int64_t period;     /* steps between two averages of models */
    double moving_rate; /* fraction, up to 1, by which model and centre approach each other in an
                         * average */
    double momentum;    /* Nesterov momentum of the workers' own steps; 0: as the program sets it */
    double outer_rate;  /* learning rate of the outer optimizer, ALGORITHM_OUTER */
    double outer_momentum; /* Nesterov momentum of the outer optimizer */
    int64_t overlap; /* ALGORITHM_ROUNDS: steps of the next round during which models are combined;
                      * 0: none */
    enum sync_wire wire; /* format of gradients, and of ALGORITHM_ROUNDS' differences of models,
                          * between nodes */
    int32_t unused;      /* 0 */
};

/* Check whether every option is in the range that a plan may contain. */
bool sync_options_are_valid(const struct sync_options *o);

/* One synchronisation algorithm */
struct algorithm {
    const char *name; /* "allreduce" */
    enum sync_mode mode;
    unsigned traits;                     /* bits of enum algorithm_trait */
    const char *summary;                 /* one line */
    const char *source;                  /* paper; "": common knowledge */
    const struct efficiency *efficiency; /* measurements for algorithm_efficiency; NULL: none, the
                                          * efficiency is 1 */
};

/* Borrow the table in *ret and return the number of its rows.  The first row is the default. */
size_t algorithms(const struct algorithm **ret);

/* Borrow the algorithm of this name; NULL: there is none. */
const struct algorithm *algorithm_find(const char *name);

/* Check whether the algorithm of this name has the trait; false if there is no such algorithm. */
bool algorithm_has(const char *name, enum algorithm_trait trait);

/* ---- a job's request: a mode and a name, each may be "auto" ---- */

/* Check whether both mode and name are "auto". */
bool algorithm_is_open(const char *mode, const char *name);

/* Borrow the algorithm of a program that combines its gradients itself. */
const struct algorithm *algorithm_external(void);

/* Check whether algorithm a matches the requested mode and name.  One with ALGORITHM_EXTERNAL
 * matches no request.
 */
bool algorithm_suits(const struct algorithm *a, const char *mode, const char *name);

/* Check whether eddis may choose algorithm a for a job with this request: a matches it, and with
 * ALGORITHM_NAMED the request is not open.
 */
bool algorithm_is_choice(const struct algorithm *a, const char *mode, const char *name);

/* Borrow the first algorithm that eddis may choose for this request; NULL: there is none.  It is
 * the one that a job gets unless the request is open (algorithm_is_open).
 */
const struct algorithm *algorithm_asked(const char *mode, const char *name);

/* Check whether an algorithm that a job with this request may get has the trait. */
bool algorithm_may_have(const char *mode, const char *name, enum algorithm_trait trait);

/* Return the i-th word that train.yaml may contain as sync.mode; NULL after the last. */
const char *sync_mode_name_at(size_t i);

/* Return the i-th word that train.yaml may contain as sync.algorithm; NULL after the last. */
const char *algorithm_word(size_t i);

/* Return the i-th word for sync.algorithm that is reserved for a later version; NULL after the
 * last.
 */
const char *algorithm_later(size_t i);

/* ---- efficiency ---- */

/* Return the progress per sample relative to sync, at most 1.  `writers` is the number of workers
 * in async mode, of groups in hybrid and local mode; they average models every `period` steps.  The
 * result never rises with writers nor, without ALGORITHM_OUTER, with period.  It is 1 for one
 * writer, for period 0 and for an algorithm without measurements.
 */
double algorithm_efficiency(const struct algorithm *a, int writers, int64_t period);

/* Factor by which a choice that is not exact, another mode or 16-bit gradients between nodes, must
 * exceed the predicted progress of an exact one to be made.
 */
#define ALGORITHM_MARGIN 1.05

#endif
