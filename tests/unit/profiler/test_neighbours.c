/* SPDX-License-Identifier: Apache-2.0 */
/* test_neighbours.c - jobs beside us are processes of their names; EDDIS_PROBE in the environment
 * is the path of a program that measures beside them.
 */
#include "profiler/neighbours.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "lib/model/profile.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char found[96];
static int hold[2];  /* what is started here ends with us */
static pid_t ending; /* ends when its environment is read; 0: none */
static bool no_environment;
static int refused; /* errno of each read of an environment; 0: it is read */

char *__real_proctree_read(pid_t pid, const char *name, size_t *ret_n);
char *__wrap_proctree_read(pid_t pid, const char *name, size_t *ret_n);

char *__wrap_proctree_read(pid_t pid, const char *name, size_t *ret_n)
{
    siginfo_t info;

    if (strcmp(name, "environ") != 0)
        return __real_proctree_read(pid, name, ret_n);
    if (pid == ending) {
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    }
    errno = refused;
    return refused ? NULL : __real_proctree_read(pid, name, ret_n);
}

static bool look(void)
{
    found[0] = '\0';
    return neighbours_find("mine", found, sizeof found);
}

/* Whether there are no others than those that a test makes, whatever runs beside it. */
static bool alone(const char *who)
{
    ck_assert_int_eq(pipe2(hold, O_CLOEXEC), 0);
    (void)unsetenv("SLURM_JOB_ID");
    ck_assert_int_eq(chmod(scratch_base, 0755) + chmod(scratch, 0755), 0);
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    printf("SKIP %s: only root can have a network of its own\n", who);
    return false;
}

/* A shell that is called `name`, and waits. */
struct other {
    const char *name, *title, *variable, *word;
    bool foreign, elsewhere; /* another user's; in another network */
    const char *found;       /* NULL: it is none */
};

static pid_t begin(const struct other *o)
{
    cleanup_free char *path = file_join(scratch, "%s", o->name), *text = NULL;
    const char *argv[] = { o->title, "-c", "read line", o->word, NULL };
    const char *envp[] = { no_environment ? NULL : "PATH=/usr/bin:/bin", o->variable, NULL };
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    size_t n;
    pid_t pid;

    ck_assert_int_eq(file_read("/bin/sh", 8 << 20, &text, &n, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, text, n, 0755, NULL), 0);
    pid = fork();
    if (pid == 0) {
        if (dup2(hold[0], 0) == 0 && (!o->elsewhere || unshare(CLONE_NEWNET) == 0) &&
            (!o->foreign || setuid(NOBODY) == 0))
            (void)execve(path, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
        _exit(1);
    }
    for (bool up = false; !up; clock_sleep_until_ns(clock_now_ns() + CLOCK_MS)) {
        cleanup_free char *command = proctree_read(pid, "comm", NULL);

        up = command && strncmp(command, o->name, strlen(o->name)) == 0;
        ck_assert_msg(clock_now_ns() < end_ns, "%s does not start", o->name);
    }
    return pid;
}

static void end(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static const struct other rows[] = {
    { "slurmstepd", "slurmstepd: [12.0]", .found = "Slurm's job 12" },
    { "slurmstepd", "slurmstepd: [12.batch]", .found = "Slurm's job 12" },
    { "slurmstepd", "slurmstepd: [77.0]" }, /* SLURM_JOB_ID */
    { "slurmstepd", "slurmstepd: [78.0]" }, /* SLURM_JOB_ID_HET_GROUP_1 */
    { "slurmstepd", "slurmstepd" },
    { "slurmd", "slurmd: [12.0]" },
    { "slurmstepd", "slurmstepd: [12.0]", .foreign = true },
    { "slurmstepd", "slurmstepd: [12.0]", .elsewhere = true },
    { "eddis-rank", "eddis-rank", "EDDIS_JOB_ID=other", .found = "job other" },
    { "eddis-rank", "eddis-rank", "EDDIS_JOB_ID=other\033[2J", .found = "job other?[2J" },
    { "eddis-rank", "eddis-rank", "EDDIS_JOB_ID=mine" },
    { "eddis-rank", "eddis-rank", NULL },
    { "eddis-rank", "eddis-rank", "EDDIS_JOB_ID=other", .foreign = true },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other", .found = "job other" },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other", "--kept-only" },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other", "--emulate" },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other", "--gpus" },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other", "--watch-gpus" },
    { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=mine" },
    { "eddis-agent", "eddis-agent", "EDDIS_JOB_ID=other" },
};

START_TEST(sees)
{
    const struct other *o = &rows[_i];
    pid_t pid;
    bool any;

    if (!alone("sees"))
        return;
    (void)setenv("SLURM_JOB_ID", "77", 1);
    (void)setenv("SLURM_JOB_ID_HET_GROUP_1", "78", 1);
    pid = begin(o);
    any = look();
    end(pid);
    ck_assert_msg(any == (o->found != NULL), "row %d: '%s'", _i, found);
    ck_assert_str_eq(found, o->found ? o->found : "");
    ck_assert(!look());
}
END_TEST

/* A process that ends while it is looked at is nobody's; one that this user may not read is another
 * user's.
 */
START_TEST(ends_meanwhile)
{
    static const struct other row = { "eddis-probe", "eddis-probe", "EDDIS_JOB_ID=other" };
    static const struct other bare = { "eddis-rank", "eddis-rank", NULL };
    static const int gone[] = { ESRCH, ENOENT };
    pid_t pid;

    if (!alone("ends_meanwhile"))
        return;
    pid = begin(&row);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        refused = gone[i];
        ck_assert_msg(!look(), "%s", found);
    }
    refused = EACCES;
    ck_assert(look());
    ck_assert_str_eq(found, "a job of another user");
    refused = 0;
    ck_assert(look());
    ck_assert_str_eq(found, "job other");
    ending = pid;
    ck_assert_msg(!look(), "%s", found);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ending = 0;
    no_environment = true;
    pid = begin(&bare);
    ck_assert_msg(!look(), "%s", found);
    end(pid);
}
END_TEST

/* Run eddis-probe below a slurmstepd of this title; returns what it says of others. */
static void probe_below(const char *title, struct node_profile *ret)
{
    static const struct spawn_rung rungs[] = { { 0, 60 * CLOCK_S }, { SIGKILL, CLOCK_S } };
    cleanup_free char *out = file_join(scratch, "out"), *text = NULL;
    cleanup_free char *step = file_join(scratch, "slurmstepd");
    const char *argv[] = { "/bin/bash", "-c", "exec -a \"$0\" \"$1\" -c '\"$0\"; exit $?' \"$2\"",
                           title,       step, getenv("EDDIS_PROBE"),
                           NULL };
    struct spawn s = { .argv = argv, .in = -1, .err = 2 };
    struct eddis_error err = { 0 };
    int status;
    pid_t pid;

    (void)setenv("EDDIS_JOB_ID", "mine", 1);
    (void)setenv("XDG_CACHE_HOME", scratch, 1);
    s.out = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    ck_assert_int_eq(spawn_stop(pid, rungs, 2, &status, NULL), 0);
    ck_assert_int_eq(status, 0);
    (void)close(s.out);
    ck_assert_int_eq(file_read(out, 1 << 20, &text, NULL, NULL), 0);
    ck_assert_msg(profile_parse(text, strlen(text), "output", ret, &err) == 0, "%s", err.text);
}

/* What is measured beside others is not kept; what was measured before them is used beside them,
 * and the slurmstepd above is of our own job.
 */
START_TEST(measured_beside)
{
    static const struct other row = { "slurmstepd", "slurmstepd: [12.0]" };
    struct node_profile p;
    pid_t pid;

    if (!alone("measured_beside"))
        return;
    pid = begin(&row);
    for (int i = 0; i < 2; i++) {
        probe_below("slurmstepd: [13.0]", &p);
        ck_assert(!p.cached);
        ck_assert_str_eq(p.beside, "Slurm's job 12");
        ck_assert_msg(
            strstr(p.note, "measured while Slurm's job 12 ran, so perhaps too low; not kept"), "%s",
            p.note);
    }
    end(pid);
    probe_below("slurmstepd: [13.0]", &p);
    ck_assert(!p.cached);
    ck_assert_str_eq(p.beside, "");
    pid = begin(&row);
    probe_below("slurmstepd: [13.0]", &p);
    ck_assert(p.cached);
    ck_assert_str_eq(p.beside, "");
    ck_assert_ptr_null(strstr(p.note, "not kept")); /* a busy machine may have its own note */
    end(pid);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, sees, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, ends_meanwhile);
    if (getenv("EDDIS_PROBE"))
        tcase_add_test(tc, measured_beside);
}

SUITE_MAIN("neighbours", add_tests)
