/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_program.c - runs sbatch, sinfo, scontrol and scancel */
#include "slurm_program.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 1 << 20 };

int slurm_program_text(const char *text, struct eddis_error *err)
{
    cleanup_fd int fd = memfd_create("eddis-sbatch", MFD_CLOEXEC);
    int rc;

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot hold a text for sbatch");
    rc = file_write_all(fd, text, strlen(text), err);
    if (rc < 0)
        return rc;
    return lseek(fd, 0, SEEK_SET) < 0 ? eddis_fail_errno(err, -errno, "cannot hold a text")
                                      : cleanup_keep_fd(fd);
}

int slurm_program_start(const char *const *argv, int in, int out, int errors, pid_t *ret,
                        struct eddis_error *err)
{
    const struct spawn s = { .argv = argv,
                             .in = in,
                             .out = out,
                             .err = errors,
                             .own_group = true,
                             .parent_death_signal = SIGTERM };
    int rc = spawn_start(&s, ret, err);

    return rc == -ENOENT ? eddis_fail(err, rc,
                                      "there is no '%s' in PATH, so this is no machine to submit "
                                      "from; without Slurm: eddis-run train.yaml",
                                      argv[0])
                         : rc;
}

int slurm_program_wait(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return spawn_exit_code(status);
}

int slurm_program_run(const char *const *argv, const char *input, char **ret,
                      struct eddis_error *err)
{
    cleanup_fd int in = slurm_program_text(input, err), out = -1;
    pid_t pid;
    int code, rc;

    if (in < 0)
        return in;
    out = slurm_program_text("", err);
    if (out < 0)
        return out;
    rc = slurm_program_start(argv, in, out, out, &pid, err);
    if (rc < 0)
        return rc;
    code = slurm_program_wait(pid);
    if (lseek(out, 0, SEEK_SET) < 0)
        return eddis_fail_errno(err, -errno, "cannot read what %s said", argv[0]);
    rc = file_read_fd(out, argv[0], SAID_MAX, ret, NULL, err);
    return rc < 0 ? rc : code;
}
