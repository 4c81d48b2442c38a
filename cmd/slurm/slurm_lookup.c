/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_lookup.c - finds a Slurm job by its number */
#include "slurm_lookup.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/slurm/slurm.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 8, LONGEST = 20 }; /* most tasks that an error names; most digits of a number */

static const int64_t controller_ns = 10 * CLOCK_S; /* time limit of one answer of the controller */

bool slurm_lookup_is_number(const char *word)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(word, digits), k;

    if (!n || n > LONGEST || !word[n])
        return n && n <= LONGEST;
    k = strspn(word + n + 1, digits);
    return strchr("_+", word[n]) && k && k <= LONGEST && !word[n + 1 + k];
}

/* ---- choosing among several records ---- */

/* Order of preference when one of several records is chosen; the highest present one wins. */
enum rank { OVER, WAITS, RUNS };

/* Return the preference of a job's record: RUNS above WAITS above OVER. */
static enum rank rank_of(const struct slurm_job *j)
{
    return slurm_job_is_over(j) ? OVER : slurm_job_waits(j) ? WAITS : RUNS;
}

/* Append to b the first NAMED tasks of this preference in scontrol's output, "12_1, 12_2 and 9
 * more". count: how many there are.
 */
static void add_tasks(const char *said, enum rank rank, int count, struct strbuf *b)
{
    struct slurm_job j;
    int named = 0;

    while (named < NAMED && slurm_job_next(&said, &j))
        if (rank_of(&j) == rank)
            strbuf_addf(b, "%s%s_%s", named++ ? ", " : "", j.array, j.task);
    if (count > named)
        strbuf_addf(b, " and %d more", count - named);
}

/* Set err because `count` tasks of an array run (rank RUNS) or are over, so that none can be
 * chosen; err names them. Return -ENOTUNIQ if they run, -EINVAL if they are over.
 */
static int refuse(const char *word, const char *said, enum rank rank, int count,
                  struct eddis_error *err)
{
    cleanup_strbuf struct strbuf b = { 0 };

    add_tasks(said, rank, count, &b);
    return eddis_fail(err, rank == RUNS ? -ENOTUNIQ : -EINVAL,
                      "Slurm's job %s is an array, and %d of its tasks %s; name one: %s", word,
                      count, rank == RUNS ? "run" : "are over", strbuf_text(&b));
}

int slurm_lookup_choose(const char *word, const char *said, struct slurm_job *ret,
                        struct eddis_error *err)
{
    int count[3] = { 0, 0, 0 };
    struct slurm_job j;
    enum rank best;

    for (const char *at = said; slurm_job_next(&at, &j);)
        count[rank_of(&j)] += !*j.het || j.component == 0;
    best = count[RUNS] ? RUNS : count[WAITS] ? WAITS : OVER;
    if (!count[best])
        return eddis_fail(err, -EIO, "cannot parse Slurm's description of its job %s", word);
    if (count[best] > 1 && best != WAITS)
        return refuse(word, said, best, count[best], err);
    for (const char *at = said; slurm_job_next(&at, &j);)
        if (rank_of(&j) == best && (!*j.het || j.component == 0))
            break;
    *ret = j;
    return 0;
}

/* ---- asking Slurm ---- */

/* Run a program of Slurm's to its end, but no longer than until end_ns or a second. Return its exit
 * code and store its output in *ret, or return a negative error, as slurm_program_run. First unset
 * SLURM_CLUSTERS in this process: a number means a job of this machine's cluster.
 */
static int run(const char *const *argv, int64_t end_ns, char **ret, struct eddis_error *err)
{
    int64_t left_ns = end_ns - clock_now_ns();

    (void)unsetenv("SLURM_CLUSTERS");
    return slurm_program_run_for(argv, "", left_ns > CLOCK_S ? left_ns : CLOCK_S, true, ret, err);
}

/* Set err because this machine has no Slurm to ask about the job of this number. Return -ENOTSUP.
 */
static int no_slurm(const char *number, struct eddis_error *err)
{
    return eddis_fail(err, -ENOTSUP, "there is no Slurm on this machine to ask about job %s",
                      number);
}

/* Check whether scontrol's output says that Slurm's programs are installed but not configured. */
static bool is_bare(const char *said)
{
    return strstr(said, "resolve_ctls_from_dns_srv") || strstr(said, "configuration source");
}

/* Run "scontrol show job" for this number and store its output, if any, in *ret, which the caller
 * frees, also on failure. Return 0, or an error as slurm_lookup_ask does. Block until end_ns, at
 * least a second.
 */
static int show(const char *number, int64_t end_ns, char **ret, struct eddis_error *err)
{
    const char *const argv[] = { "scontrol", "show", "job", number, NULL };
    char path[PATH_MAX];
    int rc;

    if (spawn_find("scontrol", path, sizeof path, NULL) < 0)
        return no_slurm(number, err);
    rc = run(argv, end_ns, ret, err);
    if (rc > 0 && is_bare(*ret))
        return no_slurm(number, err);
    if (rc > 0 && slurm_job_is_unknown(*ret))
        return eddis_fail(err, -ENOENT, "Slurm does not know a job %s, or no longer", number);
    if (rc <= 0)
        return rc;
    (*ret)[strcspn(*ret, "\n")] = '\0';
    text_make_plain(*ret);
    return eddis_fail(err, -EIO, "Slurm does not describe its job %s: %.200s", number, *ret);
}

int slurm_lookup_ask(const char *word, int64_t end_ns, struct slurm_job *ret,
                     struct eddis_error *err)
{
    cleanup_free char *said = NULL, *first = NULL;
    char number[2 * LONGEST + 4];
    struct slurm_job j;
    const char *at;
    int rc;

    /* A heterogeneous job's driver is in its first component, whichever component is named. */
    (void)snprintf(number, sizeof number, "%.*s", (int)strcspn(word, "+"), word);
    rc = show(number, end_ns, &said, err);
    if (rc < 0)
        return rc;
    at = said;
    if (slurm_job_next(&at, &j) && *j.het && j.component > 0) {
        rc = show(j.het, end_ns, &first, err);
        if (rc < 0)
            return rc;
    }
    return slurm_lookup_choose(word, first ? first : said, ret, err);
}

int slurm_lookup_await_end(const char *word, bool (*is_end)(const struct slurm_job *j),
                           int64_t end_ns, struct slurm_job *ret, struct eddis_error *err)
{
    struct slurm_job j;

    for (;;) {
        int rc = slurm_lookup_ask(word, clock_now_ns() + controller_ns, &j, err);
        bool late = clock_now_ns() >= end_ns;

        if (rc < 0 && (late || (rc != -EIO && rc != -ETIMEDOUT)))
            return rc;
        if (rc == 0 && (is_end(&j) || (late && strcmp(j.state, "COMPLETING") == 0))) {
            *ret = j;
            return 0;
        }
        if (late)
            return eddis_fail(err, -ETIMEDOUT,
                              "Slurm's job %s is still %s; run eddis-status %s to see it", word,
                              j.state, word);
        clock_sleep_until_ns(clock_now_ns() + CLOCK_S / 4);
    }
}

int slurm_lookup_cluster(int64_t end_ns, char *ret, size_t size, struct eddis_error *err)
{
    static const char *const argv[] = { "scontrol", "show", "config", NULL };
    static const char key[] = "\nClusterName ";
    cleanup_free char *said = NULL;
    const char *at;
    int rc = run(argv, end_ns, &said, err);

    if (rc < 0)
        return rc;
    at = strstr(said, key);
    if (rc > 0 || !at)
        return eddis_fail(err, -EIO, "Slurm does not report the name of its cluster");
    at += sizeof key - 1;
    at += strspn(at, " =");
    (void)snprintf(ret, size, "%.*s", (int)strcspn(at, " \n"), at);
    return 0;
}

/* Borrow the value that an environment variable of Slurm has in the job ctx (struct slurm_job);
 * NULL: unknown. A callback of slurm_allocation_read.
 */
static const char *variable(void *ctx, const char *name)
{
    const struct slurm_job *j = ctx;

    return strcmp(name, "SLURM_JOB_ID") == 0         ? j->id
           : strcmp(name, "SLURM_JOB_NODELIST") == 0 ? j->nodes
                                                     : NULL;
}

void slurm_lookup_first_node(const struct slurm_job *j, char *ret, size_t size)
{
    struct slurm_allocation *a = NULL;

    (void)snprintf(ret, size, "%s", j->first);
    if (!*ret && slurm_allocation_read(variable, (void *)(uintptr_t)j, &a, NULL) == 1 && a->n)
        (void)snprintf(ret, size, "%s", a->node[0].name);
    slurm_allocation_free(a);
}

int slurm_lookup_withdraw(const char *word, struct eddis_error *err)
{
    const char *const argv[] = { "scancel", "--state=PENDING", word, NULL };
    cleanup_free char *said = NULL;
    int rc = run(argv, clock_now_ns() + SLURM_PROGRAM_NS, &said, err);

    if (rc <= 0)
        return rc;
    said[strcspn(said, "\n")] = '\0';
    text_make_plain(said);
    return eddis_fail(err, -EIO, "Slurm's job %s waits and cannot be cancelled: %.200s", word,
                      said);
}
