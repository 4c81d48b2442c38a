/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - reads control groups' limits and the load of the machine */
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

enum { MOST_TEXT = 4 << 20 };

/* Returns root/path's text, NULL when it cannot be read. */
static char *text_of(const char *root, const char *path)
{
    cleanup_free char *full = file_join(root, "%s", path);
    char *text = NULL;

    return full && file_read(full, MOST_TEXT, &text, NULL, NULL) == 0 ? text : NULL;
}

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

/* Path of this process' group: of the version 1 hierarchy with this controller, or of version 2
 * (controller ""), from a line "4:cpu,cpuacct:/path".
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

struct mount {
    char root[PATH_MAX], point[PATH_MAX];
};

/* A line of mountinfo: "36 25 0:31 /root /point rw,nosuid - cgroup cgroup rw,cpu,cpuacct". */
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

/* Reads one group's limit; INFINITY when it has none. */
typedef double (*limit_fn)(const char *root, const char *group);

/* The smallest limit of the groups from this process' own up to the mount. */
static double smallest(const char *root, const char *controller, limit_fn limit)
{
    cleanup_free char *cgroup = text_of(root, "proc/self/cgroup");
    cleanup_free char *mountinfo = text_of(root, "proc/self/mountinfo");
    cleanup_free struct mount *m = malloc(sizeof *m);
    char path[PATH_MAX], group[2 * PATH_MAX];
    const char *below = path;
    double least = INFINITY;
    size_t n;

    if (!cgroup || !mountinfo || !m || !group_path(cgroup, controller, path, sizeof path) ||
        !find_mount(mountinfo, controller, m))
        return INFINITY;
    /* In a container the mount begins at the container's group, which the path may repeat. */
    n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    if (strncmp(path, m->root, n) == 0 && (n == 0 || path[n] == '/' || !path[n]))
        below = path + n;
    else
        below = "";
    (void)snprintf(group, sizeof group, "%s%s", m->point, below);
    n = strlen(m->point);
    for (;;) {
        double l = limit(root, group);
        char *slash = strrchr(group, '/');

        least = l < least ? l : least;
        if (strlen(group) <= n || !slash || (size_t)(slash - group) < n)
            return least;
        *slash = 0;
    }
}

/* Read up to two numbers of root/group/name; "max" and what is no number are INFINITY. */
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

static double ratio(double quota, double period)
{
    return quota > 0 && period > 0 && isfinite(quota) ? quota / period : INFINITY;
}

static double cpus_v1(const char *root, const char *group)
{
    double quota[2], period[2];

    if (numbers(root, group, "cpu.cfs_quota_us", quota) < 1 ||
        numbers(root, group, "cpu.cfs_period_us", period) < 1)
        return INFINITY;
    return ratio(quota[0], period[0]);
}

static double cpus_v2(const char *root, const char *group)
{
    double both[2];

    return numbers(root, group, "cpu.max", both) == 2 ? ratio(both[0], both[1]) : INFINITY;
}

static double memory_v1(const char *root, const char *group)
{
    double bytes[2];

    return numbers(root, group, "memory.limit_in_bytes", bytes) >= 1 ? bytes[0] : INFINITY;
}

static double memory_v2(const char *root, const char *group)
{
    double bytes[2];

    return numbers(root, group, "memory.max", bytes) >= 1 ? bytes[0] : INFINITY;
}

double quota_cpus(const char *root)
{
    double least = fmin(smallest(root, "cpu", cpus_v1), smallest(root, "", cpus_v2));

    return isfinite(least) ? least : NAN;
}

int64_t quota_memory_bytes(const char *root)
{
    double least = fmin(smallest(root, "memory", memory_v1), smallest(root, "", memory_v2));

    return least > 0 && least < 9e18 ? (int64_t)least : INT64_MAX;
}

int64_t quota_machine_bytes(const char *root)
{
    static const char word[] = "MemTotal:";
    cleanup_free char *text = text_of(root, "/proc/meminfo");
    char *at = text ? strstr(text, word) : NULL;
    long long kb = at ? strtoll(at + strlen(word), NULL, 10) : 0;

    return kb > 0 && kb < INT64_MAX / 1024 ? (int64_t)kb * 1024 : 0;
}

double quota_load(const char *root)
{
    double load[2];

    return numbers(root, "/proc", "loadavg", load) >= 1 && load[0] >= 0 ? load[0] : NAN;
}
