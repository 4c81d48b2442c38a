/* SPDX-License-Identifier: Apache-2.0 */
/* signal_fd.c - block signals and open a signalfd */
#include "signal_fd.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

int signal_fd_open(const int *signals, struct eddis_error *err)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (; *signals; signals++)
        sigaddset(&set, *signals);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? eddis_fail_errno(err, -errno, "cannot make a signal descriptor") : fd;
}
