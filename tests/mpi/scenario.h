/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - trainings through eddis.h with every result checked
 *
 * Each worker runs them with a handle of its own: threads over the in-process loop, or processes
 * over MPI, in any mode.  The handle is opened with scenario_options of the same scenario.
 */
#ifndef EDDIS_TESTS_SCENARIO_H
#define EDDIS_TESTS_SCENARIO_H

#include "fixture.h"

#define SCENARIO_SAMPLES   300
#define SCENARIO_EPOCHS    4
#define SCENARIO_NO_EPOCHS (-1)
/* What scenario_train reports of each step. */
#define SCENARIO_COMPUTE_NS 12345
#define SCENARIO_WORK       1000.5
#define SCENARIO_MEMORY     4096

struct scenario {
    int64_t batch;
    int64_t samples; /* 0: SCENARIO_SAMPLES */
    int64_t epochs;  /* 0: SCENARIO_EPOCHS; SCENARIO_NO_EPOCHS: the program gives none */
    int late;        /* the data are given before eddis_commit, not at opening */
    int read_ahead;  /* as of eddis_options */
    int drop_last;
    int64_t min_count;
    int measured;          /* buckets as measured, instead of small ones */
    const char *gradients; /* as of eddis_options */

    int plans;          /* a new plan comes, by after_step or by itself */
    int go_back;        /* the first checkpoint is restored at once */
    int repeats;        /* accumulates of each writer to the Soft Memory Box */
    const char *folder; /* for checkpoints; NULL: none is written */
    /* Called by rank 0 after each step, or before the first with -1; may be NULL. */
    void (*after_step)(void *arg, int64_t step);
    /* Note that a rank has done this step (INT64_MAX: its last) and wait until all have done all
     * but a few as many.
     */
    void (*keep_pace)(void *arg, int rank, int64_t step);
    void *arg;

    int64_t steps;  /* done, at the end */
    int64_t done;   /* samples that this worker has counted itself, or that all have taken */
    int64_t splits; /* times the own count changed between whole steps */
    int64_t checkpoints;
    unsigned all_flags; /* of all steps */
};

typedef void scenario_fn(struct eddis *e, struct scenario *s);

/* Return the options to open with. */
struct eddis_options scenario_options(const struct scenario *s);

int64_t scenario_epochs(const struct scenario *s);

/* Open a worker by the environment, as a program does.  Return NULL after a failure.  The caller
 * closes it with scenario_close.
 */
struct eddis *scenario_open(const struct scenario *s, struct eddis_world *ret);
void scenario_close(struct eddis *e);

/* Open a worker likewise, run a scenario with it, and close it.  Write its mode on rank 0, "" on
 * the others.
 */
void scenario_run(scenario_fn *run, const struct scenario *s, char mode[16]);

/* Train with small layers, against one process in float64. */
scenario_fn scenario_train;

/* Run collectives of every kind and type, blocking and not. */
scenario_fn scenario_collectives;

/* Run collectives of every kind in every scope, each group and node as often as it likes.  Rank r
 * is of group group_of[r] and node node_of[r]; NULL: as eddis_world says.
 */
void scenario_scopes(struct eddis *e, const int *group_of, const int *node_of);

/* ---- samples ---- */

/* Take what drop_last and min_count leave of an epoch, and nothing else; commit with a min_count
 * that leaves nothing.
 */
scenario_fn scenario_remainder, scenario_none_left;

/* Compare what each worker reads of the others' samples with what these have. */
scenario_fn scenario_counts;

/* Count samples in the program (s->done has them), and in a program that asks for numbers. */
scenario_fn scenario_own_count, scenario_mixed_count;

/* Give the data after opening, s->late, also where the mode is open until eddis_commit. */
scenario_fn scenario_late;

/* Ask for samples of s->read_ahead steps, by two threads at all times, and for none beyond. */
scenario_fn scenario_ahead;

/* Leave the loop every two steps, with the loader of that, and go on by another one, as a script
 * does that breaks out of its epochs.
 */
scenario_fn scenario_breaks;

/* Wait by the descriptor for a new plan, s->plans. */
scenario_fn scenario_plan_fd;

/* ---- parameters and their gradients ---- */

/* Announce by eddis_announce_many, also what it refuses. */
scenario_fn scenario_many;

/* Train parameters of no dimension, of no elements, and without a gradient. */
scenario_fn scenario_shapes;

/* Keep values in host memory only when the library reads or writes them, and never at the same
 * place; checkpoints go to s->folder.
 */
scenario_fn scenario_elsewhere;

/* Train parameters and gradients of 16 bits. */
scenario_fn scenario_half;

/* Weight gradients of 16 bits by numbers of any size, unlike in each step. */
scenario_fn scenario_weighted;

/* Bring models of 16 bits, which no gradient moves, to their mean, at s->keep_pace. */
scenario_fn scenario_mean;

/* ---- sets of parameters ---- */

/* Make steps of all kinds: two sets by turns, three rounds of one, both at once, two backward
 * passes with weights of their own, one set left out, workers that announce nothing.
 */
scenario_fn scenario_sets;

/* What the last rank does unlike the others. */
enum sets_mismatch {
    SETS_ORDER, /* takes the sets in another order */
    SETS_MORE,  /* makes another round of a set */
    SETS_ONE,   /* the same, of the only set */
    SETS_LAYERS /* the same, where layers are announced and waited for one by one */
};

/* Make rounds that do not fit: every rank is to get -EPROTO with the names of two. */
void scenario_sets_mismatch(struct eddis *e, enum sets_mismatch how);

/* ---- the others ---- */

/* Run every operation of the Soft Memory Box between ranks. */
scenario_fn scenario_smb;

/* Train while other threads announce, ask for samples, and make collectives of every scope and
 * requests to the Soft Memory Box.
 */
scenario_fn scenario_threads;

#endif
