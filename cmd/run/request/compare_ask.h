/* SPDX-License-Identifier: Apache-2.0 */
/* compare_ask.h - what --compare is to train, and until when: --modes, --until and --rounds */
#ifndef EDDIS_CMD_RUN_REQUEST_COMPARE_ASK_H
#define EDDIS_CMD_RUN_REQUEST_COMPARE_ASK_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"

#include <stddef.h>

enum { COMPARE_MOST_ROUNDS = 64 };

/* The quantity that a run is to reach */
enum compare_goal {
    COMPARE_EPOCHS,   /* no target: the job trains to its own end */
    COMPARE_ACCURACY, /* test accuracy of rank 0 */
    COMPARE_LOSS,     /* smoothed training loss */
    COMPARE_SAMPLES,
    COMPARE_TIME,
    COMPARE_GOALS
};

/* A target of a run. */
struct compare_target {
    int goal;     /* enum compare_goal */
    double value; /* accuracy, loss, samples or seconds; 0 for COMPARE_EPOCHS */
};

/* What the user asks to compare. */
struct compare_ask {
    enum sync_mode mode[SYNC_MODES]; /* [n_modes] in the order of the runs; 0 modes: all */
    int n_modes;
    struct compare_target target;
    int rounds; /* runs of each mode, each with a seed of its own; 0: one */
};

/* Names of the goals as --until has them: "epochs" (only in compare.json), "accuracy", "loss",
 * "samples", "time".
 */
extern const char *const compare_goal_names[COMPARE_GOALS];

/* Parse the list of --modes, such as "sync,hybrid". Return 0; -EINVAL: it is empty, or names a mode
 * that does not exist or was named before.
 */
int compare_ask_modes(const char *text, struct compare_ask *ret, struct eddis_error *err);

/* Parse the target of --until, such as "accuracy=0.97". Return 0; -EINVAL: it names another
 * quantity, or the value is not possible.
 */
int compare_ask_until(const char *text, struct compare_target *ret, struct eddis_error *err);

/* Parse the number of --rounds. Return 0; -EINVAL: not from 1 to COMPARE_MOST_ROUNDS. */
int compare_ask_rounds(const char *text, struct compare_ask *ret, struct eddis_error *err);

/* Write a target for people to ret [size]: "accuracy 0.97", "10m of training", "the end of the
 * job".
 */
void compare_target_text(const struct compare_target *t, char *ret, size_t size);

#endif
