/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - read control groups' limits and the load of the machine */
#include "quota.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TEXT = 4 << 20 };

/* Return the text of root/path, for the caller to free; NULL if it cannot be read. */
static char *text_of(const char *root, const char *path)
{
    cleanup_free char *full = file_join(root, "%s", path);
    char *text = NULL;

    return full && file_read(full, MOST_TEXT, &text, NULL, NULL) == 0 ? text : NULL;
}

/* Check whether a comma-separated list contains the word as an entry. */
static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

/* Write to ret this process's group according to the text of /proc/PID/cgroup. Its line is
 * "4:cpu,cpuacct:/path", with this version 1 controller; controller "" stands for version 2. Return
 * false if there is no such line.
 */
static bool group_path(const char *cgroup, const char *controller, char *ret, size_t size)
{
    cleanup_free char *text = strdup(cgroup);
    char *rest = NULL;

    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;

        if (!path || strlen(path + 1) >= size)
            continue;
        *path++ = 0;
        if (controller[0] ? in_list(list + 1, controller) : !list[1]) {
            strcpy(ret, path);
            return true;
        }
    }
    return false;
}

/* A mount of control groups */
struct mount {
    char root[PATH_MAX], point[PATH_MAX];
};

/* Parse a line of mountinfo into *ret: "36 25 0:31 /root /point rw,nosuid - cgroup cgroup
 * rw,cpu,cpuacct". Return false if it is not the mount of this controller ("": version 2).
 */
static bool mount_line(const char *line, const char *controller, struct mount *ret)
{
    const char *fs = strstr(line, " - ");
    char type[64], options[1024];

    if (!fs || sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->point) != 2 ||
        sscanf(fs + 3, "%63s %*s %1023s", type, options) != 2)
        return false;
    if (!controller[0])
        return strcmp(type, "cgroup2") == 0;
    return strcmp(type, "cgroup") == 0 && in_list(options, controller);
}

/* Find the mount of this controller ("": version 2) in the text of mountinfo, and fill *ret. Return
 * false if there is none.
 */
static bool find_mount(const char *mountinfo, const char *controller, struct mount *ret)
{
    cleanup_free char *text = strdup(mountinfo);
    char *rest = NULL;

    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        if (mount_line(line, controller, ret))
            return true;
    return false;
}

/* Function that returns the limit that a group itself has; INFINITY: none */
typedef double (*limit_fn)(const char *root, const char *group);

/* What to search: a process's limit in the version 1 hierarchy of a controller, or in version 2
 * ("")
 */
struct search {
    const char *root, *process, *controller; /* process: "self" or its pid */
    limit_fn limit;
};

size_t quota_group(const char *root, const char *process, const char *controller,
                   char ret[QUOTA_GROUP], bool *ret_outside)
{
    char of[64], path[PATH_MAX];
    cleanup_free char *cgroup = NULL, *mountinfo = text_of(root, "proc/self/mountinfo");
    cleanup_free struct mount *m = malloc(sizeof *m);
    bool outside;
    size_t n;

    (void)snprintf(of, sizeof of, "proc/%.32s/cgroup", process);
    cgroup = text_of(root, of);
    if (!cgroup || !mountinfo || !m || !group_path(cgroup, controller, path, sizeof path) ||
        !find_mount(mountinfo, controller, m))
        return 0;
    /* In a container, the mount starts at the container's group, which the path may include. */
    n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    outside = strncmp(path, m->root, n) != 0 || (n && path[n] && path[n] != '/');
    (void)snprintf(ret, QUOTA_GROUP, "%s%s", m->point,
                   outside || strcmp(path + n, "/") == 0 ? "" : path + n);
    if (ret_outside)
        *ret_outside = outside;
    return strlen(m->point);
}

/* Return the smallest limit of the groups from the process's own up to the mount; INFINITY: none.
 * ret (may be NULL): set to the group with that limit, the outermost of equals; unchanged without a
 * limit.
 */
static double smallest(const struct search *s, char ret[QUOTA_GROUP])
{
    char group[QUOTA_GROUP];
    double least = INFINITY;
    size_t n = quota_group(s->root, s->process, s->controller, group, NULL);

    while (n > 0) {
        double l = s->limit(s->root, group);
        char *slash = strrchr(group, '/');

        if (l <= least && isfinite(l) && ret)
            strcpy(ret, group);
        least = l < least ? l : least;
        if (strlen(group) <= n || !slash || (size_t)(slash - group) < n)
            break;
        *slash = 0;
    }
    return least;
}

/* Read up to two numbers from the file `name` of a group into ret; "max" is INFINITY. Return how
 * many were read.
 */
static int numbers(const char *root, const char *group, const char *name, double ret[2])
{
    cleanup_free char *path = file_join(group, "%s", name);
    cleanup_free char *text = path ? text_of(root, path) : NULL;
    char *at = text, *end;
    int n = 0;

    while (at && n < 2) {
        while (isspace((unsigned char)*at))
            at++;
        if (strncmp(at, "max", 3) == 0) {
            ret[n++] = INFINITY;
            at += 3;
            continue;
        }
        ret[n] = strtod(at, &end);
        if (end == at)
            break;
        n++;
        at = end;
    }
    return n;
}

/* Return quota / period in cores; INFINITY if there is no quota. */
static double ratio(double quota, double period)
{
    return quota > 0 && period > 0 && isfinite(quota) ? quota / period : INFINITY;
}

/* Return the CPU quota of a version 1 group in cores; INFINITY: none (limit_fn). */
static double cpus_v1(const char *root, const char *group)
{
    double quota[2], period[2];

    if (numbers(root, group, "cpu.cfs_quota_us", quota) < 1 ||
        numbers(root, group, "cpu.cfs_period_us", period) < 1)
        return INFINITY;
    return ratio(quota[0], period[0]);
}

/* Return the CPU quota of a version 2 group in cores; INFINITY: none (limit_fn). */
static double cpus_v2(const char *root, const char *group)
{
    double both[2];

    return numbers(root, group, "cpu.max", both) == 2 ? ratio(both[0], both[1]) : INFINITY;
}

/* Return the memory limit of a version 1 group in bytes; INFINITY: unknown (limit_fn). */
static double memory_v1(const char *root, const char *group)
{
    double bytes[2];

    return numbers(root, group, "memory.limit_in_bytes", bytes) >= 1 ? bytes[0] : INFINITY;
}

/* Return the memory limit of a version 2 group in bytes; INFINITY: none (limit_fn). */
static double memory_v2(const char *root, const char *group)
{
    double bytes[2];

    return numbers(root, group, "memory.max", bytes) >= 1 ? bytes[0] : INFINITY;
}

double quota_cpus(const char *root)
{
    double least = fmin(smallest(&(struct search){ root, "self", "cpu", cpus_v1 }, NULL),
                        smallest(&(struct search){ root, "self", "", cpus_v2 }, NULL));

    return isfinite(least) ? least : NAN;
}

int64_t quota_memory_bytes(const char *root)
{
    double least = fmin(smallest(&(struct search){ root, "self", "memory", memory_v1 }, NULL),
                        smallest(&(struct search){ root, "self", "", memory_v2 }, NULL));

    return least > 0 && least < 9e18 ? (int64_t)least : INT64_MAX;
}

/* Return the number that follows `word` at the start of a line; 0: there is no such line. */
static int64_t number_behind(const char *text, const char *word)
{
    size_t n = strlen(word);
    const char *at = text;
    long long x;

    while (at && strncmp(at, word, n) != 0)
        at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    x = at ? strtoll(at + n, NULL, 10) : 0;
    return x > 0 ? x : 0;
}

/* Return the value that follows `word` in /proc/meminfo, converted from kB to bytes; 0: none. */
static int64_t meminfo_bytes(const char *root, const char *word)
{
    cleanup_free char *text = text_of(root, "/proc/meminfo");
    int64_t kb = text ? number_behind(text, word) : 0;

    return kb < INT64_MAX / 1024 ? kb * 1024 : 0;
}

int64_t quota_machine_bytes(const char *root)
{
    return meminfo_bytes(root, "MemTotal:");
}

/* ---- a process's memory limit and use ---- */

/* Return the bytes that a group uses, without its page cache, which the kernel reclaims before it
 * kills a process; 0: unknown, or nothing else. old: the group is of version 1.
 */
static int64_t group_used(const char *root, const char *group, bool old)
{
    cleanup_free char *path = file_join(group, "memory.stat");
    cleanup_free char *text = path ? text_of(root, path) : NULL;
    double all[2] = { 0 };
    int64_t cache;

    if (!text || numbers(root, group, old ? "memory.usage_in_bytes" : "memory.current", all) < 1 ||
        !(all[0] < 9e18))
        return 0;
    cache = old ? number_behind(text, "total_inactive_file ") +
                      number_behind(text, "total_active_file ")
                : number_behind(text, "inactive_file ") + number_behind(text, "active_file ") +
                      number_behind(text, "slab_reclaimable ");
    return (int64_t)all[0] > cache ? (int64_t)all[0] - cache : 0;
}

/* Return the inode number of a group's folder, which identifies the group; 1 if unknown. */
static uint64_t group_number(const char *root, const char *group)
{
    cleanup_free char *path = file_join(root, "%s", group);
    struct stat st;

    return path && stat(path, &st) == 0 ? st.st_ino : 1;
}

/* Search the process's smallest limit. If it is smaller than that in *ret, or *ret has none, store
 * it there with the use of its group.
 */
static void take_group(const struct search *s, struct quota_memory *ret)
{
    char group[QUOTA_GROUP] = "";
    double limit = smallest(s, group);

    if (!group[0] || !(limit > 0) || !(limit < 9e18) ||
        (ret->limit_bytes && limit >= (double)ret->limit_bytes))
        return;
    ret->limit_bytes = (int64_t)limit;
    ret->used_bytes = group_used(s->root, group, s->controller[0] != '\0');
    ret->group = group_number(s->root, group);
}

void quota_memory_of(const char *root, int pid, struct quota_memory *ret)
{
    char process[16] = "self";
    int64_t all = quota_machine_bytes(root), spare = meminfo_bytes(root, "MemAvailable:");

    if (pid > 0)
        (void)snprintf(process, sizeof process, "%d", pid);
    *ret = (struct quota_memory){ .limit_bytes = all, .used_bytes = all > spare ? all - spare : 0 };
    take_group(&(struct search){ root, process, "memory", memory_v1 }, ret);
    take_group(&(struct search){ root, process, "", memory_v2 }, ret);
}

double quota_load(const char *root)
{
    double load[2];

    return numbers(root, "/proc", "loadavg", load) >= 1 && load[0] >= 0 ? load[0] : NAN;
}
