/* SPDX-License-Identifier: Apache-2.0 */
/* algorithm.h - the table of synchronisation algorithms: modes, traits, options, efficiencies
 *
 * lib/sync implements a row by the ops of the same name, scheduler predicts it by the predictor of
 * the same name, and tests hold the three together.  Code asks whether an algorithm has a trait;
 * names are compared here alone.  libeddis links this file, so it stands on nothing.
 */
#ifndef EDDIS_MODEL_ALGORITHM_H
#define EDDIS_MODEL_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sync_mode { SYNC_MODE_SYNC, SYNC_MODE_ASYNC, SYNC_MODE_HYBRID, SYNC_MODES };

/* "sync", "async", "hybrid". */
const char *sync_mode_name(enum sync_mode mode);

/* What the rest of eddis asks of an algorithm. */
enum algorithm_trait {
    ALGORITHM_EXACT = 1,   /* an update is that of one process on the whole batch */
    ALGORITHM_SEVERAL = 2, /* workers, or groups of them, train models of their own */
    ALGORITHM_ELASTIC = 4, /* models are drawn to a centre, at some period and by some rate */
    ALGORITHM_GROUPED = 8, /* a model belongs to a group of workers */
};

/* The number format of the sums of gradients on their way between nodes. */
enum sync_wire {
    SYNC_WIRE_AUTO,
    SYNC_WIRE_FLOAT32,
    SYNC_WIRE_BFLOAT16,
    SYNC_WIRE_FLOAT16,
    SYNC_WIRES
};

/* "auto", "float32", "bfloat16", "float16"; the second returns NULL behind the last. */
extern const char *const sync_wire_names[SYNC_WIRES];
const char *sync_wire_name(size_t i);

/* Return what has this name; SYNC_WIRE_AUTO: nothing has. */
enum sync_wire sync_wire_find(const char *name);

/* Return whether numbers of 16 bits travel. */
bool sync_wire_is_half(enum sync_wire w);

/* What a job may set of an algorithm.  In every member 0 is "auto" in a job, and in a plan "the
 * algorithm has none"; each has its row in sync_options_rows.h.  It lies in shared memory as it
 * stands here: no padding.
 */
struct sync_options {
    int64_t period;      /* steps between two averages of models */
    double moving_rate;  /* how far a model and the centre move towards each other then, up to 1 */
    double momentum;     /* Nesterov's, of the workers' own steps; 0: as the program has it */
    enum sync_wire wire; /* of gradients */
    int32_t unused;      /* 0 */
};

/* Whether every member lies in the range that a plan may give it. */
bool sync_options_are_sane(const struct sync_options *o);

struct algorithm {
    const char *name; /* "allreduce" */
    enum sync_mode mode;
    unsigned traits;                     /* of enum algorithm_trait */
    const char *summary;                 /* one line */
    const char *source;                  /* paper; "" when it is common knowledge */
    const struct efficiency *efficiency; /* see algorithm_efficiency; NULL: 1 */
};

/* Borrows the rows, of which the first is what a job gets that asks for nothing; returns their
 * number.
 */
size_t algorithms(const struct algorithm **ret);

/* Borrows a row by name, or NULL. */
const struct algorithm *algorithm_find(const char *name);

/* Whether the algorithm of this name has the trait; false when there is no such algorithm. */
bool algorithm_has(const char *name, enum algorithm_trait trait);

/* ---- what a job asks for: a mode and a name, each of which may be "auto" ---- */

/* Whether both are "auto". */
bool algorithm_is_open(const char *mode, const char *name);

/* Whether row a is of this mode and has this name. */
bool algorithm_suits(const struct algorithm *a, const char *mode, const char *name);

/* Borrows the first row that suits, or NULL. */
const struct algorithm *algorithm_asked(const char *mode, const char *name);

/* Whether some row that suits has the trait. */
bool algorithm_may_have(const char *mode, const char *name, enum algorithm_trait trait);

/* Word i that train.yaml may hold as sync.mode or sync.algorithm, and that a later version will
 * know; NULL behind the last.
 */
const char *sync_mode_word(size_t i);
const char *sync_mode_later(size_t i);
const char *algorithm_word(size_t i);
const char *algorithm_later(size_t i);

/* ---- efficiency ---- */

/* Return the progress per sample beside sync, 1 at most: of `writers` (workers of the async modes,
 * groups of the hybrid ones) that average models every `period` steps.  Never more for more
 * writers, or for a longer period; 1 for one writer and for what has no period (0).
 */
double algorithm_efficiency(const struct algorithm *a, int writers, int64_t period);

/* Another mode is chosen only when its predicted progress is this factor ahead of sync; and 16 bits
 * between nodes when their speed is ahead of float32's.
 */
#define ALGORITHM_MARGIN 1.05

#endif
