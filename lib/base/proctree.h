/* SPDX-License-Identifier: Apache-2.0 */
/* proctree.h - all descendants of a process, from /proc
 *
 * A child subreaper keeps every orphan of its subtree as a child, so the descendants of an agent
 * are exactly the processes of its job on the node, whatever sessions and groups they made.
 */
#ifndef EDDIS_BASE_PROCTREE_H
#define EDDIS_BASE_PROCTREE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proctree_process {
    pid_t pid, parent;
    int64_t start;    /* clock ticks since boot: with the pid, who it is */
    int64_t used;     /* clock ticks of processor time, of its children that were reaped, too */
    char state;       /* as in /proc/PID/stat: R, S, D, T, Z, ... */
    bool ending;      /* the kernel is taking it apart, or it waits to be reaped */
    char command[16]; /* its comm, control characters replaced */
};

/* List all processes, in no order.  Returns their number and an array that the caller frees. */
int proctree_all(struct proctree_process **ret, struct eddis_error *err);

/* Send sig to this very process: not to another that has got its pid meanwhile.  Returns 0, or
 * -ESRCH when it is gone, -EPERM, ...
 */
int proctree_send(const struct proctree_process *p, int sig);

/* List the descendants of root, root itself excluded, parents before children.
 * Returns their number and an array that the caller frees, NULL when there are none.
 */
int proctree_list(pid_t root, struct proctree_process **ret, struct eddis_error *err);

/* State of one process as in struct proctree_process; 0 when it is not there. */
char proctree_state(pid_t pid);

/* Its start as in struct proctree_process; -1 when it is not there. */
int64_t proctree_start(pid_t pid);

/* The user whose process it is, even where the process hides its files in /proc, or runs a program
 * that gives it another one's rights; (uid_t)-1 when it is not there.
 */
uid_t proctree_user(pid_t pid);

/* The nearest process above this one whose command is `command`; 0: there is none. */
pid_t proctree_above(const char *command);

/* Returns the bytes of a file of its folder in /proc, "cmdline" or "environ", with a 0 behind them,
 * for the caller to free; NULL when it is not there, or not for this user to read.  ret_n may be
 * NULL.
 */
char *proctree_read(pid_t pid, const char *name, size_t *ret_n);

/* Whether it has begun to end, or is not there.  From then on others may see it leave: its memory
 * goes first, then its files and locks, and only then can it be reaped.
 */
bool proctree_ending(pid_t pid);

/* Whether it has a file in its memory whose path holds this text. */
bool proctree_maps(pid_t pid, const char *text);

/* How often its first thread has given up the processor, by itself or not; a process that went on
 * has given it up since.  -1 when it is not there.
 */
int64_t proctree_switches(pid_t pid);

/* Send sig to every descendant of root but `except` and its descendants (0: no exception).
 * Returns how many living ones (not zombies) got it.
 */
int proctree_signal(pid_t root, int sig, pid_t except, struct eddis_error *err);

/* SIGKILL every descendant of this process and reap those that become children, again and again
 * until none is left or the deadline has passed.  For a subreaper.  Blocks.
 * -ETIMEDOUT: err names one that is still there.
 */
int proctree_kill_all(int64_t deadline_ns, struct eddis_error *err);

#endif
