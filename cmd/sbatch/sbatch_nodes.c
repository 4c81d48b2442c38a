/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_nodes.c - reads from sinfo which nodes are unavailable, and how many cores nodes have */
#include "sbatch_nodes.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 3 }; /* most nodes that a message names; further ones are counted */

/* Check whether a node whose state sinfo prints like this cannot start jobs. A powered-down node
 * can, since Slurm wakes it for a job; so can a busy one, which becomes idle.
 */
static bool is_away(const char *state)
{
    static const char *const words[] = { "down",     "drain",    "fail",   "maint",
                                         "reserved", "unknown",  "inval",  "reboot",
                                         "block",    "perfctrs", "future", "no_resp" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(state, words[i], strlen(words[i])) == 0)
            return true;
    return strpbrk(state, "*$@^"); /* not responding, in maintenance, pending reboot */
}

/* Check whether a name is an element of a comma-separated list "a,b". */
static bool is_in(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, name, n) == 0)
            return true;
    return false;
}

/* Check whether a component of the job may run in this partition, as sinfo prints it: a '*' at the
 * end marks the default partition, and is removed from `partition`.
 */
static bool is_asked(const struct sbatch_ask *a, char *partition)
{
    size_t n = strlen(partition);
    bool usual = n && partition[n - 1] == '*';

    if (usual)
        partition[n - 1] = '\0';
    for (size_t i = 0; i < sbatch_script_components(a->job); i++) {
        const char *list = sbatch_script_partition(a, i);

        if (list ? is_in(list, partition) : usual)
            return true;
    }
    return false;
}

/* Append "node4 is drained (broken fan)" to b, from the name, state and reason that sinfo prints.
 * Flags at the end of `state` and control characters in `reason` are removed.
 */
static void add_node(const char *name, char *state, char *reason, struct strbuf *b)
{
    const char *more = strchr(state, '*')     ? " and does not answer"
                       : strchr(state, '$')   ? " and reserved for maintenance"
                       : strpbrk(state, "@^") ? " and about to reboot"
                                              : "";

    state[strcspn(state, "*~#!%$@^-+")] = '\0';
    text_strip_control(reason);
    strbuf_addf(b, "%s%.60s is %.30s%s", b->len ? ", " : "", name, state, more);
    if (*reason && strcmp(reason, "none") != 0)
        strbuf_addf(b, " (%.60s)", reason);
}

/* Cut the next field off *line, "a|b|c|d", and return it; "" if none is left. *line becomes the
 * text after it, NULL at the end; the last field may contain any text.
 */
static char *field(char **line)
{
    char *at = strsep(line, "|");

    return at ? at : (char *)(uintptr_t) "";
}

/* Append to b the first NAMED unavailable nodes of sinfo's table and the number of further ones.
 * Return how many there are. Only nodes in partitions of the job count. The table is changed.
 */
static int read_table(const struct sbatch_ask *a, char *table, struct strbuf *b)
{
    char *state = NULL, last[256] = "";
    int count = 0;

    for (char *line = strtok_r(table, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *name = field(&line), *is = field(&line), *partition = field(&line);

        /* sinfo prints consecutive lines for a node, one for each of its partitions. */
        if (!line || !is_away(is) || strcmp(name, last) == 0 || !is_asked(a, partition))
            continue;
        (void)snprintf(last, sizeof last, "%s", name);
        if (count++ < NAMED)
            add_node(name, is, line, b);
    }
    if (count > NAMED)
        strbuf_addf(b, " and %d more", count - NAMED);
    return count;
}

int sbatch_nodes_away(const struct sbatch_ask *a, char *ret, size_t size)
{
    const char *const argv[] = { "sinfo", "-h", "-a", "-N", "-o", "%N|%T|%P|%E", NULL };
    cleanup_free char *table = NULL;
    cleanup_strbuf struct strbuf b = { 0 };
    int count;

    *ret = '\0';
    if (slurm_program_run(argv, "", &table, NULL) != 0)
        return 0;
    count = read_table(a, table, &b);
    (void)snprintf(ret, size, "%s", strbuf_text(&b));
    return count;
}

/* Parse "sockets:cores:threads", such as "2:4:1": store the cores of the node in *ret_cores and the
 * threads of a core in *ret_threads. Return false for any other text.
 */
static bool read_cores(const char *text, int64_t *ret_cores, int64_t *ret_threads)
{
    int64_t sockets, cores;

    if (sscanf(text, "%" SCNd64 ":%" SCNd64 ":%" SCNd64, &sockets, &cores, ret_threads) != 3)
        return false;
    *ret_cores = sockets * cores;
    return sockets > 0 && cores > 0 && *ret_threads > 0;
}

int64_t sbatch_nodes_least(const char *list)
{
    cleanup_free char *names = strndup(list, strcspn(list, " \n")), *table = NULL;
    const char *const argv[] = { "sinfo", "-h", "-a", "-N", "-o", "%N|%z", "-n", names, NULL };
    char *state = NULL, last[256] = "";
    int64_t least = 0, all = 0;

    if (!names || slurm_program_run(argv, "", &table, NULL) != 0)
        return 0;
    for (char *line = strtok_r(table, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *name = field(&line);
        int64_t cores, threads;

        if (!line || strcmp(name, last) == 0 || !read_cores(line, &cores, &threads))
            continue;
        (void)snprintf(last, sizeof last, "%s", name);
        least += threads;
        all += cores * threads;
    }
    return least == all && all > 0 ? -1 : least;
}
