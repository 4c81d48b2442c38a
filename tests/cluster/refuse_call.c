/* SPDX-License-Identifier: Apache-2.0 */
/* refuse_call.c - refuse_call ERRNO COMMAND ...: runs a program and all that it starts under a
 * filter of seccomp that refuses pidfd_open and pidfd_send_signal, as old kernels (38, ENOSYS) or
 * containers (1, EPERM) do.
 */
#include "lib/base/pidfd_call.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    unsigned refuse = SECCOMP_RET_ERRNO | (argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof code / sizeof *code, .filter = code };

    if (argc < 3)
        return 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        perror("seccomp");
        return 77;
    }
    if (pidfd_call_open(getpid()) >= 0) {
        fprintf(stderr, "the filter refuses nothing\n");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
