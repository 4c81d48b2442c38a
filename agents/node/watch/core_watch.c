/* SPDX-License-Identifier: Apache-2.0 */
/* core_watch.c - computes lost processor time from /proc/stat, /proc/PID/stat and cpu.stat */
#include "core_watch.h"

#include "core_heat.h"
#include "poll_backoff.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GROUP = 512,
    DEEPEST = 1000, /* most ancestors of a process that are followed */
    CLOCKS = 8,     /* most cores of a rank whose clock is read: each costs a file */
};

/* Processor time in clock ticks since boot. */
struct ticks {
    int64_t all, busy, stolen; /* all: busy, stolen (by the hypervisor) and idle */
};

struct rank {
    pid_t wrapper, pid;
    int64_t used; /* processor time of the wrapper and its descendants, in clock ticks */
    cpu_set_t cores;
};

/* Counters of one rank at one reading. */
struct counts {
    pid_t pid; /* the rank's process; 0: there was no reading */
    cpu_set_t cores;
    struct ticks ticks;
    int64_t own; /* time of the job's ranks on these cores, in clock ticks */
    struct core_heat heat;
    char group[GROUP];
    int64_t periods, throttled; /* periods of the quotas of its control groups; throttled periods */
};

struct core_watch {
    const char *root;               /* folder that has proc and sys, normally "" */
    struct rank *rank;              /* [n] */
    struct counts *before;          /* [n] */
    struct core_loss *loss;         /* [n] */
    struct ticks core[CPU_SETSIZE]; /* latest reading of each core */
    double celsius;
    int n;
    int64_t next_ns;
};

/* Set all parts of a loss to unknown (NAN). */
static void forget(struct core_loss *l)
{
    for (int i = 0; i < CORE_LOSSES; i++)
        l->part[i] = NAN;
    l->celsius = NAN;
}

struct core_watch *core_watch_open(const char *root, int n_ranks)
{
    struct core_watch *w = calloc(1, sizeof *w);
    size_t n = (size_t)n_ranks;

    if (w) {
        w->root = root;
        w->n = n_ranks;
        w->before = calloc(n, sizeof *w->before);
        w->loss = calloc(n, sizeof *w->loss);
        w->rank = calloc(n, sizeof *w->rank);
    }
    if (!w || !w->before || !w->loss || !w->rank) {
        core_watch_close(w);
        return NULL;
    }
    for (int i = 0; i < n_ranks; i++)
        forget(&w->loss[i]);
    return w;
}

void core_watch_close(struct core_watch *w)
{
    if (!w)
        return;
    free(w->before);
    free(w->loss);
    free(w->rank);
    free(w);
}

struct core_loss core_watch_loss(const struct core_watch *w, int i)
{
    return w->loss[i];
}

void core_watch_set(struct core_watch *w, int i, pid_t wrapper, pid_t pid)
{
    w->rank[i].wrapper = wrapper;
    w->rank[i].pid = pid;
}

/* ---- reading ---- */

/* Read the processor times of all cores from /proc/stat into w->core.  Time of virtual machines'
 * guests is part of user time already.  Return false if the file is missing, otherwise true.
 */
static bool read_cores(struct core_watch *w)
{
    cleanup_file FILE *f = core_heat_open(w->root, "proc/stat");
    char line[512];

    memset(w->core, 0, sizeof w->core);
    while (f && fgets(line, sizeof line, f) && strncmp(line, "cpu", 3) == 0) {
        int64_t user, nice, kernel, idle, waiting, irq, soft, stolen;
        int i;

        if (sscanf(line,
                   "cpu%d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                   " %" SCNd64 " %" SCNd64,
                   &i, &user, &nice, &kernel, &idle, &waiting, &irq, &soft, &stolen) != 9 ||
            i < 0 || i >= CPU_SETSIZE)
            continue;
        w->core[i] = (struct ticks){ .busy = user + nice + kernel + irq + soft, .stolen = stolen };
        w->core[i].all = w->core[i].busy + stolen + idle + waiting;
    }
    return f != NULL;
}

/* Compare two processes by pid, for qsort and bsearch. */
static int by_pid(const void *a, const void *b)
{
    const struct proctree_process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Return the index of the rank whose wrapper is process p or an ancestor of p; -1: none. all [n]:
 * all processes, sorted by pid.
 */
static int rank_of(const struct core_watch *w, const struct proctree_process *p,
                   const struct proctree_process *all, size_t n)
{
    for (int depth = 0; p && depth < DEEPEST; depth++) {
        const struct proctree_process above = { .pid = p->parent };

        for (int i = 0; i < w->n; i++)
            if (p->pid == w->rank[i].wrapper)
                return i;
        p = bsearch(&above, all, n, sizeof *all, by_pid);
    }
    return -1;
}

/* Set w->rank[i].used of each rank to the processor time of all its processes.  The time of an
 * ended child counts for the process that reaped it.  Return false, with nothing changed, if the
 * processes cannot be read.
 */
static bool read_used(struct core_watch *w)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);

    if (n <= 0)
        return false;
    for (int i = 0; i < w->n; i++)
        w->rank[i].used = 0;
    qsort(all, (size_t)n, sizeof *all, by_pid);
    for (int i = 0; i < n; i++) {
        int r = rank_of(w, &all[i], all, (size_t)n);

        if (r >= 0)
            w->rank[r].used += all[i].used;
    }
    return true;
}

/* Return the processor time, in ticks, that all ranks have used on these cores.  The time of a rank
 * that may also run on other cores is divided equally among its cores.
 */
static int64_t used_on(const struct core_watch *w, const cpu_set_t *cores)
{
    double ret = 0;

    for (int i = 0; i < w->n; i++) {
        cpu_set_t both;
        int n = CPU_COUNT(&w->rank[i].cores);

        CPU_AND(&both, cores, &w->rank[i].cores);
        if (n)
            ret += (double)w->rank[i].used * CPU_COUNT(&both) / n;
    }
    return (int64_t)ret;
}

/* Add the throttling counters in the file cpu.stat of a control group, f, to c; f: NULL, or without
 * these counters, as in some groups of version 2: add nothing.
 */
static void add_group(FILE *f, struct counts *c)
{
    int64_t periods = -1, throttled = -1;
    char line[128];

    while (f && fgets(line, sizeof line, f)) {
        (void)sscanf(line, "nr_periods %" SCNd64, &periods);
        (void)sscanf(line, "nr_throttled %" SCNd64, &throttled);
    }
    if (periods < 0 || throttled < 0)
        return;
    c->periods += periods;
    c->throttled += throttled;
}

/* Add to c the throttling counters of a control group and of all groups above it, since any of them
 * may have the quota.  A group without a quota counts no periods.
 */
static void add_groups(const char *root, const char *mount, const char *group, struct counts *c)
{
    char path[GROUP], *slash = path;

    (void)snprintf(path, sizeof path, "%s", strcmp(group, "/") == 0 ? "" : group);
    while (slash) {
        cleanup_file FILE *f = core_heat_open(root, "sys/fs/cgroup%s%s/cpu.stat", mount, path);

        add_group(f, c);
        slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
}

/* Check whether a list of controllers such as "cpu,cpuacct" contains "cpu". */
static bool has_cpu(const char *list)
{
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == '\0' || at[3] == ','))
            return true;
    return false;
}

/* Store a process's control group and its throttling counters in c.  Lines of /proc/PID/cgroup are
 * "0::/path" in version 2, "5:cpu,cpuacct:/path" in version 1.
 */
static void read_group(const char *root, pid_t pid, struct counts *c)
{
    cleanup_file FILE *f = core_heat_open(root, "proc/%d/cgroup", (int)pid);
    char line[GROUP], mount[GROUP + 1];

    while (f && fgets(line, sizeof line, f)) {
        char *which = strchr(line, ':'), *group = which ? strchr(which + 1, ':') : NULL;

        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        which++;
        if (*which && !has_cpu(which))
            continue;
        (void)snprintf(mount, sizeof mount, "%s%s", *which ? "/" : "", which);
        add_groups(root, mount, group, c);
        if (*which || !c->group[0]) /* with both versions mounted, version 1 has the controller */
            (void)snprintf(c->group, sizeof c->group, "%s", group);
    }
}

/* Return the frequency in a file of a core's cpufreq folder, in kHz; NAN: unknown. */
static double frequency(const char *root, int core, const char *name)
{
    cleanup_file FILE *f =
        core_heat_open(root, "sys/devices/system/cpu/cpu%d/cpufreq/%s", core, name);
    double ret = NAN;

    return f && fscanf(f, "%lf", &ret) == 1 ? ret : NAN;
}

/* Return the mean part, 0 to 1, by which the first CLOCKS of these cores run below their highest
 * clock; NAN: unknown for one of them.
 */
static double clock_lost(const char *root, const cpu_set_t *cores)
{
    double lost = 0;
    int n = 0;

    for (int i = 0; i < CPU_SETSIZE && n < CLOCKS; i++) {
        double now, most;

        if (!CPU_ISSET(i, cores))
            continue;
        now = frequency(root, i, "scaling_cur_freq");
        most = frequency(root, i, "cpuinfo_max_freq");
        if (!(now > 0 && most > 0))
            return NAN;
        lost += fmax(1 - now / most, 0);
        n++;
    }
    return n ? lost / n : NAN;
}

/* ---- one rank ---- */

/* Return some / all, limited to 0..1; NAN if all is 0. */
static double part(int64_t some, int64_t all)
{
    return all > 0 ? fmin(fmax((double)some / (double)all, 0), 1) : NAN;
}

/* Fill *ret with the counters of one rank now: core times and processor time as read before into w,
 * heat and throttling as read here.
 */
static void count(const struct core_watch *w, const struct rank *r, struct counts *ret)
{
    *ret = (struct counts){ .pid = r->pid, .cores = r->cores };
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &ret->cores)) {
            ret->ticks.all += w->core[c].all;
            ret->ticks.busy += w->core[c].busy;
            ret->ticks.stolen += w->core[c].stolen;
        }
    ret->own = used_on(w, &ret->cores);
    core_heat_read(w->root, &ret->cores, &ret->heat);
    read_group(w->root, r->pid, ret);
}

/* Return the part of the time between readings a and b, 0 to 1, in which heat throttled the cores
 * of b; NAN: unknown.
 */
static double heat_lost(const struct counts *a, const struct counts *b)
{
    double ticks = (double)(b->ticks.all - a->ticks.all), n = CPU_COUNT(&b->cores);
    double ms = ticks / n * b->heat.n * 1000 / (double)sysconf(_SC_CLK_TCK);
    int64_t core = b->heat.core_ms - a->heat.core_ms;
    int64_t package = b->heat.package_ms - a->heat.package_ms;

    return a->heat.n == b->heat.n ? part(core > package ? core : package, (int64_t)ms) : NAN;
}

/* Store in *ret the parts of processor time that a rank lost between its readings a and b.  All are
 * unknown (NAN) if the rank's process or cores have changed, or a reading is missing.
 */
static void compare(const struct core_watch *w, const struct counts *a, const struct counts *b,
                    struct core_loss *ret)
{
    int64_t all = b->ticks.all - a->ticks.all, busy = b->ticks.busy - a->ticks.busy;

    forget(ret);
    if (a->pid <= 0 || a->pid != b->pid || !CPU_EQUAL(&a->cores, &b->cores))
        return;
    ret->part[CORE_LOSS_STOLEN] = part(b->ticks.stolen - a->ticks.stolen, all);
    ret->part[CORE_LOSS_OTHERS] = part(busy - (b->own - a->own), all);
    if (strcmp(a->group, b->group) == 0)
        ret->part[CORE_LOSS_THROTTLED] = part(b->throttled - a->throttled, b->periods - a->periods);
    ret->part[CORE_LOSS_CLOCK] = clock_lost(w->root, &b->cores);
    ret->part[CORE_LOSS_HEAT] = heat_lost(a, b);
    ret->celsius = w->celsius;
}

/* Set r->cores to the cores on which the rank's process may run; to none if they are unknown. */
static void find_cores(struct rank *r)
{
    if (r->pid <= 0 || sched_getaffinity(r->pid, sizeof r->cores, &r->cores) < 0)
        CPU_ZERO(&r->cores);
}

/* Read the counters of rank i and set w->loss[i] to its losses since the previous reading.  Needs
 * the core times and processor times of this reading in w.
 */
static void take_rank(struct core_watch *w, int i)
{
    struct counts now = { .pid = 0 };

    if (CPU_COUNT(&w->rank[i].cores) > 0)
        count(w, &w->rank[i], &now);
    compare(w, &w->before[i], &now, &w->loss[i]);
    w->before[i] = now;
}

void core_watch_take(struct core_watch *w, int64_t now_ns)
{
    int64_t begun_ns = clock_thread_ns();

    if (now_ns < w->next_ns)
        return;
    for (int i = 0; i < w->n; i++)
        find_cores(&w->rank[i]);
    w->celsius = core_heat_celsius(w->root);
    if (read_cores(w) && read_used(w))
        for (int i = 0; i < w->n; i++)
            take_rank(w, i);
    w->next_ns = poll_backoff_cost_ns(begun_ns);
}
