/* SPDX-License-Identifier: Apache-2.0 */
/* ending.c - the end of all steps, as requested by the program
 *
 *     eddis_stop     a request, sent in the trailer of the group's next step; the whole group
 *                    agrees that the step after it is the last
 *                    its root marks the shared counter, so that the other groups learn of it
 *                    with their next samples and agree likewise
 *     eddis_finish   takes no more samples; all meet, and draw their models together
 *     an exit        if the options ask for it, ends the step under way and does likewise
 */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>

#define LAST_LOOK_NS (INT64_C(60) * CLOCK_S) /* limit of waits for what comes soon or never */

int eddis_stop(struct eddis *e)
{
    int rc = worker_check(e, NULL);

    if (rc == 0)
        plan_switch_stop(&e->plan_switch);
    return rc;
}

/* Check whether this worker may end before all steps are done: a stop was requested, or the number
 * of epochs is unknown, so that each group decides for itself.
 */
static bool finish_early(struct eddis *e)
{
    return e->step.stop || e->samples.order.epochs == 0 || plan_switch_wants_stop(&e->plan_switch);
}

/* Check whether this worker ends early without an agreement, so that other workers of its model may
 * be in their next step.
 */
static bool finish_alone(struct eddis *e)
{
    return finish_early(e) && !e->step.stop && !e->group.several;
}

/* Check that this worker has no step left or wants to end early, and that it is between two steps.
 * Return 0; -EINVAL: there is a step to do, or one is under way; -ETIMEDOUT: not known until the
 * deadline.
 */
static int finish_check(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t left = deadline_ns - clock_now_ns();
    struct sampler_step s;
    int rc;

    if (!e->engine || e->step.begun)
        return eddis_fail(err, -EINVAL,
                          e->engine ? "the step under way has not been ended by eddis_step_end"
                                    : "call eddis_commit before eddis_finish");
    if (finish_early(e))
        return 0;
    rc = samples_peek(&e->samples, e->samples.step, left > 0 ? left : 1, &s, err);
    if (rc == -ETIMEDOUT)
        return eddis_fail_prefix(err, rc, "it is not known yet whether another step follows");
    return rc > 0 ? eddis_fail(err, -EINVAL,
                               "step %lld is still to be done: continue to the last step, or call "
                               "eddis_stop before eddis_finish",
                               (long long)s.step)
                  : rc;
}

/* If this worker ends early (finish_early), give up the samples taken for later steps, so that
 * threads which wait for samples return; let the other groups learn of its own request to stop.
 * Otherwise do nothing.
 */
static void finish_stop(struct eddis *e)
{
    bool wants = plan_switch_wants_stop(&e->plan_switch);

    if (!finish_early(e))
        return;
    if (wants)
        samples_spread_stop(&e->samples);
    e->step.stop |= wants;
    e->step.enough = true;
    e->step.taken = false;
    samples_stop(&e->samples, e->samples.step - 1);
}

/* With one model, wait until all workers have ended their steps.  Return 0 or a negative errno;
 * -ETIMEDOUT: the next call continues.
 */
static int finish_meet(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    if (!e->step.over)
        rc = collectives_barrier_until(&e->all, &e->step.met, deadline_ns - clock_now_ns(), err);
    e->step.over |= rc == 0;
    return rc;
}

/* With several models, wait until all groups have ended their steps, and replace the parameters by
 * the centre.  Return as centre_finish.
 */
static int finish_models(struct eddis *e, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = e->centre.started ? 0 : centre_start(&e->centre, deadline_ns, err);

    if (rc == 0)
        rc = centre_finish(&e->centre, deadline_ns, err);
    e->centre.flagged += rc == 1;
    return rc;
}

int eddis_finish(struct eddis *e, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = comm_thread_failure(e->comm_thread, err);
    if (rc == 0)
        rc = finish_check(e, deadline, err);
    if (rc < 0)
        return rc;
    /* Computed before finish_stop changes its inputs; |= keeps it when the call is repeated. */
    e->step.done |= step_none_left(e) && (e->step.stop || !plan_switch_wants_stop(&e->plan_switch));
    if (finish_alone(e))
        plan_switch_show_ended(&e->plan_switch, true);
    finish_stop(e);
    rc = e->group.several ? finish_models(e, deadline, err) : finish_meet(e, deadline, err);
    if (rc == -ETIMEDOUT)
        return eddis_fail_prefix(err, rc, "not all workers have ended their steps");
    if (rc == 0) {
        plan_switch_show_ended(&e->plan_switch, false);
        step_over(e, e->step.done);
    }
    return rc;
}

/* ---- at an exit ---- */

int ending_check_rounds(const struct eddis *e, struct eddis_error *err)
{
    if (!e->centre.outside || e->centre.finished)
        return 0;
    if (e->samples.order.epochs == 0)
        return eddis_fail(err, -EINVAL,
                          "rank %d exits with status 0 before eddis_finish has ended the rounds of "
                          "local mode, where the program combines the models itself, so the job "
                          "ends: call eddis_finish on all ranks before the exit, from Python "
                          "eddis.torch.finish(); to end all loops, call eddis_stop before, from "
                          "Python eddis.torch.stop()",
                          e->all.place.rank);
    return eddis_fail(err, -EINVAL,
                      "rank %d exits with status 0 before its last step, in local mode, where the "
                      "program combines the models itself, so the job ends: end all loops on all "
                      "ranks by eddis_stop, or call eddis_finish before the exit, from Python "
                      "eddis.torch.stop() and eddis.torch.finish()",
                      e->all.place.rank);
}

/* Check whether an exit may end the steps.  The stop of another worker may have reached this one
 * before the step that carries it, so it counts too.
 */
bool ending_may_finish(struct eddis *e)
{
    int64_t next = e->samples.step + e->step.begun;

    return finish_early(e) || plan_switch_stops(&e->plan_switch) ||
           samples_has(&e->samples, next, LAST_LOOK_NS, NULL) == 0;
}

/* Call eddis_wait with the handle arg and return its result; a leave_call_fn. */
static int exit_wait(void *arg, int64_t timeout_ns, struct eddis_error *err)
{
    return eddis_wait(arg, timeout_ns, err);
}

/* Call eddis_finish with the handle arg and return its result; a leave_call_fn. */
static int exit_finish(void *arg, int64_t timeout_ns, struct eddis_error *err)
{
    return eddis_finish(arg, timeout_ns, err);
}

/* Complete the step that is under way at an exit: combine zeros for gradients that were not
 * announced, wait for the results without storing them, and end the step.  Return 0 or a negative
 * errno.
 */
static int exit_step(struct eddis *e, struct eddis_error *err)
{
    int rc;

    e->step.unread = true;
    rc = e->step.waited ? 0 : leave_repeat(&e->leave, "its exit", exit_wait, e, err);
    return rc < 0 ? rc : eddis_step_end(e, NULL, err);
}

/* Take part in a checkpoint that another worker writes.  All workers discard it, since this program
 * adds nothing.  A failure is only printed: the exit goes on.
 */
static void exit_checkpoint(struct eddis *e)
{
    struct eddis_error why = { 0 };

    if (checkpoint_save_pass(e, &why) < 0)
        (void)fprintf(stderr, "eddis: a checkpoint at exit: %s\n", why.text);
}

int ending_finish(struct eddis *e, struct eddis_error *err)
{
    int rc = e->step.begun ? exit_step(e, err) : 0;

    if (rc < 0)
        return rc;
    e->step.stop |= plan_switch_stops(&e->plan_switch);
    while ((rc = leave_repeat(&e->leave, "its exit", exit_finish, e, err)) == 1)
        exit_checkpoint(e);
    return rc;
}
