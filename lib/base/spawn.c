/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c - fork and execute a program, and stop it by a ladder of signals */
#include "spawn.h"

#include "cleanup.h"
#include "clock.h"
#include "descriptors.h"
#include "strlist.h"
#include "user_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int spawn_find(const char *name, char *ret, size_t size, struct eddis_error *err)
{
    const char *path = getenv("PATH");
    struct stat st;

    if (!*name)
        return eddis_fail(err, -ENOENT, "the program's name is empty");
    if (strchr(name, '/')) {
        if (access(name, X_OK) < 0)
            return eddis_fail_errno(err, -errno, "cannot execute '%s'", name);
        if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
            return eddis_fail(err, -EACCES, "cannot execute '%s': it is a folder", name);
        if (snprintf(ret, size, "%s", name) >= (int)size)
            return eddis_fail(err, -ENAMETOOLONG, "path '%s' is too long", name);
        return 0;
    }
    if (!path || !*path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t n = strcspn(path, ":");

        if (n && snprintf(ret, size, "%.*s/%s", (int)n, path, name) < (int)size &&
            access(ret, X_OK) == 0 && stat(ret, &st) == 0 && S_ISREG(st.st_mode))
            return 0;
        path += n + (path[n] == ':');
    }
    return eddis_fail(err, -ENOENT, "no program '%s' in PATH", name);
}

/* If fd is 0, 1 or 2, duplicate it to a descriptor above 2, so that replacing descriptors 0, 1 and
 * 2 cannot overwrite it.  Return the duplicate or fd itself; -1 with errno set.
 */
static int above_stdio(int fd)
{
    return fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Replace descriptors 0, 1 and 2 of this forked child by s->in, out and err; a negative one stands
 * for /dev/null.  Return 0 or a negative errno value.
 */
static int place_stdio(const struct spawn *s)
{
    int want[3] = { s->in, s->out, s->err };

    for (int i = 0; i < 3; i++) {
        want[i] = want[i] < 0 ? open("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC) : want[i];
        if (want[i] < 0 || (want[i] = above_stdio(want[i])) < 0)
            return -errno;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(want[i], i) < 0)
            return -errno;
    return 0;
}

/* Restore the default action of all signals except SIGHUP, and block the signals of the 0-ended
 * list (NULL: none) and no others.
 */
static void default_signals(const int *blocked)
{
    sigset_t set;

    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && sig != SIGHUP)
            (void)signal(sig, SIG_DFL);
    sigemptyset(&set);
    for (; blocked && *blocked; blocked++)
        sigaddset(&set, *blocked);
    sigprocmask(SIG_SETMASK, &set, NULL);
}

/* Set up this forked child as s says and execute the program.  Return only after a failure: its
 * errno value, positive, which the caller reports to the parent.
 */
static int child_exec(const struct spawn *s, const char *program, char *const *env, pid_t parent)
{
    int rc;

    default_signals(s->blocked);
    if (s->parent_death_signal) {
        if (prctl(PR_SET_PDEATHSIG, s->parent_death_signal) < 0)
            return errno;
        if (getppid() != parent)
            return ESRCH;
    }
    if (s->ptracer > 0) /* the setting survives exec, not fork; without Yama the call just fails */
        (void)prctl(PR_SET_PTRACER, (unsigned long)s->ptracer, 0, 0, 0);
    if (s->own_session ? setsid() < 0 : (s->own_group && setpgid(0, 0) < 0))
        return errno;
    rc = place_stdio(s);
    if (rc < 0)
        return -rc;
    if (s->dir && chdir(s->dir) < 0)
        return errno;
    descriptors_end_at_exec();
    if (s->also > 0 && fcntl(s->also, F_SETFD, 0) < 0)
        return errno;
    execve(program, (char *const *)s->argv, env);
    return errno;
}

/* Fork, and execute the program in the child.  Wait until exec has succeeded or the child has
 * reported a failure by the pipe `report`, and close both ends of the pipe.  Return 0 with the pid
 * in *ret, or a negative errno value.
 */
static int start(const struct spawn *s, const char *program, char *const *env,
                 const int report[static 2], pid_t *ret, struct eddis_error *err)
{
    pid_t parent = getpid(), pid = fork();
    int failure = 0, rc;
    ssize_t n;

    if (pid < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot fork");
        (void)close(report[0]);
        (void)close(report[1]);
        return rc;
    }
    if (pid == 0) {
        int to_parent = above_stdio(report[1]);
        int e = to_parent < 0 ? errno : child_exec(s, program, env, parent);

        (void)!write(to_parent < 0 ? report[1] : to_parent, &e, sizeof e);
        _exit(127);
    }
    (void)close(report[1]);
    if (s->own_group)
        (void)setpgid(pid, pid); /* parent and child both call it, as either may run first */
    do
        n = read(report[0], &failure, sizeof failure);
    while (n < 0 && errno == EINTR);
    (void)close(report[0]);
    if (n == sizeof failure) {
        (void)waitpid(pid, NULL, 0);
        return eddis_fail_errno(err, -failure, "cannot start '%s'%s%s", program,
                                s->dir ? " in " : "", s->dir ? s->dir : "");
    }
    *ret = pid;
    return 0;
}

int spawn_start(const struct spawn *s, pid_t *ret, struct eddis_error *err)
{
    struct strlist own = { 0 };
    char program[PATH_MAX];
    int report[2];
    int rc = spawn_find(s->argv[0], program, sizeof program, err);

    if (rc < 0)
        return rc;
    if (!s->envp)
        user_env_add(&own);
    if (own.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for the environment of '%s'", program);
    else if (pipe2(report, O_CLOEXEC) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot make a pipe");
    else
        rc = start(s, program,
                   s->envp    ? (char *const *)s->envp
                   : own.item ? own.item
                              : environ,
                   report, ret, err);
    strlist_fini(&own);
    return rc;
}

/* Reap child pid without blocking.  Return true if it has ended, with its status in *status, or if
 * it is not or no longer a child, with *status unchanged; false if it still runs.
 */
static bool reaped(pid_t pid, int *status)
{
    pid_t got;

    do
        got = waitpid(pid, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got == pid || (got < 0 && errno == ECHILD);
}

int spawn_stop(pid_t pid, const struct spawn_rung *rungs, size_t n, int *ret_status,
               struct eddis_error *err)
{
    pid_t child = pid < 0 ? -pid : pid;
    int status = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t end = clock_after_ns(clock_now_ns(), rungs[i].wait_ns);

        if (rungs[i].signal)
            (void)kill(pid, rungs[i].signal);
        do {
            if (reaped(child, &status)) {
                if (ret_status)
                    *ret_status = status;
                return 0;
            }
            clock_sleep_until_ns(clock_now_ns() + 2 * CLOCK_MS);
        } while (clock_now_ns() < end);
    }
    return eddis_fail(err, -ETIMEDOUT, "process %d still runs after its last signal", (int)child);
}

int spawn_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
