/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what belongs to the process as a whole: MPI and its thread, the progress page, forks,
 * and exits without eddis_close
 *
 * A process has MPI once and one page on the board, while workers are opened and closed in it: so
 * both are kept when the last worker has been closed.  Nothing is of use in a child made by fork,
 * where nothing is ended either.
 */
#ifndef EDDIS_WORKER_PROCESS_H
#define EDDIS_WORKER_PROCESS_H

#include "lib/board/board.h"
#include "lib/sync/comm_thread.h"

/* What an exit with 0 is to a worker that has a way to leave. */
enum process_leave {
    LEAVE_NOT,    /* the end of the job, with 1 */
    LEAVE_FINISH, /* that, or an end in good order when its steps are ended before */
    LEAVE_ORDER,  /* an end in good order */
};

/* An open worker, as the process sees it; a member of its struct eddis. */
struct process_worker {
    struct process_worker *next;
    int fork_count;             /* process_forks() when it was opened */
    struct comm_thread *thread; /* to end all ranks with; NULL: one rank */
    /* Leave the job in order, in the thread that ends the process; NULL: an exit ends the job. */
    int (*leave)(struct process_worker *w, struct eddis_error *err);
    /* Whether its steps may end now, and end them, with the calls of eddis.h, before it leaves;
     * NULL: they may not.
     */
    bool (*may_finish)(struct process_worker *w);
    int (*finish)(struct process_worker *w, struct eddis_error *err);
    enum process_leave may_leave; /* by process_may_leave */
    bool left;                    /* an exit is leaving, or has left */
};

/* Count the forks between this process and the one that loaded the library. */
int process_forks(void);

/* Return 0, -EINVAL when w is NULL, or -EPERM: in a child made by fork after w was opened, or when
 * process_has_left.
 */
int process_check(const struct process_worker *w, struct eddis_error *err);

/* Whether an exit of the process, which goes on, has had w leave: only w's memory is left. */
bool process_has_left(const struct process_worker *w);

/* Make an exit of the process before process_remove end all ranks, with the exit code of the
 * process, or 1 when that is 0, after process_last_words.  One with 0 has workers that have a way
 * to leave do so instead, while all that are open may.
 */
int process_add(struct process_worker *w, struct eddis_error *err);
void process_remove(struct process_worker *w);

/* What an exit with 0 is from now on. */
void process_may_leave(struct process_worker *w, enum process_leave may);

/* Write out what stdio still holds, before an end that would lose it.  Where that takes longer than
 * three seconds the process ends with this code instead.
 */
void process_last_words(int code);

/* Take a share of the process's hub, which stands on MPI; the first one makes it.  Blocks until all
 * ranks do so.  -EPERM: this is a child of the process that has it.
 */
int process_hub_take(struct comm_hub **ret, struct eddis_error *err);

/* Give it back; orderly: as the worker's end of it was closed.  The last one ends it, unless MPI
 * was started here: then it is kept, and ended when the process exits.  So is MPI, but not where
 * that could wait for ever, when an end was not closed in good order or the process has failed, nor
 * under eddis-run, which sees to mpirun's end.
 */
void process_hub_put(bool orderly);

/* Borrow this process's page of the board until process_board_put.  -EBUSY: another worker of this
 * process has it.  Else fails as board_open.
 */
int process_board_take(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err);
void process_board_put(void);

/* Borrow it as it is, without a worker, and keep others from it, until process_board_unlock.  Fails
 * likewise, and nothing is locked then.
 */
int process_board_lock(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err);
void process_board_unlock(void);

#endif
