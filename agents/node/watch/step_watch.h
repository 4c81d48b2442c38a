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
    int64_t steps_here;        /* steps_here of the page at the last poll */
    int64_t batch_plan, batch; /* plan version, and the worker's batch in it */
    /* plan version, and first step, of the measurements that were last reported */
    int64_t reported_plan, reported_since;
    /* the last reported measurements may show delayed steps instead of another speed */
    bool unsure;
    /* time in the run queue, and step, at the first report of these measurements; -1: unknown */
    int64_t queued_ns, queued_at;
    struct process_load load;
    struct process_memory memory; /* memory of the process at the last poll */
};

/* Initialize a watch without steps. */
void step_watch_init(struct step_watch *w);

/* Add the steps of a progress page of board b that are new since the previous call. If the program
 * repeats steps, after a resume or with a new handle, they begin a new window.
 */
void step_watch_take(struct step_watch *w, const struct board_page *page, const struct board *b);

/* Check whether there are measurements of a plan or speed that were never reported, or were
 * reported only from too few steps.
 */
bool step_watch_has_news(const struct step_watch *w);

/* Read the memory of the worker's process, if the process is known. To be called before the page is
 * read: otherwise the peak of a step that begins in between would count for a step on the page.
 */
void step_watch_look_at_memory(struct step_watch *w);

/* Write measurements, time in the run queue and memory to *ret, for a report. wrapper: ancestor of
 * the worker's process; 0: none, so that nothing is known of the process.
 */
void step_watch_report(struct step_watch *w, const struct board_page *page, pid_t wrapper,
                       struct progress *ret);

/* Copy the counters and the error text of checkpoints from the page to *p, validated. */
void progress_checkpoints(struct progress *p, const struct board_page *page);

#endif
