/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.c - close inherited descriptors, or mark them close-on-exec */
#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

/* First descriptor to check, and the one after the last.  No program that we know uses a higher
 * number.  RLIMIT_NOFILE is no bound: it may have been lowered after a descriptor was opened.
 */
enum { FIRST = 3, END = 1 << 16 };

void descriptors_close_inherited(void)
{
    for (int fd = FIRST; fd < END; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0 && !(flags & FD_CLOEXEC))
            (void)close(fd);
    }
}

void descriptors_end_at_exec(void)
{
#if defined SYS_close_range
    const unsigned close_on_exec = 1 << 2; /* CLOSE_RANGE_CLOEXEC, of Linux 5.11 */

    if (syscall(SYS_close_range, FIRST, UINT_MAX, close_on_exec) == 0)
        return;
#endif
    for (int fd = FIRST; fd < END; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}
