/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - has systemd-run make a scope, if it can */
#include "scope.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "lib/base/strlist.h"

#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const run_scope[] = { "systemd-run", "--user", "--scope",      "--quiet",
                                         "--collect",   "-p",     "Delegate=yes", "--" };

/* A batch system that takes a login into its own job's group is not to be left. */
static bool is_in_login(void)
{
    cleanup_free char *text = proctree_read(getpid(), "cgroup", NULL);
    const char *at = text;

    while (at && (at = strstr(at, "/session-"))) {
        size_t n = strcspn(++at, "/\n");

        if (n > 6 && strncmp(at + n - 6, ".scope", 6) == 0 && at[n] != '/')
            return true;
    }
    return false;
}

static bool lingers(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char path[PATH_MAX];

    return user &&
           snprintf(path, sizeof path, "/var/lib/systemd/linger/%s", user->pw_name) <
               (int)sizeof path &&
           access(path, F_OK) == 0;
}

static bool can_make_group(const char *name)
{
    struct cgroup c = { .path = "" };
    bool can = cgroup_make(name, &c, NULL) == 0;

    if (can)
        cgroup_remove(&c);
    return can;
}

static void add_words(struct strlist *argv)
{
    for (size_t i = 0; i < sizeof run_scope / sizeof *run_scope; i++)
        strlist_addf(argv, "%s", run_scope[i]);
}

/* Whether it works: once begun in vain this program would not come back. */
static bool manager_answers(void)
{
    static const struct spawn_rung rungs[] = { { 0, 4 * CLOCK_S }, { SIGKILL, CLOCK_S } };
    struct strlist argv = { 0 };
    struct spawn s = { .in = -1, .out = -1, .err = -1 };
    int status = -1;
    pid_t pid;
    bool good;

    add_words(&argv);
    strlist_addf(&argv, "true");
    s.argv = (const char *const *)argv.item;
    good = !argv.failed && spawn_start(&s, &pid, NULL) == 0 &&
           spawn_stop(pid, rungs, 2, &status, NULL) == 0 && status == 0;
    strlist_fini(&argv);
    return good;
}

void scope_enter(char *const *argv, const char *group)
{
    char self[PATH_MAX], program[PATH_MAX];
    struct strlist words = { 0 };
    ssize_t n;

    if (!is_in_login() || !getenv("XDG_RUNTIME_DIR") || !lingers() || can_make_group(group) ||
        !manager_answers())
        return;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || spawn_find(run_scope[0], program, sizeof program, NULL) < 0)
        return;
    self[n] = '\0';
    add_words(&words);
    strlist_addf(&words, "%s", self);
    strlist_add_all(&words, argv + 1);
    if (!words.failed)
        (void)execv(program, words.item);
    strlist_fini(&words);
}
