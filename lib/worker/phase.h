/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - where a step's time goes, and this worker's page of the progress board
 *
 * Time belongs to the phase that was set last.  A step's time is that of the phases input, compute
 * and wait; start, evaluation and checkpoints are outside of steps.  What was waited is split: the
 * least that any worker waited in the step before is what communication takes when nobody is late
 * (exposed), the rest was waiting for others.
 */
#ifndef EDDIS_WORKER_PHASE_H
#define EDDIS_WORKER_PHASE_H

#include "lib/eddis.h"

#include "lib/board/board.h"

struct phase_clock {
    enum eddis_phase phase;
    int64_t since_ns;                       /* of the phase */
    int64_t spent_ns[EDDIS_PHASE_DONE + 1]; /* in this step */
    int64_t blocked_ns;                     /* in the step before; INT64_MAX: none yet */
    int64_t exposed_ns; /* least of all workers; INT64_MAX: not known, as good as 0 */
};

void phase_clock_init(struct phase_clock *c, int64_t now_ns);

/* Enter a phase; returns the one before. */
enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns);

/* End a step: returns its times, and begins with input again. */
struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns);

/* The board's side; b may be NULL, then nothing happens. */
void phase_show(struct board *b, const struct phase_clock *c);
void phase_show_step(struct board *b, const struct board_step *s, const struct eddis_report *report,
                     int64_t sent_bytes);
void phase_show_wait(struct board *b, int rank);
int phase_show_metric(struct board *b, const char *name, double value, struct eddis_error *err);

#endif
