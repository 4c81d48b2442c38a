/* SPDX-License-Identifier: Apache-2.0 */
/* pidfd_call.h - system calls for process descriptors; glibc has wrappers from 2.36 on */
#ifndef EDDIS_BASE_PIDFD_CALL_H
#define EDDIS_BASE_PIDFD_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Numbers common to all architectures for new system calls. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Open a close-on-exec descriptor of a process.  Return the descriptor or a negative errno value.
 */
static inline int pidfd_call_open(pid_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);

    return fd < 0 ? -errno : (int)fd;
}

/* Send a signal to the process of a pidfd.  Return 0 or a negative errno value. */
static inline int pidfd_call_signal(int fd, int sig)
{
    return syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 ? -errno : 0;
}

/* Check whether this error (positive errno) of pidfd_open comes from an old kernel (before 5.3) or
 * a seccomp filter, not from the process.  The call itself needs no permission.
 */
static inline bool pidfd_call_refused(int error)
{
    return error == ENOSYS || error == EPERM || error == EACCES;
}

#endif
