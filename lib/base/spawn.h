/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h - start a program and stop it
 *
 * A child gets exactly the descriptors it is given, default signal handling, no signal blocked but
 * those that are asked for, and a process group
 * of its own when asked.  Stopping is a ladder written as data: a signal, then how long to wait
 * before the next.
 */
#ifndef EDDIS_BASE_SPAWN_H
#define EDDIS_BASE_SPAWN_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct spawn {
    const char *const *argv; /* NULL-ended; argv[0] is looked up in PATH when it has no '/' */
    const char *const
        *envp;          /* NULL-ended; NULL: this process's own, as the user's programs see it */
    const char *dir;    /* working folder; NULL: this one */
    int in, out, err;   /* become 0, 1, 2; -1: /dev/null */
    int also;           /* stays open under its number; 0: none */
    bool own_group;     /* leader of a new process group */
    bool own_session;   /* leader of a new session, hence of a group */
    const int *blocked; /* signals that it begins with blocked, ended by 0; NULL: none */
    int parent_death_signal; /* sent when the starting thread dies; 0: none */
    pid_t ptracer;           /* it and what it starts may look into the program, as debuggers do,
                              * also where Yama has a say (ptrace_scope 1); 0: as usual */
};

/* Start it.  Returns the pid.  A program that cannot be executed is reported here (-ENOENT,
 * -EACCES), not by the child's exit code.
 */
int spawn_start(const struct spawn *s, pid_t *ret, struct eddis_error *err);

/* Find a program as spawn_start does and write its path to ret [size]; -ENOENT when it is not in
 * PATH or cannot be executed.
 */
int spawn_find(const char *name, char *ret, size_t size, struct eddis_error *err);

struct spawn_rung {
    int signal;      /* 0: only wait */
    int64_t wait_ns; /* then wait this long for the end */
};

/* Send the rungs' signals to pid (negative: a process group) until the child is gone, and reap it.
 * Blocks at most the sum of the waits.  *ret_status (may be NULL) is as waitpid's.
 * -ETIMEDOUT: it is still there after the last rung.
 */
int spawn_stop(pid_t pid, const struct spawn_rung *rungs, size_t n, int *ret_status,
               struct eddis_error *err);

/* Exit code as shells give it: the code, or 128 + signal. */
int spawn_exit_code(int status);

#endif
