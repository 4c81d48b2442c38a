/* SPDX-License-Identifier: Apache-2.0 */
/* quiet_watch.c - finds programs that neither print nor compute */
#include "quiet_watch.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 10 }; /* polls within the time limit after which a program counts as quiet */

/* Part of one processor above which a program counts as working; a thread that only polls a clock
 * uses less.
 */
static const double busy = 0.01;

void quiet_watch_heard(struct quiet_watch *q, int64_t now_ns)
{
    q->since_ns = now_ns;
}

/* Return the interval between two polls, for a program that counts as quiet after limit_ns. */
static int64_t every_ns(int64_t limit_ns)
{
    return limit_ns / LOOKS;
}

/* Check whether the processes have used more processor time since the previous poll than an idle
 * program uses, or one of them has ended. used: their total time, in clock ticks.
 */
static bool is_busy(const struct quiet_watch *q, int64_t used, int64_t now_ns)
{
    double ticks = (double)(used - q->used);
    double may = busy * (double)(now_ns - q->looked_ns) / CLOCK_S * (double)sysconf(_SC_CLK_TCK);

    return ticks < 0 || ticks > may + 1; /* fewer ticks: a process has ended */
}

int quiet_watch_take(struct quiet_watch *q, int64_t used, int64_t limit_ns, int64_t now_ns)
{
    bool quiet, news;

    if (!q->looked_ns || is_busy(q, used, now_ns))
        q->since_ns = now_ns;
    q->looked_ns = now_ns;
    q->used = used;
    quiet = now_ns - q->since_ns >= limit_ns;
    news = quiet != q->reported;
    q->reported = quiet;
    return news ? quiet ? 1 : -1 : 0;
}

int quiet_watch_look(struct quiet_watch *q, pid_t wrapper, int64_t limit_ns, int64_t now_ns)
{
    cleanup_free struct proctree_process *all = NULL;
    int64_t used = 0;
    int n;

    if (q->looked_ns && now_ns - q->looked_ns < every_ns(limit_ns))
        return 0;
    n = proctree_list(wrapper, &all, NULL);
    for (int i = 0; i < n; i++)
        used += all[i].used;
    return n < 0 ? 0 : quiet_watch_take(q, used, limit_ns, now_ns);
}

void quiet_watch_where(pid_t pid, char *ret, size_t size)
{
    cleanup_free char *text = proctree_read(pid, "wchan", NULL);

    (void)snprintf(ret, size, "%s", text ? text : "");
    for (const char *c = ret; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            ret[0] = '\0';
    if (strcmp(ret, "0") == 0)
        ret[0] = '\0';
}
