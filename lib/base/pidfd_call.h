/* SPDX-License-Identifier: Apache-2.0 */
/* pidfd_call.h - the system calls on descriptors of processes, which glibc names from 2.36 on */
#ifndef EDDIS_BASE_PIDFD_CALL_H
#define EDDIS_BASE_PIDFD_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As on all architectures with the common numbers of new calls. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Returns a descriptor, which exec closes, or a negative errno value. */
static inline int pidfd_call_open(pid_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);

    return fd < 0 ? -errno : (int)fd;
}

/* Returns 0, or a negative errno value. */
static inline int pidfd_call_signal(int fd, int sig)
{
    return syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 ? -errno : 0;
}

/* Return whether this error of pidfd_open tells of the kernel (before 5.3), or a filter, and not of
 * the process: the call itself asks for no permission.
 */
static inline bool pidfd_call_refused(int error)
{
    return error == ENOSYS || error == EPERM || error == EACCES;
}

#endif
