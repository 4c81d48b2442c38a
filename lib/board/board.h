/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - the progress board: both ends of the shared memory described in layout.h
 *
 * The agent makes the file, hands its path to the workers in EDDIS_BOARD and unlinks it when all
 * have mapped it.  A file of 0600 in a folder of 0700: other users cannot look.
 */
#ifndef EDDIS_BOARD_BOARD_H
#define EDDIS_BOARD_BOARD_H

#include "layout.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct board; /* a mapping */

/* The agent's end. */

/* Make the file (it must not exist) for n_local workers.  Everything of *setup but magic, version,
 * sequence and plan_version is copied into the area; group or node_of NULL: all ranks are of one.
 */
int board_create(const char *path, const struct board_area *setup, struct board **ret,
                 struct eddis_error *err);

/* Publish a plan, its piece NULL: all 0; its version must be one more than the last, 1 at first, or
 * 0 while the mode is open.  -EBUSY: BOARD_PLANS - 1 versions are not yet in force on some local
 * worker.  In force is a page's plan_version once its plan_since is set, until then the version of
 * its last step in the ring.
 */
int board_publish(struct board *b, const struct board_plan *plan, struct eddis_error *err);

/* Publish plan 1 behind plan 0, with the mode, algorithm, options and group of *settled. */
int board_settle(struct board *b, const struct board_area *settled, const struct board_plan *plan,
                 struct eddis_error *err);

/* Copy a worker's page.  Never blocks: -EAGAIN when its writer was at it a hundred times running,
 * -ENODATA before the worker has mapped it, -EPROTO when it holds nonsense.
 */
int board_read(const struct board *b, int local_rank, struct board_page *ret,
               struct eddis_error *err);

/* Return the samples that plan `version` gives a local rank; 0 where it is no longer kept. */
int64_t board_batch(const struct board *b, int64_t version, int local_rank);

/* Whether all n_local workers have mapped their pages themselves (the file may be unlinked then).
 */
bool board_all_mapped(const struct board *b);

/* The worker's end. */

/* Map the file; the page of this local rank is initialised and belongs to the caller.
 * -EPROTO: the agent is of another version of eddis, or the file is none of its; -EBUSY: the page
 * belongs to another living process.
 */
int board_open(const char *path, int local_rank, struct board **ret, struct eddis_error *err);

/* Map the file for a worker's page whose steps are told from outside, by what it prints: the page
 * is that of process pid, whose own board_open gets it all the same.  -EBUSY: it has it already.
 */
int board_open_output(const char *path, int local_rank, pid_t pid, struct board **ret,
                      struct eddis_error *err);

/* Whether the page is still the caller's, and not the worker's own. */
bool board_is_output(const struct board *b);

/* Begin the page anew, for another worker of the process that has opened it. */
void board_renew(struct board *b);

/* Borrows the page to write to, between board_begin and board_end; under a microsecond and no
 * system call.  One thread at a time.  It is this process's own copy and holds what was written
 * before; board_end publishes all but the ring and `choice`, and of the ring the slots of the steps
 * up to steps_done - 1 that are new since the last board_end, and the newest one again.
 */
struct board_page *board_begin(struct board *b);
void board_end(struct board *b);

/* What is known of a program that only tells the numbers of its steps. */
struct board_told {
    int64_t step;    /* number of the last one that has ended, from 0; -1: none has */
    int64_t samples; /* of all since the call before */
    int64_t total;   /* steps of the whole run; 0: unknown */
    int64_t thread;  /* that makes them; 0: unknown */
    int64_t now_ns;
};

/* Show on the page that these steps have ended since the call before, each after an even part of
 * the time; the first call starts the clock, and a number below that of an earlier one is a sign of
 * life.
 */
void board_show_steps(struct board *b, const struct board_told *t);

/* Publish what was chosen of the communication, under a version of its own. */
void board_choose(struct board *b, const struct comm_choice *choice);

/* Read back what this worker itself wrote last. */
const struct board_page *board_own(const struct board *b);

/* Borrows the area's constant part (all but sequence and plan_version), and its arrays. */
const struct board_area *board_setup(const struct board *b);

/* Bring mode, algorithm, options and groups of the set-up up to date, once there is a plan 1.
 * -EAGAIN: the agent was writing a hundred times running; -EPROTO: they are none.
 */
int board_take_mode(struct board *b, struct eddis_error *err);

/* Newest plan version: one load. */
int64_t board_newest(const struct board *b);

/* Copy plan `version`; ret->batch and piece (may be NULL) are the caller's, [n_ranks], and written
 * in any case; -ESTALE when it is no longer kept, -ENOENT when it is not yet there, -EAGAIN when
 * the agent was writing a hundred times running.
 */
int board_plan_get(const struct board *b, int64_t version, struct board_plan *ret,
                   struct eddis_error *err);

/* Note beside the file, or take the note back, that this worker has left the job in good order and
 * its process will end without ending MPI: mpirun must not see that, for it would end the others.
 * Returns whether the note is there.
 */
bool board_note_left(const char *path, int local_rank, bool left);

/* Whether there is such a note. */
bool board_left(const char *path, int local_rank);

/* Unmap; accepts NULL.  The file itself is the agent's to unlink. */
void board_close(struct board *b);

#endif
