/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what belongs to the process as a whole: MPI and its thread, the progress page, forks,
 * and exits without eddis_close
 *
 * A process starts MPI once and has one page on the board, while several workers may be opened and
 * closed in it.  So both are kept after the last worker is closed.  In a child made by fork nothing
 * may be used, and its exit ends nothing.
 */
#ifndef EDDIS_WORKER_PROCESS_H
#define EDDIS_WORKER_PROCESS_H

#include "lib/board/board.h"
#include "lib/sync/comm_thread.h"

/* What an exit with status 0 does for a worker that has a function `leave`. */
enum process_leave {
    LEAVE_NOT,    /* end the job with exit code 1 */
    LEAVE_FINISH, /* leave the job in order if the worker's steps can end first, otherwise as
                   * LEAVE_NOT */
    LEAVE_ORDER,  /* leave the job in order */
};

/* An open worker, as the process sees it; a member of its struct eddis. */
struct process_worker {
    struct process_worker *next;
    int fork_count;             /* process_forks() when it was opened */
    struct comm_thread *thread; /* communication thread, used to end all ranks; NULL: there is one
                                 * rank */
    /* Leave the job in order, in the thread that ends the process; NULL: an exit ends the job. */
    int (*leave)(struct process_worker *w, struct eddis_error *err);
    /* may_finish checks whether the worker's steps may end now, and may set err to why they may
     * not; finish ends them, with the calls of eddis.h, before the worker leaves.  NULL: steps may
     * not end at an exit.
     */
    bool (*may_finish)(struct process_worker *w, struct eddis_error *err);
    int (*finish)(struct process_worker *w, struct eddis_error *err);
    enum process_leave may_leave; /* set by process_may_leave */
    bool left;                    /* an exit of the process leaves the job for this worker, or has
                                   * done so */
};

/* Return the number of forks between this process and the one that loaded the library. */
int process_forks(void);

/* Return 0, -EINVAL if w is NULL, or -EPERM: in a child forked after w was opened, or if
 * process_has_left.
 */
int process_check(const struct process_worker *w, struct eddis_error *err);

/* Check whether the process is exiting and w has left the job, so that only w's memory remains. */
bool process_has_left(const struct process_worker *w);

/* Register a worker.  An exit of the process before process_remove then ends all ranks with its
 * exit status, or with 1 if that is 0, after process_last_words.  If the status is 0 and all open
 * workers can leave in order, they leave instead.  Return 0 or -ENOMEM.
 */
int process_add(struct process_worker *w, struct eddis_error *err);

/* Unregister a worker. */
void process_remove(struct process_worker *w);

/* Set the effect of an exit with 0 from now on. */
void process_may_leave(struct process_worker *w, enum process_leave may);

/* Flush stdio before an end that would lose its output.  If that takes over three seconds, end the
 * process with this code instead.
 */
void process_last_words(int code);

/* Store in *ret a reference to the process's hub, which uses MPI; give it back by process_hub_put.
 * The first call creates the hub, and blocks until all ranks have created theirs.  Return 0 or a
 * negative errno; -EPERM: this process was forked by the one that has the hub.
 */
int process_hub_take(struct comm_hub **ret, struct eddis_error *err);

/* Give back the reference; orderly: the worker's part was closed in order.  When no reference is
 * left, the hub is closed, unless libeddis has started MPI in this process: then hub and MPI stay
 * until the process exits.  The exit does not close MPI if that could wait forever: after a
 * disorderly close, if the process has failed, or under eddis-run, which handles mpirun's end.
 */
void process_hub_put(bool orderly);

/* Borrow this process's page of the board until process_board_put.  -EBUSY: another worker of this
 * process has borrowed the page.  Otherwise fails as board_open.
 */
int process_board_take(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err);

/* Give back the page of process_board_take. */
void process_board_put(void);

/* Borrow the page without a worker, as it is, and lock it against others until
 * process_board_unlock.  On failure, as of process_board_take, nothing is locked.
 */
int process_board_lock(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err);

/* Give back and unlock the page of process_board_lock. */
void process_board_unlock(void);

#endif
