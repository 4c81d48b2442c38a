/* SPDX-License-Identifier: Apache-2.0 */
/* status_stalled.c - detects workers, and jobs, that make no steps */
#include "status_json.h"

#include <math.h>
#include <string.h>

/* A worker is stalled after so many seconds without a step. */
#define STALLED_S 2.0
/* If its steps take long, it is stalled only after the time of so many steps. */
#define STALLED_STEPS 10

bool job_status_has_ended(const struct worker_status *w)
{
    static const char *const states[] = { "done", "exited", "killed", "lost" };

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(w->state, states[i]) == 0)
            return true;
    return false;
}

bool job_status_is_stalled(const struct worker_status *w)
{
    return w->last_step_age_s > fmax(STALLED_S, STALLED_STEPS * 1e-3 * w->step_ms);
}

double job_status_stalled_s(const struct job_status *s)
{
    double least = INFINITY;

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (job_status_has_ended(w))
            continue;
        if (!job_status_is_stalled(w))
            return 0;
        least = fmin(least, w->last_step_age_s);
    }
    return s->state == JOB_RUNNING && isfinite(least) ? least : 0;
}

double job_status_step_ms(const struct job_status *s)
{
    double longest = NAN;

    for (int i = 0; i < s->n_workers; i++) {
        const struct worker_status *w = &s->worker[i];

        if (isfinite(w->samples_per_s))
            return NAN;
        if (s->state != JOB_RUNNING || (!job_status_has_ended(w) && !job_status_is_stalled(w)))
            longest = fmax(longest, w->step_ms);
    }
    return longest;
}
