/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - starts eddis-probe, reads its result, and kills it if it is late */
#include "probe.h"

#include "launch.h"
#include "lib/base/strlist.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/user_env.h"
#include "lib/model/trainer_name.h"
#include "profiler/profiler.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MAX_PROFILE = 512 << 10, MAX_WORDS = 400 };

/* Append eddis-probe's path and arguments to ret. turn: the probe may measure; otherwise it may
 * only read the cached profile, unless devices are emulated.  Return 0 or a negative errno.
 */
static int arguments(const struct agent_config *b, bool turn, struct strlist *ret,
                     struct eddis_error *err)
{
    char path[PATH_MAX];
    int rc = program_path("eddis-probe", path, sizeof path, err);

    if (rc < 0)
        return rc;
    strlist_addf(ret, "%s", path);
    for (int i = 0; i < b->n_emulate; i++) {
        strlist_addf(ret, "--emulate");
        strlist_addf(ret, "%.17g:%.17g:%.17g", b->emulate[i].rate, b->emulate[i].fixed_s,
                     b->emulate[i].sample_s);
    }
    strlist_addf(ret, "--cache-seconds");
    strlist_addf(ret, "%lld", (long long)(b->cache_ns / CLOCK_S));
    if (trainer_is(b->command ? b->command[0] : NULL))
        strlist_addf(ret, "--cpus-only");
    if (!turn && !b->n_emulate)
        strlist_addf(ret, "--kept-only");
    return ret->failed ? eddis_fail(err, -ENOMEM, "no memory for the probe") : 0;
}

/* Set a variable to the value that the job sets, if it does. */
static void take(const struct agent_config *b, const char *name, struct strlist *ret)
{
    const char *value = strlist_value(b->env, name);

    if (value)
        strlist_set(ret, name, value);
}

/* Append to ret the environment of a probe that finds the CUDA libraries that the program will
 * load, and the GPUs that the job selects: the program's Python, if the command names it by a path,
 * comes first in PATH.
 */
static void environment(const struct agent_config *b, struct strlist *ret)
{
    static const char *const names[] = { "PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                         "CUDA_DEVICE_ORDER" };
    const char *python = b->command ? b->command[0] : "", *slash = strrchr(python, '/');
    cleanup_strbuf struct strbuf path = { 0 };

    user_env_add(ret);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        take(b, names[i], ret);
    for (size_t i = 0; i < N_GPU_LISTS; i++)
        take(b, launch_gpu_lists[i], ret);
    if (slash && program_is_python(python)) {
        const char *rest = strlist_value(ret->item, "PATH");

        strbuf_addf(&path, "%.*s:%s", (int)(slash - python), python, rest ? rest : "/usr/bin:/bin");
        strlist_set(ret, "PATH", strbuf_text(&path));
    }
    ret->failed = ret->failed || path.failed;
}

/* Close a probe's files, and set p->pid to 0: no probe is under way. */
static void close_files(struct probe *p)
{
    (void)close(p->out);
    (void)close(p->err);
    p->pid = 0;
}

/* Start the probe with these arguments, and free them; rc is an earlier error. Return 0 or a
 * negative errno.
 */
static int start(struct probe *p, const struct agent_config *b, struct strlist *argv, int rc,
                 struct eddis_error *err)
{
    struct strlist env = { 0 };
    struct spawn s = {
        .in = -1, .dir = b->workdir, .own_group = true, .parent_death_signal = SIGKILL
    };

    if (rc == 0 && p->pid)
        rc = eddis_fail(err, -EALREADY, "the node is being profiled already");
    if (rc == 0) /* a failed start would only name the program */
        rc = launch_check_workdir(b->workdir, err);
    if (rc < 0) {
        strlist_fini(argv);
        return rc;
    }
    p->out = s.out = memfd_create("eddis-profile", MFD_CLOEXEC);
    p->err = s.err = memfd_create("eddis-probe-errors", MFD_CLOEXEC);
    if (p->out < 0 || p->err < 0)
        rc = eddis_fail_errno(err, -errno, "cannot make a file in memory");
    environment(b, &env);
    s.argv = (const char *const *)argv->item;
    s.envp = (const char *const *)env.item;
    if (rc == 0 && env.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for the probe");
    if (rc == 0)
        rc = spawn_start(&s, &p->pid, err);
    p->deadline_ns = clock_after_ns(clock_now_ns(), PROBE_DEADLINE_NS);
    if (rc < 0)
        close_files(p);
    strlist_fini(argv);
    strlist_fini(&env);
    return rc;
}

int probe_start(struct probe *p, const struct agent_config *b, bool turn, struct eddis_error *err)
{
    struct strlist argv = { 0 };
    int rc = arguments(b, turn, &argv, err);

    return start(p, b, &argv, rc, err);
}

int probe_list(struct probe *p, const struct agent_config *b, struct eddis_error *err)
{
    struct strlist argv = { 0 };
    int rc = arguments(b, true, &argv, err);

    strlist_addf(&argv, "--gpus");
    if (rc == 0 && argv.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for the probe");
    return start(p, b, &argv, rc, err);
}

/* Set err from the wait status of a failed probe and its first line on standard error.  Return
 * -EIO.
 */
static int fail(const struct probe *p, int status, struct eddis_error *err)
{
    cleanup_free char *words = NULL;
    char late[32] = "";

    if (lseek(p->err, 0, SEEK_SET) < 0 ||
        file_read_fd(p->err, "eddis-probe", MAX_PROFILE, &words, NULL, NULL) < 0 || !*words)
        words = strdup("it printed nothing");
    if (words) {
        words[strcspn(words, "\n")] = '\0';
        text_strip_control(words);
    }
    if (clock_now_ns() >= p->deadline_ns)
        (void)snprintf(late, sizeof late, " after %d s", (int)(PROBE_DEADLINE_NS / CLOCK_S));
    if (WIFSIGNALED(status))
        return eddis_fail(err, -EIO, "eddis-probe was killed by signal %d%s: %.300s",
                          WTERMSIG(status), late, words ? words : "");
    return eddis_fail(err, -EIO, "eddis-probe failed with code %d: %.300s", WEXITSTATUS(status),
                      words ? words : "");
}

int probe_finish(struct probe *p, int status, char **ret, struct eddis_error *err)
{
    int rc = 0;

    if (WIFEXITED(status) && WEXITSTATUS(status) == PROFILER_EXIT_UNMEASURED)
        rc = eddis_fail(err, -ENODATA, "the node has not been measured");
    else if (status != 0)
        rc = fail(p, status, err);
    else if (lseek(p->out, 0, SEEK_SET) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot read the profile");
    else
        rc = file_read_fd(p->out, "profile", MAX_PROFILE, ret, NULL, err);
    close_files(p);
    return rc;
}

void probe_kill(const struct probe *p)
{
    if (p->pid > 0)
        (void)kill(p->pid, SIGKILL);
}
