/* SPDX-License-Identifier: Apache-2.0 */
/* process_fd.h - wait for the end of a process that need not be a child, and signal it
 *
 * The descriptor is a pidfd (Linux 5.3) if the kernel provides one.  If the kernel lacks the call
 * or a seccomp filter rejects it, the descriptor is the read end of a pipe.  A thread of this
 * process then polls /proc/PID/stat every 50 ms.  It writes a byte when the process has ended or is
 * a zombie; a later process of the same pid is recognised by its start time.  Neither way needs
 * <sys/pidfd.h> (glibc 2.36).
 */
#ifndef EDDIS_BASE_PROCESS_FD_H
#define EDDIS_BASE_PROCESS_FD_H

#include <sys/types.h>

/* Return a descriptor that becomes readable when the process ends; the caller closes it.  In a
 * forked child the descriptor may never become readable.  -1 with errno set: ESRCH if there is no
 * such process, or an error of pidfd_open, pipe2 or pthread_create.
 */
int process_fd_open(pid_t pid);

/* Send sig to the process for which fd was opened.  If the kernel has no pidfd, send the signal to
 * the pid unless fd shows that the process has ended.  Return 0, -ESRCH if it has ended, or -EPERM.
 */
int process_fd_signal(int fd, pid_t pid, int sig);

#endif
