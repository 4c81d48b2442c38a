/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - the list of open workers, the state they share, and the effect of a fork or an exit
 * on them
 */
#include "process.h"

#include "environment.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAST_WORDS_S = 3 }; /* seconds allowed for flushing stdio while the other ranks wait */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards list and installed */
static struct process_worker *list; /* open workers, in the reverse order of opening */
static bool installed;              /* the handlers for fork and exit are installed */

/* State that the workers of this process share.  Its lock is held while MPI starts, and may be
 * taken before list_lock.
 */
static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct comm_hub *hub;     /* NULL: none */
    int hub_users, hub_forks; /* references; process_forks() when the hub was made */
    bool disorder;            /* a reference to the hub was given back by process_hub_put(false) */
    struct board *board;
    char *board_path;
    int board_rank, board_forks; /* local rank; process_forks() when the page was opened */
    bool board_taken;            /* a worker borrows the page */
    bool noted; /* board_note_left has left its note: eddis-run need not see MPI end */
} share;

/* Forks between the process that loaded the library and this one; changed only in a child, while it
 * has one thread.
 */
static int forks;
static volatile sig_atomic_t last_code; /* exit code if flushing takes too long */

int process_forks(void)
{
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

int process_check(const struct process_worker *w, struct eddis_error *err)
{
    if (!w)
        return eddis_fail(err, -EINVAL, "the handle is NULL");
    if (w->fork_count != process_forks())
        return eddis_fail(err, -EPERM,
                          "eddis cannot be used in a child made by fork; let the parent do it, or "
                          "start the child as a new program");
    if (process_has_left(w))
        return eddis_fail(err, -EPERM,
                          "the exit of the process has closed the handle "
                          "(eddis_options.close_at_exit): use it before");
    return 0;
}

bool process_has_left(const struct process_worker *w)
{
    return w->fork_count == process_forks() && __atomic_load_n(&w->left, __ATOMIC_ACQUIRE);
}

/* Return the value set by the latest process_may_leave. */
static enum process_leave how_to_leave(const struct process_worker *w)
{
    return __atomic_load_n(&w->may_leave, __ATOMIC_ACQUIRE);
}

/* Let the worker end its steps if may_leave says so, then leave the job.  Return 0 or a failure. */
static int leave(struct process_worker *w, struct eddis_error *err)
{
    int rc = how_to_leave(w) == LEAVE_FINISH ? w->finish(w, err) : 0;

    if (rc < 0)
        return rc;
    __atomic_store_n(&w->left, true, __ATOMIC_RELEASE);
    return w->leave(w, err);
}

/* Take list_lock before a fork; a handler of pthread_atfork.  If another thread held it, the child
 * could never take it.
 */
static void process_before_fork(void)
{
    pthread_mutex_lock(&list_lock);
}

/* Release list_lock in the parent after a fork. */
static void process_after_fork(void)
{
    pthread_mutex_unlock(&list_lock);
}

/* Count the fork and release list_lock, in the child after a fork. */
static void process_in_child(void)
{
    __atomic_add_fetch(&forks, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&list_lock);
}

/* Handle SIGALRM: end the process with exit code last_code. */
static void too_late(int sig)
{
    _exit(last_code);
}

/* Flush stdio, limited by an alarm.  Flushing may never return, because of a reader that does not
 * read, or a stdio lock that this thread holds itself.  So an alarm ends the process; it needs no
 * other thread and no memory.
 */
void process_last_words(int code)
{
    struct sigaction act = { .sa_handler = too_late };
    sigset_t alarm_only;

    last_code = code;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    if (sigaction(SIGALRM, &act, NULL) < 0 || pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL) != 0)
        return;
    (void)alarm(LAST_WORDS_S);
    (void)fflush(NULL);
    (void)alarm(0);
}

/* Check whether an exit now would leave other ranks waiting forever, or would look like a regular
 * end of the training.  False in a child made by fork.
 */
static bool is_awaited(const struct process_worker *w)
{
    return w->fork_count == process_forks() && (w->thread || w->leave);
}

/* Check whether an exit with 0 may let this worker leave in order.  If not, err may be set to
 * the reason.
 */
static bool may_leave(struct process_worker *w, struct eddis_error *err)
{
    enum process_leave how = w->leave ? how_to_leave(w) : LEAVE_NOT;

    return how == LEAVE_ORDER || (how == LEAVE_FINISH && w->may_finish && w->may_finish(w, err));
}

void process_may_leave(struct process_worker *w, enum process_leave may)
{
    __atomic_store_n(&w->may_leave, may, __ATOMIC_RELEASE);
}

/* Close the hub unless a worker uses it.  Its thread must not be in MPI while MPI is finalized.
 * MPI_Finalize waits for all ranks: for hours if one still evaluates, forever if one on another
 * node has left by _exit.  If mpirun does not notice this process's end (share.noted), MPI_Finalize
 * is skipped and nothing is lost.
 */
static void end_hub(bool orderly)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&share_lock);

    if (share.hub && share.hub_users == 0) {
        (void)comm_hub_close(share.hub, orderly && !share.disorder && !share.noted, NULL);
        share.hub = NULL;
    }
}

/* End the job with this exit code, since the other ranks would wait for this process forever.  Do
 * not return.
 */
static void end_job(const struct process_worker *w, int code)
{
    process_last_words(code);
    if (w->thread)
        comm_thread_abort(w->thread, code);
    _exit(code);
}

/* Print why an exit of this worker with status 0 ends the job.  why: the reason that may_leave has
 * set; an empty text: none.
 */
static void tell_amidst(const struct process_worker *w, const struct eddis_error *why)
{
    if (why->text[0])
        (void)fprintf(stderr, "eddis: %s\n", why->text);
    else if (!w->leave)
        (void)fputs("eddis: this worker exits without eddis_close, so the job ends\n", stderr);
    else
        (void)fprintf(stderr,
                      "eddis: this worker exits with status 0 before its last step, before "
                      "eddis_step_begin or "
                      "eddis_finish has returned 0, so the job ends%s\n",
                      w->may_finish ? "; if this is intended, let each worker request a stop first"
                                    : "");
}

/* Flush a file unless another thread has its lock.  Another worker may end this one while it waits
 * for all, and unwritten output would be lost.  But a thread blocked in a stdio call may keep that
 * file's lock; fflush(NULL) would wait for the locks of all files, which exit itself does not.
 */
static void flush_free(FILE *f)
{
    if (ftrylockfile(f) != 0)
        return;
    (void)fflush(f);
    funlockfile(f);
}

/* Handle an exit with status 0 without eddis_close: these workers leave the job one after
 * the other.  If one of them may not leave or fails, print why and end the job with 1.
 */
static void leave_all(struct process_worker *all)
{
    struct eddis_error err = { 0 };
    struct process_worker *w = all;
    int rc = 0;

    while (w && (!is_awaited(w) || may_leave(w, &err)))
        w = w->next;
    if (w) {
        tell_amidst(w, &err);
        end_job(w, 1);
    }
    if (all) {
        flush_free(stdout);
        flush_free(stderr);
    }
    for (w = all; w; w = w->next) {
        rc = is_awaited(w) ? leave(w, &err) : 0;
        if (rc < 0) {
            (void)fprintf(stderr, "eddis: leaving at exit: %s\n", err.text);
            end_job(w, 1);
        }
    }
}

/* Handle an exit of the process; an on_exit handler.  If the status is not 0 and other ranks wait
 * for this one, end the job with it.  With status 0 have all open workers leave.
 */
static void process_at_exit(int status, void *arg)
{
    struct process_worker *all;

    status &= 0xff; /* the part of it that other processes see */
    pthread_mutex_lock(&list_lock);
    all = list;
    pthread_mutex_unlock(&list_lock);
    for (const struct process_worker *w = all; status && w; w = w->next)
        if (is_awaited(w) && w->thread)
            end_job(w, status);
    if (!status)
        leave_all(all);
    if (share.hub && share.hub_forks == process_forks())
        end_hub(status == 0);
}

/* Install the handlers for fork and exit, unless they are installed.  Return 0 or -ENOMEM. */
static int install(struct eddis_error *err)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&list_lock);

    if (!installed && (pthread_atfork(process_before_fork, process_after_fork, process_in_child) ||
                       on_exit(process_at_exit, NULL) != 0))
        return eddis_fail(err, -ENOMEM, "no memory for an exit handler");
    installed = true;
    return 0;
}

int process_add(struct process_worker *w, struct eddis_error *err)
{
    int rc = install(err);
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&list_lock);

    if (rc == 0) {
        w->next = list;
        list = w;
        w->fork_count = process_forks();
    }
    return rc;
}

void process_remove(struct process_worker *w)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&list_lock);

    for (struct process_worker **at = &list; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
}

/* ---- what workers share ---- */

/* Start MPI as the hub's transport, and return as transport_mpi_start does; the open function of
 * comm_hub_open.
 */
static int start_mpi(void *arg, struct transport **ret, struct eddis_error *err)
{
    return transport_mpi_start(ret, err);
}

/* Set the error of a call in a forked child.  Return -EPERM. */
static int fail_in_child(struct eddis_error *err)
{
    return eddis_fail(
        err, -EPERM,
        "the process that has made this one by fork has joined the job; use it there, "
        "or start the child as a new program");
}

/* Create share.hub if there is none.  If there is one but no worker used it, remove the note that
 * the last worker has left.  Return 0 or a negative errno; -EPERM: it belongs to the process that
 * forked this one.  With share_lock held.
 */
static int hub_take(struct eddis_error *err)
{
    int rc;

    if (share.hub && share.hub_forks != process_forks())
        return fail_in_child(err);
    if (share.hub && share.hub_users == 0 && share.board)
        share.noted = board_note_left(share.board_path, share.board_rank, false);
    if (share.hub)
        return 0;
    rc = comm_hub_open(start_mpi, NULL, &share.hub, err);
    if (rc < 0)
        return rc;
    share.hub_forks = process_forks();
    /* Installed after MPI's handlers, which therefore run after ours. */
    return install(err);
}

int process_hub_take(struct comm_hub **ret, struct eddis_error *err)
{
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&share_lock);

    rc = hub_take(err);
    if (rc == 0) {
        share.hub_users++;
        *ret = share.hub;
    }
    return rc;
}

/* Check whether an agent started this process: that agent reads the note of board_note_left
 * and hides this process's end from mpirun.
 */
static bool is_watched(void)
{
    struct environment e;

    return environment_read(&e, NULL) == 0 && e.watched;
}

void process_hub_put(bool orderly)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&share_lock);

    share.disorder |= !orderly;
    share.hub_users--;
    if (share.hub_users == 0 && !comm_hub_lasts(share.hub)) {
        (void)comm_hub_close(share.hub, orderly, NULL);
        share.hub = NULL;
    } else if (share.hub_users == 0 && !share.disorder && share.board) {
        share.noted = is_watched() && board_note_left(share.board_path, share.board_rank, true);
    }
}

/* Check whether share.board is the page of this board and local rank. */
static bool is_kept(const char *path, int local_rank)
{
    return share.board && share.board_rank == local_rank && strcmp(share.board_path, path) == 0;
}

/* Open this page as share.board and close the page kept before.  Return 0 or a negative errno, and
 * then change nothing.  With share_lock held.
 */
static int board_keep(const char *path, int local_rank, struct eddis_error *err)
{
    char *copy = strdup(path);
    struct board *board;
    int rc = copy ? board_open(path, local_rank, &board, err)
                  : eddis_fail(err, -ENOMEM, "no memory for a path");

    if (rc < 0) {
        free(copy);
        return rc;
    }
    board_close(share.board);
    free(share.board_path);
    share.board = board;
    share.board_path = copy;
    share.board_rank = local_rank;
    share.board_forks = process_forks();
    return 0;
}

/* Let share.board be the page of this board and local rank, opening it if necessary, and check that
 * no worker uses it.  Return 0 or a negative errno; -EBUSY: a worker does; -EPERM: in a forked
 * child.  With share_lock held.
 */
static int board_have(const char *path, int local_rank, struct eddis_error *err)
{
    if (share.board && share.board_forks != process_forks())
        return fail_in_child(err);
    if (share.board_taken)
        return eddis_fail(err, -EBUSY,
                          "this process has a worker open already, whose progress page eddis-run "
                          "reads; close it before another one is opened");
    return is_kept(path, local_rank) ? 0 : board_keep(path, local_rank, err);
}

/* Do and return the same as board_have, and reset a page that was open already, since an earlier
 * worker has used it.  With share_lock held.
 */
static int board_take(const char *path, int local_rank, struct eddis_error *err)
{
    bool kept = is_kept(path, local_rank);
    int rc = board_have(path, local_rank, err);

    if (rc == 0 && kept)
        board_renew(share.board);
    return rc;
}

int process_board_take(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err)
{
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&share_lock);

    rc = board_take(path, local_rank, err);
    if (rc == 0) {
        share.board_taken = true;
        *ret = share.board;
    }
    return rc;
}

void process_board_put(void)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&share_lock);

    share.board_taken = false;
}

int process_board_lock(const char *path, int local_rank, struct board **ret,
                       struct eddis_error *err)
{
    int rc;

    if (process_forks()) /* another thread of the parent may have held the lock */
        return fail_in_child(err);
    rc = install(err); /* so that a child can be recognized */
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&share_lock);
    rc = board_have(path, local_rank, err);
    if (rc == 0)
        *ret = share.board;
    else
        pthread_mutex_unlock(&share_lock);
    return rc;
}

void process_board_unlock(void)
{
    pthread_mutex_unlock(&share_lock);
}
