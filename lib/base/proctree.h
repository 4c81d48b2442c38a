/* SPDX-License-Identifier: Apache-2.0 */
/* proctree.h - find all descendants of a process in /proc
 *
 * A child subreaper becomes the parent of every orphan below it.  So the descendants of an agent
 * are exactly the job's processes on the node, whatever sessions and groups they create.
 */
#ifndef EDDIS_BASE_PROCTREE_H
#define EDDIS_BASE_PROCTREE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process as read from /proc/PID/stat */
struct proctree_process {
    pid_t pid, parent;
    int64_t start;    /* start time, clock ticks since boot; pid and start identify the process */
    int64_t used;     /* processor time in clock ticks, including that of reaped children */
    char state;       /* as in /proc/PID/stat: R, S, D, T, Z, ... */
    bool ending;      /* the process is exiting or a zombie */
    char command[16]; /* command name (comm), control characters replaced */
};

/* List all processes, in no order.  Return the number of processes, and in *ret an array that the
 * caller frees.  Return a negative errno on failure.
 */
int proctree_all(struct proctree_process **ret, struct eddis_error *err);

/* Send sig to this process, not to a later one that has got its pid; without a pidfd a change
 * between check and kill goes unnoticed.  Return 0, also for a zombie, or a negative errno value;
 * -ESRCH: the process is gone.
 */
int proctree_send(const struct proctree_process *p, int sig);

/* List the descendants of root without root itself, parents before children.  Return the number of
 * descendants, and in *ret an array that the caller frees; NULL if there are none.  Return a
 * negative errno on failure.
 */
int proctree_list(pid_t root, struct proctree_process **ret, struct eddis_error *err);

/* Return the state of a process as in /proc/PID/stat (R, S, D, T, Z, ...); 0: no such process. */
char proctree_state(pid_t pid);

/* Return the start time of a process in clock ticks since boot; -1: no such process. */
int64_t proctree_start(pid_t pid);

/* Return the real user id of a process; (uid_t)-1: no such process.  Correct also if the process
 * hides its files in /proc or runs a set-user-id program.
 */
uid_t proctree_user(pid_t pid);

/* Return the pid of the nearest ancestor of this process whose command name is `command`; 0: none.
 */
pid_t proctree_above(const char *command);

/* Return the bytes of /proc/PID/<name> ("cmdline", "environ") followed by a 0, for the caller to
 * free.  An exiting process has released its memory, so both are empty or cannot be read.  NULL:
 * errno is EACCES or EPERM if this user may not read it, ESRCH or ENOENT if the process is exiting,
 * a zombie or gone, or another. ret_n may be NULL.
 */
char *proctree_read(pid_t pid, const char *name, size_t *ret_n);

/* Borrow the value of a variable from the n bytes of text of /proc/PID/environ; NULL: not set. */
const char *proctree_value(const char *text, size_t n, const char *name);

/* Check whether the process is exiting, a zombie or gone.  An exiting process releases its memory
 * first, then its files and locks, and only then can it be reaped.
 */
bool proctree_ending(pid_t pid);

/* Check whether the process has mapped a file whose path contains this text. */
bool proctree_maps(pid_t pid, const char *text);

/* Return how often the first thread of the process has left a processor, voluntarily or not.  A
 * process that made progress has a higher count than before.  -1: no such process.
 */
int64_t proctree_switches(pid_t pid);

/* Send sig to every descendant of root except `except` and its descendants (0: no exception).
 * Return the number of processes signalled, not counting zombies.
 */
int proctree_signal(pid_t root, int sig, pid_t except, struct eddis_error *err);

/* Send SIGKILL to every descendant of this process and reap its children, repeatedly, until none is
 * left or the deadline has passed.  The caller must be a subreaper.  Blocks.  Return 0 when none is
 * left, or a negative errno.  -ETIMEDOUT: err names a descendant that is still there.
 */
int proctree_kill_all(int64_t deadline_ns, struct eddis_error *err);

#endif
