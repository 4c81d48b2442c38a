/* SPDX-License-Identifier: Apache-2.0 */
/* told_scenario.h - trainings about the samples that workers are told, with every result checked
 *
 * Each worker runs them with its own handle, opened by scenario_options of the same scenario:
 * threads over the in-process loop, or processes over MPI, in any mode.  Failures are printed and
 * counted; the workers go on, so that none waits for ever.  All return the number of failures.
 */
#ifndef EDDIS_TESTS_TOLD_SCENARIO_H
#define EDDIS_TESTS_TOLD_SCENARIO_H

#include "scenario.h"

#include <stdbool.h>

/* What drop_last and min_count leave out of an epoch, and nothing else; a min_count that leaves
 * nothing is refused.
 */
int reported_trailers(struct eddis *e, struct scenario *s);
int reported_none_left(struct eddis *e, struct scenario *s);

/* What each worker is told of the others' samples is what these are told. */
int reported_counts(struct eddis *e, struct scenario *s);

/* Samples that the program counts itself; s->done has them.  Not in one that asks for numbers. */
int reported_own(struct eddis *e, struct scenario *s);
int reported_mixed(struct eddis *e, struct scenario *s);

/* Data that are given after opening, s->late; open: so is the mode, until eddis_commit. */
int reported_late(struct eddis *e, struct scenario *s, bool open);

/* Samples of s->read_ahead steps, asked for by two threads at all times, and none beyond. */
int reported_ahead(struct eddis *e, struct scenario *s);

/* A program that leaves its loop every two steps, with the loader of that, and goes on by another
 * one, as a script does that breaks out of its epochs.
 */
int reported_breaks(struct eddis *e, struct scenario *s);

/* The descriptor of new plans; s->plans: there is one, by s->after_step or by itself. */
int told_plan_fd(struct eddis *e, struct scenario *s);

#endif
