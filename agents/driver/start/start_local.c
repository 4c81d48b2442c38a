/* SPDX-License-Identifier: Apache-2.0 */
/* start_local.c - agents on this machine: supervisor -> agent, forked
 *
 * The driver is a child subreaper, so that the processes left by a killed supervisor and agent
 * become its children.
 */
#include "start_impl.h"

#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>

/* Append the path of eddis-keeper and args, which run the supervisor on this machine
 * (start_ops.argv).  Return 0 or a negative error.
 */
static int local_argv(const struct start_place *const *at, int n, char *const *args,
                      struct strlist *ret, struct eddis_error *err)
{
    char keeper[PATH_MAX];
    int rc = program_path("eddis-keeper", keeper, sizeof keeper, err);

    (void)at;
    (void)n;
    if (rc < 0)
        return rc;
    strlist_addf(ret, "%s", keeper);
    strlist_add_all(ret, args);
    return 0;
}

/* Write why the supervisor on this machine ended before it answered, to ret.  Return START_GIVE_UP
 * (start_ops.judge).
 */
static enum start_verdict local_judge(const struct start_place *at, const struct session *p,
                                      int code, char *ret, size_t size)
{
    const char *said = p->said, *words = p->words;

    if (code > 128)
        (void)snprintf(ret, size, "%.200s: eddis-keeper was killed by signal %d at its start",
                       at->name, code - 128);
    else
        (void)snprintf(ret, size, "%.200s: eddis-keeper exited %d at its start: %.250s", at->name,
                       code,
                       *words  ? words
                       : *said ? said
                               : "it printed nothing");
    return START_GIVE_UP;
}

int start_local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t end_ns = clock_after_ns(clock_now_ns(), patience_ns);

    while (clock_now_ns() < end_ns) {
        pid_t got = waitpid(-1, NULL, WNOHANG);

        if (got < 0 && errno == ECHILD)
            return 0;
        if (got == 0)
            clock_sleep_until_ns(clock_now_ns() + 5 * CLOCK_MS);
    }
    return proctree_kill_all(deadline_ns, err);
}

const struct start_ops start_local = {
    .name = "local",
    .begins = "starting",
    .argv = local_argv,
    .judge = local_judge,
};
