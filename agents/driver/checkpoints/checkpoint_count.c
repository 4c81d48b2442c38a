/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_count.c - add up rank 0's checkpoint counters over generations */
#include "checkpoint_count.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <stdio.h>

/* Report to the user that a checkpoint failed, why, and which step the newest checkpoint is of. */
static void say_failed(struct job_run *r)
{
    const struct checkpoint_status *s = &r->status.checkpoints;
    char newest[64] = "no checkpoint was written yet";

    if (s->newest >= 0)
        (void)snprintf(newest, sizeof newest, "the newest checkpoint is of step %" PRId64,
                       s->newest);
    job_run_sayf(r, JOB_EVENT_SAY, -1, 0,
                 "a checkpoint was not written and training continues; %s; reason: %.250s", newest,
                 s->reason);
}

/* Report to the user that checkpoints succeed again and how many failed in all. */
static void say_written(struct job_run *r)
{
    const struct checkpoint_status *s = &r->status.checkpoints;

    job_run_sayf(r, JOB_EVENT_SAY, -1, 0,
                 "checkpoints are written again; the newest is of step %" PRId64 "; %" PRId64
                 " %s not written",
                 s->newest, s->failed, s->failed == 1 ? "was" : "were");
}

/* Record in events.jsonl alone how many checkpoints have failed so far and why. */
static void note_failed(struct job_run *r)
{
    const struct checkpoint_status *s = &r->status.checkpoints;

    job_run_sayf(r, JOB_EVENT_NOTE, -1, 0,
                 "%" PRId64 " checkpoints were not written so far: %.250s", s->failed, s->reason);
}

void checkpoint_count_take(struct checkpoint_count *c, struct job_run *r, const struct progress *p)
{
    struct checkpoint_status *s = &r->status.checkpoints;
    bool failing = s->reason[0];
    int64_t failed, written;

    if (p->rank != 0)
        return;
    if (p->pid != c->pid)
        *c = (struct checkpoint_count){ .pid = p->pid };
    written = p->checkpoints_written - c->written;
    failed = p->checkpoints_failed - c->failed;
    if (written <= 0 && failed <= 0)
        return;
    s->written += written > 0 ? written : 0;
    s->failed += failed > 0 ? failed : 0;
    c->written = p->checkpoints_written;
    c->failed = p->checkpoints_failed;
    if (written > 0)
        s->newest = p->checkpoint_step;
    (void)snprintf(s->reason, sizeof s->reason, "%s", p->checkpoint_why);
    text_strip_control(s->reason);
    if (s->reason[0] && !failing)
        say_failed(r);
    else if (s->reason[0])
        note_failed(r);
    else if (failing)
        say_written(r);
}
