/* SPDX-License-Identifier: Apache-2.0 */
/* test_orphans.c - tests of agents/node/keep/orphans.h */
#include "agents/node/keep/orphans.h"

#include "agents/node/keep/folders.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "own_tmp.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct node_identity id;
static char job[64];

static void setup(void)
{
    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
    snprintf(job, sizeof job, "test-%s", id.mark);
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    (void)own_tmp();
}

static pid_t begin_program(const char *const *argv, const char *variable)
{
    const char *const envp[] = { variable, "PATH=/usr/bin:/bin", NULL };
    pid_t pid;

    ck_assert_int_eq(
        spawn_start(&(struct spawn){ .argv = argv, .envp = envp, .in = -1, .out = -1, .err = -1 },
                    &pid, NULL),
        0);
    return pid;
}

/* A shell with this script, this word in its arguments and this variable. */
static pid_t begin(const char *script, const char *word, const char *variable)
{
    const char *const argv[] = { "/bin/sh", "-c", script, word, NULL };

    return begin_program(argv, variable);
}

/* One that waits, in vain. */
static pid_t begin_sleep(const char *word, const char *variable)
{
    return begin("sleep 1000; :", word, variable);
}

/* Until so many programs of this name, of all that were begun, are in this state; 0: in any. */
static void await_programs(const char *name, char state, int wanted)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    int found = 0;

    while (found < wanted) {
        struct proctree_process *all = NULL;
        int n = proctree_list(getpid(), &all, NULL);

        found = 0;
        for (int i = 0; i < n; i++)
            found += strcmp(all[i].command, name) == 0 && (!state || all[i].state == state);
        free(all);
        ck_assert_msg(clock_now_ns() < end_ns, "%d '%s' instead of %d", found, name, wanted);
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
}

/* Until no more than so many are left, and no less: what was killed may take its time. */
static void await_processes(int wanted)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    int found = proctree_signal(getpid(), 0, 0, NULL);

    for (; found > wanted && clock_now_ns() < end_ns; found = proctree_signal(getpid(), 0, 0, NULL))
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    ck_assert_int_eq(found, wanted);
}

/* The folders of a start that has died, made where this runtime folder sends them. */
static struct folders folders_of(const char *runtime_dir)
{
    struct tick_page *page;
    struct folders f;
    int fd;

    ck_assert_int_eq(tick_create(&page, &fd, NULL), 0);
    ck_assert_int_eq(folders_make(page, &id, runtime_dir, &f, NULL), 0);
    (void)close(fd);
    return f;
}

static void let_go(const struct folders *f)
{
    (void)close(f->lock[0]);
    (void)close(f->lock[1]);
}

static struct folders dead_folders(const char *runtime_dir)
{
    struct folders f = folders_of(runtime_dir);

    let_go(&f);
    return f;
}

static bool lives(pid_t pid)
{
    char state = proctree_state(pid);

    return state && state != 'Z';
}

static struct orphans end_it(void)
{
    struct orphans l = { 0 };
    struct eddis_error err = { 0 };

    ck_assert_msg(orphans_end(job, &id, 1, clock_now_ns() + 60 * CLOCK_S, &l, &err) == 0, "%s",
                  err.text);
    return l;
}

static void end_child(pid_t pid)
{
    ck_assert_msg(lives(pid), "a bystander was killed");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* The bystanders, all of which have to live yet, and what they have begun. */
static void end_rest(const pid_t *bystander, int n)
{
    for (int i = 0; i < n; i++)
        end_child(bystander[i]);
    ck_assert_int_eq(proctree_kill_all(clock_now_ns() + 60 * CLOCK_S, NULL), 0);
}

START_TEST(finds_what_is_the_jobs)
{
    char variable[128], folder[FOLDERS_PATH + 8], other[128], near[33];
    pid_t mine[4], bystander[4];
    struct folders f = dead_folders(NULL);
    struct orphans l;

    snprintf(variable, sizeof variable, "EDDIS_JOB_ID=%s", job);
    snprintf(other, sizeof other, "EDDIS_JOB_ID=%s0", job);
    snprintf(folder, sizeof folder, "%s/g1", f.shm);
    strcpy(near, id.mark);
    near[0] = near[0] == '0' ? '1' : '0';
    mine[0] = begin_sleep(id.mark, "A=1");
    mine[1] = begin_sleep("x", variable);
    mine[2] = begin_sleep(folder, "A=1");
    /* its child hides: a session of its own, no environment, stopped */
    mine[3] =
        begin("env -i setsid sh -c 'kill -STOP $$; sleep 1000; :' & sleep 1000; :", id.mark, "A=1");
    bystander[0] = begin_sleep(near, "A=1");
    bystander[1] = begin_sleep("x", other);
    bystander[2] = begin_sleep("x", "XEDDIS_JOB_ID=1");
    bystander[3] = begin_sleep("eddis-keeper", "A=1");
    await_programs("sleep", 0, 8);
    await_programs("sh", 'T', 1);
    l = end_it();
    ck_assert_int_ge(l.processes, 8);
    ck_assert_ptr_nonnull(strstr(l.names, "sleep"));
    for (int i = 0; i < 4; i++)
        ck_assert(!lives(mine[i]));
    await_processes(8); /* four shells and their sleeps */
    for (int i = 0; i < 4; i++)
        end_child(bystander[i]);
    l = end_it();
    ck_assert_int_eq(l.processes + l.folders + l.groups, 0);
    end_rest(NULL, 0);
}
END_TEST

/* A job without a name is no mark: a variable may well be empty. */
START_TEST(no_job)
{
    pid_t bystander = begin_sleep("x", "EDDIS_JOB_ID=");
    struct orphans l = { 0 };

    await_programs("sleep", 0, 1);
    ck_assert_int_eq(orphans_end("", &id, 1, clock_now_ns() + 60 * CLOCK_S, &l, NULL), 0);
    ck_assert_int_eq(l.processes, 0);
    end_rest(&bystander, 1);
}
END_TEST

/* Neither itself nor who has called it, although they are marked as the job's. */
START_TEST(spares_itself)
{
    pid_t pid;
    int status;

    snprintf(job, sizeof job, "%s", getenv("EDDIS_JOB_ID"));
    pid = fork();
    if (pid == 0) {
        const char *const argv[] = { "/bin/sh", "-c", "sleep 1000 & wait; exit 7", id.mark, NULL };

        (void)execv("/bin/sh", (char *const *)(uintptr_t)argv);
        _exit(1);
    }
    await_programs("sleep", 0, 1);
    ck_assert_int_ge(end_it().processes, 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    end_rest(NULL, 0);
}
END_TEST

/* Nor what has another keeper do the same. */
START_TEST(spares_cleanup)
{
    const char *const argv[] = { "/bin/sh",   "-c", "sleep 1000; :", "x",
                                 "--cleanup", job,  id.mark,         NULL };
    pid_t pid = begin_program(argv, "A=1");

    await_programs("sleep", 0, 1);
    ck_assert_int_eq(end_it().processes, 0);
    end_rest(&pid, 1);
}
END_TEST

START_TEST(removes_folders)
{
    char runtime[] = "/tmp/test-left-XXXXXX";
    struct folders in_runtime, in_tmp;
    cleanup_free char *deep = NULL;
    struct orphans l;

    ck_assert_ptr_nonnull(mkdtemp(runtime));
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    in_runtime = folders_of(runtime); /* held, or the next start would remove them */
    in_tmp = dead_folders(NULL);
    let_go(&in_runtime);
    deep = file_join(in_tmp.run, "g1/a/b");
    ck_assert_int_eq(file_mkdirs(deep, 0700, NULL), 0);
    l = end_it();
    ck_assert_int_eq(l.folders, 4);
    ck_assert_int_eq(l.processes, 0);
    ck_assert_int_ne(access(in_runtime.run, F_OK), 0);
    ck_assert_int_ne(access(in_tmp.run, F_OK), 0);
    ck_assert_int_ne(access(in_runtime.shm, F_OK), 0);
    ck_assert_int_eq(end_it().folders, 0);
    ck_assert_int_eq(rmdir(runtime), 0);
}
END_TEST

static bool makes_late; /* a process of the job makes folders in the moment before it is killed */
static struct folders made_late;

int __real_proctree_send(const struct proctree_process *p, int sig);
int __wrap_proctree_send(const struct proctree_process *p, int sig);

int __wrap_proctree_send(const struct proctree_process *p, int sig)
{
    if (makes_late) {
        makes_late = false;
        made_late = dead_folders(NULL);
    }
    return __real_proctree_send(p, sig);
}

/* Also those that were not there when the search began. */
START_TEST(folders_made_late)
{
    pid_t mine = begin_sleep(id.mark, "A=1");
    struct orphans l;

    await_programs("sleep", 0, 1);
    makes_late = true;
    l = end_it();
    ck_assert(!makes_late && !lives(mine));
    ck_assert_int_eq(access(made_late.run, F_OK), -1);
    ck_assert_int_eq(access(made_late.shm, F_OK), -1);
    ck_assert_int_eq(l.folders, 2);
    end_rest(NULL, 0);
}
END_TEST

static int search = -1; /* how many searches for folders there were; -1: none is cut */

int __real_folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                        char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err);
int __wrap_folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                        char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err);

/* The second search ends before it has examined any folder. */
int __wrap_folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                        char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err)
{
    if (search == 1) {
        search = 2;
        *ret = NULL;
        *ret_late = true;
        return 0;
    }
    search += search == 0;
    return __real_folders_find(start, n, deadline_ns, ret, ret_late, err);
}

/* What the first search has found is removed although the second one is cut. */
START_TEST(search_is_cut)
{
    struct folders f = dead_folders(NULL);
    struct orphans l = { 0 };

    search = 0;
    ck_assert_int_eq(orphans_end(job, &id, 1, clock_now_ns() + 60 * CLOCK_S, &l, NULL), -ETIMEDOUT);
    ck_assert_int_eq(search, 2);
    search = -1;
    ck_assert_int_eq(access(f.run, F_OK), -1);
    ck_assert_int_eq(access(f.shm, F_OK), -1);
    ck_assert_int_eq(end_it().folders, 0);
}
END_TEST

/* Where processes are hidden, the lock tells that an agent lives. */
START_TEST(held_folder)
{
    struct folders f = dead_folders(NULL);
    struct orphans l;
    struct eddis_error err = { 0 };
    int fd = open(f.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(flock(fd, LOCK_SH), 0);
    ck_assert_int_eq(orphans_end(job, &id, 1, clock_now_ns() + CLOCK_S, &l, &err), -EBUSY);
    ck_assert_msg(strstr(err.text, "locked by a process"), "%s", err.text);
    (void)close(fd);
    ck_assert_int_eq(end_it().folders, 1);
}
END_TEST

/* Without the job's id, only what a mark of the node names: ranks of other nodes may run beside,
 * and later starts of this one.
 */
START_TEST(marks_alone)
{
    char jobs[128], variable[5][128];
    struct node_identity other, next = id, last;
    const struct node_identity *of[5] = { &id, &next, &last, &other, &id };
    struct orphans l = { 0 };
    pid_t mine[3], bystander[4];

    ck_assert_int_eq(node_identity_make(&other, NULL), 0);
    ck_assert_int_eq(node_identity_next(&next, NULL), 0);
    last = next;
    ck_assert_int_eq(node_identity_next(&last, NULL), 0);
    snprintf(jobs, sizeof jobs, "EDDIS_JOB_ID=%s", job);
    for (int i = 0; i < 5; i++)
        snprintf(variable[i], sizeof variable[i], "%s" NODE_IDENTITY_VARIABLE "=%s",
                 i == 4 ? "X" : "", of[i]->mark);
    mine[0] = begin_sleep(id.mark, jobs);
    mine[1] = begin_sleep("x", variable[0]);
    mine[2] = begin_sleep("x", variable[1]);
    bystander[0] = begin_sleep("x", jobs);
    bystander[1] = begin_sleep("x", variable[2]);
    bystander[2] = begin_sleep("x", variable[3]);
    bystander[3] = begin_sleep("x", variable[4]);
    await_programs("sleep", 0, 7);
    ck_assert_int_eq(orphans_end(NULL, &next, 1, clock_now_ns() + 60 * CLOCK_S, &l, NULL), 0);
    for (int i = 0; i < 3; i++)
        ck_assert(!lives(mine[i]));
    end_rest(bystander, 4);
}
END_TEST

/* What marks a process is the environment that it began with. */
static void begin_anew_as_a_jobs(void)
{
    char name[64];

    const char *now = getenv("EDDIS_JOB_ID");

    /* Of its own alone: this one is ended. */
    if (now && strncmp(now, "test-of-pid-", 12) == 0)
        return;
    snprintf(name, sizeof name, "test-of-pid-%d", (int)getpid());
    setenv("EDDIS_JOB_ID", name, 1);
    (void)execl("/proc/self/exe", "test_agents_orphans", (char *)NULL);
    abort();
}

static void add_tests(TCase *tc)
{
    begin_anew_as_a_jobs();
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, finds_what_is_the_jobs);
    tcase_add_test(tc, no_job);
    tcase_add_test(tc, spares_itself);
    tcase_add_test(tc, spares_cleanup);
    tcase_add_test(tc, removes_folders);
    tcase_add_test(tc, folders_made_late);
    tcase_add_test(tc, search_is_cut);
    tcase_add_test(tc, held_folder);
    tcase_add_test(tc, marks_alone);
}

SUITE_MAIN("orphans", add_tests)
