/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - where a step's time goes, and this worker's page of the progress board
 *
 * Time belongs to the phase that was set last.  A step's time is that of the phases input, compute
 * and wait; start, evaluation and checkpoints are outside of steps.  What was waited is split: the
 * least that any worker waited in the step before is what communication takes when nobody is late
 * (exposed), the rest was waiting for others.
 */
#ifndef EDDIS_PAGE_H
#define EDDIS_PAGE_H

#include "eddis.h"

#include "lib/board/board.h"

struct page_clock {
    enum eddis_phase phase;
    int64_t since_ns;                       /* of the phase */
    int64_t spent_ns[EDDIS_PHASE_DONE + 1]; /* in this step */
    int64_t blocked_ns;                     /* in the step before; INT64_MAX: none yet */
    int64_t exposed_ns; /* least of all workers; INT64_MAX: not known, as good as 0 */
};

void page_clock_init(struct page_clock *c, int64_t now_ns);

/* Enter a phase; returns the one before. */
enum eddis_phase page_clock_set(struct page_clock *c, enum eddis_phase phase, int64_t now_ns);

/* End a step: returns its times, and begins with input again. */
struct board_times page_clock_step(struct page_clock *c, int64_t now_ns);

/* The board's side; b may be NULL, then nothing happens. */
void page_phase(struct board *b, const struct page_clock *c);
void page_step(struct board *b, const struct board_step *s, const struct eddis_report *report,
               int64_t sent_bytes);
void page_waits_for(struct board *b, int rank);
int page_metric(struct board *b, const char *name, double value, struct eddis_error *err);

#endif
