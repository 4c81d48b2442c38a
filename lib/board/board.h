/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - the progress board: the agent's and the workers' access to the shared memory of
 * layout.h
 *
 * The agent makes the file, passes its path to the workers in EDDIS_BOARD and unlinks it when all
 * have mapped it.  The file has mode 0600 in a folder of mode 0700, so other users cannot read it.
 */
#ifndef EDDIS_BOARD_BOARD_H
#define EDDIS_BOARD_BOARD_H

#include "layout.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct board; /* a mapping */

/* ---- for the agent ---- */

/* Make the file (it must not exist) for n_local workers, and map it; board_close frees *ret.  All
 * of *setup but magic, version, sequence and plan_version is copied into the area.  setup->group
 * NULL: all ranks are in one group; setup->node_of NULL: all are on one node.  Return 0 or a
 * negative errno, and then remove what was made; -EINVAL: invalid setup; -EEXIST: there is such a
 * file, which stays.
 */
int board_create(const char *path, const struct board_area *setup, struct board **ret,
                 struct eddis_error *err);

/* Publish a plan.  Its version is one more than that of the plan before; the first is 1, or 0 while
 * the mode is open.  plan->piece NULL: all 0.  Return 0 or a negative errno, and then nothing is
 * published; -EBUSY: BOARD_PLANS - 1 versions are not yet in force on some local worker.  If a
 * page's plan_since is set, its plan_version is in force on that worker; otherwise the plan of the
 * last step in its ring is.
 */
int board_publish(struct board *b, const struct board_plan *plan, struct eddis_error *err);

/* Publish plan 1 after plan 0, with mode, algorithm, options and group of *settled.  Return 0 or a
 * negative errno, and then nothing is published; -EINVAL: not plan 1 after plan 0, or invalid
 * values.
 */
int board_settle(struct board *b, const struct board_area *settled, const struct board_plan *plan,
                 struct eddis_error *err);

/* Copy a worker's page to *ret.  Never block.  Return 0 or a negative errno, and then *ret is
 * unchanged: -EAGAIN if the page was being written in each of a hundred tries, -ENODATA before the
 * worker has mapped the page, -EPROTO if its content is invalid, -EINVAL if there is no such local
 * rank.
 */
int board_read(const struct board *b, int local_rank, struct board_page *ret,
               struct eddis_error *err);

/* Return the samples that plan `version` gives a local rank; 0 if the plan is no longer kept. */
int64_t board_batch(const struct board *b, int64_t version, int local_rank);

/* Check whether all n_local workers have mapped their pages themselves; then the file may be
 * unlinked.
 */
bool board_all_mapped(const struct board *b);

/* ---- for a worker ---- */

/* Map the file and initialize the page of this local rank, which then belongs to the caller.
 * board_close frees *ret.  Return 0 or a negative errno.  -EPROTO: the file is not a progress
 * board, or of another version of eddis; -EBUSY: the page belongs to another living process.
 */
int board_open(const char *path, int local_rank, struct board **ret, struct eddis_error *err);

/* Map the file, for a process that finds a worker's steps in the worker's output and writes them to
 * its page.  pid is the worker's process and is stored in the page.  That process may take the page
 * over at any time by board_open.  board_close frees *ret.  Return 0 or a negative errno; -EBUSY:
 * that process has done so already.
 */
int board_open_output(const char *path, int local_rank, pid_t pid, struct board **ret,
                      struct eddis_error *err);

/* Check whether the page is still the caller's, not taken over by the worker itself. */
bool board_is_output(const struct board *b);

/* Reset the page, for another worker of the process that has opened it. */
void board_renew(struct board *b);

/* Borrow the page to write to, until board_end.  Takes under a microsecond and no system call; only
 * one thread at a time may do this.  The page is this process's own copy and keeps what was written
 * before.
 */
struct board_page *board_begin(struct board *b);

/* Publish the page of board_begin, except `choice`.  Of the ring publish only the slots of steps up
 * to steps_done - 1 that are new since the previous board_end, and the newest slot again.
 */
void board_end(struct board *b);

/* What is known of a program that reports only the numbers of its steps. */
struct board_reported {
    int64_t step;    /* number of the newest step that has ended, from 0; -1: none */
    int64_t samples; /* samples of all steps since the previous board_show_steps */
    int64_t total;   /* steps of the whole run; 0: unknown */
    int64_t thread;  /* number (gettid) of the thread that makes the steps; 0: unknown */
    int64_t now_ns;  /* clock_now_ns of the report */
    /* Sums over these steps: their time, 0: the time since the previous call; the worker's own part
     * of it, 0: unknown; and, if that is known, the part in which it waited for other workers.
     */
    int64_t step_ns, compute_ns, wait_ns;
};

/* Show on the page that these steps have ended since the previous call, each after an equal part of
 * the time between the calls.  The first call starts the clock.  A step number below an earlier one
 * only shows that the program is alive.
 */
void board_show_steps(struct board *b, const struct board_reported *t);

/* Publish measured settings of the communication, under the next version number of such settings.
 */
void board_choose(struct board *b, const struct comm_choice *choice);

/* Borrow this worker's own copy of its page, with all that was written to it so far. */
const struct board_page *board_own(const struct board *b);

/* Borrow the area's constant part (all but sequence and plan_version) and its arrays. */
const struct board_area *board_setup(const struct board *b);

/* Update mode, algorithm, options and groups of the set-up from the board, once there is a plan 1.
 * Return 0 or a negative errno, and then the set-up is unchanged.  -EAGAIN: the agent was writing
 * in each of a hundred tries; -EPROTO: the values are invalid.
 */
int board_take_mode(struct board *b, struct eddis_error *err);

/* Return the newest plan version; a single load. */
int64_t board_newest(const struct board *b);

/* Copy plan `version` to *ret.  ret->batch and ret->piece (may be NULL) are the caller's,
 * [n_ranks]; a failure may leave other numbers in them.  Return 0 or a negative errno.  -ESTALE:
 * the version is no longer kept; -ENOENT: it is not published yet; -EAGAIN: the agent was writing
 * in each of a hundred tries.
 */
int board_plan_get(const struct board *b, int64_t version, struct board_plan *ret,
                   struct eddis_error *err);

/* Create a note beside the file (left false: remove it) that this worker has left the job in order
 * and its process will end without MPI_Finalize.  The wrapper hides such an end from mpirun, which
 * would end the other workers.  Return whether the note exists now.
 */
bool board_note_left(const char *path, int local_rank, bool left);

/* Check whether the note of board_note_left exists for this worker. */
bool board_left(const char *path, int local_rank);

/* Unmap the board and free it; b may be NULL.  The agent unlinks the file. */
void board_close(struct board *b);

#endif
