/* SPDX-License-Identifier: Apache-2.0 */
/* compare_estimate.c - how long the open runs of a comparison will take */
#include "compare_estimate.h"

#include "agents/job/job_folder.h"
#include "agents/job/status_fetch.h"
#include "lib/base/cleanup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_JOBS = 200 }; /* jobs that are examined, the newest first */

/* Return the number of open runs. */
static int open_runs(const struct compare *c)
{
    int n = 0;

    for (int i = 0; i < c->n_runs; i++)
        n += c->run[i].state == COMPARE_OPEN;
    return n;
}

/* Return the mean time that the runs took which have trained, in seconds; NAN: none has. */
static double mean_run_s(const struct compare *c)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < c->n_runs; i++)
        if (c->run[i].samples > 0 && c->run[i].state != COMPARE_OPEN) {
            sum += c->run[i].took_s;
            n++;
        }
    return n ? sum / n : NAN;
}

/* Fill *ret with the status of the newest job of this name that has trained to its end. Return
 * false if there is none.
 */
static bool last_job(const char *name, struct job_status *ret)
{
    cleanup_free struct job_folder *f = NULL;
    int n = job_folder_list(&f, NULL);

    for (int i = n - 1, left = MOST_JOBS; i >= 0 && left > 0; i--) {
        char is[128];

        if (!job_folder_parse_id(f[i].id, is, sizeof is, NULL) || strcmp(is, name) != 0)
            continue;
        left--;
        if (status_from_files(&f[i], ret, NULL) < 0)
            continue;
        if (ret->state == JOB_ENDED && strcmp(ret->reason, "ok") == 0 && ret->wall_s > 0)
            return true;
        job_status_fini(ret);
    }
    return false;
}

void compare_estimate(const struct compare *c, char *ret, size_t size)
{
    int n = open_runs(c);
    double run_s = mean_run_s(c);
    struct job_status s;
    char each[32], all[32];

    ret[0] = '\0';
    if (!n)
        return;
    if (isfinite(run_s)) {
        (void)snprintf(ret, size, "about %s for the other runs",
                       job_status_elapsed(n * run_s, all, sizeof all));
    } else if (c->target.goal == COMPARE_TIME) {
        (void)snprintf(ret, size, "about %s, and the starts",
                       job_status_elapsed(n * c->target.value, all, sizeof all));
    } else if (last_job(c->name, &s)) {
        run_s = s.wall_s;
        if (c->target.goal == COMPARE_SAMPLES && s.samples_per_s > 0)
            run_s = fmin(run_s, c->target.value / s.samples_per_s);
        (void)snprintf(ret, size, "about %s, or less: the last job of this name took %s",
                       job_status_elapsed(n * run_s, all, sizeof all),
                       job_status_elapsed(s.wall_s, each, sizeof each));
        job_status_fini(&s);
    } else {
        (void)snprintf(ret, size,
                       "the time is not known yet: no job of this name has trained to its end");
    }
}
