/* SPDX-License-Identifier: Apache-2.0 */
/* run_prune.c - removes the folders of jobs that ended long ago */
#include "run_prune.h"

#include "agents/job/slurm_link.h"
#include "agents/job/status_fetch.h"
#include "cmd/run/request/run_find.h"
#include "cmd/shared/number.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Times without a change in a job's folder after which a job without a summary counts as over:
 * quiet_ns if no driver of the job runs on this machine (a driver that is starting has no
 * driver.json yet, and workers of a killed driver may write for a lease); silent_ns if its driver
 * was on another machine (a running driver writes metrics every second).
 */
static const int64_t quiet_ns = 60 * CLOCK_S;
static const int64_t silent_ns = 86400 * CLOCK_S;

/* Age and size of a job's folder. */
struct folder_use {
    int64_t newest_ns; /* last change of any file in it, wall clock */
    int64_t bytes;
};

/* Store the time of the newest change in a folder and the disk space of all its files in *ret;
 * links are not followed. Both are 0 if the folder cannot be read.
 */
static void look(const char *path, struct folder_use *ret)
{
    char *roots[] = { (char *)(uintptr_t)path, NULL };
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
    FTSENT *e;

    *ret = (struct folder_use){ 0 };
    while (fts && (e = fts_read(fts))) {
        const struct stat *st = e->fts_statp;
        int64_t ns;

        if (e->fts_info == FTS_DP || e->fts_info == FTS_NS || e->fts_info == FTS_ERR)
            continue;
        ns = clock_of_timespec(&st->st_mtim);
        ret->newest_ns = ns > ret->newest_ns ? ns : ret->newest_ns;
        ret->bytes += (int64_t)st->st_blocks * 512;
    }
    if (fts)
        (void)fts_close(fts);
}

/* Return why the job may not be over, if nothing in its folder has changed for age_ns. NULL: it is
 * over; "": it runs.
 */
static const char *why_not_over(const struct job_folder *f, int64_t age_ns)
{
    int rc = job_driver_check(f, NULL);

    if (rc == 1)
        return "";
    if (run_find_has(f->path, "summary.json")) /* which is written at its end */
        return NULL;
    if (rc == -EREMOTE)
        return age_ns < silent_ns ? "its driver is on another machine and may still run" : NULL;
    if (age_ns >= quiet_ns)
        return NULL;
    return rc == 0 ? "its driver exited less than a minute ago, and its workers may still be ending"
                   : "it is less than a minute old and may still be starting";
}

/* Check whether a job that is over has failed, or lost its driver. Return false if its files cannot
 * be read.
 */
static bool has_failed(const struct job_folder *f)
{
    struct job_status s;
    bool failed = status_from_files(f, &s, NULL) == 0;

    if (!failed)
        return false;
    failed = job_status_failed(&s);
    job_status_fini(&s);
    return failed;
}

/* Print to `out` the job, age and size of a folder that is removed (or would be, with only_report),
 * as text or JSON. Print nothing if quiet.
 */
static void tell(const struct run_prune *p, const struct job_folder *f, int64_t age_ns,
                 int64_t bytes, FILE *out)
{
    char age[NUMBER_SIZE], size[NUMBER_SIZE];
    int64_t age_s = age_ns / CLOCK_S;

    if (p->quiet)
        return;
    if (p->json) {
        fprintf(out, "{\"job\": \"%s\", \"age_s\": %" PRId64 ", \"bytes\": %" PRId64 "}\n", f->id,
                age_s, bytes);
        return;
    }
    number_age(age_s, age);
    fprintf(out, "%s %s   %s%s, %s\n", p->only_report ? "would remove" : "removing", f->id,
            age_s < 1 ? "just now" : age, age_s < 1 ? "" : " old",
            number_bytes((double)bytes, size));
}

int run_prune(const struct run_prune *p, FILE *out, struct eddis_error *err)
{
    cleanup_free struct job_folder *list = NULL;
    int n = job_folder_list(&list, err), removed = 0, rc = 0;

    for (int i = 0; i < n; i++) {
        struct folder_use use;
        struct eddis_error why;
        const char *why_not;
        int64_t age_ns;
        int one = 0;

        look(list[i].path, &use);
        age_ns = p->now_ns > use.newest_ns ? p->now_ns - use.newest_ns : 0;
        if (!use.newest_ns || age_ns < p->older_ns)
            continue;
        why_not = why_not_over(&list[i], age_ns);
        if (why_not && *why_not && !p->quiet && !p->json)
            fprintf(out, "keeping %s: %s\n", list[i].id, why_not);
        if (why_not)
            continue;
        if (p->only_failed && !has_failed(&list[i]))
            continue;
        tell(p, &list[i], age_ns, use.bytes, out);
        if (!p->only_report) {
            slurm_link_remove(&list[i]);
            one = file_remove_tree(list[i].path, &why);
        }
        removed += one == 0;
        if (one < 0 && rc == 0) {
            rc = one;
            if (err)
                *err = why;
        }
    }
    rc = n < 0 ? n : rc < 0 ? rc : removed;
    if (rc >= 0 && !p->quiet && !p->json)
        fprintf(out, "%d job%s %s\n", rc, rc == 1 ? "" : "s", p->only_report ? "found" : "removed");
    return rc;
}
