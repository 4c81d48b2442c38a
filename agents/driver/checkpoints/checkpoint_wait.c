/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_wait.c - list the checkpoints once per generation */
#include "checkpoint_wait.h"

#include "agents/driver/core/driver_options.h"
#include "agents/driver/start/start.h"
#include "checkpoint_newest.h"

#include "lib/base/clock.h"

#include <stdio.h>

/* Check whether this machine sees every checkpoint of the job: they are in the job's own folder and
 * the workers run here.  The driver may not reach a folder that nodes share, and another node has
 * its own disk.
 */
static bool is_own_disk(const struct driver_options *o)
{
    return !o->job->checkpoint.dir && !o->slurm &&
           (!o->job->n_hosts || start_is_here(&o->job->host[0]));
}

/* Store the step that a restart resumes from, and have the state machine plan; ignore the result of
 * an abandoned search (checkpoint_newest_fn, on the driver's thread).
 */
static void take_checkpoint(void *ctx, const struct checkpoint_found *f)
{
    struct checkpoint_wait *w = ctx;

    if (++w->answered < w->asked || !w->look_ns) /* an abandoned search */
        return;
    w->look_ns = 0;
    w->searched = w->run->state.generation;
    if (f->step > w->run->state.resume_step)
        w->run->state.resume_step = f->step;
    w->run->state.begun_step = f->begun_step;
    if (is_own_disk(w->run->o))
        w->run->state.resume_known = true;
    state_plan_again(&w->run->state);
}

bool checkpoint_wait_ready(struct checkpoint_wait *w)
{
    if (w->run->state.generation <= 1 || w->searched == w->run->state.generation)
        return true;
    if (!w->look_ns) {
        w->look_ns = clock_now_ns();
        w->reported = false;
        w->asked++;
        checkpoint_newest(w->run, take_checkpoint, w);
    }
    return false;
}

/* Report once, after FILE_THREAD_LATE_NS, that the list of checkpoints is late.  After
 * timeouts.launch end the job.
 */
static void look_is_late(struct checkpoint_wait *w, int64_t now_ns)
{
    const struct job *job = w->run->o->job;
    const char *dir = w->run->checkpoint_dir ? w->run->checkpoint_dir : job->checkpoint.resume;
    char text[JOB_FOLDER_MAX_PATH + 160];
    int64_t launch_ns = job->timeouts.launch_ns;

    if (now_ns >= clock_after_ns(w->look_ns, launch_ns)) {
        w->look_ns = 0;
        (void)snprintf(text, sizeof text,
                       "the checkpoints in '%.1000s' could not be listed within %g s "
                       "(timeouts.launch): the folder does not answer",
                       dir, (double)launch_ns / CLOCK_S);
        state_unplannable(&w->run->state, text, now_ns);
    } else if (!w->reported && now_ns >= w->look_ns + FILE_THREAD_LATE_NS) {
        w->reported = true;
        job_run_sayf(w->run, JOB_EVENT_SAY, -1, -1,
                     "the restart waits for the list of checkpoints in '%.1000s', which does not "
                     "answer",
                     dir);
    }
}

void checkpoint_wait_tick(struct checkpoint_wait *w, int64_t now_ns)
{
    if (w->look_ns && w->run->state.phase == STATE_PHASE_PLAN)
        look_is_late(w, now_ns);
    else
        w->look_ns = 0; /* the job is about to end */
}
