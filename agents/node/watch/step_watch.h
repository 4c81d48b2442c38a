/* SPDX-License-Identifier: Apache-2.0 */
/* step_watch.h - measures the steps of a worker by its progress page
 *
 * A page keeps the last BOARD_RING steps.  Steps overwritten between two polls are missed: the
 * measurements are medians, which need not see every step.
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
    int64_t steps_here;                    /* at the last poll */
    int64_t batch_plan, batch;             /* plan version, and the worker's batch in it */
    int64_t reported_plan, reported_since; /* plan and start of the measurements reported last */
    bool unsure;                           /* these may be of delayed steps, not of another speed */
    int64_t queued_ns, queued_at;          /* at their first report; -1: unknown */
    struct process_load load;
    struct process_memory memory; /* at the last poll */
};

/* Initialize a watch without steps. */
void step_watch_init(struct step_watch *w);

/* Add the steps of a progress page of board b that are new since the previous call.  Steps done
 * again, after a resume or in a new handle of the program, begin a new window.
 */
void step_watch_take(struct step_watch *w, const struct board_page *page, const struct board *b);

/* Check whether there are measurements of a plan or speed that were never reported, or only from
 * too few steps to be sure.
 */
bool step_watch_has_news(const struct step_watch *w);

/* Read the memory of the worker's process, if it is known.  Call it before reading the page:
 * otherwise the peak of a step that begins meanwhile counts for a step on the page.
 */
void step_watch_look_at_memory(struct step_watch *w);

/* Write measurements, time in the run queue and memory to *ret for a report now. wrapper: ancestor
 * of the worker's process; 0: none, then nothing is known of the process.
 */
void step_watch_report(struct step_watch *w, const struct board_page *page, pid_t wrapper,
                       struct progress *ret);

/* Copy the page's counters and error text of checkpoints, validated. */
void progress_checkpoints(struct progress *p, const struct board_page *page);

#endif
