/* SPDX-License-Identifier: Apache-2.0 */
/* process_fd.h - waits for the end of a process that is no child, and signals it
 *
 * A descriptor of pidfd_open(2) where the kernel gives one (Linux 5.3).  Where it does not know the
 * call, or a filter of seccomp refuses it, the reading end of a pipe: a thread of this process
 * looks at /proc/PID/stat every 50 ms, and writes a byte when the process that had this pid at
 * first has ended or waits to be reaped.  glibc needs no <sys/pidfd.h> (2.36) for either.
 */
#ifndef EDDIS_BASE_PROCESS_FD_H
#define EDDIS_BASE_PROCESS_FD_H

#include <sys/types.h>

/* Returns a descriptor that is readable from the end of the process on, for the caller to close; in
 * a child that was forked it shows nothing.  -1 with errno, as pidfd_open: ESRCH: there is none;
 * others of pidfd_open, pipe and pthread_create.
 */
int process_fd_open(pid_t pid);

/* Send sig to the process for which fd was opened.  Returns 0, -ESRCH when it has ended, -EPERM.
 * Where the kernel takes no descriptor, it goes to the pid, unless fd shows the end.
 */
int process_fd_signal(int fd, pid_t pid, int sig);

#endif
