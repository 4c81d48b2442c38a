/* SPDX-License-Identifier: Apache-2.0 */
/* step_watch.h - follows the steps of a worker on its board page, for the figures of its progress
 *
 * A page keeps the last BOARD_RING steps.  Those that were overwritten between two looks are
 * missed: figures are medians, which need not see every step.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_STEP_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_STEP_WATCH_H

#include "process_load.h"

#include "agents/protocol/protocol.h"
#include "lib/board/board.h"
#include "lib/model/step_window.h"

#include <stdbool.h>
#include <stdint.h>

struct step_watch {
    struct step_window window;
    int64_t steps_here;            /* at the last look */
    int64_t batch_plan, batch;     /* what this version of the plan gives it */
    int64_t told_plan, told_since; /* of the figures that were reported last */
    bool unsure;                  /* they may be of steps that were held up, not of another speed */
    int64_t queued_ns, queued_at; /* when they were first: of its thread, -1 unknown; steps done */
    struct process_load load;
    struct process_memory memory; /* as of the last look */
};

void step_watch_init(struct step_watch *w);

/* Take the steps of a page, of b, that are new since the look before.  Steps that are done again,
 * since the program went back or another handle of it began, begin a new window.
 */
void step_watch_take(struct step_watch *w, const struct board_page *page, const struct board *b);

/* Whether there are figures of a plan, or a speed, of which none were reported yet, or only of
 * steps too few to be sure of it.
 */
bool step_watch_has_news(const struct step_watch *w);

/* Look what its process holds, if that is known by now: before the page is read, so that no peak of
 * a step that begins meanwhile is taken for one of the steps on the page.
 */
void step_watch_look_at_memory(struct step_watch *w);

/* Write figures, time in the run queue and memory to *ret, as they are to be reported now. wrapper:
 * the process that the worker's descends from, without which nothing is known of it; 0: none.
 */
void step_watch_report(struct step_watch *w, const struct board_page *page, pid_t wrapper,
                       struct progress *ret);

/* Copy what the page tells of checkpoints, made sane. */
void progress_checkpoints(struct progress *p, const struct board_page *page);

#endif
