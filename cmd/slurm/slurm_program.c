/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_program.c - runs sbatch, sinfo, scontrol and scancel */
#include "slurm_program.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 1 << 26 }; /* most bytes of output; an array has a record for each task */

static const int64_t look_ns = 10 * CLOCK_MS; /* interval of polling for the program's end */

int slurm_program_text(const char *text, struct eddis_error *err)
{
    cleanup_fd int fd = memfd_create("eddis-sbatch", MFD_CLOEXEC);
    int rc;

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot store a text for sbatch");
    rc = file_write_all(fd, text, strlen(text), err);
    if (rc < 0)
        return rc;
    return lseek(fd, 0, SEEK_SET) < 0 ? eddis_fail_errno(err, -errno, "cannot store a text")
                                      : cleanup_keep_fd(fd);
}

/* Set SIGCHLD to its default action if the parent has left it ignored: the kernel would then reap
 * our children, and their exit codes would be lost.
 */
static void keep_children(void)
{
    struct sigaction a;

    if (sigaction(SIGCHLD, NULL, &a) == 0 && !(a.sa_flags & SA_SIGINFO) && a.sa_handler == SIG_IGN)
        (void)signal(SIGCHLD, SIG_DFL);
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
    int rc;

    keep_children();
    rc = spawn_start(&s, ret, err);

    return rc == -ENOENT ? eddis_fail(err, rc,
                                      "there is no '%s' in PATH, so this machine cannot submit "
                                      "jobs; to train without Slurm, run eddis-run train.yaml",
                                      argv[0])
                         : rc;
}

bool slurm_program_is_interrupted(void)
{
    sigset_t held;

    return sigpending(&held) == 0 &&
           (sigismember(&held, SIGINT) == 1 || sigismember(&held, SIGTERM) == 1 ||
            sigismember(&held, SIGHUP) == 1);
}

/* Wait until the program ends, and return its exit code. Kill it and fail with -ETIMEDOUT after
 * patience_ns; if heed, with -EINTR when a blocked signal that ends the caller is pending.
 */
static int wait_a_while(pid_t pid, const char *name, int64_t patience_ns, bool heed,
                        struct eddis_error *err)
{
    static const struct spawn_rung now[] = { { SIGKILL, CLOCK_S } };
    int64_t deadline_ns = clock_now_ns() + patience_ns;
    int status, rc;

    while ((rc = waitpid(pid, &status, WNOHANG)) == 0) {
        if (heed && slurm_program_is_interrupted()) {
            (void)spawn_stop(-pid, now, 1, NULL, NULL);
            return eddis_fail(err, -EINTR, "interrupted while %s ran", name);
        }
        if (clock_now_ns() >= deadline_ns) {
            (void)spawn_stop(-pid, now, 1, NULL, NULL);
            return eddis_fail(err, -ETIMEDOUT,
                              "%s has not ended within %d s, so Slurm's controller does not "
                              "answer; run scontrol ping to check it",
                              name, (int)((patience_ns + CLOCK_S / 2) / CLOCK_S));
        }
        clock_sleep_until_ns(clock_now_ns() + look_ns);
    }
    return rc < 0 ? eddis_fail_errno(err, -errno, "the exit code of %s is unknown", name)
                  : spawn_exit_code(status);
}

int slurm_program_run(const char *const *argv, const char *input, char **ret,
                      struct eddis_error *err)
{
    return slurm_program_run_for(argv, input, SLURM_PROGRAM_NS, true, ret, err);
}

int slurm_program_run_for(const char *const *argv, const char *input, int64_t patience_ns,
                          bool heed, char **ret, struct eddis_error *err)
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
    code = wait_a_while(pid, argv[0], patience_ns, heed, err);
    if (code < 0)
        return code;
    if (lseek(out, 0, SEEK_SET) < 0)
        return eddis_fail_errno(err, -errno, "cannot read the output of %s", argv[0]);
    rc = file_read_fd(out, argv[0], SAID_MAX, ret, NULL, err);
    return rc < 0 ? rc : code;
}
