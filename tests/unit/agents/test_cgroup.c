/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c - groups are killed, left and swept; where none may be made a test is skipped */
#include "agents/node/keep/cgroup.h"
#include "agents/protocol/node_identity.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct node_identity id;
static int busy; /* number of calls of rmdir for which the kernel counts ended processes; -1: all */

int rmdir(const char *path)
{
    if (busy) { /* negative: for ever */
        busy -= busy > 0;
        errno = EBUSY;
        return -1;
    }
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

static bool make(struct cgroup *c, const char *who)
{
    struct eddis_error err = { 0 };

    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
    if (cgroup_make(id.cgroup, c, &err) == 0)
        return true;
    printf("SKIP %s: %s\n", who, err.text);
    return false;
}

static int64_t soon(void)
{
    return clock_now_ns() + 60 * CLOCK_S;
}

static pid_t spawn_script(const char *script)
{
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };
    pid_t pid;

    ck_assert_int_eq(
        spawn_start(&(struct spawn){ .argv = argv, .in = -1, .out = -1, .err = -1 }, &pid, NULL),
        0);
    return pid;
}

static void reap_all(void)
{
    int64_t end = clock_now_ns() + 60 * CLOCK_S;

    while (waitpid(-1, NULL, WNOHANG) >= 0 && clock_now_ns() < end)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

static void await_descendants(int wanted)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    struct proctree_process *all = NULL;
    int n;

    while ((n = proctree_list(getpid(), &all, NULL)) < wanted) {
        free(all);
        ck_assert_msg(clock_now_ns() < end_ns, "%d processes instead of %d", n, wanted);
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    free(all);
}

START_TEST(kills_all)
{
    struct cgroup c, found[4];
    int n;
    pid_t pid;

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!make(&c, "kills_all"))
        return;
    /* waits to be moved, then makes children in sessions of their own that ignore what they can */
    pid = spawn_script("trap '' TERM; kill -STOP $$; for i in 1 2 3 4 5 6; do "
                       "setsid sh -c 'sleep 1000' & done; kill -STOP $!; sleep 1000");
    ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
    ck_assert_int_eq(cgroup_add(&c, pid), 0);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    await_descendants(8);
    ck_assert_int_eq(cgroup_find(&id, found, 4), 1);
    ck_assert_str_eq(found[0].path, c.path);
    ck_assert_int_eq(node_identity_next(&id, NULL), 0); /* a later start looks for it, too */
    ck_assert_int_eq(cgroup_find(&id, found, 4), 1);
    if (geteuid() == 0) { /* another user's is none of ours */
        ck_assert_int_eq(chown(c.path, 65534, 65534), 0);
        ck_assert_int_eq(cgroup_find(&id, found, 4), 0);
        ck_assert_int_eq(chown(c.path, 0, 0), 0);
    }
    n = cgroup_kill(&c, clock_now_ns() + 60 * CLOCK_S, NULL);
    ck_assert_int_ge(n, 7);
    reap_all();
    ck_assert_int_eq(cgroup_kill(&c, clock_now_ns() + 60 * CLOCK_S, NULL), 0);
    ck_assert_int_eq(cgroup_remove(&c, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_find(&id, found, 4), 0);
}
END_TEST

START_TEST(leaves)
{
    struct cgroup c, found[4];
    int status;
    pid_t pid, other;

    if (!make(&c, "leaves"))
        return;
    other = spawn_script("sleep 1000");
    ck_assert_int_eq(cgroup_add(&c, other), 0);
    pid = fork();
    if (pid == 0) {
        if (cgroup_add(&c, getpid()) < 0)
            _exit(1);
        cgroup_leave(clock_now_ns() + 60 * CLOCK_S);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert(WIFSIGNALED(status));
    /* as it may not have been, while the dead one was not reaped */
    ck_assert_int_eq(cgroup_remove(&c, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_find(&id, found, 4), 0);
}
END_TEST

/* In a child that is in a group of a scheduler's, make one of ours; returns the scheduler's. */
static struct cgroup nest(struct cgroup *ret)
{
    struct cgroup outer;
    int status;
    pid_t pid;

    ck_assert(make(ret, "nest"));
    outer = *ret;
    (void)snprintf(strrchr(outer.path, '/'), 32, "/scheduler-%d", (int)getpid());
    ck_assert_int_eq(mkdir(outer.path, 0755), 0);
    ck_assert_int_eq(cgroup_remove(ret, soon(), NULL), 0);
    pid = fork();
    if (pid == 0) {
        struct cgroup inner;

        _exit(cgroup_add(&outer, getpid()) < 0 || cgroup_make(id.cgroup, &inner, NULL) < 0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    (void)snprintf(ret->path, sizeof ret->path, "%.400s/%.39s", outer.path, id.cgroup);
    return outer;
}

/* Empty ones whose keepers are dead go, also below another's group, once they may not be about to
 * get their agents; what lives in one, and this process, is left alone.
 */
START_TEST(sweeps)
{
    struct cgroup old, foreign, used, outer, inner, young, found[4];
    struct node_identity before, other;
    pid_t pid;

    if (!make(&old, "sweeps"))
        return;
    before = id;
    outer = nest(&inner);
    ck_assert_int_eq(node_identity_make(&id, NULL), 0);
    (void)snprintf(foreign.path, sizeof foreign.path, "%.400s/%.39s", outer.path, id.cgroup);
    ck_assert_int_eq(mkdir(foreign.path, 0755), 0);
    if (geteuid() == 0) /* another user's is none of ours */
        ck_assert_int_eq(chown(foreign.path, 65534, 65534), 0);
    ck_assert(make(&used, "sweeps"));
    other = id;
    pid = spawn_script("sleep 1000");
    ck_assert_int_eq(cgroup_add(&used, pid), 0);
    clock_sleep_until_ns(clock_now_ns() + 4 * CLOCK_S);
    ck_assert(make(&young, "sweeps"));
    busy = 200; /* a busy machine */
    ck_assert_int_eq(cgroup_sweep(CLOCK_NEVER, NULL), 0);
    busy = 0;
    ck_assert_int_eq(cgroup_find(&before, found, 4), 0);
    ck_assert_int_eq(access(inner.path, F_OK), -1);
    ck_assert_int_eq(access(outer.path, F_OK), 0);
    ck_assert_int_eq(access(foreign.path, F_OK), geteuid() == 0 ? 0 : -1);
    ck_assert_int_eq(cgroup_find(&other, found, 4), 1);
    ck_assert_int_eq(cgroup_find(&id, found, 4), 1);
    ck_assert_int_ge(cgroup_kill(&used, clock_now_ns() + 60 * CLOCK_S, NULL), 1);
    reap_all();
    ck_assert_int_eq(cgroup_remove(&foreign, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_remove(&used, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_remove(&outer, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_remove(&young, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_remove(&young, soon(), NULL), 0);
    cgroup_leave(clock_now_ns() + CLOCK_S); /* is in none of ours */
}
END_TEST

/* What the kernel never stops to count is named, once the deadline has passed; what lives is no
 * reason to wait.
 */
START_TEST(stays)
{
    struct eddis_error err = { 0 };
    struct cgroup c, again;
    pid_t pid;

    if (!make(&c, "stays"))
        return;
    again = c;
    pid = spawn_script("sleep 1000");
    ck_assert_int_eq(cgroup_add(&c, pid), 0);
    ck_assert_int_eq(cgroup_remove(&c, CLOCK_NEVER, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "has 1 live processes"));
    ck_assert_str_eq(c.path, "");
    ck_assert_int_ge(cgroup_kill(&again, soon(), NULL), 1);
    reap_all();
    c = again;
    busy = -1;
    ck_assert_int_eq(cgroup_remove(&c, clock_now_ns() + CLOCK_S / 100, &err), -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(err.text, again.path));
    busy = 0;
    ck_assert_int_eq(cgroup_remove(&again, soon(), NULL), 0);
}
END_TEST

/* Processes of the job may make groups below its group. */
START_TEST(nested)
{
    struct cgroup c, below, found[4];
    int status;
    pid_t pid;

    if (!make(&c, "nested"))
        return;
    (void)snprintf(below.path, sizeof below.path, "%.500s/below", c.path);
    ck_assert_int_eq(mkdir(below.path, 0755), 0);
    pid = spawn_script("sleep 1000");
    ck_assert_int_eq(cgroup_add(&below, pid), 0);
    ck_assert_int_eq(cgroup_kill(&c, soon(), NULL), 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(cgroup_remove(&c, soon(), NULL), 0);
    ck_assert_int_eq(cgroup_find(&id, found, 4), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, kills_all);
    tcase_add_test(tc, leaves);
    tcase_add_test(tc, sweeps);
    tcase_add_test(tc, stays);
    tcase_add_test(tc, nested);
}

SUITE_MAIN("cgroup", add_tests)
