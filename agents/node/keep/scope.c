/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - decides whether a scope helps, and asks the service manager to make it */
#include "scope.h"

#include "user_manager.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Check whether this process is in a login session's scope itself, not in a group below it: a batch
 * system may have put the login into its own job's group, which must not be left.
 */
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

/* Check whether this user lingers (loginctl enable-linger). */
static bool lingers(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char path[PATH_MAX];

    return user &&
           snprintf(path, sizeof path, "/var/lib/systemd/linger/%s", user->pw_name) <
               (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* Check whether a control group of this name can be made here. */
static bool can_make_group(const char *name)
{
    struct cgroup c = { .path = "" };
    bool can = cgroup_make(name, &c, NULL) == 0;

    if (can)
        cgroup_remove(&c);
    return can;
}

/* Wait until this process is in the scope: the manager answers before it moves the process. */
static void wait_until_moved(const char *name, int64_t deadline_ns)
{
    while (clock_now_ns() < deadline_ns) {
        cleanup_free char *text = proctree_read(getpid(), "cgroup", NULL);

        if (text && strstr(text, name))
            return;
        clock_sleep_until_ns(clock_now_ns() + 5 * CLOCK_MS);
    }
}

void scope_enter(const char *group)
{
    const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
    int64_t deadline_ns = clock_now_ns() + 5 * CLOCK_S;
    char name[80];

    if (!is_in_login() || !runtime_dir || !lingers() || can_make_group(group))
        return;
    (void)snprintf(name, sizeof name, "eddis-%d-%llx.scope", (int)getpid(),
                   (unsigned long long)clock_wall_ns());
    if (user_manager_scope(runtime_dir, name, deadline_ns, NULL) == 0)
        wait_until_moved(name, deadline_ns);
}
