/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h - start a program and stop it
 *
 * A child gets exactly the descriptors it is given and the default action of signals (SIGHUP's is
 * inherited).  Only requested signals are blocked.  It gets its own process group if requested.  It
 * is stopped by a ladder, written as data: a signal, then the time to wait before the next one.
 */
#ifndef EDDIS_BASE_SPAWN_H
#define EDDIS_BASE_SPAWN_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What to start, and how */
struct spawn {
    const char *const *argv; /* NULL-ended; argv[0] without '/' is looked up in PATH */
    const char *const *envp; /* NULL-ended; NULL: this process's environment, from user_env_add */
    const char *dir;         /* working folder; NULL: that of this process */
    int in, out, err;        /* descriptors that become 0, 1, 2; -1: /dev/null */
    int also;                /* descriptor that stays open under its number; 0: none */
    bool own_group;          /* make the child the leader of a new process group */
    bool own_session;        /* make the child the leader of a new session, hence of a group */
    const int *blocked;      /* signals initially blocked, 0-ended; NULL: none */
    int parent_death_signal; /* signal that the child gets when the starting thread dies; 0: none */
    /* Process that may ptrace the program, with its descendants, even under Yama's ptrace_scope 1;
     * 0: only those that the system allows anyway
     */
    pid_t ptracer;
};

/* Start the program; its pid in *ret.  A program that cannot be executed is an error of this call
 * (-ENOENT, -EACCES, ...), not an exit code of the child.
 */
int spawn_start(const struct spawn *s, pid_t *ret, struct eddis_error *err);

/* Find a program as spawn_start does and write its path to ret [size].  -ENOENT: it is not in PATH;
 * another code: it cannot be executed.
 */
int spawn_find(const char *name, char *ret, size_t size, struct eddis_error *err);

/* One step of a ladder of signals */
struct spawn_rung {
    int signal;      /* signal to send; 0: only wait */
    int64_t wait_ns; /* longest wait for the child's end after the signal */
};

/* Send the signals of the n rungs to pid (negative: a process group), one after another, until the
 * child has ended, and reap it.  Blocks at most the sum of the waits.  *ret_status (may be NULL) is
 * as waitpid's.  -ETIMEDOUT: the child is still there after the last rung.
 */
int spawn_stop(pid_t pid, const struct spawn_rung *rungs, size_t n, int *ret_status,
               struct eddis_error *err);

/* Return a shell's exit code for a status of waitpid: the code, or 128 + signal. */
int spawn_exit_code(int status);

#endif
