/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - decides whether a scope helps, and asks the service manager to make it */
#include "scope.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

/* Check whether this process is directly in the scope of a login session, not in a group below it:
 * a batch system may have put the login into the group of its own job, which must not be left.
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

/* Check whether a control group of this name can be made here, by making and removing it. */
static bool can_make_group(const char *name)
{
    struct cgroup c = { .path = "" };
    bool can = cgroup_make(name, &c, NULL) == 0;

    if (can)
        (void)cgroup_remove(&c, clock_now_ns() + CLOCK_S, NULL);
    return can;
}

/* ---- the service manager ---- */

/* Store 1 in *arg for an agreement, -EPERM for a rejection or a lost connection. Return 0 (sd-bus's
 * callback for an answer).
 */
static int take_answer(sd_bus_message *answer, void *arg, sd_bus_error *error)
{
    (void)error;
    *(int *)arg = sd_bus_message_is_method_error(answer, NULL) ? -EPERM : 1;
    return 0;
}

/* Connect to the manager's own socket, without a bus, and queue the call that puts this process
 * into a scope of this name. Return a negative errno if that fails; otherwise 0 or more, and
 * take_answer writes *ret later. sd-bus would wait much longer than five seconds for a connection,
 * so the calls here do not wait.
 */
static int send_call(sd_bus *bus, const char *address, const char *name, int *ret)
{
    int rc = sd_bus_set_address(bus, address);

    if (rc >= 0)
        rc = sd_bus_start(bus);
    if (rc < 0)
        return rc;
    return sd_bus_call_method_async(
        bus, NULL, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager", "StartTransientUnit", take_answer, ret,
        "ssa(sv)a(sa(sv))", name, "fail", /* rather than replace another job of the manager */
        4, "Description", "s", "eddis-keeper", "CollectMode", "s", "inactive-or-failed", "Delegate",
        "b", 1, "PIDs", "au", 1, (uint32_t)getpid(), 0);
}

/* Ask the manager at this address of D-Bus to put this process into a scope of this name, and wait,
 * until the deadline at most, for its answer. Return true if it has agreed: it moves the process
 * soon after. Return false if it rejected the call, did not answer, or cannot be reached.
 */
static bool get_scope(const char *address, const char *name, int64_t deadline_ns)
{
    sd_bus *bus = NULL;
    int answer = 0, rc = sd_bus_new(&bus);

    if (rc >= 0)
        rc = send_call(bus, address, name, &answer);
    while (rc >= 0 && !answer && clock_now_ns() < deadline_ns) {
        rc = sd_bus_process(bus, NULL);
        if (rc == 0)
            rc = sd_bus_wait(bus, (uint64_t)clock_poll_ms(deadline_ns) * 1000);
        if (rc == -EINTR)
            rc = 0;
    }
    sd_bus_close(bus);
    sd_bus_unref(bus);
    return answer > 0;
}

/* Wait until this process is in the scope of this name, or the deadline has passed: the manager
 * answers before it moves the process.
 */
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
    char address[PATH_MAX], name[80];

    if (!is_in_login() || !runtime_dir || !lingers() || can_make_group(group))
        return;
    (void)snprintf(name, sizeof name, "eddis-%d-%llx.scope", (int)getpid(),
                   (unsigned long long)clock_wall_ns());
    /* pam_systemd's folder, /run/user/1000, needs no escapes of an address */
    (void)snprintf(address, sizeof address, "unix:path=%s/systemd/private", runtime_dir);
    if (get_scope(address, name, deadline_ns))
        wait_until_moved(name, deadline_ns);
}
